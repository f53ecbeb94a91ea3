"""What a request holds, and what every book beside the amounts of nodes may count of it."""

from __future__ import annotations

from operator import add, index
from typing import Any, NamedTuple

import numpy as np

from binwright.simcore.errors import InfeasiblePlacement
from binwright.simcore.types import Ints, Placement, Request, Share

TAKE, GIVE = -1, 1
"""The signs of what is free when amounts are taken and given back."""


class HeldDevices(NamedTuple):
    """Says which devices of a server a request has, and how many quanta of each."""

    server: int
    devices: tuple[int, ...]
    each: int

    @property
    def bits(self) -> int:
        """The devices as the bits of a number."""
        return sum(1 << device for device in self.devices)


class Holding(NamedTuple):
    """Says what a request holds: shares, in a network links and the quanta on each, and devices.

    On its way it holds all that at both places. Its `servers` count for rules of placement, as those of its `role` do.
    """

    role: int
    servers: tuple[int, ...]
    shares: tuple[Share, ...]
    links: tuple[tuple[int, int], ...] = ()
    devices: tuple[HeldDevices, ...] = ()

    def beside(self, other: Holding) -> Holding:
        """Return what is held by who holds both."""
        both: Any = map(add, self[1:], other[1:])
        return Holding(self.role, *both)


class Book:
    """Counts something of what requests hold; whatever a book does not override does not concern it."""

    reasons: tuple[str, ...] = ()
    """What the numbers of `keeps` mean. Where several keep a request out, the last of them that is needed counts."""

    def move(self, holding: Holding, sign: int) -> None:
        """Take what is held, or give it back: `sign` is TAKE or GIVE."""

    def enter(self, row: int, holding: Holding) -> None:
        """Note that a request has taken its place."""

    def leave(self, row: int, holding: Holding) -> None:
        """Note that a request gives its place back."""

    def begin_move(self, row: int, old: Holding, new: Holding) -> None:
        """Note that a request has taken a new place beside its old one."""
        self.leave(row, old)
        self.enter(row, old.beside(new))

    def end_move(self, row: int, stays: Holding, leaves: Holding, part: slice) -> None:
        """Note that a request gives one of two places back, of whose shares it is a `part`."""
        self.leave(row, leaves.beside(stays))
        self.enter(row, stays)

    def changed(self, server: int) -> None:
        """Note that an empty server has failed, or is back."""

    def grow(self, by: int) -> None:
        """Count for so many more servers."""

    def keeps(self, request: Request) -> Ints:
        """Return what keeps a request from each server that has the amounts, int64 [servers]; empty: nothing ever does.

        It is a place in `reasons`, -1 for nothing.
        """
        return np.zeros(0, np.int64)

    def of_a_server(self, number: int) -> str:
        """Say what a number of `keeps` means for a single server."""
        return self.reasons[number]


def usual_place(request: Request, placement: Any) -> tuple[int, int] | None:
    """Return the server and the node of an answer `request.on(server, node)`; None where it needs a closer look."""
    try:
        ((server, node, amounts),) = placement.shares
    except (AttributeError, TypeError, ValueError):
        return None
    usual = amounts is request.demand and type(server) is int is type(node) and not request.spread
    return (server, node) if usual else None


def plain_shares(placement: object) -> tuple[Share, ...]:
    """Return the shares of a placement as plain numbers; raises `InfeasiblePlacement` where it has none."""
    if not isinstance(placement, Placement):
        raise InfeasiblePlacement(f"answered {placement!r:.200}, which is neither a Placement nor None")
    try:
        shares = tuple((index(server), index(node), (*map(index, part),)) for server, node, part in placement.shares)
    except (TypeError, ValueError):
        problem = "whose shares are not (server, node, amounts)"
        raise InfeasiblePlacement(f"answered {placement!r:.200}, {problem}") from None
    if not shares:
        raise InfeasiblePlacement("placed nothing at all")
    return shares
