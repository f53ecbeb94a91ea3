"""`python -m benchmarks.solver quality`: how few bins every way to pack needs, on the same instances and clocks.

All ways have one thread. A class is the sum over seeds 1, 2, ... of an input of `binwright pack`. Prints a table, and
with `--page` writes it into the documentation. `--out` keeps what was measured, and `--read` takes it from such files
instead of measuring again, so that classes can be measured apart.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Iterator
from pathlib import Path

from agents.solver.packing.pack import HEURISTICS, pack
from workloads.offline import OPEN, machines

CLASSES = ("pgrank", "u120", "u250", "t60", "t120", *(f"ct{number}" for number in range(1, 11)))
COUNT = 99
"""Machines of the classes that leave it open: of `ct10` it is a multiple of three."""
WAYS: dict[str, tuple[str, float]] = {
    "ours .1 s": ("solver", 0.1),
    "ours 1 s": ("solver", 1),
    "ours 10 s": ("solver", 10),
    "CP-SAT 1 s": ("cp-sat", 1),
    "CP-SAT 10 s": ("cp-sat", 10),
    "HiGHS 10 s": ("highs", 10),
    "arc-flow 10 s": ("arc-flow", 10),
    "Z3 10 s": ("z3", 10),
    "FFD": ("ffd-prod", 0),
    "BFD": ("bfd-sum", 0),
}
PAGE = Path(__file__).parents[1] / "docs/experiments/solver-quality.md"
CAPRARA = "Caprara and Toth, all"
Measured = dict[str, dict[str, tuple[int | None, int, float]]]
"""By instance, by way: bins, bound, seconds."""


def measure(classes: list[str], seeds: int, ways: list[str]) -> Iterator[Measured]:
    """Pack every instance in every way, with one thread; yields what is measured so far after each."""
    os.environ["BINWRIGHT_THREADS"] = "1"
    found: Measured = {}
    for name in classes:
        for seed in range(1, seeds + 1):
            given = machines(name, seed, COUNT if name in OPEN else None)
            row = found.setdefault(f"{name} {seed}", {})
            for way in ways:
                method, seconds = WAYS[way]
                packed = pack(given.demand, given.capacity, method, seconds=seconds)
                row[way] = packed.bins, packed.bound, round(packed.seconds, 2)
            print(f"{name} {seed}: {row}", flush=True)
            yield found


def table(found: Measured) -> str:
    """Sum up the instances of each class, as Markdown."""
    ways = [way for way in WAYS if any(way in row for row in found.values())]
    mine = [way for way in ways if WAYS[way][0] == "solver" or WAYS[way][0] in HEURISTICS]
    lines = [f"| class (instances) | bound | best | {' | '.join(ways)} |", "| --- " * (3 + len(ways)) + "|"]
    groups: dict[str, list[dict[str, tuple[int | None, int, float]]]] = {}
    for instance, row in found.items():
        name = instance.split()[0]
        for group in (name, CAPRARA) if name.startswith("ct") else (name,):
            groups.setdefault(group, []).append(row)
    for group, rows in groups.items():
        bounds = [max(row[way][1] for way in mine if way in row) for row in rows]
        best = [min(bins for bins, _, _ in row.values() if bins is not None) for row in rows]
        cells = []
        for way in ways:
            answers = [row[way][0] for row in rows if way in row]
            missing = sum(bins is None for bins in answers)
            total = sum(bins for bins in answers if bins is not None)
            cells.append(f"none of {missing}" if missing else str(total))
        lines.append(f"| {group} ({len(rows)}) | {sum(bounds)} | {sum(best)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def proven(found: Measured) -> str:
    """Say how many answers ours proved, how long the slowest proof took, and of which classes some are not proven."""
    times: dict[str, list[float | None]] = {}
    for instance, row in found.items():
        if answer := row.get("ours 10 s"):
            bins, bound, seconds = answer
            times.setdefault(instance.split()[0], []).append(seconds if bins == bound else None)
    done = [seconds for several in times.values() for seconds in several if seconds is not None]
    text = f"Ours proves {len(done)} of {sum(map(len, times.values()))} answers optimal within 10 s"
    for group, several in times.items():
        if missing := several.count(None):
            text += f", of `{group}` {len(several) - missing} of {len(several)}"
    return text + (f"; the slowest proof takes {max(done):.2f} s." if done else ".")


TEXT = """# How good the ways to pack are

How few servers do our search and proofs, exact solvers and heuristics need, on the same instances in the same time?

    python -m benchmarks.solver quality --page   # on {machine}, Python {python}, load {load:.1f}

Every way has one thread and one instance at a time; compilation is not counted. Numbers are sums of servers over the
instances of a class, drawn by the published rules (seeds 1, 2, ... of [packing](../guides/packing.md), `--count
{count}` where they leave it open). *Bound* is proven by ours, *best* is the least of any way, and `none of 3` means
that three instances have no answer in time. CP-SAT knows the answer of first fit; HiGHS, arc-flow and Z3 know how many
servers it needs.

{table}

{proven}
"""


def main(arguments: list[str]) -> None:
    """Measure what is asked for, or read it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.solver quality", description=__doc__)
    parser.add_argument("--classes", default=",".join(CLASSES))
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="keep what is measured in this file")
    parser.add_argument("--read", help="files of --out, with commas between, in place of measuring")
    parser.add_argument("--page", action="store_true", help=f"write {PAGE.name}")
    asked = parser.parse_args(arguments)
    load = os.getloadavg()[0]
    if asked.read:
        parts = [json.loads(Path(file).read_text()) for file in asked.read.split(",")]
        load = max(part["load"] for part in parts)
        found: Measured = {instance: row for part in parts for instance, row in part["found"].items()}
        found = dict(sorted(found.items(), key=lambda entry: CLASSES.index(entry[0].split()[0])))
    else:
        for found in measure(asked.classes.split(","), asked.seeds, asked.ways.split(",")):
            if asked.out:
                asked.out.write_text(json.dumps({"load": load, "found": found}))
    print(table(found), proven(found), sep="\n\n")
    if asked.page:
        machine = f"{os.cpu_count()} cores ({platform.processor() or platform.machine()})"
        text = TEXT.format(
            machine=machine, python=platform.python_version(), load=load, count=COUNT, table=table(found),
            proven=proven(found),
        )  # fmt: skip
        PAGE.write_text(text, encoding="utf-8")
