"""Lets compiled rules decide in a run, in the loop that plays it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from binwright.fabric.compiled import numa_loop as loop
from binwright.fabric.compiled import queue_line
from binwright.fabric.compiled.numa_decisions import as_argument, go, placement_of
from binwright.fabric.compiled.queue_line import drop_evicted, queue_of, with_returned
from binwright.fabric.compiled.queue_loop import go_line
from binwright.fabric.ranking import Standings, standings
from binwright.simcore.agent_calls import describe_request
from binwright.simcore.errors import InfeasiblePlacement
from binwright.simcore.jit import prepared
from binwright.simcore.types import Compiled, InOrder, Ints, Request

if TYPE_CHECKING:
    from binwright.fabric.run.simulation import Simulation

Loop = Callable[..., tuple[int, int, int]]


class CompiledLoop:
    """Plays a run with compiled rules: `go` has one decide, and does what the loop stops for as the run says."""

    def __init__(self, run: Simulation) -> None:
        self._run = run
        self._known: tuple[Compiled, Ints, Standings] | None = None
        """A rule, and what it knows of servers that have not changed since, by the log of this array."""
        self._ready = dict[tuple[Loop, Any], Loop]()
        """The machine code of a loop and a rule."""
        self.queue: Any = None
        self._order = InOrder()
        self._levels = np.zeros((3, 0, 0, 0), np.int64)
        """What promises of a compiled queue leave free, twice, and what it shows: int64 [3, servers, nodes, resources].
        """
        self.follows = False
        """Do rules that can look only at what changed do so with few servers, too?"""

    def prepare(self, rule: Compiled) -> None:
        """Compile the loop and a rule, or load them, so that no decision takes the time for it."""
        if self._run.overflow.together:
            self._line_loop(rule)
        else:
            self._loop(rule)

    def go(self, rule: Compiled, answers: int = -1) -> int:
        """Let a rule answer `answers` times, or to the end of the run when negative; returns how often it answered.

        Where requests are offered together, an offer counts as one answer at least. Raises `InfeasiblePlacement` as
        `answer` does.
        """
        run, at, offering, together, made = self._run, self._run.at, self._run.offering, self._run.overflow.together, 0
        while (answers < 0 or made < answers) and not at[loop.STOPPED]:
            run.lay_out()
            run.note_held()
            play, form = (self._line_loop if together else self._loop)(rule)
            more, status, code = 0, loop.OVER, -1
            if not (together and self.queue.at[queue_line.SEEN] < 0 and offering.is_hopeless()):
                more, status, code = play(*form, inf if run.vain else run.clock.next, answers - made)
            made += more
            run.counted += more
            run.follow()
            if status == loop.BROKEN:
                self._complain(int(self.queue.at[queue_line.OFFERED]) if together else run.head, code)
            if status == loop.OVER or (together and status == loop.EVENT and offering.is_hopeless()):
                if not at[loop.STOPPED]:
                    run.finish()
                break
            if status == loop.ASK:
                break
            if together:
                at[loop.STIRRED] |= offering.handle(status)
            else:
                run.handle(status)
        run.unbind()
        return made if answers < 0 else min(made, answers)

    def _loop(self, rule: Compiled) -> tuple[Loop, tuple[Any, ...]]:
        """Return the loop and its arguments but the last two; it looks only at what changed where that pays."""
        run = self._run
        scan: Any = rule.scan
        weights: tuple[Any, ...] = rule.weights
        servers, _, resources = run.state.free.shape
        if run.rules is None and scan.incremental and (self.follows or servers >= scan.worth_it):
            log = run.state.log
            if self._known is None or self._known[0] is not rule or self._known[1] is not log:
                self._known = rule, log, standings(run.state.free)
            scan, weights = scan.incremental, (*weights, log, *self._known[2])
        columns = run.requests._replace(priority=run.order())
        argument, arrays = as_argument(scan, resources, weights), (columns, run.state, run.rules, run.tables)
        form = *argument, *arrays, run.interested, *self._stops()
        return self._compiled(go, form)

    def _compiled(self, play: Loop, form: tuple[Any, ...]) -> tuple[Loop, tuple[Any, ...]]:
        """Return the machine code of a loop for all its arguments but the last two, and these arguments."""
        which = play, form[0]
        if which not in self._ready:
            self._ready[which] = prepared(play, *form, inf, 0)
        return self._ready[which], form

    def _stops(self) -> tuple[int, int]:
        """Return at which refusals the loop has to stop, and what becomes of what fits nowhere, as numbers."""
        run, overflow, stops = self._run, self._run.overflow, loop.NO_REFUSALS
        if overflow.preempt and len(run.interested):  # where all are equal, nobody gives way
            stops = loop.SOME_REFUSALS
        mode = overflow.mode
        if (run.moving and run.moving.room) or (mode == "expand" and len(run.view.capacity) < overflow.limit):
            stops = loop.ALL_REFUSALS
        return stops, loop.MODES.index(overflow.then if mode == "expand" else mode)

    def take_in(self, back: Sequence[Request]) -> None:
        """Have a compiled queue, if there is one, know requests that were sent back."""
        run, queue = self._run, self.queue
        if queue is not None:
            self.queue = with_returned(queue, len(run.record.outcome), self._order, run.view, back)

    def _line_loop(self, rule: Compiled) -> tuple[Loop, tuple[Any, ...]]:
        """Return the loop that offers the line, and its arguments but the last two.

        The first rule says in which order.
        """
        run, how = self._run, rule.in_order or InOrder("any")
        if self.queue is None:
            self.queue, self._order = queue_of(run, how), how
        drop_evicted(self.queue, run.holds)
        backfilling, hides = queue_line.BACKFILLING.index(how.backfilling), how.backfilling in ("easy", "conservative")
        if self._levels.shape[1] != len(run.state.left):
            self._levels = np.zeros((3, *run.state.left.shape), np.int64)
        argument, columns = as_argument(rule.scan, run.state.free.shape[2], rule.weights), run.requests
        state = run.state
        if hides:
            self._levels[2] = state.left
            state = state._replace(free=self._levels[2])
        arrays = columns._replace(priority=run.order()), state, self.queue, run.tables, self._levels
        form = *argument, *arrays, backfilling, run.overflow.together
        return self._compiled(go_line, form)

    # -- wrong answers -------------------------------------------------------------------------------------------

    def _complain(self, row: int, code: int) -> None:
        """Raise the ledger's own error for an answer that it refuses; the run is over."""
        run, request = self._run, self._run.request(row)
        placed = int(np.count_nonzero(run.record.server[row : row + request.parts] >= 0))
        part = request._replace(index=row + placed) if request.gang else request
        try:
            run.ledger.apply(part, placement_of(code, part, run.view.free.shape[1]))
        except InfeasiblePlacement as error:
            raise InfeasiblePlacement(f"{describe_request(part, run.view.resources)}: {error}") from None
