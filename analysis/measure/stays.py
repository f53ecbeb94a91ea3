"""Where requests lay, and when: those that were moved have several stays."""

from typing import Any, NamedTuple

import numpy as np

from binwright.fabric.run.simulation import Simulation
from binwright.simcore import memmap
from binwright.simcore.extras import pl
from binwright.simcore.moves import Moved
from binwright.simcore.types import Floats, Ints


class Stays(NamedTuple):
    """Lists who held a place from when to when; a request on its way holds two.

    `who` int64 [k] are places in the list of requests that was asked about, `server` and `node` int64 [k], the latter
    `SPREAD` for all nodes; `start` and `end` float64 [k], `amounts` int64 [k, resources] quanta. `first` int64 [k] is
    the first decision right after which the place was held, `last` the first after which it was not, -1 where the
    holding period itself begins or ends there. `devices` int64 [k] are bits, -1 for those that the ledger has.
    `number` int64 [k] counts the places that the request held before.
    """

    who: Any
    server: Any
    node: Any
    start: Any
    end: Any
    amounts: Any
    first: Any = -1
    last: Any = -1
    devices: Any = -1
    number: Any = 0


def stays(simulation: Simulation, held: Ints, start: Floats, end: Floats) -> Stays:
    """List where the requests of rows `held` int64 [h] lay between `start` and `end`, float64 [h].

    In a network one may lie on several servers at a time.
    """
    result = _stays(simulation, held, start, end)
    if simulation.ledger.network is None:
        return result
    at, server, node, amounts = simulation.ledger.network.places(held[result.who], result.number)
    return Stays(*(column[at] for column in result))._replace(server=server, node=node, amounts=amounts)


def reservations(simulation: Simulation, held: Ints, start: Floats, end: Floats) -> tuple[Floats, Floats, Ints, Ints]:
    """List when the same requests held something of links, float64 [k], of which, and quanta int64 [k, 1]."""
    result = _stays(simulation, held, start, end)
    at, link, amount = simulation.ledger.network.wires(held[result.who], result.number)
    return result.start[at], result.end[at], link, amount[:, None]


def _stays(simulation: Simulation, held: Ints, start: Floats, end: Floats) -> Stays:
    """List the stays of requests, each on one server, or the first one of several."""
    record, demand = simulation.record, simulation.as_workload().demand
    moves: dict[int, list[Moved]] = {}
    for moved in simulation.moving.log if simulation.moving else ():
        moves.setdefault(moved.row, []).append(moved)
    was_moved = np.isin(held, list(moves))
    still = np.flatnonzero(~was_moved)
    server, node = (column[held[still]].astype(np.int64) for column in (record.server, record.node))
    none = np.full(len(still), -1)
    result = Stays(still, server, node, start[still], end[still], demand[held[still]], none, none, none, none + 1)
    several: list[Stays] = []
    for who in np.flatnonzero(was_moved).tolist():
        first, *_ = of_row = moves[int(held[who])]
        until, amounts = float(end[who]), demand[held[who]]
        stay = Stays(who, *first.source, float(start[who]), until, amounts, devices=first.devices[0])
        # A place is held until the request has arrived elsewhere, or its move was called off.
        for number, moved in enumerate(of_row, 1):
            lasts = until, amounts, moved.decisions[0], -1
            target = Stays(who, *moved.target, moved.begin, *lasts, moved.devices[1], number)
            left, stay = (stay, target) if moved.outcome == "done" else (target, stay)
            is_over = not np.isnan(moved.end)
            several.append(left._replace(end=min(until, moved.end), last=moved.decisions[1]) if is_over else left)
        several.append(stay)
    if not several:
        return result
    pairs = zip(result, zip(*several, strict=True), strict=True)
    return Stays(*(np.concatenate([column, np.array(added, column.dtype)]) for column, added in pairs))


