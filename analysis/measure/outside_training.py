"""Which agents were used on something else than their weights were learned on: runs.parquet has it of every run."""

from __future__ import annotations

from collections.abc import Sequence

from simcore.lazy_imports import pl

ENOUGH = 0.5
"""The share of the runs of an agent at a point from which on it is said: single seeds may be unusual."""


def outside_of(runs: pl.DataFrame, keys: Sequence[str]) -> str:
    """Name the agents whose weights are used outside of what they were learned on at some point, and how; else ''."""
    if "outside" not in runs.columns:
        return ""
    done = runs.filter(pl.col("status") == "done", pl.col("outside").is_not_null())
    ways: dict[str, dict[str, None]] = {}
    for (agent, *_), some in done.group_by("agent", *keys, maintain_order=True):
        told = some.sort("seed").filter(pl.col("outside") != "").select("outside", way=bare("outside"))
        if len(told) >= ENOUGH * len(some):
            usual = told["way"].mode().sort()[0]
            ways.setdefault(str(told.filter(pl.col("way") == usual)["outside"][0]), {})[str(agent)] = None
    if not ways:
        return ""
    said = "; ".join(f"{', '.join(agents)}: {way}" for way, agents in ways.items())
    return (
        f"Weights are used on something else than they were learned on, where they may do harm. {said}. Train on such "
        "a load (`binwright train`), or take internal; the page 'Learned placement on NUMA servers' says what is "
        "compared."
    )


def bare(column: str) -> pl.Expr:
    """Take the numbers, which differ between seeds, out of what a column says."""
    return pl.col(column).str.replace_all(r" \([^)]*\)", "")
