"""Chooses any server and any device that fits: GPU-Random."""

from __future__ import annotations

import numpy as np

from binwright.agents.rules.on_devices import DeviceAgent
from binwright.agents.rules.random_numbers import drawn
from binwright.fabric.devices import Devices, DeviceView, fits_server, tightest, wanted
from binwright.simcore.jit import kernel
from binwright.simcore.types import Amounts, Floats, Ints


@kernel
def gpu_random(
    free: Ints,
    capacity: Ints,
    devices: Devices,
    demand: Amounts,
    resource: int,
    models: int,
    numbers: tuple[Floats],
) -> int:
    """Take, as a `DeviceScan`, any server that fits, and any of its devices that do; `numbers` is a stream."""
    left, there, model, _ = devices
    count, each = wanted(demand[resource])
    found = 0
    for server in range(len(free)):
        found += fits_server(free, left, server, there[server], model[server], demand, count, each, models)
    if found == 0:
        return -1
    before = int(drawn(numbers[0]) * found)
    chosen = -1
    for server in range(len(free)):
        if fits_server(free, left, server, there[server], model[server], demand, count, each, models):
            if before == 0:
                chosen = server
                break
            before -= 1
    taken = tightest(left, chosen, there[chosen], count, each)
    if count == 1:
        fitting = 0
        for device in range(there[chosen]):
            fitting += left[chosen, device] >= each
        before = int(drawn(numbers[0]) * fitting)
        for device in range(there[chosen]):
            if left[chosen, device] >= each:
                if before == 0:
                    taken = 1 << device
                before -= 1
    code: int = (chosen << left.shape[1]) + taken
    return code


class GPURandom(DeviceAgent):
    """Any server on which the request fits, and any device there that has enough, all equally likely."""

    reference = "the baseline of Weng et al. 2023, Beware of Fragmentation (USENIX ATC)"
    rule = staticmethod(gpu_random)

    def learn(self, view: DeviceView, rng: np.random.Generator) -> tuple[Floats]:
        """Return the run's random stream."""
        self._stream = np.array([int(rng.integers(2**53)), 0], np.float64)
        return (self._stream,)
