"""Fills the fullest server, by cpu and devices: GPU-Best-Fit."""

from __future__ import annotations

from math import floor

from binwright.agents.rules.on_devices import Asked, At, DeviceAgent, cheapest_on_devices
from binwright.simcore.types import Amounts, Ints


@cheapest_on_devices
def gpu_best_fit(
    free: Ints, left: Ints, held: Ints, demand: Amounts, asked: Asked, at: At, numbers: tuple[float, float]
) -> tuple[float, int]:
    """Cost the shares of the largest server that are left of both, halved and added, in whole percent."""
    cpu = (free[at.server, 0, 0] - demand[0]) / numbers[0]
    rest = (free[at.server, 0, asked.resource] - demand[asked.resource]) / numbers[1]
    return -floor((1.0 - (cpu * 0.5 + rest * 0.5)) * 100.0), -1


class GPUBestFit(DeviceAgent):
    """The server with the least left of cpu and devices, as shares of the largest server; the tightest device."""

    reference = "Best-Fit of Weng et al. 2023, Beware of Fragmentation (USENIX ATC)"
    rule = staticmethod(gpu_best_fit)
