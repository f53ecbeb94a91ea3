"""Explains a wait: which requests were ahead in the line, what they were promised, and which ones were passed."""

from collections.abc import Sequence

from binwright.agents.heuristics.in_line import InLine
from binwright.analysis.measure.metric import duration
from binwright.fabric.run.simulation import Simulation
from binwright.simcore.record import PENDING
from binwright.simcore.types import Agent, Request


class Line:
    """Holds the line in which the request of a `row` has just been offered: those that are ahead of it and wait."""

    def __init__(self, simulation: Simulation, agent: Agent, offered: Sequence[Request], row: int) -> None:
        self._simulation, self._row = simulation, row
        queue = getattr(agent, "line", agent)  # an agent that learned an order has its line
        self._queue = queue = queue if isinstance(queue, InLine) else None
        self.random = queue is not None and queue.order == "random"
        if self.random:
            return
        view, outcome = simulation.view, simulation.record.outcome
        ordered = queue.in_order(view, offered) if queue else offered
        place = next(place for place, one in enumerate(ordered) if one.index == row)
        there = [one for one in ordered[:place] if outcome[one.index] == PENDING]
        self._ahead = [one.index for one in there if not view.held_back(one)]

    def _name(self, row: int) -> str:
        return "It" if row == self._row else str(self._simulation.workload.id[self._simulation.source(row)])

    @property
    def _names(self) -> str:
        return ", ".join(map(self._name, self._ahead[:3])) + " and others" * (len(self._ahead) > 3)

    def _promised(self, row: int) -> str:
        """Say which server is promised to a row, and when; empty if none is."""
        one = self._queue.reserved.get(row) if self._queue else None
        later = duration(one.start - self._simulation.now) if one else ""
        return f"{self._name(row)} was promised server {one.server}, {later} later" if one else ""

    def waits(self) -> tuple[str, ...]:
        """Say which requests waited ahead of the row, and what the first of them and the row are promised."""
        if self.random:
            return ("The order was random.",)
        ahead, queue = self._ahead, self._queue
        said = [f"{len(ahead)} waited ahead of it: {self._names}." if ahead else "Nobody waited ahead of it."]
        said += [f"{promised}." for row in (*ahead[:1], self._row) if (promised := self._promised(row))]
        if queue and queue.backfilling == "none" and ahead:
            said.append(
                "Without backfilling nobody passes those ahead; with `backfilling: easy` those could who delay nobody."
            )
        return tuple(said)

    def passed(self) -> tuple[str, ...]:
        """Say which requests the row passed, now that it has its place, and which promise to one of them it keeps."""
        if self.random or not self._ahead:
            return ()
        said = [f"It started before {len(self._ahead)} that were ahead of it: {self._names}."]
        if promised := next(filter(None, map(self._promised, self._ahead)), ""):
            said.append(f"{promised}; this is not delayed.")
        return tuple(said)
