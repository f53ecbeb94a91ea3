"""Says what devices servers have free, and which of them a request takes.

A device is 1 unit of its resource. A request for up to 1 takes that much of one device, and a request for more, which
must be a whole number, takes as many whole devices.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from binwright.fabric.cluster import Cluster
from binwright.simcore.jit import inlined, kernel
from binwright.simcore.types import QUANTUM, Amounts, Ints, OnDevices, Request, View


class Devices(NamedTuple):
    """Holds the devices of all servers, as kernels read them.

    `free` int64 [servers, most] quanta: a server has the first `installed` int64 [servers], and 0 of the others.
    `model` int64 [servers] is a place in the view's `models`, -1 for a server without devices. `held` int64
    [servers, most + 1] counts the requests on a server: those with a part of a device, then those with one whole
    device, with two, ...
    """

    free: Ints
    installed: Ints
    model: Ints
    held: Ints


@dataclass(slots=True, kw_only=True)
class DeviceView(View):
    """A view of servers with devices: `devices`, read-only, are new arrays after the cluster grows.

    `resource` is the place of the devices' resource, `models` are the names of their models; `usual`
    int64 [k, resources + 2] has the kinds of requests that there usually are, their demand, the bits of their models
    and how often.
    """

    devices: Devices
    resource: int
    models: tuple[str, ...]
    usual: Ints


def empty_devices(cluster: Cluster) -> Devices:
    """Make the devices of an empty cluster."""
    spec = cluster.devices
    assert spec is not None
    most = max(1, int(spec.count.max(initial=0)))
    free = np.where(np.arange(most) < spec.count[:, None], QUANTUM, 0).astype(np.int64)
    return Devices(free, spec.count.copy(), spec.model.copy(), np.zeros((len(free), most + 1), np.int64))


@inlined
def wanted(amount: int) -> tuple[int, int]:
    """Return how many devices an amount of their resource takes, and how many quanta of each."""
    if amount <= QUANTUM:
        return (1 if amount > 0 else 0), amount
    return (amount + QUANTUM - 1) // QUANTUM, QUANTUM


in_python: Callable[[int], tuple[int, int]] = cast(Any, wanted).py_func
"""What `wanted` returns, for callers in Python."""


@inlined
def has_devices(left: Ints, server: int, devices: int, model: int, count: int, each: int, models: int) -> bool:
    """Tell whether a server has so many devices with so much free, of one of the models.

    `left` int64 [servers, most] is what devices have free; the server has the first `devices` of them, of `model`.
    """
    if count == 0:
        return True
    if models != 0 and (model < 0 or (models >> model) & 1 == 0):
        return False
    fitting = 0
    for device in range(devices):
        fitting += left[server, device] >= each
    return fitting >= count


@inlined
def fits_server(
    free: Ints, left: Ints, server: int, devices: int, model: int, demand: Amounts, count: int, each: int, models: int
) -> bool:
    """Tell whether a request fits on a server, its devices included, which are as in `has_devices`."""
    fits = True
    for r in range(len(demand)):
        fits &= free[server, 0, r] >= demand[r]
    return fits and has_devices(left, server, devices, model, count, each, models)


@kernel
def tightest(left: Ints, server: int, devices: int, count: int, each: int) -> int:
    """Choose the devices with least free that have so much, the first of equals: the bits of a number."""
    chosen = 0
    for _ in range(count):
        best, least = -1, QUANTUM + 1
        for device in range(devices):
            if each <= left[server, device] < least and (chosen >> device) & 1 == 0:
                best, least = device, left[server, device]
        if best < 0:
            return 0
        chosen |= 1 << best
    return chosen


@kernel
def fitting(free: Ints, devices: Devices, demand: Amounts, resource: int, models: int, shown: Ints) -> None:
    """Write to `shown`, of the shape of `free`, what is free where a request fits with its devices, and 0 elsewhere."""
    # Unpacked once: within the loop, numba would count references at every access.
    left, counts, model, _ = devices
    count, each = wanted(demand[resource])
    for server in range(len(free)):
        fits = has_devices(left, server, counts[server], model[server], count, each, models)
        for r in range(free.shape[2]):
            shown[server, 0, r] = free[server, 0, r] if fits else 0


def on_devices(request: Request, server: int, chosen: int) -> OnDevices:
    """Place a request on a server, and on the devices that are the bits of `chosen`."""
    devices = tuple(device for device in range(chosen.bit_length()) if chosen >> device & 1)
    return OnDevices(((server, 0, request.demand),), devices=devices)
