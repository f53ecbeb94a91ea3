"""What a trace holds, as plain data for a command line to print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from binwright.simcore.extras import pl
from binwright.simcore.types import Floats
from binwright.simcore.units import measure_of
from binwright.workloads.traces.check import resources_in

QUANTILES = {"p10": 0.1, "p50": 0.5, "p90": 0.9, "p99": 0.99}


def describe(frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Describe requests in the common columns, in units.

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
            {"resource": names, "unit": [measure_of(name).base for name in names]}
            | {what: part.row(0) for what, part in zip(("total", "mean", "max"), parts, strict=True)}
        ),
        frame.group_by(names).agg(summary).sort("count", *names, descending=[True] + [False] * len(names)),
        frame.select(summary),
    )


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
