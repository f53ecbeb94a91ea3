"""How long results of 10,000 runs take to load, to tabulate and to compare. Prints; never fails on time.

Each shape is timed in a fresh process: imports are part of what a user waits for.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

SHAPES = ((1000, 2, 5), (100, 10, 10), (1, 10, 1000))
"""Points, agents, seeds: 10,000 runs each."""
TIMED = """
import sys
from time import perf_counter
began = perf_counter()
import binwright as bw
results = bw.load(sys.argv[1])
loaded = perf_counter()
comparison = results.compare()
compared = perf_counter()
results.table()
tabled = perf_counter()
for seconds in (compared - began, loaded - began, compared - loaded, tabled - compared):
    print(f"{seconds:11.2f}", end="")
print(f"{len(comparison.frame):10}")
"""


def runs(points: int, agents: int, seeds: int) -> pl.DataFrame:
    """Invented runs with every column of a scenario with two resources: every metric is there, skewed and shown."""
    rng = np.random.default_rng(0)
    count = points * agents * seeds
    point, seed, agent = (part.reshape(-1) for part in np.indices((points, seeds, agents)))
    luck = rng.exponential(size=(points * seeds, 1)).repeat(agents, axis=1).reshape(-1)
    metrics = [
        "offered",
        "scheduled",
        "acceptance",
        "rejected",
        "impossible",
        "interrupted",
        "lost",
        "hours",
        "stopped",
    ]
    metrics += ["servers", "servers_used", "wait_total", "wait_mean", "wait_p95", "wait_max", "income", "decision_us"]
    for name in ("cpu", "mem"):
        metrics += [f"allocation_{name}{end}" for end in ("", "_decisions", "_end")] + [f"fragmentation_{name}"]
    return pl.DataFrame(
        {
            "run": [f"{number:016x}" for number in range(count)],
            "agent": [f"agent-{number}" for number in agent],
            "seed": seed,
            "cluster.servers": point,
            "version": ["0"] * count,
            "status": ["done"] * count,
            "error": [""] * count,
            "seconds": rng.exponential(size=count),
            **{name: luck + 0.1 * agent + rng.exponential(size=count) for name in metrics},
        }
    )


def main() -> None:
    """Time every shape."""
    print("  points  agents   seeds     both s     load s  compare s    table s      rows")
    for points, agents, seeds in SHAPES:
        with tempfile.TemporaryDirectory() as folder:
            runs(points, agents, seeds).write_parquet(Path(folder) / "runs.parquet")
            command = [sys.executable, "-c", TIMED, folder]
            timed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.rstrip()
        print(f"{points:8}{agents:8}{seeds:8}{timed}")


if __name__ == "__main__":
    main()
