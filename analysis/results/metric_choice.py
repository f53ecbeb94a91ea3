"""Which metrics of some results are shown, and which one a name means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from analysis.measure.metric import Metric
from simcore.errors import UnknownName, suggest

if TYPE_CHECKING:
    import polars as pl


TOLERANCE = 1e-9
"""Relative; values that differ by less are the same, added up in another order."""


def worth_showing(done: pl.DataFrame, metrics: Sequence[Metric], swept: Sequence[str] = ()) -> list[Metric]:
    """Return the metrics that say something about these finished runs, those first in which agents differ.

    Others are the same for every run, or say again what one of these says.
    """
    if not len(done):
        return []
    numbers = [name for name, kind in done.schema.items() if kind.is_numeric() and done[name].is_not_null().any()]
    there = [metric for metric in metrics if metric.table != "never" and metric.name in numbers]
    hidden = {"acceptance"} if _any(done, "stopped") else {"scheduled"}
    if not _any(done, "wait_max"):
        hidden.add("makespan")
    elif "acceptance" in done.columns and done["acceptance"].min() == 1:
        hidden.add("acceptance")  # all get a place in the end: waiting is what differs
    for metric in there:
        same = metric.table == "differs" and done[metric.name].n_unique() == 1
        if same or (metric.table in ("harm", "first") and not _any(done, metric.name)):
            hidden.add(metric.name)
    shown = [metric for metric in there if metric.name not in hidden]
    apart = apart_in(done, [metric.name for metric in shown], [*swept, "seed"])
    first = {metric.name for metric in shown if metric.name in apart or metric.table == "harm"}
    return sorted(shown, key=lambda metric: 2 if metric.timed else metric.name not in first)


def apart_in(done: pl.DataFrame, names: Sequence[str], pairs: Sequence[str]) -> set[str]:
    """Find the metrics in which agents differ on the same requests, at a point that several of them met."""
    import polars as pl

    spread = [((pl.max(name) - pl.min(name)) > TOLERANCE * pl.max(name).abs()).alias(name) for name in names]
    found = done.group_by([name for name in pairs if name in done.columns]).agg(spread)
    return {name for name in names if found[name].any()}


def metric_named(name: str, done: pl.DataFrame, metrics: Sequence[Metric]) -> Metric:
    """Return the metric of a name: one that is described, or any other column of numbers in runs.parquet."""
    for metric in metrics:
        if name == metric.name and name in done.columns:
            return metric
    numbers = [column for column, kind in done.schema.items() if kind.is_numeric() and column != "seed"]
    if name not in numbers:
        for metric in metrics:
            if name.lower().rstrip(" %") == metric.heading.lower().rstrip(" %") and metric.name in done.columns:
                remedy = f"That is its heading: did you mean {metric.name!r}?"
                raise UnknownName("there is no such metric", key="metric", value=name, remedy=remedy)
        raise UnknownName("there is no such metric", key="metric", value=name, remedy=suggest(name, numbers))
    return Metric(name, name, meaning="a column of runs.parquet", timed=name == "seconds")


def _any(done: pl.DataFrame, name: str) -> bool:
    """Tell whether any of it is there, and not 0."""
    return name in done.columns and bool((done[name].fill_null(0) != 0).any())
