"""Searches a rule in every regime, and one over all: python -m benchmarks.rules_found [REGIME...] [--page FILE].

Each regime's rule is chosen without its test seeds, and then plays on these beside all heuristics, what learned there,
random placement, and a rule that was chosen in the same way among rules that were proposed at random. What is in the
folder already is not done again. With --page, the page of what the folder has is written.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

import binwright as bw
from agents.learned.common.tensors import SHIPPED
from benchmarks.regimes import HEURISTICS, LENGTH, replayed
from scenarios.schema.load import load_scenario
from scenarios.schema.scenario import Scenario
from simcore.files import write_table

BUDGET = {
    "shapes": 60_000, "large": 25_000, "shapes-light": 50_000, "large-light-short": 20_000, "mixed": 60_000,
    "shapes-short": 60_000, "large-short": 40_000, "large-light": 12_000, "bursts": 30_000, "filling": 60_000,
    "few-short": 16_000, "few-light-short": 9_000, "few": 8_000, "few-light": 5_000,
}  # fmt: skip
"""Plays of a rule on a seed; those of long runs take more time."""
ALL, ALL_BUDGET = "all", 40_000
SEEDS, FEW_SEEDS = 200, 100
"""Seeds of a search, and of one among few large requests, whose runs are long."""
FOUND, RANDOM_RULE, LEARNED, OVER_ALL, RANDOM = "found", "random rule", "value-es of it", "rule over all", "random"
CONTROLS = (RANDOM, "random-in-top-5", "random-in-top-10")
PAGE = """\
"""


def how(regime: str, jobs: int | None) -> dict[str, Any]:
    """Return how a regime is searched."""
    seeds = FEW_SEEDS if regime.startswith("few") else SEEDS
    return {"metric": LENGTH, "seeds": seeds, "validation": 2 * seeds, "test": 2, "jobs": jobs}


def searched(regime: str, out: Path, jobs: int | None) -> pl.DataFrame:
    """Search in a regime, and the control, and play what was chosen on the test seeds; returns the runs."""
    table, scenario = out / f"{regime}.parquet", load_scenario(f"regimes/{regime}")
    if table.exists():
        return pl.read_parquet(table)
    settings = how(regime, jobs)
    rules = {
        FOUND: bw.search(scenario, evaluations=BUDGET[regime], out=out / regime, **settings),
        RANDOM_RULE: bw.search(
            scenario, evaluations=BUDGET[regime], random=True, out=out / f"{regime}-random", **settings
        ),
    }
    agents = [{"name": "formula", "options": {"score": one.chosen}, "label": name} for name, one in rules.items()]
    runs = tested(scenario, agents)
    write_table(table, runs)
    return runs


def tested(scenario: Scenario, agents: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Play agents, all heuristics and the value-es of a regime on its test seeds: a row for each and seed."""
    name = scenario.name.removeprefix("regimes-").partition("-")[0]
    own = [one.dump() for one in scenario.agents if one.label in (*HEURISTICS, *CONTROLS)]
    learned = (SHIPPED / f"value-es-{name}.json").exists()
    own += [{"name": "value-es", "options": {"weights": name}, "label": LEARNED}] * learned
    asked = bw.scenario({**scenario.dump(), "agents": [*own, "alpha-evolve", *agents]})
    seeds = range(scenario.seed, scenario.seed + scenario.replications)
    return pl.DataFrame([row for seed in seeds for row in replayed(asked, seed)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("regimes", nargs="*", default=list(BUDGET), metavar="REGIME")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--out", type=Path, default=Path("results/rules-found"))
    asked = parser.parse_args()
    for regime in asked.regimes:
        runs = searched(regime, asked.out, asked.jobs)
        print(regime, runs.group_by("agent", maintain_order=True).agg(pl.col(LENGTH).mean()), flush=True)
