"""Changes the cluster of a run: servers are added, parts fail and come back, and what they hold is interrupted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Literal

from binwright.fabric.run.gang_placement import GangPlacement
from binwright.fabric.run.waiting_line import WaitingLine
from binwright.simcore.faults import FaultProcess, Faults, Kind

if TYPE_CHECKING:
    from binwright.fabric.run.simulation import Simulation

IDLE = 10_000
"""After so many steps of SimPy's processes without an answer, these alone do not keep a run going."""


@dataclass(frozen=True, slots=True)
class Change:
    """Tells something that happened to the cluster: when, after how many decisions, what, and to which part.

    The subject of an expansion is how many servers were added.
    """

    time: float
    decisions: int
    what: Literal["failure", "repair", "expansion"]
    subject: int
    kind: Kind = "server"


class ClusterEvents:
    """Lets parts of the cluster of a run fail as `faults` say, adds servers, and interrupts requests that run."""

    def __init__(self, run: Simulation, line: WaitingLine, gangs: GangPlacement, faults: Sequence[Faults]) -> None:
        self._run, self._ledger, self._line, self._gangs = run, run.ledger, line, gangs
        self.changes: list[Change] = []
        self._causes: Counter[tuple[Kind, int]] = Counter()  # of each part that is down: itself, and its domains
        self._answered = self._steps = 0
        """How many answers there were when it was looked last, and steps of processes by the last of them."""
        self._faults = [FaultProcess(each, run.clock, self, self._ledger.parts(each.kind)) for each in faults]

    @property
    def endless(self) -> int:
        """How many things on the clock go on for ever: random failures, repairs, reschedulings, what recurs.

        Processes are among them once they have gone on for long while nobody got an answer.
        """
        run, clock = self._run, self._run.clock
        answered = int(run.record.answers[0])
        if self._answered != answered:
            self._answered, self._steps = answered, clock.steps
        idle = clock.pending if clock.steps - self._steps > IDLE else 0
        moving = run.moving.endless if run.moving else 0
        return sum(process.endless for process in self._faults) + moving + run.recurring + idle

    @property
    def all_back(self) -> float:
        """When every part that has failed at random so far is back."""
        return max((process.all_back for process in self._faults), default=-inf)

    def _changed(self, what: Literal["failure", "repair", "expansion"], subject: int, kind: Kind = "server") -> None:
        run = self._run
        run.unbind()
        self.changes.append(Change(run.clock.now, len(run.record.sequence), what, subject, kind))

    def grow(self, by: int) -> None:
        """Add so many servers."""
        self._ledger.grow(by)
        if self._run.speeds:
            self._run.speeds.grow(by)
        self._changed("expansion", by)
        for process in self._faults:
            if process.kind == "server":
                process.grow(len(self._run.view.capacity))

    def fail(self, part: int, kind: Kind = "server", requeue: bool = False) -> bool:
        """Take a part down now: what it holds is interrupted, and return to the line or is lost.

        False when it is down already: it stays so until the repair of the first failure.
        """
        if part >= self._ledger.parts(kind) or part in self._ledger.out(kind):
            return False
        self.down([part], requeue, kind)
        return True

    def repair(self, part: int, kind: Kind = "server") -> None:
        """Bring a failed part back, empty, when all its domains are back."""
        self.up([part], kind)

    def down(self, parts: Sequence[int], requeue: bool, kind: Kind = "server") -> None:
        """Take parts down together, for one more reason where they are down already."""
        interrupted: list[int] = []
        for part in parts:
            self._causes[kind, part] += 1
            if self._causes[kind, part] == 1:
                self._changed("failure", part, kind)
                if self._run.moving:
                    self._run.moving.fails(part, kind)
                interrupted += self._ledger.fail(part, kind)
        self._interrupt(sorted(interrupted), requeue)

    def up(self, parts: Sequence[int], kind: Kind = "server") -> None:
        """Bring parts that are down back, empty, unless they are down for another reason."""
        for part in parts:
            if not self._causes[kind, part]:
                continue
            self._causes[kind, part] -= 1
            if not self._causes[kind, part]:
                self._ledger.repair(part, kind)
                self._changed("repair", part, kind)

    def evict(self, rows: Sequence[int], requeue: bool, saved: Callable[[float], float]) -> None:
        """Interrupt requests that run; `saved` says how much of the time that one has run is not lost."""
        self._ledger.evict(rows)
        self._run.blocked = False
        self._interrupt(rows, requeue, saved)

    def _interrupt(
        self, interrupted: Sequence[int], requeue: bool, saved: Callable[[float], float] = lambda ran: ran
    ) -> None:
        run, now = self._run, self._run.clock.now
        if run.workload.gangs is not None and interrupted:
            rows = self._gangs.with_parts(interrupted)
            self._ledger.evict({*rows} - {*interrupted})
            interrupted = rows
        if run.moving:
            run.moving.interrupted(interrupted)
        run.record.interrupted(interrupted, now)
        for row in interrupted if run.quotas or run.queues else ():
            run.freed(row)
        if requeue and interrupted:
            self._line.take_back(run.rows.send_back(interrupted, now, saved))
