"""Read constant tables from the text, from numpy, or from a file beside it.

Tables hold numbers in rows, which may be of unequal length.
"""

from collections.abc import Iterable, Mapping, Sequence, Sized
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from operator import index
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np

from binwright.agents.solver.language.errors import ENTRY_LIMIT, LARGEST, At, SpecError, refuse
from binwright.agents.solver.model.program import MICRO
from binwright.simcore.errors import short, suggest
from binwright.simcore.extras import pl
from binwright.simcore.types import Ints

Place: TypeAlias = int | str | None
"""A bin by number or by name; None or -1 is nowhere."""
Now: TypeAlias = Mapping[str, Place] | Mapping[int, Place] | Sequence[Place]
"""Where balls are: see `from_places`."""


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
    def lengths(self) -> tuple[int, int]:
        """The lengths of the shortest and of the longest row."""
        lengths = np.array([self.sizes[-1]]) if self.starts is None else np.diff(self.starts)
        return int(lengths.min()), int(lengths.max())

    @cached_property
    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest entry, (0, 0) if there is none."""
        if not self.values.size:
            return 0, 0
        return 0 if self.varies else int(self.values.min()), int(self.values.max())

    def constant(self, at: At) -> Self:
        """Return the table itself, if its entries stay as they are."""
        if self.varies:
            remedy = f"Use it in UTILFN, or as a capacity with the same indices: ROOM[i in n] => {self.name}[i]."
            raise SpecError(f"{self.name} changes from request to request", remedy, at)
        return self


def from_array(name: str, data: Any, at: At | None) -> Table:
    """Make a table from a numpy array, or from nested lists, of which only the innermost may differ in length.

    Floats are rounded to millionths, half to even.
    """
    starts: Ints | None = None
    data = data.to_numpy() if hasattr(data, "to_numpy") else data
    if isinstance(data, np.ndarray) and data.dtype != object:
        flat, sizes = data.ravel(), [*data.shape]
    else:
        level: list[Any] = list(data)
        sizes = [len(level)]
        while any(map(_is_row, level)):
            mixed = starts is not None or not all(map(_is_row, level))
            remedy = "Only the innermost rows may differ in length."
            refuse(mixed, f"{name} mixes numbers and rows", remedy, at)
            lengths = [len(row) for row in level]
            if len(set(lengths)) > 1:
                starts = np.cumsum([0, *lengths], dtype=np.int64)
            else:
                sizes.append(lengths[0])
            level = [entry for row in level for entry in (row.tolist() if isinstance(row, np.ndarray) else row)]
        try:
            flat = np.array(level)
        except ValueError:  # rows that numpy cannot put beside one another
            flat = np.array(level, object)
    refuse(not sizes, f"{name} is a single number", "Make it a parameter.", at)
    refuse(flat.size > ENTRY_LIMIT, f"{name} has more than {ENTRY_LIMIT:,} entries", "Aggregate it first.", at)
    numeric = flat.dtype.kind in "iufb" and flat.ndim == 1
    refuse(not numeric, f"{name} is not numeric", "Give integers or floats; names to TABLE ... FROM ... AS.", at)
    wrong = flat.size and not (np.isfinite(flat).all() and flat.min() >= -LARGEST and flat.max() <= LARGEST)
    refuse(wrong, f"{name} has entries out of range", "They are finite and at most 1e9: choose a larger unit.", at)
    whole = flat.dtype.kind != "f" or not flat.size
    values = flat.astype(np.int64) if whole else np.rint(flat.astype(np.float64) * MICRO).astype(np.int64)
    return Table(name, whole, tuple(sizes), values, starts)


def _is_row(entry: object) -> bool:
    return isinstance(entry, Sized) and is_list(entry) and getattr(entry, "ndim", 1) > 0


def is_list(values: object) -> bool:
    """Tell whether values come one after another in an order that means something."""
    return isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping | AbstractSet)


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


def from_places(now: Now, balls: Sequence[str], bins: Sequence[str], at: At) -> Table:
    """Make the table of where balls are, by the names of balls and bins, if they have names.

    A sequence has the bin of every ball. In a mapping from balls, by name where they have names and else by number,
    those that are not in it are new, and those that are only there are gone.
    """
    wrong, remedy = "now does not say where balls are", "Give the bin of every ball, or an object from balls to bins."
    if isinstance(now, Mapping):
        by_name, names = {str(ball): place for ball, place in now.items()}, balls or [*map(str, range(len(now)))]
        strange = by_name.keys().isdisjoint(names) if balls and now else not balls and by_name.keys() != set(names)
        refuse(strange, f"{wrong}: its balls are not these", remedy, at)
        now = [by_name.get(name) for name in names]
    numbers: dict[int | str | None, int] = {None: -1, **{name: number for number, name in enumerate(bins)}}
    places = []
    for place in now:
        try:
            number: Any = str(place) if isinstance(place, bool) else place  # which is an index to Python
            if isinstance(place, str) and not bins and "_" not in place:  # which int would read
                number = int(place)
            places.append(numbers[number] if number in numbers else index(number))
        except (TypeError, ValueError):
            problem = f"{wrong}: {short(str(place), 40)} is no bin here"
            raise SpecError(problem, "Leave the bin of balls that are nowhere empty.", at) from None
    return from_array("now", places, at)


def from_file(
    name: str, file: str, columns: Sequence[str], folder: Path | None, names: dict[str, int] | None, at: At
) -> Table:
    """Read a CSV or Parquet file below the specification's folder: a row per row, a column per column.

    One column alone gives a table with one index. With `names` cells are names, and the table has their numbers,
    -1 for an empty cell; new ones are added to `names`, and get the next numbers.
    """
    remedy = "Put the file beside the specification; or read it in Python, and pass tables={...}."
    path = Path(*(() if folder is None else (folder,)), file if file.isprintable() else "..").resolve()
    inside = folder is not None and path.is_relative_to(folder.resolve())
    refuse(not inside, f"{file!r} is not in the specification's folder", remedy, at)
    csv = path.suffix.lower() == ".csv"
    known = csv or path.suffix.lower() == ".parquet"
    refuse(not known, f"{file} is neither .csv nor .parquet", "Convert it to one of them.", at)
    try:
        # All rows are looked at for the kind of a column, so that one that is wrong can be named.
        frame = pl.read_csv(path, glob=False, infer_schema_length=None) if csv else pl.read_parquet(path, glob=False)
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = short(str(error).split("\n")[0])
        raise SpecError(f"{file} cannot be read: {reason}", remedy, at) from None
    for column in columns:
        refuse(column not in frame.columns, f"{file} has no column {column!r}", suggest(column, frame.columns), at)
        twice = f"{column}_duplicated_0" in frame.columns
        refuse(twice, f"{file} has column {column!r} twice", "Give every column a name of its own.", at)
    frame = frame.select(columns) if columns else frame
    if names is not None:
        single = frame.width == 1
        refuse(not single, f"{name} has {frame.width} columns of names", 'Choose one: COLUMN "name".', at)
        return from_names(name, frame.to_series().cast(pl.String).to_list(), names)

    for column in frame.columns:
        kind, remedy = frame[column].dtype, 'Write numbers without units, with a point; or choose COLUMNS "cpu", "mem".'
        other = kind.is_nested() or str(kind).endswith("128")  # numpy has no such integers
        refuse(other, f"column {column!r} of {file} has no numbers", remedy, at)
        wrong = frame[column].cast(pl.Float64, strict=False).is_null()
        if wrong.any():
            row = int(wrong.arg_max() or 0)
            place = f"in line {row + 2} of {file}" if csv else f"in row {row} of {file}"  # line 1 is the header
            what = f"{short(repr(frame[column][row]), 40)} {place}, column {column!r}, is not a number"
            raise SpecError(what, remedy, at)
    return from_array(name, frame.to_numpy() if frame.width > 1 else frame.to_series().to_numpy(), at)
