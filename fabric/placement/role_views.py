"""Keeps what each role is shown, and changes of it only what a placement or a release changes.

A slot is what a role sees of the servers. It is brought up to date when a request of that role is offered, from a
journal of the servers that something happened on; after too much of that it is made anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from binwright.fabric.placement.mask import SAME, SPREAD, Mask, bounds_of
from binwright.fabric.servers import with_room
from binwright.simcore.jit import inlined, kernel, lean
from binwright.simcore.types import Amounts, Ints

MOST = 1 << 24
"""Numbers that all slots have together, at most, if there is more than one."""

JOURNAL = 4096
"""Events that the journal has room for, at least."""


class Slots(NamedTuple):
    """Holds what roles are shown. All of it is written by `catch_up` alone.

    `shown` int64 [slots, servers, nodes, resources]; `failing` int64 [slots, servers] counts what keeps the role from a
    server. Of each of the role's checks, `seen` int64 [slots, any] has the count of every domain, `bounds` int64
    [slots, checks, 2] those that hold, and `least` int64 [slots, checks, 2] the smallest count of a domain that is not
    closed, with how many domains have it. `state` int64 [slots, 2] is the role, -1 for none, and how much of the
    journal it has seen. `journal` int64 [any] has the last events, by their number modulo its length, as `event` writes
    them; of these `counted` int64 [1] have been counted in the mask.
    """

    shown: Ints
    failing: Ints
    seen: Ints
    bounds: Ints
    least: Ints
    state: Ints
    journal: Ints
    counted: Ints


class Ruling(NamedTuple):
    """Holds the rules of a run for a compiled loop.

    `roles` int64 [n] are the roles of the workload's requests; `is_open` bool [roles] tells which of them no rule keeps
    from anywhere. `happened` int64 [1] counts the events, and is written.
    """

    roles: Ints
    is_open: npt.NDArray[np.bool_]
    mask: Mask
    slots: Slots
    happened: Ints


class Stage(NamedTuple):
    """Holds the rules as they are from a time on, until the next planned drain; all stages of a run count as one.

    `is_open` is as in `Ruling`.
    """

    since: float
    is_open: npt.NDArray[np.bool_]
    mask: Mask

    def ruling(self, roles: Ints, free: Ints) -> Ruling:
        """Return the rules for a compiled run that is there now, whose requests have these roles."""
        return Ruling(roles, self.is_open, self.mask, slots_for(self.mask, free), np.zeros(1, np.int64))


def event(server: int, role: int = -1, sign: int = 1) -> int:
    """Write down that a role's request was placed on a server, sign 1, or left it, or that something else happened."""
    return (server << 32) + ((role + 1) << 1) + (sign < 0)


