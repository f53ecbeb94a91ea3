"""Searches a rule in every regime, and one over all: python -m benchmarks.rules_found [REGIME...] [--page FILE].

Each regime's rule is chosen without its test seeds, and then plays on these beside all heuristics, the value-es that
learned there, random placement, and a rule that was chosen in the same way among rules that were proposed at random.
What is in the folder already is not done again. With --page, the page of what the folder has is written.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import binwright as bw
from agents.learned.common.tensors import SHIPPED
from analysis.compare.family import Family
from analysis.compare.statistics import ALPHA
from analysis.measure.measuring import describe
from analysis.results.groups import Groups
from benchmarks.cvd import in_points, markdown, ratio
from benchmarks.regimes import HEURISTICS, LENGTH, replayed, said
from scenarios.schema.load import load_scenario
from scenarios.schema.scenario import Scenario
from simcore.files import write_table

BUDGET = {
    "large": 40_000, "shapes": 60_000, "large-light-short": 25_000, "mixed": 40_000, "shapes-light": 40_000,
    "shapes-short": 40_000, "large-short": 30_000, "filling": 40_000, "large-light": 15_000, "bursts": 20_000,
    "few-short": 10_000, "few-light-short": 8_000, "few": 6_000, "few-light": 5_000,
}  # fmt: skip
"""Plays of a rule on a seed; those of long runs take more time."""
SEEDS, FEW_SEEDS = 200, 100
"""Seeds of a search, and of one among few large requests, whose runs are long."""
FOUND, RANDOM_RULE, LEARNED, RANDOM = "found", "random rule", "value-es of it", "random"
RULES = (*HEURISTICS, "alpha-evolve")
"""What a rule that is found has to be above."""


def search(regime: str, out: Path, jobs: int | None, *, random: bool) -> str:
    """Search in a regime; returns the rule."""
    seeds = FEW_SEEDS if regime.startswith("few") else SEEDS
    how: dict[str, Any] = {
        "metric": LENGTH,
        "seeds": seeds,
        "validation": 2 * seeds,
        "test": 2,
        "jobs": jobs,
        "random": random,
    }
    folder = out / f"{regime}{'-random' * random}"
    return bw.search(f"regimes/{regime}", evaluations=BUDGET[regime], out=folder, **how).chosen


def tested(scenario: Scenario, label: str, rule: str) -> pl.DataFrame:
    """Play a rule on the test seeds of a regime, and where it is `found` all that it is compared with."""
    name = scenario.name.removeprefix("regimes-").partition("-")[0]
    agents: list[Any] = [{"name": "formula", "options": {"score": rule}, "label": label}]
    if label == FOUND:
        agents += [one.dump() for one in scenario.agents if one.label in (*HEURISTICS, RANDOM)]
        learned = (SHIPPED / f"value-es-{name}.json").exists()
        agents += ["alpha-evolve", *[{"name": "value-es", "options": {"weights": name}, "label": LEARNED}] * learned]
    asked = bw.scenario({**scenario.dump(), "agents": agents})
    seeds = range(scenario.seed, scenario.seed + scenario.replications)
    return pl.DataFrame([row for seed in seeds for row in replayed(asked, seed)])


def searched(regime: str, label: str, out: Path, jobs: int | None) -> None:
    """Search in a regime, or choose among random rules, and play what was chosen on the test seeds."""
    table = out / f"{regime}-{label.replace(' ', '-')}.parquet"
    if not table.exists():
        rule = search(regime, out, jobs, random=label == RANDOM_RULE)
        write_table(table, tested(load_scenario(f"regimes/{regime}"), label, rule))


def row_of(regime: str, runs: pl.DataFrame, rule: str) -> tuple[list[str], float, float]:
    """Make a row of the page, of a rule; also returns what it gains on the best heuristic, and the largest p."""
    groups = Groups(runs.with_columns(status=pl.lit("done")), [])
    [metric] = [one for one in describe(("cpu", "mem"), ()) if one.name == LENGTH]
    labels, lengths, family = groups.heads["agent"].to_list(), groups.matrix(LENGTH), Family(groups, metric)
    means = dict(zip(labels, lengths.mean(axis=1).tolist(), strict=True))
    best = max((one for one in RULES), key=means.__getitem__)
    p = family.beside(np.full(len(labels), labels.index(FOUND))).p
    largest = max(float(p[labels.index(one)]) for one in RULES)
    cells = [f"`{regime}`", best, f"{means[best]:,.0f}"]
    for label in (FOUND, LEARNED, RANDOM_RULE, RANDOM):
        there = label in labels
        over = in_points(*ratio(lengths[labels.index(label)], lengths[labels.index(best)])) if there else ""
        cells.append(f"{over}; {said(largest)}" if label == FOUND else over)
    return [*cells, f"`{rule}`"], means[FOUND] / means[best] - 1, largest


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("regimes", nargs="*", default=list(BUDGET), metavar="REGIME")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--out", type=Path, default=Path("results/rules-found"))
    parser.add_argument("--table", action="store_true", help="only print the table of what is there")
    asked = parser.parse_args()
    head = [
        "regime",
        "best heuristic",
        "it places",
        "found; largest p",
        "`value-es` of it",
        "random rule",
        "random",
        "rule",
    ]
    rows, above = [head], 0
    for label in (FOUND, RANDOM_RULE):
        for regime in asked.regimes if not asked.table else ():
            searched(regime, label, asked.out, asked.jobs)
    for regime in asked.regimes:
        tables = sorted(asked.out.glob(f"{regime}-found.parquet")) + sorted(
            asked.out.glob(f"{regime}-random-rule.parquet")
        )
        if tables:
            rule = pl.read_csv(asked.out / regime / "front.csv").filter("chosen")["rule"].item()
            row, gain, p = row_of(regime, pl.concat(map(pl.read_parquet, tables)), rule)
            rows.append(row)
            above += gain >= 0.03 and p <= ALPHA
    print(markdown(rows), f"\n{above} of {len(rows) - 1} are above every heuristic, by 3 % or more.")
