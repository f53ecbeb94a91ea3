"""How much of what devices have free the usual requests could not take, and for want of what."""

from __future__ import annotations

import numpy as np

from binwright.analysis.measure.definition import Definition, metric
from binwright.analysis.measure.finished_run import FinishedRun
from binwright.fabric.fragmentation import CAUSES


@metric(
    name="fragmented_gpu",
    heading="gpu fragmented %",
    unit="%",
    better="lower",
    meaning="free parts of devices that a usual request could not take, of all that are free, mean over the decisions",
)
def fragmented(run: FinishedRun) -> float | None:
    """Average over the decisions the share of what is free that is fragmented; 0 where nothing is free."""
    found = run.devices
    return None if found is None else float((found.fragmented / np.maximum(found.free, 1e-9)).mean())


@metric(
    name="fragmented_gpu_end",
    heading="gpu fragmented % (end)",
    unit="%",
    better="lower",
    table="never",
    meaning="free parts of devices that a usual request could not take, of all that are free, after the last decision",
)
def at_the_end(run: FinishedRun) -> float | None:
    """Return the share of what is free that is fragmented after the last decision."""
    found = run.devices
    return None if found is None else float(found.fragmented[-1] / max(found.free[-1], 1e-9))


def _for_want_of(cause: str, meaning: str) -> Definition:
    """Make the metric of one cause: its share of all devices, mean over the decisions."""
    place = CAUSES.index(cause)

    @metric(
        name=f"fragmented_gpu_{cause}",
        heading=f"gpu fragmented: {cause.replace('_', ' ')} %",
        unit="%",
        better="lower",
        table="never",
        meaning=f"share of the devices, mean over the decisions: free, and {meaning}",
    )
    def share(run: FinishedRun) -> float | None:
        found = run.devices
        if found is None:
            return None
        devices = found.allocated[-1] + found.free[-1]
        return float(found.fragments[:, place].mean() / max(devices, 1e-9))

    return share


lacks_both = _for_want_of("both", "the usual requests would lack cpu and devices")
lacks_devices = _for_want_of("devices", "the usual requests would lack devices")
lacks_cpu = _for_want_of("cpu", "the usual requests would lack cpu")
other_model = _for_want_of("model", "the usual requests want another model")
not_asked = _for_want_of("no_devices_asked", "the usual requests ask for no device")
not_asked_no_cpu = _for_want_of("no_devices_asked_no_cpu", "the usual requests ask for none, and would lack cpu")
