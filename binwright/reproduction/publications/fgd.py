"""FGD (Weng and others 2023): fragmentation of GPU clusters."""

import numpy as np

from binwright.fabric.fragmentation import CAUSES, USABLE
from binwright.reproduction.claims import Value, keys_of
from binwright.reproduction.measures import Measure, Runs, averaged


def when_arrived(what: str) -> Measure:
    """Measure what is `held` of all devices, or `fragmented` of those that are free, in percent.

    It is the mean over the decisions at which as many devices had been asked for as the condition says, `arrived=90%`.
    """

    def measure(runs: Runs, agent: str) -> Value:
        percent = int(keys_of(runs.condition)["arrived"].rstrip("%"))
        values = []
        for run in runs.of(agent)["run"]:
            devices = runs.results.devices(run)
            held, free, arrived = (devices[name].to_numpy() for name in ("allocated", "free", "arrived"))
            fragments = devices.select(f"fragments_{cause}" for cause in CAUSES).to_numpy()
            usable = fragments[:, USABLE] / np.maximum(fragments.sum(axis=1), 1e-9)
            share = 100 * held / (held + free) if what == "held" else 100 * (1 - usable)
            at = np.rint(100 * arrived / (held + free)) == percent
            if at.any():
                values.append(float(share[at].mean()))
        return averaged(values) if values else Value(np.nan, None, None, 0)

    return measure
