"""Puts requests beside those that take as many devices: GPU-Clustering."""

from __future__ import annotations

import numpy as np

from agents.rules.on_devices import DeviceAgent, cheapest_on_devices, devices_of, largest
from simcore.vocabulary import QUANTUM, Amounts, Ints, View


@cheapest_on_devices
def gpu_clustering(
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
    """Cost who is there already, and within that what the devices have free, in 25ths of the largest server."""
    if count == 0:
        return 0.0, -1
    kind = count if each == QUANTUM else 0
    kinds = 0
    for other in range(held.shape[1]):
        kinds += held[server, other] > 0
    most = int(numbers[1])
    full = 25 * (most - free[server, 0, resource]) // most
    if held[server, kind] > 0:
        return -float(full + (75 if kinds == 1 else 50)), -1
    return -float(full + (25 if kinds == 0 else 0)), -1


class GPUClustering(DeviceAgent):
    """Servers with requests for as many devices only, then also others, then idle ones; there the fullest."""

    reference = "GPU-Clustering of Weng et al. 2023, Beware of Fragmentation (USENIX ATC), after Gandiva (OSDI 2018)"
    rule = staticmethod(gpu_clustering)

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Look at the largest servers."""
        self.numbers = largest(devices_of(self, view))
        super().start(view, rng)
