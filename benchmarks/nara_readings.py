"""Which reading of the baselines' rules is nearer to Nara's published values: python -m benchmarks.nara_readings.

The text of arXiv:2106.02412 and what was measured here first differ in tetris, nulb and nalb. Every reading plays the
conditions of Tables 1 to 4 and of section 5.3 that have values of its agent. A row says how far its means are from
them, over all cells and over those of one kind (how many in brackets), how far on average with the sign, and in how
many cells no other reading of the agent is nearer. --cells prints every value. Azure and alibaba are the stand-ins,
wherever their files are.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np

import binwright as bw
from binwright.reproduction.measures import Runs
from binwright.reproduction.publications.nara import METRICS, condition
from binwright.reproduction.published import Published, published

READINGS = {
    "tetris": [
        "{tetris: {near: ever, links: misplaced}}",
        "tetris",
        "{tetris: {near: first}}",
        "{tetris: {score: cosine}}",
        "{tetris: {score: cosine, near: first}}",
    ],
    "nulb": [
        "{nulb: {routes: hops}}",
        "{nulb: {routes: weighted}}",
        "{nulb: {score: cosine, routes: weighted}}",
    ],
    "nalb": [
        "{nalb: {routes: hops}}",
        "{nalb: {routes: weighted}}",
        "{nalb: {search: breadth-first, routes: hops}}",
        "{nalb: {search: breadth-first, routes: weighted}}",
        "{nalb: {search: breadth-first, score: cosine, routes: weighted}}",
    ],
}
TABLES = ("1", "2", "3", "4", "section 5.3")
KINDS: dict[str, Callable[[Published], bool]] = {
    "all": lambda one: True,
    "acceptance, uniform": lambda one: one.metric == "acceptance" and one.conditions["demand"] == "uniform",
    "acceptance, stand-ins": lambda one: one.metric == "acceptance" and one.conditions["demand"] != "uniform",
    "in use": lambda one: one.metric.startswith("utilisation"),
    "section 5.3": lambda one: one.table == "section 5.3",
}


Ours: TypeAlias = dict[tuple[Published, str], float]
"""By published value and reading."""


def measured(where: str, cells: list[Published], seeds: dict[str, int], out: Path) -> Ours:
    """Run all readings of the agents that have values in a condition; returns ours for each value and reading."""
    conditions = dict(pair.split("=") for pair in where.split(";"))
    asked = [reading for agent in dict.fromkeys(one.agent for one in cells) for reading in READINGS[agent]]
    described = condition(conditions["demand"], conditions["topology"])
    overrides = described.overrides + (described.stand_in.overrides if described.stand_in else ())
    count = seeds.get(conditions["topology"], seeds["others"])
    wanted = (*overrides, f"agents=[{', '.join(asked)}]", f"replications={count}")
    scenario = bw.scenario("nara/table1", *wanted)
    labels = dict(zip(asked, (agent.label for agent in scenario.agents), strict=True))
    runs = Runs(bw.run(scenario, out=out / where.replace(";", ",")), labels)
    pairs = [(one, reading) for one in cells for reading in READINGS[one.agent]]
    return {(one, reading): METRICS[one.metric].measure(runs, reading).mean for one, reading in pairs}


def main() -> None:
    """Print a row for every reading."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100, help="seeds on alpha and beta; a fifth of them on gamma")
    parser.add_argument("--out", type=Path, default=Path("results/nara-readings"))
    parser.add_argument("--cells", action="store_true", help="print every value")
    asked = parser.parse_args()
    seeds = {"gamma": max(1, asked.seeds // 5), "others": asked.seeds}
    cells = [one for one in published("nara") if one.table in TABLES and one.agent in READINGS]
    ours: Ours = {}
    for where in dict.fromkeys(one.condition for one in cells):
        ours |= measured(where, [one for one in cells if one.condition == where], seeds, asked.out)
    if asked.cells:
        for one in cells:
            values = "; ".join(f"{reading} {ours[one, reading]:.3f}" for reading in READINGS[one.agent])
            print(f"{one.condition}, {one.metric}, {one.agent}, published {one.printed}: {values}")
    print(f"| reading | {' | '.join(KINDS)} | with its sign | nearest |")
    print(f"|{' --- |' * (len(KINDS) + 3)}")
    for agent, readings in READINGS.items():
        mine = [one for one in cells if one.agent == agent]
        away = {reading: np.array([ours[one, reading] - (one.value or 0.0) for one in mine]) for reading in readings}
        least = np.min([np.abs(each) for each in away.values()], axis=0)
        for reading in readings:
            row = [reading]
            for chosen in KINDS.values():
                there = np.array([chosen(one) for one in mine])
                row.append(f"{np.abs(away[reading][there]).mean():.3f} ({there.sum()})" if there.any() else "")
            nearest = int((np.abs(away[reading]) <= least + 1e-9).sum())
            print(f"| {' | '.join(row)} | {away[reading].mean():+.3f} | {nearest} of {len(mine)} |")


if __name__ == "__main__":
    main()
