"""State virtual networks as a problem: machines are balls, nodes of servers are bins.

The solver says where machines go. For pairs, the paths between them are chosen afterwards; if there are none, it is
asked for another answer.

The search fills groups of bins that are near one another. Groups are nested: bins, then parts of the network. An answer
in a smaller group is better, and of the groups of one level that may hold all balls, the one with the least room is
tried first. Groups and bins that cannot hold enough are left out without a call of UTILFN.

Groups are runs of bins in one order, those of a level inside those of the next. Bins are filled one after another. As
one ball more may need less (see `Problem.elastic`), a group's own dimension, its links, may be over its capacity until
the group is left, whatever its level; then balls go out again, the last first, until it is not.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar

import numpy as np

from binwright.agents.heuristics.virtual import connected, fitting, parts_of, warm
from binwright.agents.solver.backends.attempt import Utilfn, change, lift_out, put
from binwright.agents.solver.backends.flat import Flat, Room
from binwright.agents.solver.model.program import NULL, WIDE
from binwright.agents.solver.online.template import Formulation, Setup, Template, in_units, power
from binwright.fabric.network import NetworkView
from binwright.simcore.errors import UserError
from binwright.simcore.jit import kernel, prepared
from binwright.simcore.types import QUANTUM, Embedding, Ints, Request

SMALLEST = 512
"""Machines that a problem has room for, at least: it is compiled for this number, twice it, four times it, ..."""
MOST = 4096
"""Machines of a request: their square is what a table holds, and no larger request gets a place."""
LARGEST = 10**9 * QUANTUM
"""The language's largest quantity."""


class Virtual(Formulation):
    """Answers one request after another by an `Embedding`. What most requests need is compiled at once."""

    def __init__(self, setup: Setup, view: NetworkView) -> None:
        super().__init__(setup, view)
        if setup.path is not None:
            remedy = "Leave it out: they are answered by the shipped secondnet.alloc or oktopus.alloc."
            raise UserError("is not for virtual networks", key="path", value=setup.path, remedy=remedy)
        self.capacity = view.capacity.reshape(-1, self.kinds).copy()
        parts, self.leading_out = parts_of(view.topology)
        self.of = np.repeat(parts, self.nodes, axis=1)
        self.largest = self.capacity.max(axis=0)
        self.outgoing = self.leading_out @ view.topology.link_capacity
        self.widest = min(int(self.outgoing.max(initial=1)) + 1, LARGEST)
        """More than any link has: what cannot go over one, whatever it is."""
        assert view.virtual is not None
        self.template = "secondnet" if view.virtual == "pairs" else "oktopus"
        warm(view)
        self.nearby = cache(self._nearby)
        self.nearby(SMALLEST)

    def _nearby(self, machines: int) -> "Nearby":
        """Compile the template for requests of at most so many machines."""
        widest, most = in_units(self.widest), in_units(max(1, int(self.capacity.max())))
        varying: dict[str, Any] = {
            "FREE": in_units(self.capacity),
            "OUT": np.minimum(in_units(self.outgoing), in_units(LARGEST)),
            "MACHINES": np.array([machines]),
            "MACHINE": np.full((machines, self.kinds), most),
            "RATE": np.full((machines, machines) if self.template == "secondnet" else 1, widest),
        }
        stated = self.setup, self.template, self.sizes, {"PART": self.of.T}, varying, machines, len(self.capacity)
        return Nearby(self.of, *stated)

    def answer(self, view: NetworkView, request: Request) -> Embedding | None:
        """Choose where the machines of a request go, and the paths between them."""
        network = request.network
        assert network is not None
        count = len(network)
        if count > MOST or (network.machines > self.largest).any():
            return None
        nearby, order = self.nearby(max(SMALLEST, power(count))), np.arange(count)
        if network.pairs is None:
            nearby.write("RATE", min(network.hose, self.widest))
        else:
            assert network.rates is not None
            rate = np.zeros((count, count), np.int64)
            source, target = network.pairs.T
            rate[source, target] = rate[target, source] = np.minimum(network.rates, self.widest)
            order = chained(rate)
            nearby.write("RATE", rate[np.ix_(order, order)], (slice(count), slice(count)))
        machines = network.machines[order]
        nearby.write("OUT", self.leading_out @ np.maximum(view.link_free, 0))
        nearby.write("FREE", view.free.reshape(-1, self.kinds))
        nearby.write("MACHINE", machines, slice(count))
        nearby.write("MACHINE", 0, slice(count, None))
        nearby.write("MACHINES", count)
        for bins in nearby.find(self.setup.attempts, count, machines.min(axis=0)):
            hosts = np.empty(count, np.int64)
            hosts[order] = bins[:count]
            if (answer := connected(view, network, hosts, widest=True)) is not None:
                return answer
        return None


