"""SPANE (Chan 2025): how long requests wait for a place on five servers."""

from __future__ import annotations

from binwright.reproduction.experiment import Condition, Experiment, Metric, Publication
from binwright.reproduction.measures import Runs
from binwright.reproduction.verdict import Value


def total(runs: Runs, agent: str) -> Value:
    """Average the total waits of all windows. Waits are whole seconds, so that their sum is exact."""
    waits = runs.of(agent)["wait_total"].to_list()
    return Value(sum(waits) / len(waits), None, None, len(waits))


def trimmed(runs: Runs, agent: str) -> Value:
    """Average the total waits of all windows but a tenth at each end."""
    waits = sorted(runs.of(agent)["wait_total"].to_list())
    cut = len(waits) // 10
    kept = waits[cut : len(waits) - cut]
    return Value(sum(kept) / len(kept), None, None, len(waits))


PUBLICATION = Publication(
    name="spane",
    title="SPANE",
    reference="Chan 2025, arXiv:2504.14946; baseline.py of github.com/ChanTinPing/SPANE",
    experiments=(
        Experiment(
            name="waits",
            tables={"repository": "Total wait of the baselines over the 1,000 test starts, in seconds"},
            scenario="spane/waits",
            conditions={
                "servers=5;starts=1000": Condition(
                    {"first-fit": "first-fit", "balance-fit": "balance-fit"}, seeds=1000, quick=1000
                )
            },
            metrics={
                "trimmed mean of total wait": Metric(trimmed, "lower"),
                "mean of total wait": Metric(total, "lower"),
            },
        ),
    ),
    unanswered=lambda one: "",
)
