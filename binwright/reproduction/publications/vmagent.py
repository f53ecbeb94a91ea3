"""The table of the README of Huawei-East-1, which VMAgent's program measured."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from binwright.reproduction.claims import Value, keys_of
from binwright.reproduction.experiment import Condition, Experiment, Note
from binwright.reproduction.measures import Measure, Runs
from simcore.types import Floats, Ints

TABLE = "readme of the data set"
STARTS = 1000
"""Starts in the program's list. It plays 1000 / P batches of P: starts 0 to P - 1, then 1 to P, and so on."""
LONGEST = 6000
"""More requests than any episode places."""
SPREAD_ABOVE = {"fading": "32 GB", "recovering": "10 GB"}
BATCHES = {
    ("fading", 5): 5,
    ("fading", 20): 5,
    ("fading", 50): 50,
    ("recovering", 5): 5,
    ("recovering", 20): 50,
    ("recovering", 50): 50,
}
"""How many episodes the program played at once; with these, its spreads come out."""
RULE = "binwright.reproduction.publications.vmagent_rule:BestFitOfVMAgent"
AGENTS = {
    "best-fit": f'{{name: "{RULE}", label: best-fit of VMAgent}}',
    "first-fit": "first-fit",
}
DEVIATES = (
    "Measured as VMAgent's program did, from the same starts: nothing is released, BestFit keeps the most room, and "
    "values are means over overlapping batches of 5 or 50 episodes. Both rates are those of the longest episode of a "
    "batch, and are taken of as many servers as the batch has episodes. The machines that never end are reconstructed "
    "from the publisher's plots."
)
ONE_EPISODE = "One long episode is in every batch and decides the rate; the events behind it are reconstructed."


def batches(count: int, size: int) -> Ints:
    """List the runs of every batch, int64 [batches, runs], of so many runs: each begins one start after the last."""
    size = min(size, count)
    number = min(max(1, STARTS // size), count - size + 1)
    return np.arange(number)[:, None] + np.arange(size)


def length(runs: Runs, agent: str, size: int) -> Value:
    """Average the lengths of batches."""
    values = runs.values(agent, "scheduled")
    return _of(values[batches(len(values), size)].mean(axis=1), values)


def rate(runs: Runs, agent: str, size: int, servers: int, column: str) -> Value:
    """Average, over batches, what is allocated at the end of their longest episode, in percent.

    What is free is divided by what as many servers have as there are episodes in a batch.
    """
    lengths, rates = runs.values(agent, "scheduled"), runs.values(agent, column)
    found = batches(len(lengths), size)
    longest = found[np.arange(len(found)), lengths[found].argmax(axis=1)]
    return _of(100 * (1 - (1 - rates[longest]) * servers / size), lengths)


def _of(each: Floats, runs: Floats) -> Value:
    """Make a value of those of the batches. It has no interval: the starts are the program's own."""
    return Value(float(each.mean()), None, None, len(runs))


def by_condition(measure: Callable[[Runs, str, int, int], Value]) -> Measure:
    """Measure with the size of the batches and the servers of the condition."""

    def measured(runs: Runs, agent: str) -> Value:
        where = keys_of(runs.condition)
        servers = int(where["servers"])
        return measure(runs, agent, BATCHES[where["scenario"], servers], servers)

    return measured


def _condition(scenario: str, servers: int, size: int) -> Condition:
    overrides = (
        "sweep=null",
        f"cluster.servers={servers}",
        f"cluster.spread_above.mem={SPREAD_ABOVE[scenario]}",
        f"workload.requests={LONGEST}",
    )
    return Condition(AGENTS, overrides, STARTS // size + size - 1, quick=size)


EXPERIMENT = Experiment(
    name="vmagent",
    tables={TABLE: "Requests placed until the first that fits nowhere, and what is allocated then"},
    scenario="cvd/vmagent",
    conditions={
        f"scenario={scenario};servers={servers}": _condition(scenario, servers, size)
        for (scenario, servers), size in BATCHES.items()
    },
    measures={
        "scheduled": by_condition(lambda runs, agent, size, servers: length(runs, agent, size)),
        **{
            f"{name}_percent": by_condition(partial(rate, column=name))
            for name in ("allocation_cpu_end", "allocation_mem_end")
        },
    },
    deviates=DEVIATES,
    notes=(Note("explained", ONE_EPISODE, agent="best-fit", metric="allocation_*"),),
    smallest=("workload.requests=400",),
)
