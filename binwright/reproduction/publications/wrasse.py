"""Wrasse (Rai, Bhagwan and Guha 2012): allocation problems written as balls, bins and resources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib.resources import files
from typing import TYPE_CHECKING

from binwright.reproduction.claims import Published, Value, published
from binwright.reproduction.experiment import Key, Size
from binwright.reproduction.measures import Measure, Runs, averaged, mean_of
from binwright.simcore.types import Floats

if TYPE_CHECKING:
    from binwright.agents.solver.packing.pack import Packed


def printed(table: str) -> dict[Key, Published]:
    """Find what a table prints."""
    return {(one.condition, one.agent, one.metric): one for one in published("wrasse") if one.table == table}


# -- lines of specifications, and packing of machines that are all known at once ---------------------------------------

SPECIFIED = "lines of specification"
SPECIFICATIONS = {
    "vm placement": "solver/examples/vm-placement.alloc",
    "secondnet": "solver/templates/secondnet.alloc",
    "oktopus": "solver/templates/oktopus.alloc",
    "secondnet and job scheduling": "solver/examples/secondnet-jobs.alloc",
}
"""The file below `agents` for every published problem."""
APPLICATIONS = ("pgrank", "clkbot", "imgproc")
HEURISTICS = {"ffd-prod": "ffd-prod", "dot-product": "dot-product", "nbg": "norm-greedy"}
SEARCHES = {"wrasse": "published", "solver": "solver"}
SECONDS = {"full": 10.0, "quick": 1.0, "smallest": 0.05}
"""How long a search may take."""
SEEDS = {"full": 5, "quick": 2, "smallest": 1}
REPEATS = 5
"""How often a heuristic is timed."""
MILLISECONDS = "milliseconds"
TIMES = f"{MILLISECONDS}, times those of ffd-prod"
"""The metric of derived rows: two times on the same machine."""


def lines(size: Size) -> Mapping[Key, Value | str]:
    """Count the lines of our specifications that are neither empty nor comments."""
    found: dict[Key, Value | str] = {}
    for problem, agent, metric in printed("2"):
        if metric != SPECIFIED:
            found[problem, agent, metric] = "Ours is in Python, and shares code with other agents."
            continue
        text = files("binwright.agents").joinpath(SPECIFICATIONS[problem.removeprefix("problem=")]).read_text("utf-8")
        count = sum(not line.lstrip().startswith("#") for line in text.splitlines() if line.strip())
        found[problem, agent, metric] = Value(float(count), None, None, 1)
    return found


def packing(size: Size) -> Mapping[Key, Value | str]:
    """Pack the machines of every application by every method."""
    from binwright.agents.solver.packing.pack import pack
    from binwright.workloads.offline import machines

    found: dict[Key, Value | str] = {}
    for name in APPLICATIONS:
        given, condition = machines(name), f"application={name}"
        answers: dict[str, list[Packed]] = {}
        for agent, method in (HEURISTICS | SEARCHES).items():
            pack(given.demand, given.capacity, method, seconds=0.01)  # so that it is compiled when it is timed
            seeds = range(REPEATS if agent in HEURISTICS else SEEDS[size])
            answers[agent] = [
                pack(given.demand, given.capacity, method, seconds=SECONDS[size], seed=seed) for seed in seeds
            ]
        by_ffd_prod = _milliseconds(answers["ffd-prod"]).mean()
        for agent, packed in answers.items():
            if bins := [one.bins for one in packed if one.bins is not None]:
                found[condition, agent, "servers"] = averaged(bins[:1] if agent in HEURISTICS else bins)
            if agent != "solver" and bins:
                times = _milliseconds(packed)
                found[condition, agent, MILLISECONDS] = averaged(times)
                if agent not in HEURISTICS:
                    found[condition, agent, TIMES] = averaged(times / by_ffd_prod)
        bound = Value(float(answers["wrasse"][0].bound), None, None, 1)
        found[condition, "lower bound", "servers"] = bound
    return found


def _milliseconds(packed: Iterable[Packed]) -> Floats:
    """Read after how many milliseconds the answers were there, float64 [answers]."""
    import numpy as np

    return np.array([1000 * one.found for one in packed if one.found is not None], np.float64)


# -- virtual networks, and the times of decisions ----------------------------------------------------------------------

MEAN = f"mean {MILLISECONDS}"
LATE, LONGEST = f"{MILLISECONDS} of the 150th", f"longest {MILLISECONDS}"
OVER_MEAN = ", times the mean"
"""Behind the name of a metric that is divided by the mean: that depends less on the machine."""


def beside(base: str) -> str:
    """Name the metric that says how many times longer than another agent one decides."""
    return f"{MEAN}, times those of {base}"


def of_times(read: Callable[[Floats], float], least: int = 0) -> Measure:
    """Average what is read from the seconds of every run's decisions, of runs that have so many."""

    def measure(runs: Runs, agent: str) -> Value:
        return averaged([float(read(one)) for one in _seconds(runs, agent) if len(one) >= least])

    return measure


def ratio_to(base: str) -> Measure:
    """Measure how many times longer than `base` an agent decides, run by run.

    A run's first decision is left out here and in the other ratios: it may load compiled code.
    """

    def measure(runs: Runs, agent: str) -> Value:
        pairs = zip(_seconds(runs, agent), _seconds(runs, base), strict=True)
        return averaged([float(own[1:].mean() / other[1:].mean()) for own, other in pairs])

    return measure


def times_of(base: str, **more: Measure) -> dict[str, Measure]:
    """Measure `more`, and times; the 150th, beside the mean, with the ten decisions around it, for the noise."""
    return {
        **more,
        MEAN: mean_of("decision_us", scale=0.001),
        LATE: of_times(lambda seconds: 1000 * seconds[149], 150),
        LONGEST: of_times(lambda seconds: 1000 * seconds.max()),
        beside(base): ratio_to(base),
        f"{LATE}{OVER_MEAN}": of_times(lambda seconds: seconds[145:155].mean() / seconds[1:].mean(), 155),
        f"{LONGEST}{OVER_MEAN}": of_times(lambda seconds: seconds[1:].max() / seconds[1:].mean()),
    }


def _seconds(runs: Runs, agent: str) -> list[Floats]:
    """Read the times of decisions, float64 [decisions] for every run."""
    return [runs.results.times(run)["seconds"].to_numpy() for run in runs.of(agent)["run"]]
