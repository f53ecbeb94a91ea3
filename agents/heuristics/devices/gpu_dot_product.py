"""Goes where what is asked for and what is free are least alike: GPU-Dot-Product."""

from __future__ import annotations

from math import floor

from binwright.agents.rules.on_devices import Asked, At, DeviceAgent, cheapest_on_devices
from binwright.simcore.types import Amounts, Ints


@cheapest_on_devices
def gpu_dot_product(
    free: Ints, left: Ints, held: Ints, demand: Amounts, asked: Asked, at: At, numbers: tuple[float, float]
) -> tuple[float, int]:
    """Cost the product of what is free and asked for of both, as shares of the largest server, in whole percent."""
    cpu_most, most = numbers
    cpu = (free[at.server, 0, 0] / cpu_most) * (demand[0] / cpu_most)
    both = cpu + (free[at.server, 0, asked.resource] / most) * (demand[asked.resource] / most)
    return -floor((1.0 - both / 2.0) * 100.0), -1


class GPUDotProduct(DeviceAgent):
    """The server where the product of the shares free and asked for, of cpu and devices, is smallest."""

    reference = "Dot-Product of Weng et al. 2023, Beware of Fragmentation (USENIX ATC), after Tetris (SIGCOMM 2014)"
    rule = staticmethod(gpu_dot_product)
