"""The words of moving what runs: what may be moved, a move, and a mover, which decides."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import nan
from typing import ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from binwright.simcore.types import Flags, Ints, Placement, Request, View

Why: TypeAlias = Literal["room", "schedule", "drain", "process"]
Outcome: TypeAlias = Literal["under way", "done", "called off", "ended", "interrupted"]


class Move(NamedTuple):
    """Says where a request that runs is to go."""

    row: int
    placement: Placement


@dataclass(frozen=True, slots=True)
class Running:
    """Lists the requests that run and may be moved, ascending by row.

    `row` int64 [n], the `index` of each request; `server`, `node` int64 [n], where it is, node -1 for a spread request;
    `demand` int64 [n, resources] quanta. `request(row)` returns the request itself, and `at(row)` its placement, with
    what it takes of what is free; in a network, `server` is the first of those on which it lies. Under rules of
    placement, `may(row)` tells on which servers they let it lie, bool [servers], not counting itself where it is: one
    that may not lie where it is, as on a server that is being emptied, is to go wherever it fits. It also tells that of
    the request that room is to be made for.
    """

    row: Ints
    server: Ints
    node: Ints
    demand: Ints
    request: Callable[[int], Request]
    at: Callable[[int], Placement]
    may: Callable[[int], Flags] | None = None


class Mover:
    """Whatever decides what moves. Subclasses override `plan`; constructor arguments are the options of the YAML."""

    reference: ClassVar[str] = ""
    """Where the method comes from: a paper, in one line."""
    needs_lifetimes: bool = False
    """Does it ask how long requests stay? It is refused where the scenario hides that."""
    keeps_rules: ClassVar[bool] = False
    """Does it look at `Running.may`? If not, it is refused where there are rules of placement."""
    reads_places: ClassVar[bool] = False
    """Does it look at `Running.at`, choose devices and reserve links? If not, it is refused in networks, with devices
    or predicted peaks.
    """
    makes_room: ClassVar[bool] = True
    """Does it plan where a request needs room? If not, it is refused for that."""
    reschedules: ClassVar[bool] = True
    """Does it plan where none does? If not, it is refused for that."""
    only_devices: bool = False
    """Is it for servers with devices only? It is refused where they have none."""

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Prepare for a run: called once before the first plan, with the mover's own random stream."""

    def plan(self, view: View, running: Running, moves: int, request: Request | None = None) -> Sequence[Move]:
        """Return at most so many moves, in the order in which they are to be made.

        Each must fit where it goes when those before it are done; its old place is held until it has arrived. With a
        `request`, which found no place, they are to make room for it: nothing is moved unless it fits afterwards.
        """
        raise NotImplementedError


@dataclass(slots=True)
class Moved:
    """Tells of a move that was begun: which row, from where to where, when, why, and what became of it.

    The node of a spread request is `SPREAD`. `decisions` counts those before it began, and before it ended; `devices`
    are the bits of those that it left, and of those that it took. `due` is when it is to arrive, or
    when its request ends, if that is earlier.
    """

    row: int
    why: Why
    source: tuple[int, int]
    target: tuple[int, int]
    begin: float
    end: float = nan
    outcome: Outcome = "under way"
    decisions: tuple[int, int] = (0, -1)
    devices: tuple[int, int] = (0, 0)
    due: float = nan
