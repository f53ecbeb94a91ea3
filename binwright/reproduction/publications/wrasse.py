"""Wrasse (Rai, Bhagwan and Guha 2012): allocation problems written as balls, bins and resources."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.resources import files

import numpy as np

from binwright.reproduction.claims import Value, published
from binwright.reproduction.experiment import Key, Size
from binwright.reproduction.measures import Measure, Runs, averaged, mean_of
from binwright.simcore.types import Floats

SPECIFIED = "lines of specification"
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


def lines(**specifications: str) -> Callable[[Size], Mapping[Key, Value | str]]:
    """Count the lines of our specifications, files below `agents`, that are neither empty nor comments."""

    def count(size: Size) -> Mapping[Key, Value | str]:
        values: dict[Key, Value | str] = {}
        for each in published("wrasse"):
            key = each.condition, each.agent, each.metric
            if each.table == "2" and each.metric != SPECIFIED:
                values[key] = "Ours is in Python, and shares code with other agents."
            elif each.table == "2":
                file = files("binwright.agents").joinpath(specifications[each.condition.removeprefix("problem=")])
                written = [line.strip() for line in file.read_text("utf-8").splitlines()]
                number = sum(bool(line) and not line.startswith("#") for line in written)
                values[key] = Value(float(number), None, None, 1)
        return values

    return count


def packing(size: Size) -> Mapping[Key, Value | str]:
    """Pack the machines of every application by every method."""
    from binwright.agents.solver.packing.pack import pack
    from binwright.workloads.offline import machines

    values: dict[Key, Value | str] = {}
    for name in ("pgrank", "clkbot", "imgproc"):
        inputs, condition = machines(name), f"application={name}"
        base = 0.0
        for agent, method in (HEURISTICS | SEARCHES).items():
            pack(inputs.demand, inputs.capacity, method, seconds=0.01)  # so that it is compiled when it is timed
            packed = [
                pack(inputs.demand, inputs.capacity, method, seconds=SECONDS[size], seed=seed)
                for seed in range(REPEATS if agent in HEURISTICS else SEEDS[size])
            ]
            times = np.array([1000 * each.found for each in packed if each.found is not None], np.float64)
            base = times.mean() if agent == "ffd-prod" else base
            if bins := [each.bins for each in packed if each.bins is not None]:
                values[condition, agent, "servers"] = averaged(bins[:1] if agent in HEURISTICS else bins)
                if agent != "solver":
                    values[condition, agent, MILLISECONDS] = averaged(times)
                if agent == "wrasse":
                    values[condition, agent, TIMES] = averaged(times / base)
            if agent == "wrasse":
                values[condition, "lower bound", "servers"] = Value(float(packed[0].bound), None, None, 1)
    return values


MEAN = f"mean {MILLISECONDS}"
LATE, LONGEST = f"{MILLISECONDS} of the 150th", f"longest {MILLISECONDS}"
OVER_MEAN = ", times the mean"
"""Behind the name of a metric that is divided by the mean: that depends less on the machine."""


def times_of(base: str, **more: Measure) -> dict[str, Measure]:
    """Measure `more`, and times; the 150th, beside the mean, with the ten decisions around it, for the noise.

    A run's first decision is left out in the ratios: it may load compiled code.
    """

    def of(read: Callable[[Floats], float], least: int = 0) -> Measure:
        """Average what is read from the seconds of every run's decisions, of runs that have so many."""
        return lambda runs, agent: averaged(
            [float(read(times)) for times in _seconds(runs, agent) if len(times) >= least]
        )

    def beside_base(runs: Runs, agent: str) -> Value:
        pairs = zip(_seconds(runs, agent), _seconds(runs, base), strict=True)
        return averaged([float(own[1:].mean() / other[1:].mean()) for own, other in pairs])

    return {
        **more,
        MEAN: mean_of("decision_us", scale=0.001),
        LATE: of(lambda seconds: 1000 * seconds[149], 150),
        LONGEST: of(lambda seconds: 1000 * seconds.max()),
        f"{MEAN}, times those of {base}": beside_base,
        f"{LATE}{OVER_MEAN}": of(lambda seconds: seconds[145:155].mean() / seconds[1:].mean(), 155),
        f"{LONGEST}{OVER_MEAN}": of(lambda seconds: seconds[1:].max() / seconds[1:].mean()),
    }


def _seconds(runs: Runs, agent: str) -> list[Floats]:
    """Read the times of decisions, float64 [decisions] for every run."""
    return [runs.results.times(run)["seconds"].to_numpy() for run in runs.of(agent)["run"]]
