"""Measures how long decisions of Wrasse and its rivals take: one time beside another of the same machine."""

from __future__ import annotations

from binwright.reproduction.measures import Measure, Runs, averaged
from binwright.reproduction.published import Published, published
from binwright.reproduction.verdict import Value
from simcore.types import Floats

MEAN = "mean milliseconds"
LATE = "milliseconds of the 150th, times the mean"
LONGEST = "longest milliseconds, times the mean"


def beside(base: str) -> str:
    """Name the metric that says how many times longer than another agent one decides."""
    return f"{MEAN}, times those of {base}"


def networks() -> tuple[Published, ...]:
    """Derive for section 8.2.1 what does not depend on the machine."""
    return _derived("section 8.2.1", "secondnet", "milliseconds of the 150th", LATE)


def clusters() -> tuple[Published, ...]:
    """Derive the same for section 8.2.2."""
    return _derived("section 8.2.2", "oktopus", "longest milliseconds", LONGEST)


def _derived(table: str, base: str, metric: str, name: str) -> tuple[Published, ...]:
    rows = {(one.agent, one.metric): one for one in published("wrasse") if one.table == table}
    own = rows["wrasse", MEAN]
    mean, other, single = (one.value or 0.0 for one in (own, rows[base, MEAN], rows["wrasse", metric]))
    ratios = {beside(base): mean / other, name: single / mean}
    return tuple(Published("wrasse", table, own.condition, "wrasse", of, f"{it:.4g}") for of, it in ratios.items())


def _seconds(runs: Runs, agent: str) -> list[Floats]:
    """Read the times of decisions, float64 [decisions] for every run."""
    return [runs.results.times(run)["seconds"].to_numpy() for run in runs.of(agent)["run"]]


def _averaged(values: list[float]) -> Value:
    import numpy as np

    return averaged(np.array(values, np.float64))


def longest(runs: Runs, agent: str) -> Value:
    """Average the longest decision of every run, in milliseconds."""
    return _averaged([1000 * float(seconds.max()) for seconds in _seconds(runs, agent)])


def of_the_150th(runs: Runs, agent: str) -> Value:
    """Average the time of the 150th decision of every run, in milliseconds; no values where runs end before."""
    return _averaged([1000 * float(seconds[149]) for seconds in _seconds(runs, agent) if len(seconds) >= 150])


def ratio_to(base: str) -> Measure:
    """Measure how many times longer than `base` an agent decides, run by run.

    A run's first decision is left out here and below: it may load compiled code.
    """

    def measure(runs: Runs, agent: str) -> Value:
        pairs = zip(_seconds(runs, agent), _seconds(runs, base), strict=True)
        return _averaged([float(own[1:].mean() / other[1:].mean()) for own, other in pairs])

    return measure


def late(runs: Runs, agent: str) -> Value:
    """Average how many times longer than the mean the 150th decision takes; ten decisions around it, for the noise."""
    found = [seconds[1:] for seconds in _seconds(runs, agent) if len(seconds) >= 155]
    return _averaged([float(seconds[144:154].mean() / seconds.mean()) for seconds in found])


def longest_over_mean(runs: Runs, agent: str) -> Value:
    """Average how many times longer than the mean the longest decision of every run takes."""
    found = [seconds[1:] for seconds in _seconds(runs, agent)]
    return _averaged([float(seconds.max() / seconds.mean()) for seconds in found])
