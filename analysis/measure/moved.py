"""Where requests lay that were moved: a part of their time at each place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from binwright.fabric.run.simulation import Simulation
from binwright.simcore.moves import Moved
from binwright.simcore.types import Floats, Ints


@dataclass(frozen=True, slots=True)
class Stays:
    """Lists who held a place from when to when.

    `who` int64 [k] are places in the list of requests that was asked about, `server` and `node` int64 [k]; `start` and
    `end` float64 [k]. `first` int64 [k] is the first decision right after which the place was held, `last` the first
    after which it was not, -1 where the beginning or the end of the holding period says that. `devices` int64 [k] are
    bits, -1 for those that the ledger has. A request on its way holds two places.
    """

    who: Ints
    server: Ints
    node: Ints
    start: Floats
    end: Floats
    first: Ints
    last: Ints
    devices: Ints


class _Part(NamedTuple):
    """Holds a row of `Stays`."""

    who: int
    server: int
    node: int
    start: float
    end: float
    first: int
    last: int
    devices: int


def stays(simulation: Simulation, held: Ints, start: Floats, end: Floats) -> Stays:
    """List where the requests of rows `held` int64 [h] lay between `start` and `end`, float64 [h]."""
    by_row: dict[int, list[Moved]] = {}
    for moved in simulation.moving.log if simulation.moving else ():
        by_row.setdefault(moved.row, []).append(moved)
    server = simulation.record.server[held].astype(np.int64)
    still = np.flatnonzero(~np.isin(held, list(by_row)))
    none = np.full(len(still), -1)
    node = simulation.record.node[held].astype(np.int64)
    plain = Stays(still, server[still], node[still], start[still], end[still], none, none, none)
    if not by_row:
        return plain
    others = np.flatnonzero(np.isin(held, list(by_row))).tolist()
    parts = [part for who in others for part in _parts(who, by_row[int(held[who])], float(start[who]), float(end[who]))]

    def both(name: str) -> Any:
        column = getattr(plain, name)
        return np.concatenate([column, np.array([getattr(part, name) for part in parts], column.dtype)])

    return Stays(*map(both, _Part._fields))


def _parts(who: int, moves: Sequence[Moved], start: float, end: float) -> Iterator[_Part]:
    """Yield what `Stays` has of each place that a request held, until it arrived elsewhere or was called off."""
    here = _Part(who, *moves[0].source, start, end, -1, -1, moves[0].devices[0])
    for moved in moves:
        there = _Part(who, *moved.target, moved.begin, end, moved.decisions[0], -1, moved.devices[1])
        left, here = (here, there) if moved.outcome == "done" else (there, here)
        yield left if np.isnan(moved.end) else left._replace(end=min(end, moved.end), last=moved.decisions[1])
    yield here


@dataclass(frozen=True, slots=True)
class OnTheWay:
    """Lists the moves of a run: what their requests hold twice. The columns are as in `Stays`, `row` int64 [k]."""

    row: Ints
    start: Floats
    end: Floats
    first: Ints
    last: Ints


def on_the_way(simulation: Simulation, end: Floats, decisions: int) -> OnTheWay:
    """List the moves of a run, whose requests end at `end` float64 [rows]. Those under way end after all decisions."""
    log = simulation.moving.log if simulation.moving else []
    row = np.array([moved.row for moved in log], np.int64)
    finished = np.array([moved.due if np.isnan(moved.end) else moved.end for moved in log], np.float64)
    first, last = np.array([moved.decisions for moved in log], np.int64).reshape(-1, 2).T
    start = np.array([moved.begin for moved in log], np.float64)
    return OnTheWay(row, start, np.fmin(finished, end[row]), first, np.where(last < 0, decisions, last))
