"""Decides by hand-made rules for servers with devices: FGD, and the baselines of its publication."""

from math import exp, floor
from typing import Annotated, TypeAlias

import numpy as np
from pydantic import Field

from binwright.agents.rules.on_devices import At, DeviceAgent, DeviceDemand, cheapest_on_devices
from binwright.agents.rules.random_stream import drawn
from binwright.fabric.devices import Devices, DeviceView, fits_server, tightest, wanted
from binwright.fabric.fragmentation import CAUSES, TOP, cpu_of, fragments, typical
from binwright.simcore.jit import kernel
from binwright.simcore.types import QUANTUM, Amounts, Floats, Ints

Largest: TypeAlias = tuple[float, float]
"""What the largest servers have, of the first resource and of the devices'."""


@cheapest_on_devices
def gpu_best_fit(at: At, demand: Amounts, taken: DeviceDemand, numbers: Largest) -> tuple[float, int]:
    """Cost the shares of the largest server that are left of both, halved and added, in whole percent."""
    cpu = (at.free[at.server, 0, 0] - demand[0]) / numbers[0]
    rest = (at.free[at.server, 0, taken.resource] - demand[taken.resource]) / numbers[1]
    return -floor((1.0 - (cpu * 0.5 + rest * 0.5)) * 100.0), -1


class GPUBestFit(DeviceAgent):
    """The server with the least left of cpu and devices, as shares of the largest server; the tightest device."""

    reference = "Best-Fit of Weng et al. 2023, Beware of Fragmentation (USENIX ATC)"
    rule = staticmethod(gpu_best_fit)


@cheapest_on_devices
def gpu_dot_product(at: At, demand: Amounts, taken: DeviceDemand, numbers: Largest) -> tuple[float, int]:
    """Cost the product of what is free and asked for of both, as shares of the largest server, in whole percent."""
    cpu_most, most = numbers
    cpu = (at.free[at.server, 0, 0] / cpu_most) * (demand[0] / cpu_most)
    both = cpu + (at.free[at.server, 0, taken.resource] / most) * (demand[taken.resource] / most)
    return -floor((1.0 - both / 2.0) * 100.0), -1


class GPUDotProduct(DeviceAgent):
    """The server where the product of the shares free and asked for, of cpu and devices, is smallest."""

    reference = "Dot-Product of Weng et al. 2023, Beware of Fragmentation (USENIX ATC), after Tetris (SIGCOMM 2014)"
    rule = staticmethod(gpu_dot_product)


@cheapest_on_devices
def gpu_clustering(at: At, demand: Amounts, taken: DeviceDemand, numbers: Largest) -> tuple[float, int]:
    """Cost who is there already, and within that what the devices have free, in 25ths of the largest server."""
    if taken.many == 0:
        return 0.0, -1
    kind = taken.many if taken.each == QUANTUM else 0
    kinds = 0
    for other in range(at.held.shape[1]):
        kinds += at.held[at.server, other] > 0
    most = int(numbers[1])
    full = 25 * (most - at.free[at.server, 0, taken.resource]) // most
    if at.held[at.server, kind] > 0:
        return -float(full + (75 if kinds == 1 else 50)), -1
    return -float(full + (25 if kinds == 0 else 0)), -1


class GPUClustering(DeviceAgent):
    """Servers with requests for as many devices only, then also others, then idle ones; there the fullest."""

    reference = "GPU-Clustering of Weng et al. 2023, Beware of Fragmentation (USENIX ATC), after Gandiva (OSDI 2018)"
    rule = staticmethod(gpu_clustering)


