"""What the runs at an answer of `size` cost and draw, as its tables show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from scenarios.schema.size import metrics_of

if TYPE_CHECKING:
    import polars as pl

    from analysis.measure.metric import Metric
    from scenarios.schema.scenario import Scenario


def bills_of(frame: pl.DataFrame, scenario: Scenario) -> list[tuple[str, Callable[[Mapping[str, Any]], str]]]:
    """List the columns that an answer has where its scenario says what servers cost or draw.

    Each has a heading, and what writes its cell of a row.
    """
    metrics = {metric.name: metric for metric in metrics_of(scenario.cluster, (), scenario.currency)}
    known = (("spent", metrics["cost"]), ("energy", metrics["energy"]))
    return [(f"{metric.heading} of a run", _cell(name, metric)) for name, metric in known if frame[name].count()]


def _cell(name: str, metric: Metric) -> Callable[[Mapping[str, Any]], str]:
    return lambda row: "-" if row[name] is None else metric.exactly(row[name])
