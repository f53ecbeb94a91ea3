"""How much the seeds' windows of a trace overlap: seeds that met the same requests are not independent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from binwright.simcore.extras import pl

Rows = Sequence[tuple[int, int]]
"""Of a seed's windows: first row, and the row after the last."""
WORTH_SAYING = 0.05
"""The least share of requests met twice that is said."""


SENTENCE = (
    "The windows of these {:,} seeds overlap: {:.0f} % of a seed's requests are met by another one too. So seeds are "
    "not independent, and intervals and p-values promise more than they can keep. Draw from more of the trace, or take "
    "windows that do not overlap: start: {{apart: [first, last]}} (page 'Traces and generated workloads')."
)


def overlap(seeds: Sequence[Rows]) -> float:
    """Compute the share of a seed's requests that another one met too; what a seed's own windows share counts once."""
    rows = [np.unique(np.concatenate([np.arange(*window) for window in windows])) for windows in seeds]
    _, seeds_met = np.unique(np.concatenate([np.zeros(0, np.int64), *rows]), return_counts=True)
    return float(seeds_met[seeds_met > 1].sum() / max(int(seeds_met.sum()), 1))


def written(rows: Rows) -> str:
    """Write windows as runs.parquet has them: `first-last`, both included."""
    return " ".join(f"{first}-{end - 1}" for first, end in rows)


def overlap_of(runs: pl.DataFrame, keys: Sequence[str]) -> str:
    """Say the largest overlap at a point of finished runs; "" if it is not worth saying.

    Of agents that met more or less of the same windows, the one that met most counts.
    """
    if "windows" not in runs.columns:
        return ""
    points: dict[object, dict[int, Rows]] = {}
    done = runs.filter(pl.col("status") == "done", pl.col("windows").is_not_null())
    for *point, seed, text in done.select(*keys, "seed", "windows").unique(maintain_order=True).iter_rows():
        rows = [(int(first), int(last) + 1) for first, _, last in (part.partition("-") for part in text.split())]
        met = points.setdefault(tuple(point), {})
        met[seed] = max(rows, met.get(seed, rows), key=lambda some: sum(end - first for first, end in some))
    share, count = max(((overlap([*seeds.values()]), len(seeds)) for seeds in points.values()), default=(0.0, 0))
    return SENTENCE.format(count, 100 * share) if share >= WORTH_SAYING else ""
