"""`python -m benchmarks.solver kinds`: what several kinds of servers cost that hold everything, beside exact solvers.

With `--page` it writes docs/experiments/solver-kinds.md.
"""

from __future__ import annotations

import argparse
import os
import platform
from math import sqrt
from pathlib import Path

import numpy as np

from agents.solver.model.fleet import ENDLESS, Fleet
from agents.solver.packing.pack import pack
from simcore.types import Ints

PAGE = Path(__file__).parents[1] / "docs/experiments/solver-kinds.md"
WAYS: dict[str, tuple[str, float]] = {
    "ours 1 s": ("solver", 1),
    "ours 5 s": ("solver", 5),
    "CP-SAT 5 s": ("cp-sat", 5),
    "HiGHS 5 s": ("highs", 5),
    "FFD": ("ffd-prod", 0),
    "BFD": ("bfd-sum", 0),
}
THREE, FIVE = (100, 120, 150), (60, 80, 100, 120, 150)
CLOUD = np.array([[2, 8], [4, 8], [4, 32], [16, 64], [32, 64], [32, 256], [64, 256]])
PRICES = np.array([100, 170, 260, 780, 1_360, 2_000, 3_050])
CLASSES = ("three", "five", "concave", "cloud", "cloud 300", "limited", "listed")
Measured = dict[str, dict[str, tuple[int | None, int, float]]]
"""By instance, by way: cost, bound, seconds."""


def draw(name: str, seed: int) -> tuple[Ints, Fleet]:
    """Draw the machines and the servers of a class."""
    rng = np.random.default_rng(seed)
    if name in ("three", "five", "concave"):
        rooms = THREE if name == "three" else FIVE
        price = [round(100 * sqrt(room)) if name == "concave" else room for room in rooms]
        sizes = rng.integers(20, min(rooms[-1], 100), (100, 1), endpoint=True)
        return sizes, Fleet(np.array(rooms)[:, None], np.full(len(rooms), ENDLESS), np.array(price))
    count = 300 if name == "cloud 300" else 100
    cores = rng.choice([1, 2, 4, 8, 16], count, p=[0.3, 0.3, 0.2, 0.15, 0.05])
    memory = np.maximum(1, np.rint(cores * rng.choice([1, 2, 4, 7], count) * rng.uniform(0.7, 1.3, count)))
    demand = np.column_stack([cores, memory]).astype(np.int64)
    if name == "listed":
        servers = rng.integers((8, 16), (64, 256), (30, 2), endpoint=True)
        return demand, Fleet(servers, np.ones(30, np.int64), np.ones(30, np.int64))
    few = np.full(len(PRICES), 4) if name == "limited" else np.full(len(PRICES), ENDLESS)
    return demand, Fleet(CLOUD, few, PRICES)


def measure(classes: list[str], seeds: int) -> Measured:
    """Pack every instance in every way, with one thread."""
    os.environ["BINWRIGHT_THREADS"] = "1"
    found: Measured = {}
    for name in classes:
        for seed in range(1, seeds + 1):
            demand, fleet = draw(name, seed)
            row = found.setdefault(f"{name}, {seed}", {})
            for way, (method, seconds) in WAYS.items():
                packed = pack(demand, fleet, method, seconds=seconds)
                row[way] = packed.cost, packed.bound, round(packed.seconds, 2)
            print(f"{name} {seed}: {row}", flush=True)
    return found


def table(found: Measured) -> str:
    """Write a row for each instance, as Markdown; what is proven by ours has a star."""
    lines = [f"| class, seed | bound | {' | '.join(WAYS)} |", "| --- " * (2 + len(WAYS)) + "|"]
    for instance, row in found.items():
        bound = max(row[way][1] for way in row if way.startswith("ours"))
        cells = []
        for way in WAYS:
            cost = row[way][0]
            over = (
                ""
                if cost is None
                else f"{cost:,} ({100 * (cost / bound - 1):.1f} %)"
                if cost > bound
                else f"{cost:,} \\*"
            )
            cells.append(over or "none")
        lines.append(f"| {instance} | {bound:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


TEXT = """# The cheapest servers of several kinds

What do servers of several kinds cost that hold all machines, as our search finds them, exact solvers and heuristics, on
the same instances in the same time? `python -m benchmarks.solver kinds --page` measured it and wrote this page, on
{machine} with Python {python}, load {load:.1f} when it began. Every way has one thread and one instance at a time;
compilation and imports are not counted. Where other work shares the processors, each way has less of its time than the
column says.

| class | machines | servers |
| --- | --- | --- |
| `three` | 100 of 20 to 100 | any number of 100, 120 and 150, for a price of what they have |
| `five` | the same | of 60, 80, 100, 120 and 150, for a price of what they have |
| `concave` | the same | the five, for 100 times the root of what they have |
| `cloud`, `cloud 300` | 100 or 300 of 1 to 16 cores, some 1 to 7 GB for each | seven kinds, 2 to 64 cores, any number |
| `limited` | as in `cloud` | four of each of the seven kinds |
| `listed` | as in `cloud` | 30 servers, all different; what counts is how many are used |

The first two are like those of Monaci (PhD thesis, Bologna, 2002), the third is like those of Correia, Gouveia and
Saldanha-da-Gama (Computers and Operations Research 35, 2008).

*Bound* is proven by ours in 5 s. The numbers are prices, with how far above the bound they are; \\* is proven to be
optimal by that bound, and `none` is no answer in time. CP-SAT knows the answer of FFD; HiGHS takes no hint. FFD and BFD
are as [the guide](../guides/packing.md#several-kinds-of-servers) says: each kind of server has come first once, the
cheapest answer counts, and servers have been exchanged for cheaper ones that hold as much.

{table}
"""


def main(arguments: list[str]) -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.solver kinds", description=__doc__)
    parser.add_argument("--classes", default=",".join(CLASSES))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--page", action="store_true", help=f"write {PAGE.name}")
    asked = parser.parse_args(arguments)
    load = os.getloadavg()[0]
    found = measure(asked.classes.split(","), asked.seeds)
    print(table(found))
    if asked.page:
        machine = f"{os.cpu_count()} cores ({platform.processor() or platform.machine()})"
        text = TEXT.format(machine=machine, python=platform.python_version(), load=load, table=table(found))
        PAGE.write_text(text, encoding="utf-8")
