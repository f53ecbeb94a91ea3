"""Shares devices in use before it breaks into idle ones, and those before idle servers: GPU-Packing."""

from __future__ import annotations

from binwright.agents.rules.on_devices import Asked, At, DeviceAgent, cheapest_on_devices
from binwright.fabric.devices import tightest
from binwright.simcore.types import QUANTUM, Amounts, Ints


@cheapest_on_devices
def gpu_packing(
    free: Ints, left: Ints, held: Ints, demand: Amounts, asked: Asked, at: At, numbers: tuple[float, float]
) -> tuple[float, int]:
    """Cost in three ranges: devices in use, by their free parts; idle ones, by number; idle servers, by size."""
    if asked.many == 0:
        return 0.0, -1
    idle = 0
    for device in range(at.there):
        idle += left[at.server, device] == QUANTUM
    if idle == at.there:
        return -float(max(33 - idle, idle)), -1
    chosen = tightest(left, at.server, at.there, asked.many, asked.each)
    broken, room = 0, 0
    for device in range(at.there):
        if (chosen >> device) & 1:
            broken += left[at.server, device] == QUANTUM
            room += left[at.server, device] * 100 // QUANTUM
    if broken > 0:
        return -float(max(50 - broken, 33)), chosen
    return -float(max(100 - room // 10, 50)), chosen


class GPUPacking(DeviceAgent):
    """Devices that are in use already, then idle devices of servers in use, then idle servers; the tightest device."""

    reference = "GPU-Packing of Weng et al. 2023, Beware of Fragmentation (USENIX ATC)"
    rule = staticmethod(gpu_packing)
