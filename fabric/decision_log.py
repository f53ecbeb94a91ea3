"""Notes what a simulation is answered, and answers another one of the same run in the same way.

Most of an answer stands in the record: who got which place, and who got none for which reason. Beside it there is noted
which answers left a request waiting, and in networks the numbers of every placement.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from binwright.fabric.device_ledger import DeviceLedger
from binwright.fabric.devices import on_devices
from binwright.fabric.network import NetworkLedger, Provisioned
from binwright.fabric.network_accounting import HEAD
from binwright.simcore.engine import Simulation
from binwright.simcore.play import Watchers, play
from binwright.simcore.record import QUEUE, QUOTA, SPREAD
from binwright.simcore.types import Agent, Embedding, Ints, Placement, Refusal, Request, View

ENTRY = np.dtype([("row", "<i4"), ("server", "<i4"), ("node", "i1"), ("reason", "<i4")])
"""An answer in the record; a server of -1 is none."""
MANY = 100_000
"""Placements in a network that are worth being kept at once, since they take memory."""
Bytes = npt.NDArray[np.uint8]


class DecisionRecorder:
    """Notes the answers that a simulation gets from now on, and gives them in portions, each once."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation, ledger = simulation, simulation.ledger
        self._passes = simulation.passes = array("q")
        self._given: list[Ints] = []
        if isinstance(ledger, NetworkLedger):
            ledger.given = self._given
        self._next, self._timed = len(simulation.record.sequence), 0

    @property
    def many(self) -> bool:
        """Whether there are so many that they should be kept now."""
        return len(self._given) >= MANY

    def portion(self) -> Bytes:
        """Return what is new."""
        simulation, record = self._simulation, self._simulation.record
        rows = np.array(record.sequence[self._next :], np.int32)
        entries = np.empty(len(rows), ENTRY)
        entries["row"] = rows
        for name in ("server", "node", "reason"):
            entries[name] = getattr(record, name)[rows]
        devices = np.zeros(0, np.int64)
        if isinstance(simulation.ledger, DeviceLedger):
            taken = simulation.ledger.taken
            devices = np.array([taken.get(row, 0) for row in rows.tolist()], np.int64)
        parts = (
            entries,
            np.array(self._passes, np.int64),
            devices,
            np.array([len(each) for each in self._given], np.int64),
            np.concatenate([np.zeros(0, np.int64), *self._given]),
            np.array((simulation.times or [])[self._timed :], np.int64).reshape(-1),
        )
        self.skip()
        sizes = np.array([len(part) for part in parts], np.int64)
        return np.concatenate([part.view(np.uint8) for part in (sizes, *parts)])

    def skip(self) -> None:
        """Leave out what is new."""
        self._next, self._timed = len(self._simulation.record.sequence), len(self._simulation.times or [])
        del self._passes[:], self._given[:]


class DecisionLog:
    """Reads the portions of `DecisionRecorder`, one behind the other; a `ValueError` where they are none."""

    def __init__(self, portions: Bytes) -> None:
        data, at = portions.tobytes(), 0
        found: list[list[npt.NDArray[Any]]] = [[] for _ in range(6)]
        while at < len(data):
            sizes = np.frombuffer(data, np.int64, len(found), at).tolist()
            at += 8 * len(found)
            for column, size in zip(found, sizes, strict=True):
                dtype = np.dtype(np.int64) if column is not found[0] else ENTRY
                column.append(np.frombuffer(data, dtype, size, at) if size else np.zeros(0, dtype))
                at += size * dtype.itemsize
        joined: list[Any] = [np.concatenate(column) if column else np.zeros(0, np.int64) for column in found]
        self.entries, self.passes, self.devices, lengths, numbers, times = joined
        self.placements: list[Ints] = np.split(numbers, np.cumsum(lengths)[:-1]) if len(lengths) else []
        self.times = [(row, took) for row, took in times.reshape(-1, 2).tolist()]


