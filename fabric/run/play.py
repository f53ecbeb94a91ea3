"""Lets an agent answer the decisions of a simulation, one after another."""

from collections.abc import Callable
from math import inf
from time import perf_counter_ns

from binwright.fabric.run.simulation import Simulation
from binwright.simcore.agent_calls import answer_all, describe_request, raised, rare_collection
from binwright.simcore.rules import Overflow
from binwright.simcore.types import Agent


class Watchers:
    """Calls each of several callbacks after as many decisions as it asks for: together they are a `watch` of `play`.

    A callback returns after how many decisions to call it again: never when negative; 0 ends the play.
    """

    def __init__(self, simulation: Simulation, *callbacks: Callable[[], int]) -> None:
        self._simulation, self._counted = simulation, simulation.counted
        self._callbacks, self._left = callbacks, [0] * len(callbacks)

    def __call__(self) -> int:
        """Call whose turn it is; return after how many decisions to come back."""
        answered = self._simulation.counted - self._counted
        self._counted += answered
        for each, callback in enumerate(self._callbacks):
            if self._left[each] > 0:
                self._left[each] = max(0, self._left[each] - answered)
            if not self._left[each]:
                self._left[each] = callback()
        return min((left for left in self._left if left >= 0), default=-1)


def play(simulation: Simulation, agent: Agent, watch: Callable[[], int] = lambda: -1) -> int:
    """Let an agent answer until the run is over; returns the nanoseconds it thought.

    `watch` is called before the first decision and says after how many decisions to call it again: never when
    negative; 0 ends the play, and another one can go on from there. Of requests that are offered together those that
    get a place count, and one if none does. What the agent raises, and what it answers that is not a placement, becomes
    an `AgentError` naming the request.
    """
    view, decide, advance, answer = simulation.view, agent.decide, simulation.advance, simulation.answer
    times = simulation.times
    thought = 0
    with rare_collection():
        left = watch()
        while left and (request := advance()) is not None:
            before = perf_counter_ns()
            if simulation.offer:
                placed = len(simulation.record.sequence)
                thought += answer_all(agent, view, simulation.offer, answer)
                answered = max(1, len(simulation.record.sequence) - placed)
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
                # A gang counts once, and nobody looks on while it has some of its places.
                answered = 0 if request.gang and simulation.gangs.placed else 1
            simulation.counted += answered
            if left > 0:
                left = max(0, left - answered)
            if not left:
                left = watch()
    simulation.ledger.confirm()
    return thought


def play_compiled(simulation: Simulation, agent: Agent, watch: Callable[[], int] = lambda: -1) -> int:
    """Play a run as `play` does, for a compiled agent; returns the nanoseconds of the whole run."""
    rule = agent.compiled
    if rule is None:
        raise TypeError(f"{type(agent).__name__} is not compiled")
    simulation.loop.prepare(rule)
    thought = 0
    while left := watch():
        before = perf_counter_ns()
        made = simulation.loop.go(rule, left)
        thought += perf_counter_ns() - before
        if made != left:
            simulation.let_go()
            break
    simulation.ledger.confirm()
    return thought


def fill(simulation: Simulation, resource: int, until: float, play: Callable[[Callable[[], int]], object]) -> float:
    """Have requests placed, skipping misfits, until this share of a resource is allocated; returns what share is.

    `play` plays the run, and is given what `watch` is in the functions above.
    """
    workload, installed = simulation.workload, int(simulation.view.capacity[:, :, resource].sum())
    largest = int(
        (workload.demand[:, resource] * (1 if workload.gangs is None else workload.gangs.parts)).max(initial=1)
    )
    used, missing = 0, inf

    def watch() -> int:
        """Return after how many decisions to look again: no fewer can make up what is missing, and 0 ends it."""
        nonlocal used, missing
        if (early := simulation.before(workload.running)) > 0:
            return early  # what runs already is there before anything begins
        used = int(simulation.ledger.used()[resource])
        missing = until * installed - used
        return 0 if missing <= 0 else max(1, int(missing // largest))

    overflow, simulation.overflow = simulation.overflow, Overflow("drop")
    play(watch)
    simulation.overflow = overflow
    return until if missing <= 0 else used / installed
