"""How much longer than Best-Fit the agent `internal` lasts: python -m benchmarks.internal [--trace FILE] [--design].

Episodes end at the first request that fits nowhere, on clusters of 2-node servers of 40 cores and 90 GB; memory
above 10 GB is spread. Each episode overlays windows of the trace with random starts, the same for all agents.
Rules were chosen on rows 0-49,999 (`--design`); the default are the rows after them.
"""

from __future__ import annotations

import argparse

import numpy as np
import polars as pl

from agents.heuristics.servers.best_fit import best_fit, best_fit_loose
from agents.heuristics.servers.internal import internal
from benchmarks.compiled import run
from simcore.types import QUANTUM, Floats

RULES = {"best-fit, node: loose": best_fit_loose, "internal": internal}
SETTINGS = ((10, 2, 12_000), (20, 3, 10_000), (50, 12, 5_000))  # servers, windows, rows of a window
WARM = (0.0, 0.3, 0.5)
SPLIT = 50_000


def lengths(trace: pl.DataFrame, servers: int, windows: int, rows: int, episodes: int) -> Floats:
    """Count requests placed before one fits nowhere: float64 [rules, warm starts, episodes], Best-Fit first."""
    at, lifetime = trace["at"].to_numpy().astype(np.float64), trace["lt"].to_numpy().astype(np.float64)
    demand = trace.select("cpu", "mem").to_numpy().astype(np.int64) * QUANTUM
    spread = demand[:, 1] > 10 * QUANTUM
    capacity = np.tile(np.array([40, 90]) * QUANTUM, (servers, 2, 1))
    result = np.empty((1 + len(RULES), len(WARM), episodes))
    for episode in range(episodes):
        starts = np.random.default_rng([servers, episode]).integers(0, len(at) - rows + 1, windows)
        picked = starts[:, None] + np.arange(rows)
        arrival = (at[picked] - at[starts][:, None]).ravel()
        order = np.argsort(arrival, kind="stable")
        row = picked.ravel()[order]
        for i, scan in enumerate((best_fit, *RULES.values())):
            for j, warm in enumerate(WARM):
                requests = (arrival[order], lifetime[row], demand[row], spread[row])
                placed, offered = run(scan, best_fit, capacity, *requests, warm, True)
                if placed == offered:
                    raise SystemExit(f"episode {episode} met no request that fits nowhere: take longer windows")
                result[i, j, episode] = placed
    return result


def gain(length: Floats, base: Floats) -> str:
    """Write the ratio of means less one, with its 95 % interval (delta method, episodes paired)."""
    ratio = length.mean() / base.mean()
    error = (length - ratio * base).std(ddof=1) / np.sqrt(len(base)) / base.mean()
    return f"{100 * (ratio - 1):+.2f} ± {196 * error:.2f} %"


def main() -> None:
    """Print a table for each setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trace", default="../shared/traces/huawei-east-1.csv")
    parser.add_argument("--design", action="store_true")
    parser.add_argument("--episodes", type=int, default=3000)
    options = parser.parse_args()
    trace = pl.read_csv(options.trace)
    trace = trace[:SPLIT] if options.design else trace[SPLIT:]
    for servers, windows, rows in SETTINGS:
        base, *others = lengths(trace, servers, windows, rows, options.episodes)
        print(f"{servers} servers, {windows} windows of {rows} rows; warm start {', '.join(f'{w:.0%}' for w in WARM)}")
        print(f"  {'best-fit':22}", *(f"{mean:>16.0f}" for mean in base.mean(axis=1)))
        rows_of_table = [(name, length, base) for name, length in zip(RULES, others, strict=True)]
        for name, length, than in (*rows_of_table, ("internal over loose", others[1], others[0])):
            print(f"  {name:22}", *(f"{gain(length[j], than[j]):>16}" for j in range(len(WARM))))


if __name__ == "__main__":
    main()
