"""CSV files, plain or gzipped, into columns of text whose every mistake can be named by its line."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Sequence
from pathlib import Path

from binwright.simcore.errors import WorkloadError
from binwright.simcore.extras import pl
from binwright.workloads.traces.check import require

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
        remedy = "Give a CSV in UTF-8, or that gzipped; unpack archives first."
        raise WorkloadError("not a CSV file: not UTF-8 text", file=path, line=line, remedy=remedy) from error
    except (OSError, EOFError, zlib.error) as error:
        if isinstance(error, OSError) and error.errno:
            raise WorkloadError(f"cannot read it: {error.strerror}", file=path, remedy="Check the path.") from error
        remedy = "Download it again; it was cut short or damaged."
        raise WorkloadError(f"corrupt gzip: {error}", file=path, remedy=remedy) from error
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")  # as computers of Apple once ended lines
    return data.rstrip(b"\r\n")


def read_text(path: Path, *wanted: frozenset[str], columns: Sequence[str] = ()) -> pl.DataFrame:
    """Columns of String, empty cells null, and `line` (UInt32, the header is line 1).

    The file must have all columns of one of the `wanted` sets, if there are any; the first is named when it has none
    of them. Cells are separated by commas, or where the header has none, by semicolons, tabs or bars. A file that may
    lack the header has these `columns`.
    """
    data, first = contents(path), 2
    names, separator = header(data, path)
    if columns:
        wanted = (frozenset(columns),)
        if {*columns}.isdisjoint(names):
            names, separator, first = list(columns), ",", 1
            data = ",".join(columns).encode() + b"\n" + data
    if twin := next((name for name in names if name and names.count(name) > 1), None):
        remedy = "The first line gives every column a name of its own."
        raise WorkloadError(f"two columns are called {twin}", file=path, line=1, remedy=remedy)
    try:
        frame = pl.read_csv(data, infer_schema=False, separator=separator)
    except pl.exceptions.NoDataError as error:
        raise WorkloadError("has no rows: the file is empty", file=path, remedy="Download it again.") from error
    except pl.exceptions.PolarsError as error:
        raise _differing(_ragged(data, separator, first), path, columns) from error
    # Short rows are filled up with cells that are empty.
    if frame[:, -1].null_count() and (ragged := _ragged(data, separator, first)):
        raise _differing(ragged, path, columns)
    if wanted and not any(needed <= set(names) for needed in wanted):
        require(names, wanted[0], path, line=1)
    if "line" in names:
        raise WorkloadError("a column is called line", file=path, line=1, remedy="Give it another name.")
    if len(names) != frame.width:  # quotes that end on another line, for one
        problem = f"not a CSV file: its first line names {len(names)} columns, and there are {frame.width}"
        raise WorkloadError(problem, file=path, line=1, remedy=SOUND)
    frame = frame.rename({found: name for found, name in zip(frame.columns, names, strict=True) if name})
    return frame.with_row_index("line", offset=first)


def header(data: bytes, path: Path) -> tuple[list[str], str]:
    """List the names of the columns, without the blanks around them, and find what separates cells."""
    first = data.partition(b"\n")[0].decode().removeprefix("\ufeff").strip("\r")
    separator = next((mark for mark in ",;\t|" if mark in first), ",")
    try:
        return [name.strip() for name in next(csv.reader([first], delimiter=separator), [])], separator
    except csv.Error as error:
        raise WorkloadError(f"not a CSV file: {error}", file=path, line=1, remedy=SOUND) from error


def _ragged(data: bytes, separator: str, first: int) -> tuple[int, int] | None:
    """Find a line that has more or fewer cells than the header, and how many; None where all have as many.

    The line below the header is number `first`.
    """
    rows = csv.reader(io.StringIO(data.decode(), newline=""), delimiter=separator)
    try:
        width = len(next(rows))
        return next(((line, len(row)) for line, row in enumerate(rows, first) if len(row) not in (0, width)), None)
    except csv.Error:
        return None


def _differing(ragged: tuple[int, int] | None, path: Path, columns: Sequence[str]) -> WorkloadError:
    """Say that a row has more or fewer cells than the first: its line and cells, where they are known."""
    line, cells = ragged or (None, None)
    remedy = f"{SOUND} Without a header, the columns are {', '.join(columns)}." if columns else SOUND
    problem = "not a CSV file: rows differ in their number of cells"
    return WorkloadError(problem, file=path, line=line, value=cells, remedy=remedy)
