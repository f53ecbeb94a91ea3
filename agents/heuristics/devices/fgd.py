"""Goes where the fragments for the usual requests grow least: fragmentation gradient descent, FGD."""

from __future__ import annotations

from math import exp, floor
from typing import TypeAlias

import numpy as np

from binwright.agents.rules.on_devices import Asked, At, DeviceAgent, cheapest_on_devices
from binwright.fabric.devices import DeviceView
from binwright.fabric.fragmentation import CAUSES, TOP, cpu_of, fragments, typical
from binwright.simcore.errors import UserError
from binwright.simcore.types import QUANTUM, Amounts, Floats, Ints

Numbers: TypeAlias = tuple[Ints, Floats, int, float, Floats, Ints]
"""Usual kinds and their shares, the place of the cpu, how many steps there are; scratch of fragments and devices."""


@cheapest_on_devices
def fgd(
    free: Ints, left: Ints, held: Ints, demand: Amounts, asked: Asked, at: At, numbers: Numbers
) -> tuple[float, int]:
    """Cost by how many devices the fragments grow, as a sigmoid in whole steps; of equal devices the first."""
    kinds, share, place, steps, out, rest = numbers
    count, each, there = asked.many, asked.each, at.there
    cpu, taken = 0, 0
    if place >= 0:
        cpu, taken = free[at.server, 0, place], demand[place]
    for device in range(there):
        rest[device] = left[at.server, device]
    before = fragments(cpu, rest, there, at.model, kinds, share, out)
    if count != 1 or each == QUANTUM:
        chosen, missing = 0, count
        for device in range(there):
            if missing > 0 and rest[device] == QUANTUM:
                rest[device] = 0
                chosen |= 1 << device
                missing -= 1
        after = fragments(cpu - taken, rest, there, at.model, kinds, share, out)
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
        after = fragments(cpu - taken, rest, there, at.model, kinds, share, out)
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

    def learn(self, view: DeviceView, rng: np.random.Generator) -> Numbers:
        """Return which requests are usual."""
        kinds, share = typical(view, self.top)
        most = view.devices.free.shape[1]
        return kinds, share, cpu_of(view), float(self.steps), np.zeros(len(CAUSES)), np.zeros(most, np.int64)
