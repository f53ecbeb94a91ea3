"""What a trace holds, as plain data for a command line to print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from binwright.simcore.extras import pl
from binwright.simcore.ordered_sums import rows_dot
from binwright.simcore.types import Floats, Ints
from binwright.simcore.units import measure_of
from binwright.workloads.traces.check import resources_in

QUANTILES = {"p10": 0.1, "p50": 0.5, "p90": 0.9, "p99": 0.99}
GROWN, ROWS = 1.25, 100_000
"""See `growing`."""
EVEN = (
    "Begin with load (`warm_start: {until: 50 %, with: self}`, or a later `start` of a trace), or measure the end "
    "(`metrics: [{acceptance: {last: 20 %}}]`): all of it together says less than its end needs."
)
"""What to do where the load grows."""


def describe(frame: pl.DataFrame, units: Mapping[str, str]) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Describe requests in the common columns, which are in these units.

    Returns a row per resource: resource, unit, total, mean, max (units); a row per distinct demand, the most frequent
    first: the resources, count, share, never_ending, and p10, p50, p90, p99, mean of its lifetimes in seconds; and one
    row with the latter columns over all requests. What never ends counts as longer than all; the mean is over those
    that end.
    """
    names = resources_in(frame.columns)
    stays, demand = pl.col("lifetime"), frame.select(names)
    summary = [
        pl.len().alias("count"),
        (pl.len() / len(frame)).alias("share"),
        stays.is_infinite().sum().alias("never_ending"),
        *(stays.quantile(share, "nearest").alias(name) for name, share in QUANTILES.items()),
        stays.filter(stays.is_finite()).mean().alias("mean"),
    ]
    parts = [demand.sum(), demand.mean(), demand.max()]
    return (
        pl.DataFrame(
            {"resource": names, "unit": [units.get(name, "") for name in names]}
            | {what: part.row(0) for what, part in zip(("total", "mean", "max"), parts, strict=True)}
        ),
        frame.group_by(names).agg(summary).sort("count", *names, descending=[True] + [False] * len(names)),
        frame.select(summary),
    )


def growing(
    arrival: Floats, lifetime: Floats, amounts: Floats | Ints, begin: float
) -> tuple[int, float, float, float] | None:
    """Tell whether more runs in the last fifth of the arrivals than from `begin` on: `GROWN` times as much, at least.

    `amounts` float64 [n, k]. Returns the column that grows most, its mean over time from `begin` on, that over the last
    fifth, and when that begins. None where nothing grows, and where no request ends: then nothing else can be.
    """
    last = float(arrival[-1])
    late = last - (last - begin) / 5
    if late <= begin or not np.isfinite(lifetime).any():
        return None
    step = max(1, len(arrival) // ROWS)  # evenly chosen, where there are many
    arrival, end = arrival[::step], np.minimum(arrival[::step] + lifetime[::step], last)

    def mean(since: float) -> Floats:
        lasts: Floats = np.maximum(0.0, end - np.maximum(arrival, since))
        return rows_dot(amounts[::step].T, lasts) * step / (last - since)

    whole, later = mean(begin), mean(late)
    column = int(np.argmax(later / np.maximum(whole, 1e-9)))
    grows = later[column] >= GROWN * whole[column] > 0
    return (column, float(whole[column]), float(later[column]), late) if grows else None


def peaks(arrival: Floats, lifetime: Floats, amounts: Mapping[str, Floats]) -> dict[str, float]:
    """Find the most of each of the `amounts`, float64 [n], that runs at once.

    At one instant, releases come before arrivals, as in the engine.
    """
    ends = np.isfinite(lifetime)
    order = np.argsort(np.concatenate([(arrival + lifetime)[ends], arrival]), kind="stable")
    # Rounded to a quantum: sums that return to nothing leave 1e-11 behind.
    return {
        name: float(np.cumsum(np.concatenate([-amount[ends], amount])[order]).round(6).max())
        for name, amount in amounts.items()
    }


def readable(units: Mapping[str, float]) -> dict[str, Any]:
    """Write units of resources as people do: `16`, `64 GB`."""
    result: dict[str, Any] = {}
    for name, each in units.items():
        base = measure_of(name).base
        plain = int(each) if float(each).is_integer() else float(f"{each:.12g}")
        result[name] = f"{plain} {base}" if base == "GB" else plain
    return result
