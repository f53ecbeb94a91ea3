"""Read constant tables from the text, from numpy, or from a file beside it.

Tables hold numbers in rows, which may be of unequal length.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from binwright.agents.solver.language.errors import At, SpecError
from binwright.agents.solver.model.program import MICRO
from binwright.simcore.errors import short, suggest
from binwright.simcore.extras import pl
from binwright.simcore.types import Ints

ENTRY_LIMIT = 20_000_000
"""Entries of one table."""
LARGEST = 10**9
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
        lengths = [len(entry) for entry in level]
        level = [entry for row in level for entry in row]
        if len(set(lengths)) > 1:
            if any(isinstance(entry, list) for entry in level):
                remedy = "Only the innermost rows may differ in length."
                raise SpecError(f"{name} has rows of rows that differ in length", remedy, at)
            starts = np.cumsum([0, *lengths], dtype=np.int64)
        else:
            sizes.append(lengths[0])
    whole = all(entry[1] for entry in level)
    values = [raw if is_whole == whole else raw * MICRO for raw, is_whole in level]
    return Table(name, whole, tuple(sizes), np.array(values, np.int64), starts)


def from_array(name: str, data: Any, at: At | None) -> Table:
    """Make a table from a numpy array, or from a sequence of sequences of unequal length.

    Floats are rounded to millionths, half to even.
    """
    if isinstance(data, np.ndarray) and data.dtype != object:
        arrays, sizes, starts = [data], data.shape, None
    else:
        rows = list(data)
        try:
            arrays = [np.asarray(row) for row in rows]
        except ValueError:
            remedy = "Give rows of numbers."
            raise SpecError(f"{name} has rows of rows that differ in length", remedy, at) from None
        if any(array.dtype == object for array in arrays):
            raise SpecError(f"{name} is not numeric", "Give integers or floats.", at)
        if all(array.ndim == 0 for array in arrays) or len({array.shape for array in arrays}) == 1:
            return from_array(name, np.array(rows), at) if rows else Table(name, True, (0,), np.zeros(0, np.int64))
        if any(array.ndim != 1 for array in arrays):
            raise SpecError(f"{name} has rows of rows that differ in length", "Give rows of numbers.", at)
        sizes, starts = (len(rows),), np.cumsum([0, *map(len, rows)], dtype=np.int64)
    if not sizes:
        raise SpecError(f"{name} is a single number", "Make it a parameter.", at)
    if sum(array.size for array in arrays) > ENTRY_LIMIT:
        raise SpecError(f"{name} has more than {ENTRY_LIMIT:,} entries", "Aggregate it first.", at)
    arrays = [array for array in arrays if array.size] or [np.zeros(0, np.int64)]
    flat = np.concatenate([array.ravel() for array in arrays])
    if flat.dtype.kind not in "iufb":
        raise SpecError(f"{name} is not numeric", "Give integers or floats.", at)
    if flat.size and not (np.isfinite(flat).all() and flat.min() >= -LARGEST and flat.max() <= LARGEST):
        remedy = "Entries are finite and at most 1e9: choose a larger unit."
        raise SpecError(f"{name} has entries out of range", remedy, at)
    whole = flat.dtype.kind != "f"
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
        return _rows(name, frame.to_series(), _Place(file, csv), at)
    for column, kind in zip(frame.columns, frame.dtypes, strict=True):
        if not (kind.is_integer() or kind.is_float()):
            whole = [f'"{each.name}"' for each in there if each.dtype.is_integer() or each.dtype.is_float()]
            remedy = f"Choose others: COLUMNS {', '.join(whole)}." if whole else "Store numbers in it."
            raise SpecError(f"column {column!r} of {file} is not numeric", remedy, at)
        if str(kind).endswith("128"):  # numpy has no such integers
            remedy = "Entries are at most 1e9: choose a larger unit."
            raise SpecError(f"column {column!r} of {file} is out of range", remedy, at)
        if frame[column].null_count():
            empty = _Place(file, csv).of(int(frame[column].is_null().arg_max() or 0))
            raise SpecError(f"column {column!r} has empty cells, the first {empty}", "Fill them in.", at)
    array = frame.to_numpy() if frame.width > 1 else frame.to_series().to_numpy()
    return from_array(name, array, at)


class _Place(NamedTuple):
    """A file, whose rows have numbers or stand in lines."""

    file: str
    lines: bool

    def of(self, row: int) -> str:
        """Say where a row stands; the header is line 1."""
        return f"in line {row + 2} of {self.file}" if self.lines else f"in row {row} of {self.file}"


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


def _rows(name: str, series: Any, place: _Place, at: At) -> Table:
    """Make a table from a column of lists, or of texts with numbers."""
    cells = []
    for row, cell in enumerate(series.to_list()):
        try:
            cells.append(np.array(_numbers(cell)))
            if cells[-1].ndim != 1 or cells[-1].dtype.kind not in "iufb":
                raise ValueError
        except (ValueError, TypeError):
            remedy = "Write numbers without units, with a point; a row of them as a list, or as a text like 3 5 8."
            what = f"{short(repr(cell), 40)} {place.of(row)}, column {series.name!r}, is not a row of numbers"
            raise SpecError(what, remedy, at) from None
    whole = all(cell.dtype.kind in "iub" for cell in cells if cell.size)
    rows = [cell.astype(np.int64 if whole else np.float64) for cell in cells]
    starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    flat = np.concatenate(rows) if rows else np.zeros(0, np.int64)
    return Table(name, whole, (len(rows),), from_array(name, flat, at).values, starts)


def _numbers(cell: Any) -> list[Any]:
    words = cell.split() if isinstance(cell, str) else cell or ()
    try:
        return [int(word) if isinstance(word, str) else word for word in words]
    except ValueError:
        return [float(word) for word in words]
