"""Read constant tables from the text, from numpy, or from a file beside it.

Tables hold numbers in rows, which may be of unequal length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from binwright.agents.solver.language.errors import At, SpecError
from binwright.agents.solver.language.limits import ENTRY_LIMIT, LARGEST
from binwright.agents.solver.model.program import MICRO
from binwright.simcore.errors import short, suggest
from binwright.simcore.extras import pl
from binwright.simcore.types import Ints

Entry = tuple[int, bool]
"""A number: (raw, whole)."""


@dataclass(frozen=True)
class Table:
    """Entries in one flat array, the last index running fastest."""

    name: str
    whole: bool
    """Entries are numbers, not millionths."""
    sizes: tuple[int, ...]
    """Of every index; without the last one if the rows have unequal lengths."""
    values: Ints
    starts: Ints | None = None
    """[rows + 1], where each row starts, if the rows have unequal lengths."""
    varies: bool = False
    """Entries may become others after the checks, from 0 to the largest."""

    @property
    def rank(self) -> int:
        """Count the indices that it takes."""
        return len(self.sizes) + (self.starts is not None)

    @cached_property
    def longest(self) -> int:
        """The length of the longest row."""
        if self.starts is None:
            return self.sizes[-1]
        return int(np.diff(self.starts).max(initial=0))

    @cached_property
    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest entry, (0, 0) if there is none."""
        if not self.values.size:
            return 0, 0
        return 0 if self.varies else int(self.values.min()), int(self.values.max())

    def constant(self, at: At) -> Table:
        """Return the table itself, if its entries stay as they are."""
        if self.varies:
            remedy = f"Use it in UTILFN, or as a capacity with the same indices: ROOM[i in n] => {self.name}[i]."
            raise SpecError(f"{self.name} changes from request to request", remedy, at)
        return self

    def why_quantities(self) -> str:
        """Say which entry makes quantities of all of them."""
        parts = self.values[self.values % MICRO != 0]
        which = f"as {parts[0] / MICRO:.6g} among them does" if len(parts) else "as a number with a point does"
        return f"{self.name} has quantities: one entry makes all of them quantities, {which}. floor(...) is whole."


def from_rows(name: str, rows: list[Any], at: At | None) -> Table:
    """Make a table from nested lists of entries; only the innermost rows may differ in length."""
    sizes, level, starts = [len(rows)], rows, None
    while any(isinstance(entry, list) for entry in level):
        if not all(isinstance(entry, list) for entry in level):
            raise SpecError(f"{name} mixes numbers and rows", "Write every row in brackets.", at)
        if starts is not None:
            raise _uneven(name, at)
        lengths = {len(entry) for entry in level}
        starts = _starts(level) if len(lengths) > 1 else None
        sizes += lengths if starts is None else ()
        level = [entry for row in level for entry in row]
    whole = all(is_whole for _, is_whole in level)
    values = [raw if is_whole == whole else raw * MICRO for raw, is_whole in level]
    return Table(name, whole, tuple(sizes), np.array(values, np.int64), starts)


def _starts(rows: Sequence[Any]) -> Ints:
    return np.cumsum([0, *map(len, rows)], dtype=np.int64)


def _uneven(name: str, at: At | None) -> SpecError:
    remedy = "Give rows of numbers: only the innermost ones may differ in length."
    return SpecError(f"{name} has rows of rows that differ in length", remedy, at)


def from_array(name: str, data: Any, at: At | None) -> Table:
    """Make a table from a numpy array, or from a sequence of sequences, of which the innermost may differ in length.

    Floats are rounded to millionths, half to even.
    """
    starts, flat = None, data
    if not isinstance(data, np.ndarray) or data.dtype == object:
        try:
            rows = [np.asarray(row) for row in data]
        except ValueError:
            raise _uneven(name, at) from None
        if any(row.dtype == object for row in rows):
            flat = np.array([None])
        elif len({row.shape for row in rows}) <= 1:
            flat = np.array(rows)
        elif all(row.ndim == 1 for row in rows):
            starts, flat = _starts(rows), np.concatenate([row for row in rows if row.size])
        else:
            raise _uneven(name, at)
    sizes = flat.shape if starts is None else (len(starts) - 1,)
    if not sizes:
        raise SpecError(f"{name} is a single number", "Make it a parameter.", at)
    if flat.size > ENTRY_LIMIT:
        raise SpecError(f"{name} has more than {ENTRY_LIMIT:,} entries", "Aggregate it first.", at)
    if flat.dtype.kind not in "iufb":
        raise SpecError(f"{name} is not numeric", "Give integers or floats.", at)
    if flat.size and not (np.isfinite(flat).all() and flat.min() >= -LARGEST and flat.max() <= LARGEST):
        remedy = "Entries are finite and at most 1e9: choose a larger unit."
        raise SpecError(f"{name} has entries out of range", remedy, at)
    whole, flat = flat.dtype.kind != "f" or not flat.size, flat.ravel()
    values = flat.astype(np.int64) if whole else np.rint(flat.astype(np.float64) * MICRO).astype(np.int64)
    return Table(name, whole, tuple(map(int, sizes)), values, starts)


def are_names(data: Any) -> bool:
    """Tell whether data from outside is a column of names: texts, and None for empty cells."""
    if isinstance(data, np.ndarray):
        return data.ndim == 1 and data.dtype.kind in "UO" and are_names(data.tolist())
    cells = data if isinstance(data, list | tuple) else ()
    return len(cells) > 0 and all(cell is None or isinstance(cell, str) for cell in cells)


