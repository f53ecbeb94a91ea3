"""Puts requests beside those that take as many devices: GPU-Clustering."""

from __future__ import annotations

from binwright.agents.rules.on_devices import Asked, At, DeviceAgent, cheapest_on_devices
from binwright.simcore.types import QUANTUM, Amounts, Ints


@cheapest_on_devices
def gpu_clustering(
    free: Ints, left: Ints, held: Ints, demand: Amounts, asked: Asked, at: At, numbers: tuple[float, float]
) -> tuple[float, int]:
    """Cost who is there already, and within that what the devices have free, in 25ths of the largest server."""
    if asked.many == 0:
        return 0.0, -1
    kind = asked.many if asked.each == QUANTUM else 0
    kinds = 0
    for other in range(held.shape[1]):
        kinds += held[at.server, other] > 0
    most = int(numbers[1])
    full = 25 * (most - free[at.server, 0, asked.resource]) // most
    if held[at.server, kind] > 0:
        return -float(full + (75 if kinds == 1 else 50)), -1
    return -float(full + (25 if kinds == 0 else 0)), -1


class GPUClustering(DeviceAgent):
    """Servers with requests for as many devices only, then also others, then idle ones; there the fullest."""

    reference = "GPU-Clustering of Weng et al. 2023, Beware of Fragmentation (USENIX ATC), after Gandiva (OSDI 2018)"
    rule = staticmethod(gpu_clustering)