def slots_for(mask: Mask, free: Ints) -> Slots:
    """Make slots for all roles, or for as many as memory allows; `free` int64 [servers, nodes, resources]."""
    sizes = [int(mask.checks[first:end, 5].sum()) for _, first, end in mask.roles.tolist()]
    checks = max((end - first for _, first, end in mask.roles.tolist()), default=0)
    count = max(1, min(len(mask.roles), MOST // max(1, free.size + max(sizes, default=0))))
    return Slots(
        np.zeros((count, *free.shape), np.int64),
        np.zeros((count, len(free)), np.int64),
        np.zeros((count, max(sizes, default=0)), np.int64),
        np.zeros((count, checks, 2), np.int64),
        np.zeros((count, checks, 2), np.int64),
        np.full((count, 2), -1, np.int64),
        np.zeros(max(JOURNAL, len(free)), np.int64),
        np.zeros(1, np.int64),
    )


@inlined
def _copy(free: Ints, shown: Ints, server: int) -> None:
    for k in range(free.shape[1]):
        shown[server, k] = free[server, k]


@inlined
def _flip(members: Ints, first: int, end: int, row: int, opens: bool, free: Ints, shown: Ints, failing: Ints) -> None:
    """Let a check hold from now on for the servers of a domain, or no more."""
    for place in range(first, end):
        server = members[row, place]
        if opens:
            failing[server] -= 1
            if failing[server] == 0:
                _copy(free, shown, server)
        else:
            failing[server] += 1
            if failing[server] == 1:
                for k in range(free.shape[1]):
                    shown[server, k] = 0


@inlined
def _count(checks: Ints, counts: Ints, c: int, domain: int) -> int:
    """Return what a check asks of a domain: how many there are."""
    found: int = counts[checks[c, 1] + domain]
    if checks[c, 8] >= 0:
        found -= counts[checks[c, 8] + domain]
    return found


@lean
def _anew(mask: Mask, slots: Slots, role: int, slot: int, free: Ints) -> None:
    """Make a slot from nothing."""
    door, first, end = mask.roles[role, 0], mask.roles[role, 1], mask.roles[role, 2]
    failing, shown, seen = slots.failing[slot], slots.shown[slot], slots.seen[slot]
    for server in range(len(free)):
        failing[server] = 1 if mask.closed[door, server] >= 0 else 0
    place = 0
    for c in range(first, end):
        for domain in range(mask.checks[c, 5]):
            seen[place + domain] = _count(mask.checks, mask.counts, c, domain)
        slots.least[slot, c - first, 1] = 0
        place += mask.checks[c, 5]
    _bound_again(mask, slots, role, slot)
    place = 0
    for c in range(first, end):
        row, low, high = mask.checks[c, 2], slots.bounds[slot, c - first, 0], slots.bounds[slot, c - first, 1]
        for server in range(len(free)):
            if not low <= seen[place + mask.domains[row, server]] <= high:
                failing[server] += 1
        place += mask.checks[c, 5]
    for server in range(len(free)):
        for node in range(free.shape[1]):
            for r in range(free.shape[2]):
                shown[server, node, r] = free[server, node, r] if failing[server] == 0 else 0


@lean
def _bound_again(mask: Mask, slots: Slots, role: int, slot: int) -> None:
    """Write the bounds of a role's checks, whose counts have been seen."""
    door, first, end = mask.roles[role, 0], mask.roles[role, 1], mask.roles[role, 2]
    place = 0
    for c in range(first, end):
        least = slots.least[slot, c - first]
        if mask.checks[c, 0] == SPREAD and least[1] == 0:
            _look_for_least(mask, slots.seen[slot], least, door, c, place)
        low, high = bounds_of(mask.checks[c, 0], mask.checks[c, 3], least[0], mask.totals[mask.checks[c, 4]])
        slots.bounds[slot, c - first, 0], slots.bounds[slot, c - first, 1] = low, high
        place += mask.checks[c, 5]


@lean
def _look_for_least(mask: Mask, seen: Ints, least: Ints, door: int, c: int, place: int) -> None:
    """Find the smallest count of a domain that is not closed, and how many have it."""
    least[0], least[1] = np.iinfo(np.int64).max, 0
    for domain in range(mask.checks[c, 5]):
        if mask.live[door, mask.checks[c, 6] + domain]:
            number = seen[place + domain]
            if number < least[0]:
                least[0], least[1] = number, 0
            if number == least[0]:
                least[1] += 1


@lean
def count_up(mask: Mask, slots: Slots, now: int) -> None:
    """Count the events of the journal that have not been, in the mask's counts and totals."""
    journal, counts, totals, domains, to, adds = (
        slots.journal,
        mask.counts,
        mask.totals,
        mask.domains,
        mask.to,
        mask.adds,
    )
    for number in range(slots.counted[0], now):
        code = journal[number % len(journal)]
        server, role, sign = code >> 32, ((code & 0xFFFFFFFF) >> 1) - 1, 1 - 2 * (code & 1)
        if role >= 0:
            for place in range(to[role, 0], to[role, 1]):
                cell = adds[place, 0] + domains[adds[place, 1], server]
                before = counts[cell]
                counts[cell] = before + sign
                totals[adds[place, 2]] += int(before + sign != 0) - int(before != 0)
    slots.counted[0] = now


@lean
def catch_up(mask: Mask, slots: Slots, role: int, slot: int, free: Ints, now: int) -> None:
    """Bring a slot up to date for a role; `now` is how many events there have been."""
    count_up(mask, slots, now)
    state, journal = slots.state[slot], slots.journal
    if state[0] != role or now - state[1] > len(free):
        _anew(mask, slots, role, slot, free)
        state[0], state[1] = role, now
        return
    # Taken out once: within the loops, numba would count references at every access.
    _, roles, checks, _, domains, live, counts, totals, members, firsts, _, _ = mask
    width = free.shape[1] * free.shape[2]
    have, shown = free.reshape(len(free), width), slots.shown[slot].reshape(len(free), width)
    failing, seen = slots.failing[slot], slots.seen[slot]
    bounds, leasts = slots.bounds[slot], slots.least[slot]
    door, first, end = roles[role, 0], roles[role, 1], roles[role, 2]
    for number in range(state[1], now):
        server, place = journal[number % len(journal)] >> 32, 0
        for c in range(first, end):
            row = checks[c, 2]
            domain = domains[row, server]
            old, new = seen[place + domain], _count(checks, counts, c, domain)
            if old != new:
                seen[place + domain] = new
                if checks[c, 0] == SPREAD and live[door, checks[c, 6] + domain]:
                    leasts[c - first, 1] -= old == leasts[c - first, 0]
                    if new < leasts[c - first, 0]:
                        leasts[c - first, 0], leasts[c - first, 1] = new, 0
                    leasts[c - first, 1] += new == leasts[c - first, 0]
                low, high = bounds[c - first, 0], bounds[c - first, 1]
                opens = low <= new <= high
                if opens != (low <= old <= high):
                    at = checks[c, 7] + domain
                    _flip(members, firsts[at], firsts[at + 1], row, opens, have, shown, failing)
            place += checks[c, 5]
        if failing[server] == 0:
            _copy(have, shown, server)
    state[1] = now
    place = 0
    for c in range(first, end):
        kind, was_low, was_high = checks[c, 0], bounds[c - first, 0], bounds[c - first, 1]
        if kind in (SPREAD, SAME):
            if kind == SPREAD and leasts[c - first, 1] == 0:
                _look_for_least(mask, seen, leasts[c - first], door, c, place)
            low, high = bounds_of(kind, checks[c, 3], leasts[c - first, 0], totals[checks[c, 4]])
            if low != was_low or high != was_high:
                bounds[c - first, 0], bounds[c - first, 1] = low, high
                row = checks[c, 2]
                for domain in range(checks[c, 5]):
                    number = seen[place + domain]
                    opens = low <= number <= high
                    if opens != (was_low <= number <= was_high):
                        at = checks[c, 7] + domain
                        _flip(members, firsts[at], firsts[at + 1], row, opens, have, shown, failing)
        place += checks[c, 5]


@lean
def happen(mask: Mask, slots: Slots, now: int, server: int, role: int, sign: int) -> int:
    """Note after `now` events that a request was placed on a server, sign 1, or left it; returns how many there are."""
    place = now % len(slots.journal)
    slots.journal[place] = (server << 32) + ((role + 1) << 1) + (sign < 0)  # as `event`
    if place == len(slots.journal) - 1:  # before the journal writes over what nobody has counted
        count_up(mask, slots, now + 1)
    return now + 1


@kernel
def why_ruled(mask: Mask, slots: Slots, role: int, free: Ints, now: int, demand: Amounts, spread: bool) -> int:
    """Return what `last_refusing` does for a request that has room on some server, whatever the rules say."""
    slot = role % len(slots.shown)
    catch_up(mask, slots, role, slot, free, now)
    return last_refusing(mask, slots, role, slot, with_room(free, demand, spread))


@lean
def refusing(mask: Mask, slots: Slots, role: int, slot: int, server: int) -> int:
    """Return what keeps a role from a server, the first of the rules as they are written; -1 for nothing.

    The slot is the role's, and up to date.
    """
    if slots.failing[slot, server] == 0:
        return -1
    closed, place = int(mask.closed[mask.roles[role, 0], server]), 0
    first, end = mask.roles[role, 1], mask.roles[role, 2]
    for c in range(first, end):
        number = slots.seen[slot, place + mask.domains[mask.checks[c, 2], server]]
        if not slots.bounds[slot, c - first, 0] <= number <= slots.bounds[slot, c - first, 1]:
            rule = int(mask.rules[c])
            return min(closed, rule) if closed >= 0 else rule
        place += mask.checks[c, 5]
    return closed


@kernel
def refusals(mask: Mask, slots: Slots, role: int, slot: int) -> Ints:
    """Return what `refusing` says of every server, int64 [servers]."""
    found = np.empty(mask.closed.shape[1], np.int64)
    for server in range(len(found)):
        found[server] = refusing(mask, slots, role, slot, server)
    return found


@lean
def last_refusing(mask: Mask, slots: Slots, role: int, slot: int, room: npt.NDArray[np.bool_]) -> int:
    """Return what takes the last server with `room` bool [servers], as rules are looked at in order; -1 for none.

    The slot is the role's, and up to date.
    """
    last = -1
    for server in range(len(room)):
        if room[server]:
            here = refusing(mask, slots, role, slot, server)
            if here < 0:
                return -1
            last = max(last, here)
    return last
