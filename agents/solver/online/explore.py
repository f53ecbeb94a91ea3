"""Solve a template again and again with other numbers in its tables.

The search is ours, built from the published attempts, on one thread. Attempt number n starts at another bin, so that an
answer may lie anywhere, and bins that are neighbours stay so. A resource called COST, without indices, says which
answers are better: after each answer the next one must cost less, until the attempts are used up. Where balls are left
in every attempt, the answer is one in which those that are left are worth least, and of those the cheapest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from binwright.agents.solver.backends.attempt import Utilfn, attempt
from binwright.agents.solver.backends.flat import Flat, Room
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.random import below_kernel, stream_kernel
from binwright.agents.solver.online.template import Template
from binwright.simcore.jit import kernel, prepared
from binwright.simcore.types import Ints


@kernel
def explore(
    call: Utilfn, flat: Flat, room: Room,
    members: Ints, best: Ints, least: Ints, worth: Ints, seed: int, attempts: int, cost: int, turns: bool, biased: bool,
) -> None:  # fmt: skip
    """Make so many attempts, fewer if there is no use in more.

    `best` int64 [balls] gets the best allocation, `least` int64 [2] the `worth` int64 [balls] of those that it leaves
    and what it costs. Once none is left, dimension `cost`, unless -1, must be less used every time: its ceiling in
    `flat` falls. `members` are the bins of the groups as they are if nothing `turns` them; `biased` attempts place
    balls nearly in their order.
    """
    ways, units = len(flat.ways) - 1, len(room.left)
    for number in range(attempts):
        way, which = number % ways, number // ways
        if turns:
            low, high = flat.groups[flat.ways[way]], flat.groups[flat.ways[way + 1]]
            turn = below_kernel(stream_kernel(seed, ways + way, which), 0, high - low)
            for at in range(low, high):
                flat.group_bins[at] = members[low + (at - low + turn) % (high - low)]
        # Biased, the first attempt takes the balls as they are, the others each from the next 2, 3, ..., 9.
        reach = units if not biased else 1 if which == 0 else 2 + (which - 1) % 8
        left = attempt(call, flat, room, seed, way, which, reach, False)
        lost, spent = 0, room.used[cost] if cost >= 0 else 0
        if left > 0:
            for at in range(flat.units[units]):
                ball = flat.unit_balls[at]
                lost += worth[ball] if room.alloc[ball] == NULL else 0
        if lost < least[0] or (lost == least[0] and spent < least[1]):
            best[:] = room.alloc
            least[0], least[1] = lost, spent
        if units == 1 and len(flat.sets) == 1 and left > 0:  # it was tried in every bin
            return
        if left == 0:
            if cost < 0 or spent <= 0:
                return
            flat.ceiling[cost] = spent - 1


class Online(Template):
    """Solves by attempts in all bins: the search of this module."""

    def __init__(self, *stated: Any) -> None:
        super().__init__(*stated)
        self._least, self._worth = np.zeros(2, np.int64), np.ones(len(self._best), np.int64)
        self._written = self._flat.group_bins.copy(), self._best, self._least, self._worth
        self._rest = self._cost, not self.declared
        arguments = self._call, self._flat, self._room, *self._written, 1, 1, *self._rest, False
        self._explore = prepared(explore, *arguments)

    def value(self, worth: Any) -> None:
        """Set what the first balls are worth [n], from 1; the answer leaves as little as possible of that.

        At first each is worth 1.
        """
        self._worth[: len(worth)] = worth

    def find(self, seed: int, attempts: int, units: int, biased: bool = False) -> Ints:
        """Return the best allocation [balls] that the attempts find, -1 for balls that are left.

        The next search overwrites it. Only the first `units` take part. `biased` attempts place balls nearly in their
        order.
        """
        if self._cost >= 0:
            self._flat.ceiling[self._cost] = self._most
        self._least[:] = np.iinfo(np.int64).max, 0
        place = self._room._replace(left=self._room.left[:units])
        self._explore(self._call, self._flat, place, *self._written, seed, attempts, *self._rest, biased)
        return self._best