def chained(rate: Ints) -> Ints:
    """Order machines [machines] so that each is the one with the most traffic to those before it.

    `rate` is [machines, machines]. The first is the one with the most traffic of all; of equals, the lowest comes
    first.
    """
    order, ties = np.empty(len(rate), np.int64), rate.sum(axis=1)
    for place in range(len(rate)):
        order[place] = chosen = ties.argmax()
        ties = rate[chosen] + (ties if place else 0)
        ties[order[: place + 1]] = -1
    return order


class Nearby(Template):
    """One template for requests of different numbers of balls, up to as many as it declares.

    The balls of a request are the first ones; the others are not placed. `parts` int64 [levels, bins] is the part of
    every bin, numbered through all levels, the smallest first. LINKS, which UTILFN subtracts from, too, has the
    dimension of every part.
    """

    near: ClassVar[bool] = True

    def __init__(self, parts: Ints, *stated: Any) -> None:
        super().__init__(*stated)
        [links] = (family for family in self.problem.families if family.falls)
        every = np.arange(parts.shape[1])
        levels = np.array([every, *parts, np.zeros_like(every)])  # from single bins to all of them
        self._order = np.lexsort(levels)
        self._levels = levels[:, self._order]
        self._fixed = self._call, self._flat, self._room, self._order, self._levels, links.offset
        self._attempt = prepared(attempt, *self._fixed, every, 1, 0, 0, 0)

    def find(self, attempts: int, balls: int, least: Ints) -> Iterator[Ints]:
        """Yield one answer after another: the bins [balls that are declared] of the first `balls`, NULL for the others.

        Each overwrites the one before. Every ball takes the `least` [kinds] of each kind of FREE, or more.
        Of every level `attempts` groups are tried, with the balls in the order of their numbers.
        """
        free, last = self._targets["FREE"][0][self._order], 0
        slots = fitting(free, least, balls)
        for level, numbers in enumerate(self._levels):
            starts = np.flatnonzero(np.diff(numbers, prepend=-1))
            if len(starts) == last:
                continue  # the same groups again, such as servers of one node
            last, ends = len(starts), np.append(starts[1:], len(numbers))
            holds = np.flatnonzero(np.add.reduceat(slots, starts) >= balls)
            room = fitting(np.add.reduceat(free, starts)[holds], least, WIDE)
            for group in holds[np.argsort(room, kind="stable")[:attempts]].tolist():
                if self._attempt(*self._fixed, slots, balls, level, starts[group], ends[group]):
                    yield self._room.alloc


@kernel
def leave(call: Utilfn, flat: Flat, room: Room, dim: int, mark: int, placed: int, count: int) -> tuple[int, int]:
    """Take balls out again, the last first, until a dimension that all of them need something of is not over.

    Returns how many balls are placed and left; -1 for those left if it is over without those from `mark` on, too.
    """
    while room.used[dim] > flat.ceiling[dim]:
        if placed == mark:
            return placed, -1
        placed -= 1
        ball = room.placed[placed]
        for k in range(lift_out(call, flat, room, ball, room.alloc[ball], flat.ceiling)):
            change(flat, room, room.dims[k], -room.amounts[k])
        for k in range(count, 0, -1):  # it comes first again
            room.left[k] = room.left[k - 1]
        room.left[0] = ball
        count += 1
    return placed, count


@kernel
def attempt(
    call: Utilfn, flat: Flat, room: Room,
    order: Ints, levels: Ints, links: int, slots: Ints, balls: int, level: int, start: int, stop: int,
) -> bool:  # fmt: skip
    """Put the first balls into bins start, ..., stop - 1 in their `order` [bins]; returns whether all got in.

    These are a group of this level; `levels` [levels, bins] has the groups of all bins, so ordered, those of level 0
    being single bins and those of the last one all. Dimension `links` + group is the own one of a group between. No bin
    takes more balls than its `slots` [bins]. The room has the allocation then.
    """
    room.used[:] = 0
    room.alloc[:] = NULL
    room.over[:] = 0
    left, count, placed = room.left, balls, 0
    left[:count] = np.arange(balls)
    marks = np.zeros(len(levels), np.int64)  # how many were placed when the group of each level began
    at = start
    while at < stop:
        place, end = order[at], at + 1
        if slots[at] > 0:
            most, still = slots[at], 0
            for i in range(count):
                if most > 0 and put(call, flat, room, left[i], place, flat.ceiling, False) >= 0:
                    room.placed[placed] = left[i]
                    placed += 1
                    most -= 1
                else:
                    left[still] = left[i]
                    still += 1
            count = still
        # What is left here: the bin, and groups that end, or all of them if nothing is missing.
        for above in range(level + 1):
            group = levels[above, at]
            if count > 0 and end < stop and levels[above, end] == group:
                break
            if 0 < above < len(levels) - 1:
                placed, count = leave(call, flat, room, links + group, marks[above], placed, count)
            if count < 0:
                return False
            while end < stop and levels[above, end] == group:  # nothing was missing
                end += 1
            marks[: above + 1] = placed
        if count == 0:
            return bool(room.over[len(room.over) - 1] == 0)
        at = end
    return False