class ReplayAgent(Agent):
    """Answers as was noted. A `ValueError` where it is asked for something else."""

    def __init__(self, simulation: Simulation, given: DecisionLog, reasons: Sequence[str]) -> None:
        self._simulation, self._reasons = simulation, reasons
        self._sequence, self._first = simulation.record.sequence, len(simulation.record.sequence)
        self._columns = [given.entries[name].tolist() for name in ("row", "server", "node", "reason")]
        self._passes, self._devices = given.passes.tolist(), given.devices.tolist()
        _, servers, _, why = self._columns
        asked = (at >= 0 or not reasons[code].startswith((QUOTA, QUEUE)) for at, code in zip(servers, why, strict=True))
        self._asked_before = [0, *accumulate(asked)]  # how many of the first answers were an agent's
        self._networked = isinstance(simulation.ledger, NetworkLedger)
        self._placements = iter(given.placements)

    @property
    def left(self) -> int:
        """How many answers are left, as far as that is known: of gangs, one at most."""
        assert self._simulation.passes is not None
        passes = len(self._passes) - len(self._simulation.passes)
        here = min(len(self._sequence) - self._first, len(self._columns[0]))
        left = passes + self._asked_before[-1] - self._asked_before[here]
        return left if self._simulation.workload.gangs is None else min(left, 1)

    @property
    def _at(self) -> int:
        """The place of the next answer that is one in the record."""
        return len(self._sequence) - self._first + self._simulation.partway

    @property
    def _next_row(self) -> int:
        """The row of that answer; -1 for none."""
        at, rows = self._at, self._columns[0]
        return int(rows[at]) if at < len(rows) else -1

    @property
    def _goes_on(self) -> bool:
        """Whether the next answer is one in the record."""
        assert self._simulation.passes is not None
        here, passed = len(self._sequence), len(self._simulation.passes)
        at = here - self._first
        if at + 1 < len(self._asked_before) and self._asked_before[at] == self._asked_before[at + 1]:
            return False  # what follows the engine refused by itself
        if passed < len(self._passes):
            return bool(self._passes[passed] != here)
        return here < self._first + len(self._columns[0])

    def decide(self, view: View, request: Request) -> Placement | Refusal | None:
        """Give the next answer, if it is for this request."""
        if self._goes_on and self._next_row == request.index:
            return self._answer(view, request)
        if self._goes_on and not self._simulation.offer and not self._simulation.partway:
            raise ValueError("another request was answered")
        return None

    def decide_line(
        self, view: View, requests: Sequence[Request]
    ) -> Iterator[tuple[Request, Placement | Refusal | None]]:
        """Give the answers that placed a request of the line."""
        waiting = {request.index: request for request in requests}
        while self._goes_on:
            row = self._next_row
            request = waiting[self._simulation.lead(row)]
            request = request._replace(index=row) if request.gang else request
            yield request, self._answer(view, request)
            if self._simulation.partway and self._next_row != row + 1:  # the gang does without the others
                yield request._replace(index=row + 1), None

    def _answer(self, view: View, request: Request) -> Placement | Refusal:
        at = self._at
        _, server, node, reason = (column[at] for column in self._columns)
        if server < 0:
            return Refusal(self._reasons[reason])
        if self._networked:
            return placement_of(next(self._placements), request, len(view.resources))
        if self._devices and self._devices[at]:
            return on_devices(request, server, self._devices[at])
        return request.across(server, view.free.shape[1]) if node == SPREAD else request.on(server, node)


def placement_of(numbers: Ints, request: Request, resources: int) -> Placement:
    """Make a placement in a network from its numbers."""
    network = request.network
    shares, links, amounts, chosen = numbers[:HEAD].tolist()
    sizes = [shares * (2 + resources), links, amounts, chosen]
    if network is not None:
        sizes += [len(network), *((0, 0) if network.pairs is None else (len(network.pairs) + 1, len(numbers)))]
    parts, at = [], HEAD
    for size in sizes:
        parts.append(numbers[at : at + size])
        at += size
    held = tuple((one[0], one[1], tuple(one[2:])) for one in parts[0].reshape(-1, 2 + resources).tolist())
    wires, reserved = tuple(parts[1].tolist()), tuple(parts[2].tolist())
    if network is None:
        return Provisioned(held, wires, tuple(parts[3].tolist()))
    _, _, _, _, hosts, first, way = parts
    if network.pairs is None:
        return Embedding(held, wires, hosts=hosts, amounts=reserved)
    return Embedding(held, wires, hosts=hosts, amounts=reserved, route_first=first, route_links=way.astype(np.int32))


def answer_again(simulation: Simulation, given: DecisionLog, reasons: Sequence[str], watchers: Watchers) -> None:
    """Bring a simulation, whose answers are noted, to where another one of the same run was.

    `reasons` are those of the other one's record. An `AgentError` or a `ValueError` where it does not get there.
    """
    server, reason = given.entries["server"], given.entries["reason"]
    right = (server >= -1).all() and ((server >= 0) | ((reason >= 0) & (reason < len(reasons)))).all()
    right = right and all(isinstance(each, str) for each in reasons)
    if not right or any(row < 0 or took < 0 for row, took in given.times):
        raise ValueError("these are no answers")
    again = ReplayAgent(simulation, given, reasons)
    times, simulation.times = simulation.times, None

    play(simulation, again, lambda: watchers(again.left))
    if again.left:
        raise ValueError("the run was over before")
    if any(row >= simulation.record.rows for row, _ in given.times):  # a requeued request has a row of its own
        raise ValueError("times of requests that the run does not have")
    if times is not None:
        times += given.times
        simulation.times = times
