"""A trace of one's own, or a converted one: columns of any names, as CSV or Parquet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from binwright.simcore.errors import WorkloadError, suggest, unread
from binwright.simcore.extras import pl
from binwright.workloads.csv_files import read_text, require
from binwright.workloads.traces.cells import amounts, filled, moments, spans
from binwright.workloads.traces.check import COMMON, LABELS, check, is_text
from binwright.workloads.traces.filters import keep_rows

PARQUET = b"PAR1"


@dataclass(frozen=True)
class Table:
    """`id`, `arrival`, `lifetime` in seconds (inf keeps running), and a column per resource; others are not read.

    `columns` says what the file calls one of these, or `end` in place of `lifetime`. `factors` has the seconds or units
    of a 1 in a column, `labels` the columns of the requests' own labels, `empty` what an empty cell is (of `end`: how
    long the request stays), `keep` the conditions that a row must meet.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    factors: Mapping[str, float] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    empty: Mapping[str, float] = field(default_factory=dict)
    keep: Mapping[str, list[str]] = field(default_factory=dict)

    def read(self, path: Path, resources: tuple[str, ...] | None = None) -> pl.DataFrame:
        """Read the rows that are kept, in order of arrival; those that arrive together stay in the file's order.

        Without a column of ids, requests are named by their row in the file, from 0. `resources` are read alone,
        whatever else stands in the file.
        """
        return self.requests(read_file(path), path, resources)

    def requests(
        self, frame: pl.DataFrame, path: Path, resources: tuple[str, ...] | None = None, *, own: bool = True
    ) -> pl.DataFrame:
        """Make requests of the rows of a file; messages say what a scenario may say of them if it is one's `own`."""
        names = self._resources(frame) if resources is None else list(resources)
        of = self._sources(frame, names, path)
        if "id" not in of:
            frame, of["id"] = frame.with_row_index("id").cast({"id": pl.Int64}), "id"
        frame = keep_rows(frame, self.keep, path)
        arrival = moments(frame, of["arrival"], path, self.factors.get("arrival", 1.0))
        columns = {
            "id": _ids(frame[of["id"]]),
            "arrival": arrival,
            "lifetime": self._lifetime(frame, arrival, of, path),
        }
        for name in names:
            unit = self.factors.get(name, 1.0)
            cells = amounts(frame, of[name], path, name, unit)
            columns[name] = cells.fill_null(self.empty[name] / unit) if name in self.empty else cells
        columns |= self._texts(frame, of, own=own)
        lines = [frame["line"]] if "line" in frame.columns else []
        result = pl.DataFrame([*lines, *(column.alias(name) for name, column in columns.items())])
        keys = {**of, "lifetime": of.get("end") or of.get("lifetime", "lifetime")}
        result = check(result.sort("arrival", maintain_order=True), path, keys, self.factors, own=own)
        return result.with_columns(result[name] * factor for name, factor in self.factors.items() if name in names)

    def _resources(self, frame: pl.DataFrame) -> list[str]:
        """List what is read as resources: what `columns` names, or else all columns in which something is a number."""
        if named := [name for name in self.columns if name not in (*COMMON, "end") and not is_text(name)]:
            return named
        others = {"line", *COMMON, "end", *self.labels.values(), *self.keep, *map(str, self.columns.values())}
        numbers = (name for name in frame.columns if frame[name].cast(pl.Float64, strict=False).is_not_null().any())
        return [name for name in numbers if name not in others and not is_text(name)]

    def _sources(self, frame: pl.DataFrame, resources: list[str], path: Path) -> dict[str, str]:
        """Map what is read to the file's columns: `end` or `lifetime`, texts that are there, `labels.x`.

        A column that is not there is refused, with what it may be called.
        """
        columns, line = [name for name in frame.columns if name != "line"], 1 if "line" in frame.columns else None
        of = {**self.columns, **{f"{LABELS}{label}": name for label, name in self.labels.items()}}
        for name, column in of.items():
            if column not in columns:
                key = f"workload.{name}" if name.startswith(LABELS) else f"workload.columns.{name}"
                remedy = suggest(column, columns)
                raise WorkloadError(f"has no column {column}", file=path, line=line, key=key, remedy=remedy)
        needed = ["arrival", *resources, *([] if self.columns else ["id"])]
        if not {"end", "lifetime"} & set(of):
            ends = "end" if "end" in columns and "lifetime" not in columns else "lifetime"
            needed += [ends] if ends in columns or not {"end", "lifetime"} & set(self.empty) else []
        of = {name: name for name in needed} | of
        texts = [name for name in columns if name == "id" or is_text(name)]
        of = {name: name for name in texts} | of
        try:
            require(columns, frozenset(of.values()), path, line)
        except WorkloadError as error:
            error.remedy += " `columns` says what it calls them; `binwright traces describe` proposes it."
            raise
        return of

    def _lifetime(self, frame: pl.DataFrame, arrival: pl.Series, of: Mapping[str, str], path: Path) -> pl.Series:
        """Read how long each request stays."""
        if "end" in of:
            result = (
                moments(frame, of["end"], path, self.factors.get("end", self.factors.get("arrival", 1.0))) - arrival
            )
        elif "lifetime" in of:
            result = spans(frame, of["lifetime"], path, self.factors.get("lifetime", 1.0))
        else:
            result = pl.Series([None], dtype=pl.Float64).new_from_index(0, len(frame))
        stays = self.empty.get("end", self.empty.get("lifetime"))
        return result if stays is None else result.fill_null(float(stays))

    def _texts(self, frame: pl.DataFrame, of: Mapping[str, str], *, own: bool) -> dict[str, pl.Series]:
        """Read the columns of text.

        Those of a known format stay as they are; in a table of one's own, words such as `unknown` are empty cells.
        """
        result = {}
        for name, column in of.items():
            if is_text(name) and (name in self.columns or name.startswith(LABELS) or frame.schema[column] == pl.String):
                cells = filled(frame, column) if column != name and own else frame[column]
                result[name] = cells.cast(pl.String).fill_null("")
        return result


def _ids(column: pl.Series) -> pl.Series:
    """Return ids as Int64 where all of them are integers, else as they are written."""
    whole = column.dtype.is_integer()
    numbers = column.cast(pl.Int64, strict=False) if whole or column.dtype == pl.String else column.cast(pl.String)
    return column if numbers.null_count() > column.null_count() else numbers


def is_parquet(path: Path) -> bool:
    """Tell whether a file says that it is Parquet."""
    try:
        with path.open("rb") as file:
            return file.read(len(PARQUET)) == PARQUET
    except OSError as error:
        problem, remedy = unread(error, path, "Check the path.")
        raise WorkloadError(problem, file=path, remedy=remedy) from error


def read_parquet(path: Path) -> pl.DataFrame:
    """Read a Parquet file."""
    try:
        return pl.read_parquet(path)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        problem = f"not a readable Parquet trace: {str(error).splitlines()[0]}"
        raise WorkloadError(problem, file=path, remedy="Convert the trace again.") from error


def read_file(path: Path, *wanted: frozenset[str], columns: Sequence[str] = ()) -> pl.DataFrame:
    """Read a CSV file as `read_text` does, or a Parquet file, whose columns have types and no `line`."""
    if not is_parquet(path):
        return read_text(path, *wanted, columns=columns)
    frame = read_parquet(path)
    if wanted and not any(needs <= {*frame.columns} for needs in wanted):
        require(frame.columns, wanted[0], path)
    return frame
