"""What every server did over a run: stretches of time in which nothing about it changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from binwright.fabric.run.simulation import Simulation
from binwright.simcore.types import Floats, Ints

EMPTY, USED, FAILED, OFF = range(4)
COLUMNS = ("server", "begin", "end", "used", "state")
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Stretches:
    """Holds stretches of time, none of them of no length.

    `server` int64 [n], `begin` and `end` float64 [n], which may be infinite; `used` int64 [n] quanta of one resource
    that are held on the server all the time, and `state` int8 [n]: EMPTY, USED, FAILED or OFF.
    """

    server: Ints
    begin: Floats
    end: Floats
    used: Ints
    state: npt.NDArray[np.int8]

    def take(self, which: Bools) -> Stretches:
        """Take some of them, by bool [n]."""
        return Stretches(*(getattr(self, name)[which] for name in COLUMNS))

    def within(self, begin: float, finish: float) -> Stretches:
        """Cut off what is before or after a time."""
        first, last = np.maximum(self.begin, begin), np.minimum(self.end, finish)
        return Stretches(self.server, first, last, self.used, self.state).take(last > first)

    @property
    def seconds(self) -> Floats:
        """How long each is, float64 [n]."""
        found: Floats = self.end - self.begin
        return found


class Held(NamedTuple):
    """Lists what is held on servers: `server` int64 [k], `start` and `end` float64 [k], `amount` int64 [k] quanta."""

    server: Ints
    start: Floats
    end: Floats
    amount: Ints


def stretches(added: Floats, outages: Held, held: Held) -> Stretches:
    """Divide the time of each server, from when it is `added` float64 [servers] on, where something about it changes.

    They are in order of servers, and of time. What is held for no time counts for nothing. The amounts of `outages`
    do not count.
    """
    lasting = held.end > held.start
    parts = Held(held.server[lasting], held.start[lasting], held.end[lasting], held.amount[lasting])
    fixed, zeros = len(added), np.zeros(len(added) + 2 * len(outages.server), np.int64)
    server = np.concatenate([np.arange(fixed), outages.server, outages.server, parts.server, parts.server])
    time = np.concatenate([added, outages.start, outages.end, parts.start, parts.end])
    ones, down = np.ones(len(parts.server), np.int64), np.ones(len(outages.server), np.int64)
    changes = np.zeros((3, len(server)), np.int64)  # of what is held, by how many, and of outages
    changes[0] = np.concatenate([zeros, parts.amount, -parts.amount])
    changes[1] = np.concatenate([zeros, ones, -ones])
    changes[2, fixed : len(zeros)] = np.concatenate([down, -down])
    order = np.argsort(time)
    narrow = np.uint16 if fixed <= 1 << 16 else np.uint32  # which are sorted many times faster
    order = order[np.argsort(server[order].astype(narrow), kind="stable")]
    server, time = server[order], time[order]
    used, holders, out = changes[:, order].cumsum(axis=1)  # all that begins ends, so each server begins from 0
    end = np.append(np.where(server[1:] == server[:-1], time[1:], np.inf), np.inf)
    state = np.where(out > 0, FAILED, np.where(holders > 0, USED, EMPTY)).astype(np.int8)
    return Stretches(server, time, end, used, state).take(end > time)


def switching(all_on: Stretches, after: float) -> tuple[Stretches, Ints, Floats]:
    """Switch servers off that were empty for longer than `after` seconds, until they fail or are used.

    Returns the stretches, in no order, and which servers were woken to be used, int64 [n], and when, float64 [n].
    """
    off_from = np.where(all_on.state == EMPTY, all_on.begin + after, np.inf)
    sleeps = off_from < all_on.end
    on = Stretches(all_on.server, all_on.begin, np.minimum(all_on.end, off_from), all_on.used, all_on.state)
    on = on.take(on.end > on.begin)
    off = Stretches(all_on.server, off_from, all_on.end, all_on.used, np.full(len(sleeps), OFF, np.int8)).take(sleeps)
    used_next = np.append((all_on.server[1:] == all_on.server[:-1]) & (all_on.state[1:] == USED), False)
    woken = sleeps & used_next
    both = Stretches(*(np.concatenate([getattr(on, name), getattr(off, name)]) for name in COLUMNS))
    return both, all_on.server[woken], all_on.end[woken]


def levels(some: Stretches, amount: Ints) -> tuple[Floats, Ints]:
    """Add up what holds at a time, `amount` int64 [n] in each of some stretches.

    Returns the times at which the sum may change, float64 [k], and the sum from each on, int64 [k]. It is fast where
    the stretches of a server are in order. Whole numbers add up to the same in any order, so that it does not matter
    how equal times are sorted.
    """
    goes_on = (some.server[1:] == some.server[:-1]) & (some.begin[1:] == some.end[:-1])
    change = amount.copy()
    change[1:] -= np.where(goes_on, amount[:-1], 0)
    ends = np.append(~goes_on, True)[: len(amount)]
    time = np.concatenate([some.begin, some.end[ends]])
    change = np.concatenate([change, -amount[ends]])
    time, change = time[change != 0], change[change != 0]
    order = np.argsort(time)
    time, total = time[order], change[order].cumsum()
    last = np.append(time[1:] != time[:-1], True)[: len(time)]
    return time[last], total[last]


def outages_of(simulation: Simulation, kind: str = "server") -> Held:
    """List when parts of a kind were out of service; those that never came back are for ever."""
    since: dict[int, float] = {}
    found: list[tuple[int, float, float]] = []
    for change in simulation.changes:
        if change.kind == kind and change.what == "failure":
            since[change.subject] = change.time
        elif change.kind == kind and change.what == "repair":
            found.append((change.subject, since.pop(change.subject), change.time))
    found += [(part, time, np.inf) for part, time in since.items()]
    part, start, end = np.array(found, np.float64).reshape(-1, 3).T
    return Held(part.astype(np.int64), start, end, np.zeros(len(found), np.int64))


def added_at(simulation: Simulation) -> Floats:
    """Tell from when on each server was there, float64 [servers]."""
    grown = [(change.time, change.subject) for change in simulation.changes if change.what == "expansion"]
    times = [time for time, by in grown for _ in range(by)]
    return np.append(np.zeros(len(simulation.view.capacity) - len(times)), times)
