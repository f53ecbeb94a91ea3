"""Goes where the fragments for the usual requests grow least: fragmentation gradient descent, FGD."""

from __future__ import annotations

from math import exp, floor

import numpy as np

from agents.rules.on_devices import DeviceAgent, cheapest_on_devices, devices_of
from fabric.fragmentation import CAUSES, TOP, cpu_of, fragments, typical
from simcore.errors import UserError
from simcore.vocabulary import QUANTUM, Amounts, Floats, Ints, View


@cheapest_on_devices
def fgd(
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
    numbers: tuple[Ints, Floats, int, float, Floats, Ints],
) -> tuple[float, int]:
    """Cost by how many devices the fragments grow, as a sigmoid in whole steps; of equal devices the first.

    `numbers` are the typical kinds and shares, the place of the cpu, how many steps there are, and scratch of the
    fragments and of the devices.
    """
    kinds, share, place, steps, out, rest = numbers
    cpu, asked = 0, 0
    if place >= 0:
        cpu, asked = free[server, 0, place], demand[place]
    for device in range(there):
        rest[device] = left[server, device]
    before = fragments(cpu, rest, there, model, kinds, share, out)
    if count != 1 or each == QUANTUM:
        chosen, missing = 0, count
        for device in range(there):
            if missing > 0 and rest[device] == QUANTUM:
                rest[device] = 0
                chosen |= 1 << device
                missing -= 1
        after = fragments(cpu - asked, rest, there, model, kinds, share, out)
        return -floor(1.0 / (1.0 + exp((after - before) / 1000.0)) * steps), chosen
    best, chosen = -1.0, 0
    for device in range(there):
        room = rest[device]
        known = room < each
        for other in range(device):
            known |= rest[other] == room
        if known:  # too full, or as the other one
            continue
        rest[device] = room - each
        after = fragments(cpu - asked, rest, there, model, kinds, share, out)
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

    def __init__(self, top: float = TOP, steps: int = 100) -> None:
        if not 0 < top <= 1:
            raise UserError("must be a share", key="top", value=top, remedy="Give a number above 0, at most 1.")
        if steps < 2:
            raise UserError("is too few", key="steps", value=steps, remedy="Give 2 or more.")
        self.top, self.steps = top, steps

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Look at which requests are usual."""
        seen = devices_of(self, view)
        kinds, share = typical(seen, self.top)
        most = seen.devices.free.shape[1]
        self.numbers = kinds, share, cpu_of(seen), float(self.steps), np.zeros(len(CAUSES)), np.zeros(most, np.int64)
        super().start(view, rng)
