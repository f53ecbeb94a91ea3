"""A published value beside ours: one row of all tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from binwright.reproduction.experiment import Count, Experiment
from binwright.reproduction.published import Published
from binwright.reproduction.verdict import MISSES, Value, Verdict, judge

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Row:
    """Holds a published value, ours, and the verdict."""

    publication: str
    table: str
    condition: str
    agent: str
    metric: str
    published: float | None
    """None where words are printed."""
    spread: float | None
    ours: float | None
    low: float | None
    high: float | None
    seeds: int
    verdict: str
    why: str
    quick: bool
    """Whether ours is of fewer seeds, or of less time, than the whole experiment has."""
    printed: str
    experiment: str
    deviates: str
    stand_in: str
    """The key of the condition whose data is not here, so that a stand-in was taken; empty where there is none."""
    explained: str = ""
    """Why a miss is one, in a sentence; empty where that is not known."""

    @property
    def difference(self) -> float | None:
        """Subtract the published value from ours."""
        return None if self.ours is None or self.published is None else self.ours - self.published


def row(
    one: Published,
    ours: Value | None,
    *,
    why: str = "",
    experiment: Experiment | Count | None = None,
    quick: bool = False,
    stand_in: str = "",
    own: bool = True,
) -> Row:
    """Make the row of a published value. Where `why` says that it cannot be compared, there is no other verdict.

    `own` says whether its agent is of our own making.
    """
    verdict, value = Verdict.INCOMPARABLE, one.value
    if not why and experiment is not None and ours is not None and value is not None:
        verdict, why = judge(value, one.spread, ours, experiment.better(one), experiment.tolerance, own=own)
        why = " ".join(filter(None, (why, experiment.remark(one))))
    mean, low, high, seeds = ours or (None, None, None, 0)
    where = (one.publication, one.table, one.condition, one.agent, one.metric, value, one.spread)
    about = ("", "") if experiment is None else (experiment.name, experiment.deviates)
    known = ""
    if experiment is not None and verdict in MISSES:
        known = experiment.explained(one) or experiment.remark(one)
    quick = quick and ours is not None
    return Row(*where, mean, low, high, seeds, str(verdict), why, quick, one.printed, *about, stand_in, known)


def ordered(rows: Sequence[Row]) -> list[Row]:
    """Sort rows: misses first, the largest of them at the top, and what cannot be compared last."""
    places = {str(verdict): place for place, verdict in enumerate(Verdict)}

    def key(one: Row) -> tuple[int, float]:
        share = abs(one.difference / one.published) if one.difference is not None and one.published else 0.0
        return places[one.verdict], -share if one.verdict != Verdict.INCOMPARABLE else 0.0

    return sorted(rows, key=key)


def frame_of(rows: Sequence[Row]) -> pl.DataFrame:
    """Make a table of rows, misses first."""
    import polars as pl

    kinds = {"str": pl.String, "int": pl.Int64, "bool": pl.Boolean, "float | None": pl.Float64}
    schema = {name: kinds[str(kind)] for name, kind in Row.__annotations__.items()}
    return pl.DataFrame([asdict(one) for one in ordered(rows)], schema=schema)
