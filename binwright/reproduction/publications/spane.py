"""SPANE (Chan 2025): how long requests wait for a place on five servers."""

from __future__ import annotations

from functools import partial

from binwright.reproduction.claims import Value
from binwright.reproduction.experiment import Condition, Experiment, Publication
from binwright.reproduction.measures import Measure, Runs


def total(runs: Runs, agent: str, trimmed: int = 0) -> Value:
    """Average the total waits of all windows, but a share of 1/`trimmed` at each end.

    Waits are whole seconds, so that their sum is exact.
    """
    waits = sorted(runs.of(agent)["wait_total"].to_list())
    cut = len(waits) // trimmed if trimmed else 0
    kept = waits[cut : len(waits) - cut]
    return Value(sum(kept) / len(kept), None, None, len(waits))


def describe() -> Publication:
    """Describe the publication."""
    measures: dict[str, Measure] = {
        "trimmed mean of total wait": partial(total, trimmed=10),
        "mean of total wait": total,
    }
    agents = {name: name for name in ("first-fit", "balance-fit")}
    return Publication(
        name="spane",
        title="SPANE",
        reference="Chan 2025, arXiv:2504.14946; baseline.py of github.com/ChanTinPing/SPANE",
        experiments=(
            Experiment(
                name="waits",
                tables={"repository": "Total wait of the baselines over the 1,000 test starts, in seconds"},
                scenario="spane/waits",
                conditions={"servers=5;starts=1000": Condition(agents, seeds=1000, quick=1000)},
                measures=measures,
                lower=measures,
            ),
        ),
    )
