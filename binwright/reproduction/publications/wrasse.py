"""Wrasse (Rai, Bhagwan and Guha 2012): allocation problems written as balls, bins and resources."""

from collections.abc import Callable, Mapping
from importlib.resources import files

import numpy as np

from binwright.reproduction.claims import Value
from binwright.reproduction.experiment import Count, Key
from binwright.reproduction.measures import Measure, Runs, averaged
from binwright.simcore.types import Floats

HEURISTICS = {"ffd-prod": "ffd-prod", "dot-product": "dot-product", "nbg": "norm-greedy"}
SEARCHES = {"wrasse": "published", "solver": "solver"}
SECONDS, SEEDS = (10.0, 1.0), (5, 2)
"""How long a search may take, and how many there are, in all and with --quick."""
REPEATS = 5
"""How often a heuristic is timed."""


def lines(**specifications: str) -> Count:
    """Count the lines of our specifications, files below `agents`, that are neither empty nor comments."""

    def count(quick: bool) -> Mapping[Key, Value]:
        values: dict[Key, Value] = {}
        for problem, name in specifications.items():
            written = files("binwright.agents").joinpath(name).read_text("utf-8").splitlines()
            number = sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in written)
            values[f"problem={problem}", "wrasse", "lines of specification"] = Value(float(number), None, None, 1)
        return values

    return count


def packing(quick: bool) -> Mapping[Key, Value]:
    """Pack the machines of every application by every method."""
    from binwright.agents.solver.packing import pack
    from binwright.workloads.offline import machines

    values: dict[Key, Value] = {}
    for name in ("pgrank", "clkbot", "imgproc"):
        inputs, condition = machines(name), f"application={name}"
        for agent, method in (HEURISTICS | SEARCHES).items():
            pack(inputs.demand, inputs.capacity, method, seconds=0.01)  # so that it is compiled when it is timed
            every = [
                pack(inputs.demand, inputs.capacity, method, seconds=SECONDS[quick], seed=seed)
                for seed in range(REPEATS if agent in HEURISTICS else SEEDS[quick])
            ]
            packed = [each for each in every if each.placed == len(inputs.demand)]
            times = np.array([each.best_after for each in packed], np.float64)
            if agent == "ffd-prod":
                base = times.mean()
            if bins := [each.bins for each in packed]:
                values[condition, agent, "servers"] = averaged(bins[:1] if agent in HEURISTICS else bins)
            if agent == "wrasse":
                values[condition, agent, "milliseconds, times those of ffd-prod"] = averaged(times / base)
                values[condition, "lower bound", "servers"] = Value(float(every[0].bound), None, None, 1)
    return values


def times_of(base: str, **more: Measure) -> dict[str, Measure]:
    """Measure `more`, and ratios of times, which depend less on the machine than times.

    The 150th decision is taken with the ten around it, for the noise; a run's first one may load compiled code, and is
    left out.
    """

    def of(read: Callable[[Floats], float], least: int = 0) -> Measure:
        """Average what is read of every run's times over their mean, of runs that have so many decisions."""
        return lambda runs, agent: averaged(
            [float(read(times) / times[1:].mean()) for times in _seconds(runs, agent) if len(times) >= least]
        )

    def beside_base(runs: Runs, agent: str) -> Value:
        pairs = zip(_seconds(runs, agent), _seconds(runs, base), strict=True)
        return averaged([float(own[1:].mean() / other[1:].mean()) for own, other in pairs])

    return {
        **more,
        f"mean milliseconds, times those of {base}": beside_base,
        "milliseconds of the 150th, times the mean": of(lambda seconds: seconds[145:155].mean(), 155),
        "longest milliseconds, times the mean": of(lambda seconds: seconds[1:].max()),
    }


def _seconds(runs: Runs, agent: str) -> list[Floats]:
    """Read the times of decisions, float64 [decisions] for every run."""
    return [runs.results.times(run)["seconds"].to_numpy() for run in runs.of(agent)["run"]]
