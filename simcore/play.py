"""Lets an agent answer the decisions of a simulation, one after another."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns

from simcore.agent_calls import answer_all, describe_request, raised, rare_collection
from simcore.engine import Simulation
from simcore.types import Agent


class Portions:
    """Calls a watch of `play` after as many decisions as it says, while another one is called more often.

    `left` is how many decisions there are until then: without end if negative.
    """

    def __init__(self, watch: Callable[[], int], simulation: Simulation) -> None:
        self._watch, self._simulation = watch, simulation
        self._together = simulation.overflow.together > 0
        self._given = self._before = self.left = 0

    def settle(self) -> None:
        """Count what was decided since `hand`, and let the watch look if it is its turn."""
        if self._given and self.left > 0:
            answered = self._given
            if self._together:  # as `play` counts
                answered = max(1, len(self._simulation.record.sequence) - self._before)
            self.left = max(0, self.left - answered)
        self._given = 0
        if not self.left:
            self.left = self._watch()

    def hand(self, most: int) -> int:
        """Return after how many decisions to settle: at most so many, and one offer where there are several in each."""
        given = min(most, self.left) if self.left >= 0 else most
        self._given = min(1, given) if self._together else given
        self._before = len(self._simulation.record.sequence)
        return self._given


def play(simulation: Simulation, agent: Agent, watch: Callable[[], int] = lambda: -1) -> int:
    """Let an agent answer until the run is over; returns the nanoseconds it thought.

    `watch` is called before the first decision and says after how many decisions to call it again: never when
    negative; 0 ends the play, and another one can go on from there. Of requests that are offered together those that
    get a place count, and one if none does. What the agent raises, and what it answers that is not a placement, becomes
    an `AgentError` naming the request.
    """
    view, decide, advance, answer = simulation.view, agent.decide, simulation.advance, simulation.answer
    times = simulation.times
    simulation.thought = thought = 0
    with rare_collection():
        left = watch()
        while left and (request := advance()) is not None:
            before = perf_counter_ns()
            if simulation.offer:
                waiting = simulation.waiting
                thought += answer_all(agent, view, simulation.offer, answer, simulation.ledger.offer)
                left = max(0, left - max(1, waiting - simulation.waiting)) if left > 0 else left
            else:
                try:
                    placement = decide(view, request)
                except Exception as error:
                    raise raised(agent, error, describe_request(request, view.resources)) from error
                took = perf_counter_ns() - before
                thought += took
                if times is not None:
                    times.append((request.index, took))
                answer(placement)
                left -= 1
            if not left:
                simulation.thought = thought
                left = watch()
    simulation.ledger.confirm()
    return thought
