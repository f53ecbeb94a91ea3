"""The placed requests of a network's runs, as they were recorded: what scatter and bubbles are drawn from."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from analysis.figures.figure_data import FigureData, Point
from simcore.errors import ResultsError


def placements(chosen: FigureData, point: Point, columns: Sequence[str]) -> dict[str, list[pl.DataFrame]]:
    """Read for every agent at a point a frame of placed requests per run, without the warm start's and empty runs."""
    found: dict[str, list[pl.DataFrame]] = {agent: [] for agent in chosen.agents}
    for other, agent, runs in chosen.groups():
        if other != point:
            continue
        for run in runs:
            frame = chosen.results.requests(run)
            missing = [name for name in columns if name not in frame.columns]
            if missing:
                raise ResultsError(
                    f"the requests have no {' and '.join(missing)}",
                    file=chosen.results.folder,
                    remedy="Only those of a network have: write `cluster: {network: ...}` and `record: [requests]`.",
                )
            placed = frame.filter(pl.col("outcome").cast(pl.String).is_in(["placed", "interrupted"]) & ~pl.col("warm"))
            if len(placed):
                found[agent].append(placed)
    if not all(found.values()):
        empty = ", ".join(agent for agent, frames in found.items() if not frames)
        raise ResultsError(f"{empty} placed nothing", file=chosen.results.folder, remedy="Choose others with --agents.")
    return found
