"""What became of every site: a row per agent and site, means with intervals over the seeds."""

from __future__ import annotations

import json

import numpy as np

from binwright.analysis.compare.sheet import Cell, Sheet
from binwright.analysis.compare.statistics import mean_interval
from binwright.analysis.measure.metric import MONEY, Metric
from binwright.analysis.results.folder import ResultsFolder, as_written, telling_keys

METRICS = (
    Metric("placed", "placed %", "%"),
    Metric("energy", "energy", "kWh"),
    Metric("carbon", "carbon", "kg"),
    Metric("cost_month", "cost per month", MONEY),
)


def site_table(results: ResultsFolder) -> Sheet | None:
    """Make a table with the point, the agent, the site, its share of the placed, and its bill; None without sites."""
    if "sites" not in results.done.columns:
        return None
    swept = telling_keys(results.runs, results.swept)
    found: dict[tuple[str, ...], dict[str, list[float]]] = {}
    for *point, agent, text in results.done.select(*swept, "agent", "sites").drop_nulls("sites").iter_rows():
        for site, said in json.loads(text).items():
            mine = found.setdefault((*map(as_written, point), results.heading(agent), site), {})
            for name, value in said.items():
                mine.setdefault(name, []).extend([] if value is None else [value])
    currency = next((one.unit for one in results.columns.metrics if one.name == "cost"), "")
    shown = [one.paid_in("" if currency == MONEY else currency) for one in METRICS]
    shown = [one for one in shown if any(values.get(one.name) for values in found.values())]
    rows = [
        [*map(Cell, who), *(_mean(one, values.get(one.name, [])) for one in shown)] for who, values in found.items()
    ]
    headings = [*map(results.heading, swept), "agent", "site", *(one.heading for one in shown)]
    return Sheet(headings, rows, len(swept) + 2, "Sites: means and 95 % intervals over the runs") if rows else None


def _mean(metric: Metric, values: list[float]) -> Cell:
    """Write the mean of some values with its interval."""
    return Cell(metric.write(*mean_interval(np.array(values)))) if values else Cell("-")
