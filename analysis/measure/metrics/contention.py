"""What requests used of the servers, and what they lacked where several would have used more than a server has."""

from __future__ import annotations

import numpy as np

from binwright.analysis.measure.definition import Definition, metric
from binwright.analysis.measure.finished_run import FinishedRun, ratio


def _wanted_and_missing(run: FinishedRun) -> list[tuple[float, float]] | None:
    """Add up of each resource what requests would have used, and what they did not get, in quanta x seconds."""
    if (found := run.contention) is None:
        return None
    wanted, missing, _ = found.levels.sum(axis=0).tolist()
    return list(zip(wanted, missing, strict=True))


@metric(
    name="used_{}",
    heading="{} used %",
    per="resource",
    unit="%",
    table="first",
    in_parts=True,
    meaning="share of {} of all servers that requests got to use, weighted by time; where the workload says their use",
)
def used(run: FinishedRun) -> list[float] | None:
    """Average over the measured time what was used."""
    found = _wanted_and_missing(run)
    if found is None:
        return None
    there = run.installed_seconds[: len(found)]  # behind which a network has its links
    return [ratio(want - miss, float(of)) for (want, miss), of in zip(found, there, strict=True)]


@metric(
    name="contention_{}",
    heading="{} contention %",
    per="resource",
    unit="%",
    better="lower",
    table="first",
    in_parts=True,
    meaning="share of the {} that requests would have used, and did not get, since nodes have less",
)
def contention(run: FinishedRun) -> list[float] | None:
    """Divide what was missing by what was wanted, of all requests together."""
    found = _wanted_and_missing(run)
    return None if found is None else [ratio(miss, want) for want, miss in found]


@metric(
    heading="contended time %",
    unit="%",
    better="lower",
    table="differs",
    in_parts=True,
    meaning="share of the servers' time in which requests would have used more of a resource than a node has",
)
def contended(run: FinishedRun) -> float | None:
    """Divide the time of contention by all time, of all servers together."""
    found = run.contention
    return None if found is None else ratio(float(found.contended.sum()), float(found.seconds.sum()))


@metric(
    heading="worst server contended %",
    unit="%",
    better="lower",
    table="never",
    in_parts=True,
    meaning="the same share of the server where it is largest",
)
def contended_worst(run: FinishedRun) -> float | None:
    """Find the largest share of a server's time."""
    found = run.contention
    if found is None:
        return None
    there = found.seconds > 0
    return float((found.contended[there] / found.seconds[there]).max(initial=0.0))


@metric(
    heading="requests contended %",
    unit="%",
    better="lower",
    table="differs",
    in_parts=True,
    meaning="share of the requests that ever got less than they would have used",
)
def contended_requests(run: FinishedRun) -> float | None:
    """Count the requests that lacked something."""
    found = run.contention
    return None if found is None else ratio(float(np.count_nonzero(found.lacked)), len(found.lacked))


def _of(name: str, percent: int, said: str) -> Definition:
    """Make the metric of a percentile."""

    @metric(
        name=f"contention_{name}",
        heading=f"{name} contention %",
        unit="%",
        better="lower",
        table="differs" if percent == 99 else "never",
        in_parts=True,
        meaning=f"share of what it would have used of a resource that a request did not get: {said}",
    )
    def measured(run: FinishedRun) -> float | None:
        found = run.contention
        if found is None:
            return None
        lacked = found.lacked
        return float(np.quantile(lacked, percent / 100, method="inverted_cdf")) if len(lacked) else 0.0

    return measured


contention_p95 = _of("p95", 95, "95 % of the requests miss no more")
contention_p99 = _of("p99", 99, "99 % of the requests miss no more")
contention_max = _of("max", 100, "no request misses more")