@cheapest_on_devices
def gpu_packing(at: At, demand: Amounts, taken: DeviceDemand, numbers: Largest) -> tuple[float, int]:
    """Cost in three ranges: devices in use, by their free parts; idle ones, by number; idle servers, by size."""
    if taken.many == 0:
        return 0.0, -1
    idle = 0
    for device in range(at.installed):
        idle += at.left[at.server, device] == QUANTUM
    if idle == at.installed:
        return -float(max(33 - idle, idle)), -1
    chosen = tightest(at.left, at.server, at.installed, taken.many, taken.each)
    broken, room = 0, 0
    for device in range(at.installed):
        if (chosen >> device) & 1:
            broken += at.left[at.server, device] == QUANTUM
            room += at.left[at.server, device] * 100 // QUANTUM
    if broken > 0:
        return -float(max(50 - broken, 33)), chosen
    return -float(max(100 - room // 10, 50)), chosen


class GPUPacking(DeviceAgent):
    """Devices that are in use already, then idle devices of servers in use, then idle servers; the tightest device."""

    reference = "GPU-Packing of Weng et al. 2023, Beware of Fragmentation (USENIX ATC)"
    rule = staticmethod(gpu_packing)


@kernel
def gpu_random(
    free: Ints, capacity: Ints, devices: Devices, demand: Amounts, resource: int, models: int, numbers: tuple[Floats]
) -> int:
    """Take, as a `DeviceScan`, any server that fits, and any of its devices that do; `numbers` is a stream."""
    left, counts, model, _ = devices
    count, each = wanted(demand[resource])
    fits = np.zeros(len(free), np.bool_)
    for server in range(len(free)):
        fits[server] = fits_server(free, left, server, counts[server], model[server], demand, count, each, models)
    servers = np.flatnonzero(fits)
    if not len(servers):
        return -1
    chosen = int(servers[int(drawn(numbers[0]) * len(servers))])
    taken = tightest(left, chosen, counts[chosen], count, each)
    if count == 1:
        enough = np.flatnonzero(left[chosen, : counts[chosen]] >= each)
        taken = 1 << int(enough[int(drawn(numbers[0]) * len(enough))])
    code: int = (chosen << left.shape[1]) + taken
    return code


class GPURandom(DeviceAgent):
    """Any server on which the request fits, and any device there that has enough, all equally likely."""

    reference = "the baseline of Weng et al. 2023, Beware of Fragmentation (USENIX ATC)"
    rule = staticmethod(gpu_random)

    def learn(self, view: DeviceView, rng: np.random.Generator) -> tuple[Floats]:
        return (np.array([int(rng.integers(2**53)), 0], np.float64),)


Numbers: TypeAlias = tuple[Ints, Floats, int, float, Floats, Ints]
"""Usual kinds and their shares, the place of the cpu, how many steps there are; scratch of fragments and devices."""


@cheapest_on_devices
def fgd(at: At, demand: Amounts, taken: DeviceDemand, numbers: Numbers) -> tuple[float, int]:
    """Cost by how many devices the fragments grow, as a sigmoid in whole steps; of equal devices the first."""
    kinds, share, place, steps, out, rest = numbers
    count, each, devices = taken.many, taken.each, at.installed
    cpu, cpu_taken = 0, 0
    if place >= 0:
        cpu, cpu_taken = at.free[at.server, 0, place], demand[place]
    for device in range(devices):
        rest[device] = at.left[at.server, device]
    before = fragments(cpu, rest, devices, at.model, kinds, share, out)
    if count != 1 or each == QUANTUM:
        chosen, missing = 0, count
        for device in range(devices):
            if missing > 0 and rest[device] == QUANTUM:
                rest[device] = 0
                chosen |= 1 << device
                missing -= 1
        after = fragments(cpu - cpu_taken, rest, devices, at.model, kinds, share, out)
        return -floor(1.0 / (1.0 + exp((after - before) / 1000.0)) * steps), chosen
    best, chosen = -1.0, 0
    for device in range(devices):
        room = rest[device]
        known = room < each
        for other in range(device):
            known |= rest[other] == room
        if known:  # too full, or as the other one
            continue
        rest[device] = room - each
        after = fragments(cpu - cpu_taken, rest, devices, at.model, kinds, share, out)
        rest[device] = room
        score = floor(1.0 / (1.0 + exp((after - before) / 1000.0)) * steps)
        if score > best:
            best, chosen = score, 1 << device
    return -best, chosen


class FGD(DeviceAgent):
    """The server and device where fragmentation, as the most usual requests see it, grows least.

    Looked at are the most usual kinds of requests, as many as make up the share `top` of all. Differences below a step
    of the score, of which there are so many `steps`, count as none.
    """

    reference = "Weng et al. 2023, Beware of Fragmentation (USENIX ATC)"
    rule = staticmethod(fgd)

    def __init__(
        self, top: Annotated[float, Field(gt=0, le=1)] = TOP, steps: Annotated[int, Field(ge=2)] = 100
    ) -> None:
        self.top, self.steps = top, steps

    def learn(self, view: DeviceView, rng: np.random.Generator) -> Numbers:
        kinds, share = typical(view, self.top)
        most = view.devices.free.shape[1]
        return kinds, share, cpu_of(view), float(self.steps), np.zeros(len(CAUSES)), np.zeros(most, np.int64)
