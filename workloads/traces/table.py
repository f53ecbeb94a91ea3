"""A trace of one's own, or a converted one: the common columns, as CSV or Parquet."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from simcore.errors import WorkloadError
from workloads.traces.base import Trace
from workloads.traces.check import COMMON, TEXTS, check, require
from workloads.traces.mapped import begins_with
from workloads.traces.text import identity, number, read_text

if TYPE_CHECKING:
    import polars as pl

PARQUET = b"PAR1"
HEADER = frozenset(COMMON)


@dataclass(frozen=True)
class Table(Trace):
    """`id`, `arrival`, `lifetime` in seconds (inf keeps running), and a column per resource; others are not read."""

    summary: ClassVar[str] = "a trace of your own: id, arrival, lifetime, then a column per resource (CSV or Parquet)."
    reference: ClassVar[str] = "docs/guides/traces.md"
    source: ClassVar[str] = "your own records, or `binwright traces convert FILE`"
    licence: ClassVar[str] = "yours"
    headers: ClassVar[tuple[frozenset[str], ...]] = (HEADER,)

    version: ClassVar[int] = 4

    def only(self, resources: tuple[str, ...]) -> Trace:
        return _Columns(resources)

    def read(self, path: Path) -> pl.DataFrame:
        import polars as pl

        if is_parquet(path):
            frame = _parquet(path)
            names = self.resources_of(frame, path)
            texts = [frame[name].fill_null("") for name in TEXTS if frame.schema.get(name) == pl.String]
            numbers = (_floats(frame, name, path) for name in ("arrival", "lifetime", *names))
            frame = frame.select("id", *numbers, *texts)
            if frame.schema["id"] not in (pl.Int64, pl.String):
                frame = frame.with_columns(pl.col("id").cast(pl.String))
            return check(frame, path, {})
        text = read_text(path, HEADER)
        frame = text.select(
            "line",
            identity(text["id"]),
            *(number(text, name, path) for name in ("arrival", "lifetime", *self.resources_of(text, path))),
            *(text[name].fill_null("") for name in TEXTS if name in text.columns),
        )
        return check(frame, path, {})

    def resources_of(self, frame: pl.DataFrame, path: Path) -> list[str]:
        """List the columns that are read as resources: here all but those of words, in which no cell is a number."""
        others = (frame[name] for name in frame.columns if name not in {"line", *TEXTS, *COMMON})
        return [column.name for column in others if not _is_words(column)]


@dataclass(frozen=True)
class _Columns(Table):
    """A table of which only these resources are read, whatever else stands in it."""

    resources: tuple[str, ...] = ()

    def resources_of(self, frame: pl.DataFrame, path: Path) -> list[str]:
        require([name for name in frame.columns if name != "line"], frozenset(self.resources), path)
        return list(self.resources)


def _is_words(column: pl.Series) -> bool:
    import polars as pl

    if not column.dtype.is_numeric():
        if column.dtype != pl.String:
            return True
        column = column.str.strip_chars().cast(pl.Float64, strict=False)
        return bool(column.is_null().all())
    return False


def _floats(frame: pl.DataFrame, name: str, path: Path) -> pl.Series:
    import polars as pl

    if not frame.schema[name].is_numeric():
        raise WorkloadError(
            f"not numbers but {frame.schema[name]}", file=path, key=name, remedy="Store this column as numbers."
        )
    return frame[name].cast(pl.Float64)


def is_parquet(path: Path) -> bool:
    """Whether a file says that it is Parquet."""
    return begins_with(path, PARQUET)


def _parquet(path: Path) -> pl.DataFrame:
    import polars as pl

    try:
        frame = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        problem = str(error).splitlines()[0]
        raise WorkloadError(
            f"not a readable Parquet trace: {problem}", file=path, remedy="Convert the trace again."
        ) from error
    require(frame.columns, HEADER, path)
    return frame