def from_names(name: str, cells: Iterable[str | None], names: dict[str, int]) -> Table:
    """Make a table of a column of names: their numbers in `names`, -1 for None; new ones get the next numbers there."""
    numbers = [-1 if cell is None else names.setdefault(cell, len(names)) for cell in cells]
    return Table(name, True, (len(numbers),), np.array(numbers, np.int64))


def from_file(
    name: str, file: str, columns: Sequence[str], folder: Path | None, names: dict[str, int] | None, at: At
) -> Table:
    """Read a CSV or Parquet file below the specification's folder: a row per row, a column per column.

    One column alone gives a table with one index. If its cells are lists (Parquet) or texts with numbers between spaces
    (CSV), they are the rows of a table with two. With `names` cells are names instead, and the table has their numbers,
    -1 for an empty cell; new ones are added to `names`, and get the next numbers.
    """
    if folder is None:
        raise SpecError("there is no folder to find files in", "Read it in Python and pass tables={...}.", at)
    if not file.isprintable():
        raise SpecError(f"{file!r} is not the name of a file", "Put the file beside the specification.", at)
    path = (folder / file).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise SpecError(f"{file} is outside the specification's folder", "Put the file beside the specification.", at)
    csv = path.suffix.lower() == ".csv"

    def line(row: int) -> str:
        """Say where a row stands; the header of a CSV file is line 1."""
        return f"in line {row + 2} of {file}" if csv else f"in row {row} of {file}"

    if not csv and path.suffix.lower() != ".parquet":
        raise SpecError(f"{file} is neither .csv nor .parquet", "Convert it to one of them.", at)
    try:
        # A pipe is read here: while polars waits for one, no signal is heard.
        source = path if path.is_file() else BytesIO(path.read_bytes())
        # All rows are looked at for the kind of a column, so that one that is wrong can be named.
        frame = (
            pl.read_csv(source, glob=False, infer_schema_length=None) if csv else pl.read_parquet(source, glob=False)
        )
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = str(error).split("\n")[0][:100]
        raise SpecError(
            f"{file} cannot be read: {reason}", "Put a readable file beside the specification.", at
        ) from None
    _check_columns(columns, frame.columns, file, at)
    there = frame
    frame = frame.select(columns) if columns else frame
    if names is not None:
        if frame.width != 1:
            raise SpecError(f"{name} has {frame.width} columns of names", 'Choose one: COLUMN "name".', at)
        return from_names(name, frame.to_series().cast(pl.String).to_list(), names)
    if frame.width == 1 and isinstance(frame.dtypes[0], pl.String | pl.List):
        return _rows(name, frame.to_series(), line, at)
    for column, kind in zip(frame.columns, frame.dtypes, strict=True):
        if not (kind.is_integer() or kind.is_float()):
            whole = [f'"{each.name}"' for each in there if each.dtype.is_integer() or each.dtype.is_float()]
            remedy = f"Choose others: COLUMNS {', '.join(whole)}." if whole else "Store numbers in it."
            raise SpecError(f"column {column!r} of {file} is not numeric", remedy, at)
        if str(kind).endswith("128"):  # numpy has no such integers
            remedy = "Entries are at most 1e9: choose a larger unit."
            raise SpecError(f"column {column!r} of {file} is out of range", remedy, at)
        if frame[column].null_count():
            empty = line(int(frame[column].is_null().arg_max() or 0))
            raise SpecError(f"column {column!r} has empty cells, the first {empty}", "Fill them in.", at)
    array = frame.to_numpy() if frame.width > 1 else frame.to_series().to_numpy()
    return from_array(name, array, at)


def _check_columns(columns: Sequence[str], there: Sequence[str], file: str, at: At) -> None:
    """Refuse columns that are not there, or there twice."""
    for column in columns:
        if column not in there:
            mark = next((mark for mark in ";\t|" if len(there) == 1 and mark in there[0]), None)
            remedy = (
                suggest(column, there) if mark is None else f"Put commas between its columns, in place of {mark!r}."
            )
            raise SpecError(f"{file} has no column {column!r}", remedy, at)
        if f"{column}_duplicated_0" in there:
            raise SpecError(f"{file} has column {column!r} twice", "Give every column a name of its own.", at)


def _rows(name: str, series: Any, line: Callable[[int], str], at: At) -> Table:
    """Make a table from a column of lists, or of texts with numbers."""
    cells = []
    for row, cell in enumerate(series.to_list()):
        try:
            cells.append(np.array(_numbers(cell)))
            if cells[-1].ndim != 1 or cells[-1].dtype.kind not in "iufb":
                raise ValueError
        except (ValueError, TypeError):
            remedy = "Write numbers without units, with a point; a row of them as a list, or as a text like 3 5 8."
            what = f"{short(repr(cell), 40)} {line(row)}, column {series.name!r}, is not a row of numbers"
            raise SpecError(what, remedy, at) from None
    full = [cell for cell in cells if cell.size] or [np.zeros(0, np.int64)]
    return replace(from_array(name, np.concatenate(full), at), sizes=(len(cells),), starts=_starts(cells))


def _numbers(cell: Any) -> list[Any]:
    words = cell.split() if isinstance(cell, str) else cell or ()
    try:
        return [int(word) if isinstance(word, str) else word for word in words]
    except ValueError:
        return [float(word) for word in words]
