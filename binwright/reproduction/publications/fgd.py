"""FGD (Weng and others 2023): fragmentation of GPU clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from binwright.fabric.fragmentation import CAUSES, USABLE
from binwright.reproduction.claims import Value, keys_of, published
from binwright.reproduction.figures import Material, intervals
from binwright.reproduction.measures import Measure, Runs, averaged
from binwright.simcore.extras import pl
from binwright.simcore.types import Floats

if TYPE_CHECKING:
    from binwright.analysis.figures.draw import Figure


def held(found: pl.DataFrame) -> Floats:
    """Return the percent of all devices that are held, by decision."""
    share: Floats = 100 * found["allocated"].to_numpy() / (found["allocated"] + found["free"]).to_numpy()
    return share


def in_fragments(found: pl.DataFrame) -> Floats:
    """Return the percent of what is free that is fragmented, by decision."""
    fragments = found.select([f"fragments_{cause}" for cause in CAUSES]).to_numpy()
    share: Floats = 100 * (1 - fragments[:, USABLE] / np.maximum(fragments.sum(axis=1), 1e-9))
    return share


def when_arrived(of: Callable[[pl.DataFrame], Floats]) -> Measure:
    """Measure over the decisions at which as many devices had been asked for as the condition says, `arrived=90%`."""

    def measure(runs: Runs, agent: str) -> Value:
        percent = int(keys_of(runs.condition)["arrived"].rstrip("%"))
        values = []
        for run in runs.of(agent)["run"]:
            found = runs.results.devices(run)
            devices = (found["allocated"] + found["free"]).to_numpy()
            there = np.rint(100 * found["arrived"].to_numpy() / devices) == percent
            if there.any():
                values.append(float(of(found)[there].mean()))
        return averaged(values) if values else Value(np.nan, None, None, 0)

    return measure


allocated, fragmented = when_arrived(held), when_arrived(in_fragments)


def curves(given: Material, metric: str, title: str) -> Figure:
    """Draw a metric over what has arrived, ours and the published values."""
    from binwright.analysis.figures.lines import Line, Panel, lines

    panels, measured = [], list[Value]()
    for agent in given.of("inflated", "workload=default").labels:
        ours, theirs = [], []
        for one in published("fgd"):
            if (one.agent, one.metric) == (agent, metric):
                percent = float(keys_of(one.condition)["arrived"].rstrip("%"))
                theirs.append((percent, one.value or 0.0, None, None))
                if found := given.value(one.condition, agent, metric):
                    measured.append(found)
                    ours.append((percent, *found[:3]))
        both = [Line("ours", ours), Line("published", theirs, published=True)]
        panels.append(Panel(both, "% of GPUs asked for", title, agent))
    return lines(panels, f"{title}, when so many have been asked for", caption=intervals(measured))
