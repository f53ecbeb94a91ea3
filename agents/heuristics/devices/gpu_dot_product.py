"""Goes where what is asked for and what is free are least alike: GPU-Dot-Product."""

from __future__ import annotations

from math import floor

import numpy as np

from agents.rules.on_devices import DeviceAgent, cheapest_on_devices, devices_of, largest
from simcore.vocabulary import Amounts, Ints, View


@cheapest_on_devices
def gpu_dot_product(
    free: Ints,
    left: Ints,
    held: Ints,
    demand: Amounts,
    resource: int,
    server: int,
    there: int,
    model: int,
    count: int,
    each: int,
    numbers: tuple[float, float],
) -> tuple[float, int]:
    """Cost the product of what is free and asked for of both, as shares of the largest server, in whole percent."""
    most = numbers
    cpu = (free[server, 0, 0] / most[0]) * (demand[0] / most[0])
    both = cpu + (free[server, 0, resource] / most[1]) * (demand[resource] / most[1])
    return -floor((1.0 - both / 2.0) * 100.0), -1


class GPUDotProduct(DeviceAgent):
    """The server where the product of the shares free and asked for, of cpu and devices, is smallest."""

    reference = "Dot-Product of Weng et al. 2023, Beware of Fragmentation (USENIX ATC), after Tetris (SIGCOMM 2014)"
    rule = staticmethod(gpu_dot_product)

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Look at the largest servers."""
        self.numbers = largest(devices_of(self, view))
        super().start(view, rng)
