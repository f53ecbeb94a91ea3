"""`python -m benchmarks.solver [DEVICE...]`: attempts per second of the published search, and times of first answers.

PgRank in 87 bins, which no placement can do, as a specification: every attempt is made to its end. `dense`
passes bins without room over by the matrix; `generated` calls UTILFN for them, too. Prints Markdown.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from time import perf_counter, process_time

from binwright.agents.solver import problem
from binwright.agents.solver.backends import cpu, opencl
from binwright.agents.solver.backends.cpu import Outcome
from binwright.agents.solver.backends.opencl import opencl_devices
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import MICRO
from binwright.workloads.offline import machines

BINS, SECONDS = 87, 4.0
NAMES = ("CPU", "MEMORY", "DISK", "SENT", "RECEIVED")


def pgrank() -> Problem:
    """Make the fitted PgRank in too few bins."""
    instance = machines("pgrank")
    body = " ".join(f"UTIL.{name}[BIN] += D[BALL, {number}]" for number, name in enumerate(NAMES))
    return problem(
        f"BALLS len(D) BINS {BINS} RESOURCES {', '.join(f'{name}[s in BINS] => 1' for name in NAMES)}"
        f" procedure UTILFN(BALL, BIN, ALLOC) {body} end",
        tables={"D": instance.demand / MICRO},
    )


def pace(answers: Iterator[Outcome]) -> tuple[float, float]:
    """Count attempts per second, and per second of processor time, after compilation and a second to warm up."""
    next(answers)
    began = start = perf_counter()
    before, busy = 0, process_time()
    checked = 0
    for each in answers:
        checked, now = each.checked, perf_counter()
        if now - began < 1:
            start, before, busy = now, checked, process_time()
        elif now - start > SECONDS:
            break
    return (checked - before) / (perf_counter() - start), (checked - before) / max(process_time() - busy, 1e-9)


def main(devices: list[str]) -> None:
    """All searches, then a fresh process."""
    instance, general = pgrank(), pgrank()
    vars(general)["matrix"] = None
    most = 1 << 40
    runs: dict[str, Iterator[Outcome]] = {
        "dense, cpu": cpu.attempts(instance, 1, 0, most),
        "generated, cpu": cpu.attempts(general, 1, 0, most),
    }
    for device in (each for each in opencl_devices() if not each.reason):
        made = opencl.attempts(instance, 1, 0, most, device=device)
        runs[f"dense, {device.name}"] = made
    print(f"Load when it began: {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} cores.\n")
    print("| search | attempts per second | per second of processor time |\n| --- | --- | --- |")
    for name, answers in runs.items():
        if not devices or any(device in name for device in devices):
            wall, busy = pace(answers)
            print(f"| {name} | {wall:,.0f} | {busy:,.0f} |", flush=True)
    for example in ("vm-placement", "network"):
        times = []
        for _ in range(3):
            start = perf_counter()
            subprocess.run([sys.executable, "-m", "binwright", "solve", example], check=True, capture_output=True)
            times.append(perf_counter() - start)
        print(f"\n`binwright solve {example}`, the whole process: {min(times):.2f} s (best of {len(times)})")


if __name__ == "__main__":
    main(sys.argv[1:])
