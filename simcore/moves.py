"""The words of moving what runs: what may be moved, a move, and a mover, which decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from simcore.vocabulary import Floats, Ints, Placement, Request, View


class Move(NamedTuple):
    """Says where a request that runs is to go."""

    row: int
    placement: Placement


@dataclass(frozen=True, slots=True)
class Running:
    """Lists the requests that run and may be moved, ascending by row.

    `row` int64 [n], the `index` of each request; `server`, `node` int64 [n], where it is, node -1 for a spread request;
    `demand` int64 [n, resources] quanta; `left` float64 [n], seconds that it is expected to stay on, as far as agents
    are told, NaN where that is hidden. `request(row)` returns the request itself. Where there are rules of placement,
    `may(row)` tells on which servers they let it lie, bool [servers], not counting itself where it is: one that may not
    lie where it is, as on a server that is being emptied, is to go wherever it fits.
    """

    row: Ints
    server: Ints
    node: Ints
    demand: Ints
    left: Floats
    request: Callable[[int], Request]
    may: Callable[[int], npt.NDArray[np.bool_]] | None = None


class Mover:
    """Whatever decides what moves. Subclasses override `plan`; constructor arguments are the options of the YAML."""

    reference: ClassVar[str] = ""
    """Where the method comes from: a paper, in one line."""
    needs_lifetimes: bool = False
    """Does it ask how long requests stay? It is refused where the scenario hides that."""
    keeps_rules: ClassVar[bool] = False
    """Does it look at `Running.may`? If not, it is refused where there are rules of placement."""
    on_devices: ClassVar[bool] = False
    """Does it choose the devices of servers? If not, it is refused where they have some."""

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Prepare for a run: called once before the first plan, with the mover's own random stream."""

    def plan(self, view: View, running: Running, moves: int, request: Request | None = None) -> Sequence[Move]:
        """Return at most so many moves, in the order in which they are to be made.

        Each must fit where it goes when those before it are done; its old place is held until it has arrived. With a
        `request`, which found no place, they are to make room for it: nothing is moved unless it fits afterwards.
        """
        raise NotImplementedError
