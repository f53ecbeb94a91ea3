"""`python -m benchmarks.rivals`: every way to pack, at 1, 10 and 60 seconds, and how fast the published search is.

Prints Markdown. Searches and rivals use all cores; numbers move with the machine and with what else it does.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter, process_time

from agents.solver.model.packing_bound import lower_bound
from agents.solver.packing.lower_bound import SEARCHES
from agents.solver.packing.pack import HEURISTICS, RIVALS, Packed, pack
from agents.solver.search.find import find
from agents.solver.search.packing import Packing
from workloads.offline import FITTED, machines

TIMES = (1.0, 10.0, 60.0)
INFEASIBLE = 87
"""Bins that PgRank does not fit: its lower bound is 88."""


def table(names: list[str], times: list[float], methods: list[str]) -> None:
    """Bins and seconds of each method on each input."""
    print("| input | bound | with | " + " | ".join(f"{time:g} s" for time in times) + " |")
    print("| --- | --- | --- |" + " --- |" * len(times))
    for name in names:
        given = machines(name)
        bound = lower_bound(given.demand, given.capacity)
        for method in methods:
            cells: list[str] = []
            answer: Packed | None = None
            before = 0.0
            for time in times:
                # An answer that was ready before its time was up is the answer for longer times, too.
                if answer is None or answer.seconds >= before:
                    answer = pack(given.demand, given.capacity, method, seconds=time)
                cells.append(shown(answer))
                before = time
            print(f"| {name} | {bound} | {method} | " + " | ".join(cells) + " |", flush=True)


def shown(answer: Packed) -> str:
    """`88 (.02 s)`."""
    return "none" if answer.bins is None else f"{answer.bins} ({answer.seconds:.2g} s)"


def seeds(names: list[str], count: int, seconds: float) -> None:
    """How many seeds of the searches reach the lower bound, and the slowest of those."""
    print(f"\n| input | with | seeds at the bound, of {count} | slowest |")
    print("| --- | --- | --- | --- |")
    for name in names:
        given = machines(name)
        answers = [pack(given.demand, given.capacity, "solver", seconds=seconds, seed=seed) for seed in range(count)]
        good = [answer for answer in answers if answer.gap == 0]
        slowest = max((answer.seconds for answer in good), default=0.0)
        print(f"| {name} | solver | {len(good)} | {slowest:.3f} s |", flush=True)


def throughput(workers: int, repeats: int = 5) -> None:
    """Complete attempts of the published search per second, where none can succeed: the best and the worst run."""
    given = machines("pgrank")
    packing = Packing.alike(given.demand, given.capacity, INFEASIBLE)
    find(packing, "published", chunks=range(2), workers=workers)
    rates, each = [], []
    for _ in range(repeats):
        began, busy = perf_counter(), process_time()
        found = find(packing, "published", chunks=range(200), workers=workers)
        rates.append(found.checked / (perf_counter() - began))
        each.append(found.checked / (process_time() - busy))
    print(f"\npublished search, pgrank in {INFEASIBLE}, {workers} threads: {min(rates):,.0f} to {max(rates):,.0f} /s")
    print(f"of which per second of one core's time: {min(each):,.0f} to {max(each):,.0f}")


def first_answer() -> None:
    """Time a fresh process from its start to the answer, with compiled code kept from before."""
    command = [sys.executable, "-m", "binwright", "pack", "pgrank", "--with", "solver"]
    took = []
    for _ in range(3):
        began = perf_counter()
        subprocess.run(command, check=True, capture_output=True, cwd=Path(__file__).parents[1])
        took.append(perf_counter() - began)
    print(f"\n`binwright pack pgrank --with solver`, whole process: {min(took):.2f} to {max(took):.2f} s")


def main() -> None:
    """All of it, or what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", default=",".join(f"{time:g}" for time in TIMES), help="seconds, with commas between")
    parser.add_argument("--inputs", default=",".join(FITTED))
    parser.add_argument("--with", dest="methods", default=",".join((*HEURISTICS, *SEARCHES, *RIVALS)))
    asked = parser.parse_args()
    inputs = asked.inputs.split(",")
    print(f"Load of the machine when it began: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    throughput(os.cpu_count() or 1)
    first_answer()
    seeds(inputs, 20, 10.0)
    print()
    table(inputs, [float(time) for time in asked.times.split(",")], asked.methods.split(","))


if __name__ == "__main__":
    main()
