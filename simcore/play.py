"""Lets an agent answer the decisions of a simulation, one after another."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns

from simcore.asking import answer_all, raised, rare_collection, said
from simcore.engine import Simulation
from simcore.vocabulary import Agent


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
                waiting = simulation.waiting
                thought += answer_all(agent, view, simulation.offer, answer, simulation.ledger.offer)
                left = max(0, left - max(1, waiting - simulation.waiting)) if left > 0 else left
            else:
                try:
                    placement = decide(view, request)
                except Exception as error:
                    raise raised(agent, error, said(request, view.resources)) from error
                took = perf_counter_ns() - before
                thought += took
                if times is not None:
                    times.append((request.index, took))
                answer(placement)
                left -= 1
            if not left:
                left = watch()
    simulation.ledger.confirm()
    return thought
