"""How agents are asked, and what they raise is told."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter_ns
from traceback import extract_tb
from typing import TYPE_CHECKING

from simcore.errors import AgentError
from simcore.vocabulary import Agent, Placement, Refusal, Request

if TYPE_CHECKING:
    from simcore.engine import Simulation


@contextmanager
def rare_collection() -> Iterator[None]:
    """What a run holds is many small objects without cycles: at its usual pace the collector walks them for nothing."""
    thresholds = gc.get_threshold()
    gc.set_threshold(100_000, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


def answer_all(simulation: Simulation, agent: Agent) -> int:
    """Let the agent answer what is offered together; returns the nanoseconds it thought."""
    offer, thought = tuple(simulation.offer), 0
    answers: Iterator[tuple[Request, Placement | Refusal | None]] | None = None
    while True:
        before = perf_counter_ns()
        try:
            if answers is None:
                answers = iter(agent.decide_line(simulation.view, offer))
            request, placement = next(answers, (None, None))
        except Exception as error:
            raise raised(agent, error, f"{len(offer)} requests from {offer[0]!r} on") from error
        thought += perf_counter_ns() - before
        if request is None:
            simulation.offer.clear()
            return thought
        simulation.answer(placement, request)


def raised(agent: Agent, error: Exception, of: str) -> AgentError:
    """What an agent raised, as a mistake of its own: where, and for which request."""
    at = extract_tb(error.__traceback__)[-1]
    return AgentError(f"{type(agent).__name__} raised {error!r} at {at.filename}:{at.lineno} for {of}")
