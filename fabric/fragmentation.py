"""Measures how much of what devices have free the usual requests could not take, and for want of what.

After Weng and others 2023, "Beware of Fragmentation" (FGD): a request drawn at random is offered to every server, and
what the server's devices have free counts as fragmented where the request could not take it there.
"""

from typing import Any

import numpy as np

from binwright.fabric.devices import Devices, DeviceView, has_devices, in_python, wanted
from binwright.simcore.jit import kernel
from binwright.simcore.types import Floats, Ints

CAUSES = ("both", "devices", "usable", "cpu", "no_devices_asked", "no_devices_asked_no_cpu", "model")
"""For want of what: of cpu and devices; of devices; of nothing, as it is usable; of cpu; the request asks for no
device; it asks for none, and the cpu is missing too; the devices are of another model. The names are in columns.
"""
BOTH, DEVICES, USABLE, CPU, NO_DEVICES, NO_DEVICES_NO_CPU, MODEL = range(len(CAUSES))
TOP = 0.95
"""The share of all requests that the most usual kinds make up which are looked at."""


def cpu_of(view: DeviceView) -> int:
    """Return the place of the cpu among the resources; -1 where there is none."""
    return view.resources.index("cpu") if "cpu" in view.resources else -1


def typical(view: DeviceView, top: float = TOP) -> tuple[Ints, Floats]:
    """Select the most usual kinds of requests, as few as make up the share `top` of all, and the share of each.

    The kinds int64 [k, 4] are quanta of cpu, quanta of each device, the number of devices, and the bits of their
    models; the shares float64 [k] add up to 1.
    Of equally usual ones those with most cpu come first, then with most of each device, then with most devices.
    """
    counts: dict[tuple[int, int, int, int], int] = {}
    cpu, known = cpu_of(view), (1 << len(view.models)) - 1
    for *demand, models, count in view.usual.tolist():
        devices, each = in_python(demand[view.resource])
        kind = (demand[cpu] if cpu >= 0 else 0, each, devices, models & known if devices else 0)
        counts[kind] = counts.get(kind, 0) + count

    def order(kind: tuple[int, int, int, int]) -> tuple[Any, ...]:
        return counts[kind], kind[:3], "|".join(name for bit, name in enumerate(view.models) if kind[3] >> bit & 1)

    ordered, every, covered, rows = sorted(counts, key=order, reverse=True), sum(counts.values()), 0, 0
    while rows < len(ordered) and covered < top * every:
        covered += counts[ordered[rows]]
        rows += 1
    share = [counts[kind] / every / (covered / every) for kind in ordered[:rows]]
    return np.array(ordered[:rows], np.int64).reshape(-1, 4), np.array(share)


@kernel
def fragments(cpu: int, left: Ints, count: int, model: int, kinds: Ints, share: Floats, out: Floats) -> float:
    """Write to `out` float64 [CAUSES] a server's fragments by cause, in thousandths of a device; returns their sum.

    The server has `cpu` quanta free, and `left` int64 [any] of its first `count` devices, which are of `model`; `kinds`
    and `share` are those of `typical`. What is usable is in `out`, and not in the sum.
    """
    total = 0
    for device in range(count):
        total += left[device]
    for cause in range(len(out)):
        out[cause] = 0.0
    if total == 0:
        return 0.0
    all_free = total / 1000.0
    for kind in range(len(kinds)):
        each, devices, models = kinds[kind, 1], kinds[kind, 2], kinds[kind, 3]
        enough = cpu >= kinds[kind, 0]
        if each == 0:
            out[NO_DEVICES if enough else NO_DEVICES_NO_CPU] += share[kind] * all_free
            continue
        if models != 0 and (models >> model) & 1 == 0:
            out[MODEL] += share[kind] * all_free
            continue
        fitting, small = 0, 0
        for device in range(count):
            if left[device] >= each:
                fitting += 1
            else:
                small += left[device]
        if fitting < devices:
            out[DEVICES if enough else BOTH] += share[kind] * all_free
        elif enough:
            out[DEVICES] += share[kind] * (small / 1000.0)
            out[USABLE] += share[kind] * ((total - small) / 1000.0)
        else:
            out[CPU] += share[kind] * all_free
    fragmented = 0.0
    for cause in range(len(out)):
        if cause != USABLE:
            fragmented += out[cause]
    return fragmented


@kernel
def stranded(free: Ints, devices: Devices, flavours: Ints, resource: int) -> Ints:
    """Add up the free quanta of each resource that no flavour can use on servers with devices, int64 [resources].

    `flavours` int64 [k, resources]. Of the devices' resource a device's free part is usable where some flavour fits on
    the server and takes a part of a device that has so much free; of the others all is, where any flavour fits.
    """
    left, counts, model, _ = devices
    lost = np.zeros(free.shape[2], np.int64)
    for server in range(len(free)):
        any_fits, least = False, np.iinfo(np.int64).max
        for f in range(len(flavours)):
            count, each = wanted(flavours[f, resource])
            fits = has_devices(left, server, counts[server], model[server], count, each, 0)
            for r in range(free.shape[2]):
                fits &= free[server, 0, r] >= flavours[f, r]
            any_fits |= fits
            if fits and count > 0:
                least = min(least, each)
        for r in range(free.shape[2]):
            if r != resource and not any_fits:
                lost[r] += free[server, 0, r]
        for device in range(counts[server]):
            if left[server, device] < least:
                lost[resource] += left[server, device]
    return lost
