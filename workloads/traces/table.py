"""A trace of one's own, or a converted one: the common columns, as CSV or Parquet."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from simcore.errors import WorkloadError
from workloads.traces.base import Trace
from workloads.traces.check import COMMON, check, require
from workloads.traces.mapped import begins_with
from workloads.traces.text import identity, number, read_text

if TYPE_CHECKING:
    import polars as pl

PARQUET = b"PAR1"
HEADER = frozenset(COMMON)


@dataclass(frozen=True)
class Table(Trace):
    """`id`, `arrival`, `lifetime` in seconds (inf or an empty cell keeps running), then a column per resource."""

    summary: ClassVar[str] = "a trace of your own: id, arrival, lifetime, then a column per resource (CSV or Parquet)."
    reference: ClassVar[str] = "docs/traces.md"
    source: ClassVar[str] = "your own records, or `binwright traces convert FILE`"
    licence: ClassVar[str] = "yours"
    headers: ClassVar[tuple[frozenset[str], ...]] = (HEADER,)

    def read(self, path: Path) -> pl.DataFrame:
        if is_parquet(path):
            return _parquet(path)
        text = read_text(path, HEADER)
        frame = text.select(
            "line",
            identity(text["id"]),
            number(text, "arrival", path),
            number(text, "lifetime", path).fill_null(float("inf")),
            *(number(text, name, path) for name in text.columns if name not in {"line", *COMMON}),
        )
        return check(frame, path, {})


def is_parquet(path: Path) -> bool:
    """Whether a file says that it is Parquet."""
    return begins_with(path, PARQUET)


def _parquet(path: Path) -> pl.DataFrame:
    import polars as pl

    try:
        frame = pl.read_parquet(path)
        require(frame.columns, HEADER, path)
        resources = [name for name in frame.columns if name not in COMMON]
        frame = frame.select("id", pl.col("arrival", "lifetime", *resources).cast(pl.Float64))
    except (pl.exceptions.PolarsError, OSError) as error:
        problem = str(error).splitlines()[0]
        raise WorkloadError(
            f"not a readable Parquet trace: {problem}", file=path, remedy="Convert the trace again."
        ) from error
    if frame.schema["id"] not in (pl.Int64, pl.String):
        frame = frame.with_columns(pl.col("id").cast(pl.String))
    return check(frame.with_columns(pl.col("lifetime").fill_null(float("inf"))), path, {})