def outages_of(simulation: Simulation, kind: str = "server") -> pl.DataFrame:
    """List when parts of a kind were out of service (`server`, `start`, `end`); what never came back is for ever."""
    since: dict[int, float] = {}
    result: list[tuple[int, float, float]] = []
    for change in simulation.changes:
        if change.kind == kind and change.what == "failure":
            since[change.subject] = change.time
        elif change.kind == kind and change.what == "repair":
            result.append((change.subject, since.pop(change.subject), change.time))
    result += [(part, time, np.inf) for part, time in since.items()]
    return pl.DataFrame(result, {"server": pl.Int64, "start": pl.Float64, "end": pl.Float64}, orient="row")


def added_at(simulation: Simulation) -> Floats:
    """Tell from when on each server was there, float64 [servers]."""
    grown = [(change.time, change.subject) for change in simulation.changes if change.what == "expansion"]
    times = [time for time, by in grown for _ in range(by)]
    return np.append(np.zeros(len(simulation.view.capacity) - len(times)), times)


class OnTheWay(NamedTuple):
    """Lists what is held beside what would be held if nothing moved; as in `Stays`, with `amounts` of tiers, too."""

    start: Floats
    end: Floats
    first: Ints
    last: Ints
    amounts: Ints


def on_the_way(simulation: Simulation, end: Floats) -> OnTheWay:
    """List the moves of a run, whose requests end at `end` float64 [rows]. Those under way end after all decisions.

    Who moves holds a second place on the way, and after that what it reserves more of links than the one that was left.
    """
    demand, network = simulation.as_workload().demand, simulation.ledger.network
    log = simulation.moving.log if simulation.moving else []
    row = np.array([moved.row for moved in log], np.int64)
    start = np.array([moved.begin for moved in log], np.float64)
    due = np.array([moved.due if np.isnan(moved.end) else moved.end for moved in log], np.float64)
    first, last = np.array([moved.decisions for moved in log], np.int64).reshape(-1, 2).T
    last = np.where(last < 0, len(simulation.record.sequence), last)
    result = OnTheWay(start, np.fmin(due, end[row]), first, last, demand[row])
    if network is None:
        return result
    places, seen = [], dict[int, tuple[int, int]]()  # the numbers of those that each move leaves and takes
    for moved in log:
        from_, taken = seen.get(moved.row, (0, 0))
        places.append((from_, taken + 1))
        seen[moved.row] = taken + 1 if moved.outcome == "done" else from_, taken + 1
    left, second = (network.reserved(row, numbers) for numbers in np.array(places, np.int64).reshape(-1, 2).T)
    arrived = np.array([moved.outcome == "done" for moved in log], np.bool_)
    who = row[arrived]
    until = Order(simulation).lasting(who, end[who])[1]
    after = OnTheWay(due[arrived], end[who], last[arrived], until, np.zeros_like(demand[who]))
    links = np.concatenate([second, (second - left)[arrived]])
    both = OnTheWay(*(np.concatenate(pair) for pair in zip(result, after, strict=True)))
    return both._replace(amounts=np.hstack([both.amounts, links]))


class Order:
    """Knows which decision placed each request of a finished run, and when each decision was; in files where large."""

    def __init__(self, simulation: Simulation) -> None:
        record = simulation.record
        answered = np.frombuffer(record.sequence, np.int32)
        self._place, self._times = memmap.zeros(record.rows, np.int32), memmap.zeros(len(answered), np.float64)
        for some in memmap.blocks(len(answered)):
            self._place[answered[some]] = np.arange(some.start, some.stop)
            self._times[some] = record.decided[answered[some]]

    def lasting(self, held: Ints, end: Floats) -> tuple[Ints, Ints]:
        """Find the decision right after which each request is there first, and that after which it is no more.

        `held` int64 [h] are rows that got a place, with their `end` float64 [h]; what is returned is int64 [h].
        """
        first, after = self._place[held].astype(np.int64), np.searchsorted(self._times, end, side="left")
        return first, np.maximum(after, first + 1)
