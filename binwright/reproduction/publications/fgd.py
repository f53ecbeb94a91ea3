"""FGD (Weng and others 2023): fragmentation of GPU clusters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from binwright.fabric.fragmentation import CAUSES, USABLE
from binwright.reproduction.claims import Value, keys_of
from binwright.reproduction.measures import Measure, Runs, averaged
from binwright.simcore.extras import pl
from binwright.simcore.types import Floats


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
