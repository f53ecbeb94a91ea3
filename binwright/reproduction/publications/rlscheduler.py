"""RLScheduler (Zhang and others 2020): orders of a batch queue on two logs of the model of Lublin and Feitelson."""

from __future__ import annotations

from collections.abc import Callable

from binwright.reproduction.claims import Published, Value, published
from binwright.reproduction.experiment import Condition, Experiment, Note, Publication
from binwright.reproduction.measures import Measure, Runs, gain_of
from simcore.types import Floats

ORDERS = {"fcfs": "fcfs", "wfp3": "wfp3-slip", "unicep": "unicep-slip", "sjf": "sjf", "f1": "f1"}
"""What agents are called there, and the orders of ours that do the same."""

SLOWDOWN, LEARNED, GAIN = "bounded_slowdown", "rlscheduler", "less_than_sjf"
"""The metric, the learned policy, and by how many percent of sjf's its slowdown is less."""


def gains() -> tuple[Published, ...]:
    """Derive by how many percent the published slowdown of the learned policy is less than that of sjf."""
    values = {(one.condition, one.agent): one.value for one in published("rlscheduler") if one.metric == SLOWDOWN}
    return tuple(
        Published("rlscheduler", "5, learned", condition, LEARNED, GAIN, f"{100 * (1 - value / shortest):.1f}", None)
        for (condition, agent), value in values.items()
        if agent == LEARNED and value and (shortest := values[condition, "sjf"])
    )


def less(runs: Runs, agent: str) -> Value:
    """Measure the same of ours, paired by sequence."""
    mean, low, high, seeds = gain_of("sjf", "slowdown_mean")(runs, agent)
    return Value(-mean, None if high is None else -high, None if low is None else -low, seeds)


def rounded(values: Callable[[Runs, str], Floats], digits: int) -> Measure:
    """Average what the sequences have, and round it as it is printed: without chance it is to be the same number."""

    def measure(runs: Runs, agent: str) -> Value:
        found = values(runs, agent)
        return Value(round(float(found.mean()), digits), None, None, len(found))

    return measure


def utilisation(runs: Runs, agent: str) -> Floats:
    """Divide the work of all jobs by what the machine has until the last one starts, when that program stops."""
    hours, makespan = runs.values(agent, "hours"), runs.values(agent, "makespan")
    found: Floats = runs.values(agent, "utilisation_cpu") * makespan / (3600 * hours)
    return found


def condition(log: int, backfilling: str) -> Condition:
    """Describe the runs of all orders on a log."""
    passing = "" if backfilling == "none" else f"backfilling: {backfilling}, "
    agents = {name: f"{{in-line: {{order: {order}, {passing}commit: true}}}}" for name, order in ORDERS.items()}
    weights = f"lublin-{log}" if backfilling == "none" else f"lublin-{log}-{backfilling}"
    agents[LEARNED] = f"{{rl-scheduler: {{weights: {weights}, {passing}commit: true}}}}"
    return Condition(agents, (f"workload.trace=lublin-{log}",), seeds=10, quick=10)


def describe() -> Publication:
    """Describe the publication."""
    return Publication(
        name="rlscheduler",
        title="RLScheduler",
        reference="Zhang and others 2020, RLScheduler: an automated HPC batch job scheduler using reinforcement "
        "learning, SC; github.com/DIR-LAB/deep-batch-scheduler",
        experiments=(
            Experiment(
                name="lublin",
                tables={
                    "5": "Mean bounded slowdown of ten sequences of 1,024 jobs",
                    "6": "Utilisation in the same sequences, until the last job starts",
                    "5, learned": "The learned policy's slowdown, and by how many percent it is less than that of sjf",
                    "6, learned": "The learned policy's utilisation",
                },
                scenario="rlscheduler/lublin",
                conditions={
                    f"log=Lublin-{log};backfilling={backfilling}": condition(log, backfilling)
                    for backfilling in ("none", "easy")
                    for log in (1, 2)
                },
                measures={
                    SLOWDOWN: rounded(lambda runs, agent: runs.values(agent, "slowdown_mean"), 2),
                    "utilisation": rounded(utilisation, 3),
                    GAIN: less,
                },
                lower=(SLOWDOWN,),
                derived=gains(),
                quicker=False,
                notes=(
                    Note("explained", "Trainings differ: other weights of ours came to 265 to 302.", LEARNED, SLOWDOWN),
                    Note("explained", "Utilisation is no part of what is learned.", LEARNED, "utilisation"),
                ),
            ),
        ),
        own=lambda agent: agent == LEARNED,
    )
