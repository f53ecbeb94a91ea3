"""CSV files, plain or gzipped, into columns of text whose every mistake can be named by its line."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from binwright.simcore.errors import WorkloadError, unread
from binwright.simcore.extras import pl

GZIP = b"\x1f\x8b"
SWELLING = 300
"""Bytes in one of a gzipped file: tables of numbers have some ten, and files that are to fill the memory a thousand."""
SOUND = "Every row needs as many cells as the header; close every quote."


def contents(path: Path) -> bytes:
    """Read the file's text as UTF-8 bytes, decompressed where it is gzipped."""
    try:
        data = path.read_bytes()
        if data.startswith(GZIP):
            most = SWELLING * len(data)
            with gzip.open(io.BytesIO(data)) as file:
                data = file.read(most + 1)
            if len(data) > most:
                problem = f"what it unpacks to is more than {SWELLING} times as large"
                raise WorkloadError(problem, file=path, remedy="Unpack it yourself if it is what you want.")
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        remedy = "Give text in UTF-8, or that gzipped; unpack archives first."
        raise WorkloadError("not UTF-8 text", file=path, line=line, remedy=remedy) from error
    except (OSError, EOFError, zlib.error) as error:
        if isinstance(error, OSError) and error.errno:
            problem, remedy = unread(error, path, "Check the path.")
            raise WorkloadError(problem, file=path, remedy=remedy) from error
        remedy = "Download it again; it was cut short or damaged."
        raise WorkloadError(f"corrupt gzip: {error}", file=path, remedy=remedy) from error
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")  # as computers of Apple once ended lines
    return data.rstrip(b"\r\n")


def read_text(path: Path, *wanted: frozenset[str], columns: Sequence[str] = ()) -> pl.DataFrame:
    """Read columns of String, empty cells null, and `line` (UInt32), where each row begins in the file.

    The file must have all columns of one of the `wanted` sets, if there are any; the first is named when it has none
    of them. Cells are separated by commas, or where the header has none, by semicolons, tabs or bars. A file that may
    lack the header has these `columns`.
    """
    data, first = contents(path), 2
    names, separator = header(data)
    if columns:
        wanted = (frozenset(columns),)
        if {*columns}.isdisjoint(names):
            separator, first = ",", 1
            data = ",".join(columns).encode() + b"\n" + data
    try:
        frame = pl.read_csv(data, infer_schema=False, separator=separator)
    except pl.exceptions.NoDataError as error:
        raise WorkloadError("has no rows: the file is empty", file=path, remedy="Download it again.") from error
    except pl.exceptions.PolarsError as error:
        raise _ragged(data, separator, first, path, columns) from error
    # Short rows are filled up with cells that are empty.
    if frame[:, -1].null_count() and (ragged := _ragged(data, separator, first, path, columns)).line:
        raise ragged
    # Polars numbers what is there twice.
    names = [name.strip().partition("_duplicated_")[0] for name in frame.columns]
    if twin := next((name for name in ("line", *names) if name and ("line", *names).count(name) > 1), None):
        remedy = "The first line gives every column a name of its own; `line` is taken."
        raise WorkloadError(f"two columns are called {twin}", file=path, line=1, remedy=remedy)
    if wanted and not any(needed <= {*names} for needed in wanted):
        require(names, wanted[0], path, line=1)
    first += sum(name.count("\n") for name in frame.columns)
    frame.columns = [name or other for name, other in zip(names, frame.columns, strict=True)]
    frame = frame.with_row_index("line", offset=first)
    if data.count(b"\n") > len(frame):  # there are line breaks in cells
        breaks = pl.sum_horizontal(pl.exclude("line").str.count_matches("\n", literal=True))
        frame = frame.with_columns(pl.col("line") + breaks.cum_sum().shift(1, fill_value=0).cast(pl.UInt32))
    return frame


def require(columns: list[str], wanted: frozenset[str], path: Path, line: int | None = None) -> None:
    """Refuse columns that lack wanted ones; `line` is that of the header, where there is one."""
    if missing := sorted(wanted - set(columns)):
        problem = f"missing column{'s' * (len(missing) > 1)} {', '.join(missing)}"
        remedy = f"The file has {', '.join(columns) or 'none'}; it needs {', '.join(sorted(wanted))}."
        raise WorkloadError(problem, file=path, line=line, remedy=remedy)


def header(data: bytes) -> tuple[list[str], str]:
    """List the names in the first line of a table, and find what separates them."""
    first = data.partition(b"\n")[0].decode(errors="replace").removeprefix("\ufeff")
    separator = next((mark for mark in ",;\t|" if mark in first), ",")
    return [name.strip('" \r') for name in first.split(separator)], separator


def _ragged(data: bytes, separator: str, first: int, path: Path, columns: Sequence[str]) -> WorkloadError:
    """Say which line has more or fewer cells than the header, and how many; `first` is 1 without a header, else 2."""
    rows = csv.reader(io.StringIO(data.decode(), newline=""), delimiter=separator)
    odd: tuple[int | None, int | None] = (None, None)
    with suppress(csv.Error):
        width, above = len(next(rows)), rows.line_num
        for row in rows:
            if len(row) not in (0, width):
                odd = above + first - 1, len(row)
                break
            above = rows.line_num
    remedy = f"{SOUND} Without a header, the columns are {', '.join(columns)}." if columns else SOUND
    problem = "not a CSV file: rows differ in their number of cells"
    return WorkloadError(problem, file=path, line=odd[0], value=odd[1], remedy=remedy)
