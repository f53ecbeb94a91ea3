"""Searches a rule in every regime, and one over all: python -m benchmarks.rules_found [REGIME...].

Each regime's rule is chosen without its test seeds, and then plays on these beside all heuristics, the value-es that
learned there, random placement, a rule that was chosen in the same way among rules that were proposed at random, and
one that was searched over all regimes together. `huawei` and `azure` are real loads, if their traces are there. What
is in the folder already is not done again. It prints the tables of docs/experiments/rules-found.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import binwright as bw
from benchmarks.cvd import in_points, markdown, ratio
from benchmarks.regimes import HEURISTICS, LENGTH, REGIMES, replayed, said
from binwright.agents.learned.common.tensors import SHIPPED
from binwright.analysis.compare.family import Family
from binwright.analysis.compare.statistics import ALPHA
from binwright.analysis.measure.measuring import describe
from binwright.analysis.results.columns import Groups
from binwright.scenarios.schema.load import load_scenario
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.files import write_table

BUDGET = {
    "large": 120_000, "shapes": 180_000, "large-light-short": 75_000, "mixed": 120_000, "shapes-light": 120_000,
    "shapes-short": 120_000, "large-short": 90_000, "filling": 120_000, "large-light": 45_000, "bursts": 60_000,
    "few-short": 30_000, "few-light-short": 24_000, "few": 18_000, "few-light": 15_000, "huawei": 60_000,
    "azure": 60_000,
}  # fmt: skip
"""Plays of a rule on a seed, fewer where runs are long."""
REAL = {"huawei": (16_000, 26_000), "azure": (350_000, 600_000)}
"""Where runs of tests start in real traces: later than those of searches end."""
FIRST = 4000
"""The first test seed: those from 1000 and 3000 on were looked at while the search itself was changed."""
SEEDS, FEW_SEEDS = 200, 100
"""Seeds of a search, and of one among few large requests, whose runs are long."""
EVERYWHERE, EVERYWHERE_BUDGET, EVERYWHERE_SEEDS = "one rule for all", 120_000, 64
"""Of the search over all regimes: its label, how many plays it has, and seeds of each regime."""
FOUND, RANDOM_RULE, LEARNED, RANDOM = "found", "random rule", "value-es of it", "random"
RULES = (*HEURISTICS, "alpha-evolve")
"""What a rule that is found has to be above."""


def path_of(regime: str) -> str:
    """Return the shipped scenario of a regime or of a real load."""
    return f"real/{regime}" if regime in REAL else f"regimes/{regime}"


def search(regime: str, out: Path, jobs: int | None, label: str) -> str:
    """Search in a regime, or over all of them; returns the rule."""
    everywhere, random = label == EVERYWHERE, label == RANDOM_RULE
    seeds = EVERYWHERE_SEEDS if everywhere else FEW_SEEDS if regime.startswith("few") else SEEDS
    return bw.search(
        [path_of(one) for one in (REGIMES if everywhere else (regime,))],
        metric=LENGTH,
        evaluations=EVERYWHERE_BUDGET if everywhere else BUDGET[regime],
        seeds=seeds,
        validation=2 * seeds,
        test=2,
        random=random,
        jobs=jobs,
        out=out / ("all" if everywhere else f"{regime}{'-random' * random}"),
    ).chosen


def tested(scenario: Scenario, label: str, rule: str) -> pl.DataFrame:
    """Play a rule on the test seeds, from FIRST on, and where it is `found` all that it is compared with."""
    name = scenario.name.removeprefix("regimes-").partition("-")[0]
    agents: list[Any] = [{"name": "formula", "options": {"score": rule}, "label": label}]
    if label == FOUND:
        agents += [one.dump() for one in scenario.agents if one.label in (*HEURISTICS, RANDOM)]
        learned = (SHIPPED / f"value-es-{name}.json").exists()
        agents += ["alpha-evolve", *[{"name": "value-es", "options": {"weights": name}, "label": LEARNED}] * learned]
    asked = bw.scenario({**scenario.dump(), "agents": agents})
    seeds = range(FIRST, FIRST + scenario.replications)
    return pl.DataFrame([row for seed in seeds for row in replayed(asked, seed)])


def searched(regime: str, label: str, out: Path, jobs: int | None) -> None:
    """Search in a regime, among random rules or over all regimes, and play what was chosen on the test seeds."""
    table = out / f"{regime}-{label.replace(' ', '-')}.parquet"
    if not table.exists():
        rule = search(regime, out, jobs, label)
        later = [f"workload.start.random={list(REAL[regime])}"] if regime in REAL else []
        write_table(table, tested(load_scenario(path_of(regime), later), label, rule))


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
    for label in (FOUND, EVERYWHERE, LEARNED, RANDOM_RULE, RANDOM):
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
    head = "regime;best heuristic;it places;found, largest p;one rule for all;`value-es` of it;random rule;random;rule"
    rows, above, labels = [head.split(";")], 0, (FOUND, RANDOM_RULE, EVERYWHERE)
    for label in labels:
        for regime in asked.regimes if not asked.table else ():
            searched(regime, label, asked.out, asked.jobs)
    for regime in asked.regimes:
        files = [asked.out / f"{regime}-{label.replace(' ', '-')}.parquet" for label in labels]
        if files[0].exists():
            rule = pl.read_csv(asked.out / regime / "front.csv").filter("chosen")["rule"].item()
            row, gain, p = row_of(regime, pl.concat([pl.read_parquet(one) for one in files if one.exists()]), rule)
            rows.append(row)
            above += gain >= 0.03 and p <= ALPHA
    print(markdown(rows), f"\n{above} of {len(rows) - 1} are above every heuristic, by 3 % or more.")
