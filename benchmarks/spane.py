"""The published waits of SPANE's baselines beside ours, from the results of `binwright run spane/waits`.

python -m benchmarks.spane RESULTS
"""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl

PUBLISHED = {"first-fit": (89822.5225, 362634.624), "balance-fit": (86009.90875, 336486.767)}
"""Of each agent the trimmed mean, which leaves out a tenth at each end, and the mean of the total waits, in seconds.

Chan 2025, SPANE, arXiv:2504.14946: as its program, github.com/ChanTinPing/SPANE, states them (baseline.py).
"""


def means(runs: pl.DataFrame) -> dict[str, tuple[float, float]]:
    """Average these runs. Waits are whole seconds, so that their sums are exact."""
    found = {}
    for (agent,), of in runs.group_by("agent", maintain_order=True):
        waits = sorted(of["wait_total"].to_list())
        cut = len(waits) // 10
        kept = waits[cut : len(waits) - cut]
        found[str(agent)] = sum(kept) / len(kept), sum(waits) / len(waits)
    return found


def main(results: str) -> None:
    """Print a row for each agent."""
    print(f"{'agent':12}{'trimmed: published':>20}{'ours':>15}{'mean: published':>18}{'ours':>14}")
    for agent, (trimmed, mean) in means(pl.read_parquet(Path(results) / "runs.parquet")).items():
        theirs = PUBLISHED[agent]
        print(f"{agent:12}{theirs[0]:20}{trimmed:15}{theirs[1]:18}{mean:14}")


if __name__ == "__main__":
    main(*sys.argv[1:])
