"""Plays many snapshots at once: what is seen, side by side, and what moves come to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from binwright.agents.learned.vmr.observation import NODE, PLACE, REQUEST, look, look_there, lost, sight_of
from binwright.agents.rules.moving import Standing, apply
from binwright.simcore.jit import kernel
from binwright.simcore.types import Floats, Ints


class Seen(NamedTuple):
    """Holds what is seen in the episodes `number` int64 [n], which still go on.

    `nodes` and `requests` are as in `Sight`, [n, each, numbers]; of each request whether it is `there` float32,
    at which `place` int64, and whether it is `movable` bool, [n, requests].
    """

    number: Ints
    nodes: npt.NDArray[np.float32]
    requests: npt.NDArray[np.float32]
    there: npt.NDArray[np.float32]
    place: Ints
    movable: npt.NDArray[np.bool_]


class Episodes:
    """Steps snapshots together; each has a number of `moves` int64 [n], and a usual request takes `size` quanta."""

    def __init__(self, snapshots: Sequence[Standing], moves: Ints, size: int) -> None:
        self._now = [Standing(*(part.copy() for part in one)) for one in snapshots]
        self._sights = [sight_of(one) for one in self._now]
        self._left, self._size = moves.astype(np.int64).copy(), size
        self._requests = max(len(one.kind) for one in self._now)
        self._places = max(one.free.shape[0] * one.free.shape[1] for one in self._now)
        self._going: Ints = np.arange(len(self._now))

    def look(self) -> Seen | None:
        """Return what is seen where a move is left and possible; `None` when all episodes are over."""
        for number in self._going.tolist():
            if self._left[number] > 0:
                look(self._now[number], self._size, int(self._left[number]), self._sights[number])
        self._going = np.array(
            [n for n in self._going.tolist() if self._left[n] > 0 and self._sights[n].movable.any()], np.int64
        )
        if not len(self._going):
            return None
        n = len(self._going)
        seen = Seen(
            self._going.copy(),
            np.zeros((n, self._places, NODE), np.float32),
            np.zeros((n, self._requests, REQUEST), np.float32),
            np.zeros((n, self._requests), np.float32),
            np.zeros((n, self._requests), np.int64),
            np.zeros((n, self._requests), np.bool_),
        )
        for i, number in enumerate(self._going.tolist()):
            sight, now = self._sights[number], self._now[number]
            count = len(now.kind)
            seen.nodes[i, : len(sight.nodes)] = sight.nodes
            seen.requests[i, :count] = sight.requests
            seen.there[i, :count] = 1
            seen.place[i, :count] = now.place
            seen.movable[i, :count] = sight.movable
        return seen

    def look_there(self, which: Ints) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """Return what is seen of the places for these requests, float32 [n, places, PLACE], and where they may go."""
        n = len(self._going)
        places, fitting = np.zeros((n, self._places, PLACE), np.float32), np.zeros((n, self._places), np.bool_)
        for i, number in enumerate(self._going.tolist()):
            sight = self._sights[number]
            look_there(self._now[number], self._size, int(self._left[number]), int(which[i]), sight)
            places[i, : len(sight.places)] = sight.places
            fitting[i, : len(sight.fitting)] = sight.fitting
        return places, fitting

    def move(self, which: Ints, where: Ints) -> Floats:
        """Make these moves; returns how many more usual requests there is room for after each, float64 [n]."""
        gains = np.zeros(len(self._going))
        for i, number in enumerate(self._going.tolist()):
            gains[i] = make(self._now[number], int(which[i]), int(where[i]), self._size) / self._size
            self._left[number] -= 1
        return gains


@kernel
def make(now: Standing, which: int, place: int, size: int) -> int:
    """Move a request; returns how much less is lost by fragments on the servers that it leaves and comes to."""
    nodes = now.free.shape[1]
    old, new = now.place[which] // nodes, place // nodes
    before = lost(now.free[old], size) + lost(now.free[new], size) * (old != new)
    apply(now, which, place)
    gain: int = before - lost(now.free[old], size) - lost(now.free[new], size) * (old != new)
    return gain
