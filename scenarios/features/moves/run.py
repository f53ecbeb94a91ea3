"""Asks movers for plans while a simulation goes on, and makes their moves one after another."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, nan
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from binwright.fabric.run.simulation import Simulation
from binwright.simcore.agent_calls import describe_request, raised
from binwright.simcore.errors import AgentError, InfeasiblePlacement
from binwright.simcore.faults import Kind
from binwright.simcore.moves import Move, Moved, Mover, Outcome, Running, Why
from binwright.simcore.record import SPREAD
from binwright.simcore.types import QUANTUM, Embedding, Flags, Ints, OnDevices, Placement, Request

if TYPE_CHECKING:
    from binwright.scenarios.features.moves import MakeRoom, MovesSpec, Rescheduling

Trigger: TypeAlias = "tuple[MakeRoom | Rescheduling, Mover]"
"""When a mover is asked, and who it is."""
NO_HOSTS: Ints = np.zeros(0, np.int64)


@dataclass(slots=True)
class Plan:
    """Holds what is left of a plan to be begun, and for which request it makes room, -1 for none."""

    why: Why
    mover: Mover
    left: deque[Move]
    request: int = -1


class Moving:
    """Makes moves in a simulation, from when it is made on.

    One plan is followed at a time. Its moves are begun in order, each as soon as it fits and the rules let it; while
    something is on the way, one that does not fit waits, and when nothing is, what is left of the plan is dropped. The
    order of events is that of docs/start/engine.md.
    """

    def __init__(
        self,
        simulation: Simulation,
        spec: MovesSpec,
        room: tuple[MakeRoom, Mover] | None = None,
        schedule: tuple[Rescheduling, Mover] | None = None,
    ) -> None:
        self._simulation, self._ledger, self._clock = simulation, simulation.ledger, simulation.clock
        self.spec, resources = spec, simulation.view.resources
        memory = spec.memory(resources)
        self.resource = -1 if memory is None else resources.index(memory)
        """The place of the resource that moves carry, -1 where there is none."""
        self._rate = inf if spec.bandwidth is None else spec.bandwidth * QUANTUM
        self.room, self._schedule = room, schedule
        self.log: list[Moved] = []
        """Every move that was begun, in order."""
        self.endless = 0
        """How many things on the clock are reschedulings, which alone do not keep a run going."""
        self._plan = Plan("schedule", Mover(), deque())
        self._flying: dict[int, tuple[Moved, Plan]] = {}
        self._tried = (-1, nan)
        simulation.moving, self.request = self, simulation.request
        if schedule:
            when, _ = schedule
            if when.every:
                self._every = when.every
                self._await_tick(int(self._clock.now // self._every) + 1)
            if when.on_drain:
                for time in sorted({since for since, _, _ in self._ledger.drains if since > 0}):
                    self._clock.at(max(time, self._clock.now), lambda _: self.ask(schedule, "drain"), 0)

    # -- when movers are asked ------------------------------------------------------------------------------------

    def makes_room(self, request: Request) -> bool:
        """Have moves make room for the head of the line, which was refused; false where it is to overflow, as gangs do.

        It is then asked for again at once, or waits until moves have arrived.
        """
        row, now = request.index, self._clock.now
        if not (self._plan.request == row and self._under_way):
            if self.room is None or request.gang or self._tried == (row, now):
                return False
            # A network has room where servers have some, whether or not links lead there.
            if not (self._ledger.network or self._ledger.lacks_room(request)):
                return False
            self._tried = row, now
            if not self.ask(self.room, "room", request):
                return False
        if self._under_way:
            self._simulation.blocked = True
        return True

    @property
    def _under_way(self) -> bool:
        """Whether anything of the plan is still to happen."""
        return bool(self._plan.left) or any(plan is self._plan for _, plan in self._flying.values())

    def _await_tick(self, number: int) -> None:
        self.endless = 1
        self._clock.at(number * self._every, self._tick, number)

    def _tick(self, number: int) -> bool:
        """Reschedule, unless room is being made; tells whether anything changed."""
        simulation, self.endless = self._simulation, 0
        alone = simulation.due <= simulation.events.endless + len(self._flying)
        repairs = simulation.waiting and self._clock.now < simulation.events.all_back  # are waited for
        if simulation.offered == len(simulation.workload) and alone and not repairs:
            return False  # nothing else is to come
        self._await_tick(number + 1)
        making_room = self._plan.why == "room" and self._under_way
        return not making_room and self._schedule is not None and self.ask(self._schedule, "schedule")

    def ask(self, trigger: Trigger, why: Why, request: Request | None = None) -> bool:
        """Ask for a plan, and begin with it; tells whether there is one."""
        spec, mover = trigger
        self._plan.left.clear()
        if plan := self._planned(mover, why, spec.moves, request):
            self._plan = Plan(why, mover, deque(plan), -1 if request is None else request.index)
            self._follow(fresh=True)
        return bool(plan)

    def make(self, moves: Sequence[Move]) -> None:
        """Begin moves, one after another, instead of what is left of a plan.

        Raises `InfeasiblePlacement` where they cannot be made.
        """
        if ended := [move.row for move in moves if move.row not in self._ledger.running]:
            raise InfeasiblePlacement(f"row {ended[0]} does not run")
        self._ledger.rehearse((self.request(move.row), move.placement) for move in moves)
        self._plan = Plan("process", Mover(), deque(moves))
        self._follow(fresh=True)

    # -- plans ----------------------------------------------------------------------------------------------------

    def _planned(self, mover: Mover, why: Why, moves: int, request: Request | None) -> list[Move]:
        """Ask a mover for a plan; none where there is nothing to move, or where no room is made."""
        view, ledger, at = self._simulation.view, self._ledger, f"at {self._clock.now:g} s"
        running = self._running(why)
        if not len(running.row):
            return []
        view.free, view.now = view.everything_free, self._clock.now
        try:
            plan = list(mover.plan(view, running, moves, request))
        except Exception as error:
            what = describe_request(request, view.resources) if request else f"the plan {at}"
            raise raised(mover, error, what) from error
        if len(plan) > moves:
            raise self._wrong(mover, f"has {len(plan)} moves, and {moves} were asked for")
        for move in plan:
            if not isinstance(move, Move) or move.row not in running.row:
                raise self._wrong(mover, f"has {move!r:.200}, which is no Move of a request that may be moved")
        try:
            free = ledger.rehearse((self.request(move.row), move.placement) for move in plan)
        except InfeasiblePlacement as error:
            raise self._wrong(mover, f"cannot be made: {error}") from None
        if request is None:
            return plan
        after = {move.row: [int(share[0]) for share in move.placement.shares] for move in plan}
        return plan if self._has_room(request, free, after) else []

    def _has_room(self, request: Request, free: Ints, after: Mapping[int, Sequence[int]]) -> bool:
        """Tell whether a request has room in what is free `after` moves to these servers.

        In a network, the mover knows best which links are free, and which devices are.
        """
        may = self._ledger.open_to(request, after)
        if self._ledger.devices:
            return bool((free[may] >= np.array(request.demand)).all(axis=2).any())
        return self._ledger.room_for_parts(request, may, free) > 0

    def _running(self, why: Why) -> Running:
        """List what runs and may be moved; on a drain, what may not lie where it is."""
        record, rows = self._simulation.record, np.array(sorted(self._ledger.held), np.int64)
        rows = rows[~np.isin(rows, list(self.on_the_way))]
        ruled = self._ledger.rules is not None
        if why == "drain" and ruled:
            out = [row for row in rows.tolist() if not self._may(row)[[*self._ledger.held[row].servers]].all()]
            rows = np.array(out, np.int64)
        may = self._may if ruled else None
        server, node = record.server[rows].astype(np.int64), record.node[rows].astype(np.int64)
        demand = self._simulation.workload.demand[record.sources(rows)]
        return Running(rows, server, node, demand, self.request, self._at_place, may)

    def _at_place(self, row: int) -> Placement:
        """Return the placement of a request, with what it takes of what is free."""
        held = self._ledger.reserved_by(row)
        if not self._ledger.network:
            return OnDevices(held.shares, devices=held.devices[0].devices) if held.devices else Placement(held.shares)
        links, amounts = ([each[at] for each in held.links] for at in (0, 1))
        return Embedding(held.shares, tuple(links), hosts=NO_HOSTS, amounts=tuple(amounts))

    @property
    def on_the_way(self) -> set[int]:
        """The rows of the requests that are on their way."""
        return {moved.row for moved, _ in self._flying.values()}

    def _may(self, row: int) -> Flags:
        return self._ledger.open_to(self.request(row))

    def _wrong(self, mover: Mover, problem: str) -> AgentError:
        return AgentError(f"the plan of {type(mover).__name__} at {self._clock.now:g} s {problem}")

    # -- moves ----------------------------------------------------------------------------------------------------

    def _follow(self, fresh: bool = False) -> None:
        """Begin the moves of the plan that can be begun.

        Where it is `fresh`, made just now, its first move can be made, or the mover is wrong. Movers see what rules of
        placement allow before any of their own moves, so those after the first may be refused.
        """
        plan = self._plan
        while plan.left:
            if self.spec.at_once and len(self._flying) >= self.spec.at_once:
                return
            in_vain = plan.request >= 0 and self._simulation.head != plan.request
            why_not = "its request waits no more" if in_vain else self._begin(plan)
            if why_not is None:
                plan.left.popleft()
                fresh = False
            elif not self._flying:
                if fresh:
                    raise self._wrong(plan.mover, f"cannot be made: {why_not}")
                plan.left.clear()
            else:
                return

    def _begin(self, plan: Plan) -> str | None:
        """Begin the next move; returns why it cannot be, or None."""
        (row, placement), simulation, now = plan.left[0], self._simulation, self._clock.now
        if row not in self._ledger.running or row in self.on_the_way:
            return f"row {row} is not there"
        request, record = self.request(row), simulation.record
        try:
            server, node = self._ledger.begin_move(request, placement)
        except InfeasiblePlacement as error:
            return f"{describe_request(request, simulation.view.resources)}: {error}"
        decisions = len(record.sequence)
        source = int(record.server[row]), int(record.node[row])
        bits = sum(1 << device for device in getattr(placement, "devices", ()))
        left = self._ledger.devices.taken.get(row, 0) if self._ledger.devices else 0
        moved = Moved(row, plan.why, source, (server, SPREAD if request.spread else node), now)
        moved.decisions, moved.devices = (decisions, -1), (left, bits)
        number = len(self.log)
        self.log.append(moved)
        self._flying[number] = moved, plan
        seconds = self.spec.downtime + request.demand[self.resource] / self._rate
        if seconds:
            ends = float(record.decided[row]) + simulation.rows.holding_time(row)
            moved.due = min(now + seconds, ends)
            self._clock.at(moved.due, self._arrive, number)
        else:
            self._end(number, "done")
        return None

    def _arrive(self, number: int) -> bool:
        """End a move whose time has come, or whose request has ended; tells whether anything changed."""
        if number not in self._flying:
            return False  # a failure has ended it before
        moved, _ = self._flying[number]
        self._end(number, "done" if moved.row in self._ledger.running else "ended")
        self._follow()
        return True

    def _end(self, number: int, outcome: Outcome) -> None:
        """Take a move from what is on the way, and give back the place that its request leaves."""
        moved, _ = self._flying.pop(number)
        simulation, row = self._simulation, moved.row
        self._ledger.end_move(row, outcome == "done")
        moved.end, moved.outcome = self._clock.now, outcome
        moved.decisions = moved.decisions[0], len(simulation.record.sequence)
        if outcome == "done":
            simulation.moved(self.request(row), *moved.target)

    def fails(self, part: int, kind: Kind = "server") -> None:
        """Call off the moves to a part that is about to fail; what is left of the plan is dropped."""
        ledger, lies_on = self._ledger, self._ledger.lies_on(part, kind)
        for number, (moved, _) in [*self._flying.items()]:
            old, new = ledger.moving[moved.row]
            called_off = lies_on(new) and not lies_on(old)
            if called_off and moved.row in ledger.running:  # one that has ended at this instant needs no calling off
                self._end(number, "called off")
                self._plan.left.clear()

    def interrupted(self, rows: Sequence[int]) -> None:
        """End the moves of requests that a failure has interrupted; what is left of the plan is dropped."""
        for number in [n for n, (moved, _) in self._flying.items() if moved.row in rows]:
            self._end(number, "interrupted")
            self._plan.left.clear()
