"""How agents are asked, and what they raise is told."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import inf
from time import perf_counter_ns
from traceback import extract_tb
from typing import TYPE_CHECKING

from simcore.errors import AgentError
from simcore.units import say
from simcore.vocabulary import Agent, Placement, Refusal, Request

if TYPE_CHECKING:
    from simcore.engine import Simulation


WRITE_DECIDE = "Write a method decide(self, view, request) that returns request.on(server, node), or None."


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
            raise raised(
                agent, error, f"{len(offer)} requests from {said(offer[0], simulation.view.resources)} on"
            ) from error
        thought += perf_counter_ns() - before
        if request is None:
            simulation.offer.clear()
            return thought
        simulation.answer(placement, request)


def raised(agent: Agent, error: Exception, of: str) -> AgentError:
    """What an agent raised, as a mistake of its own: where in its own file, if it was there, and for which request."""
    kind = type(agent)
    if kind.decide is Agent.decide and isinstance(error, NotImplementedError):
        return AgentError(f"{kind.__name__}: decide is missing. {WRITE_DECIDE}")
    frames = extract_tb(error.__traceback__)
    own = getattr(sys.modules.get(kind.__module__), "__file__", None)
    at = ([frame for frame in frames if frame.filename == own] or frames)[-1]
    return AgentError(f"{kind.__name__} raised {error!r} at {at.filename}:{at.lineno} for {of}")


def said(request: Request, resources: Sequence[str]) -> str:
    """Put a request in words: which, what it asks for, when and for how long."""
    time = f"at {request.arrival:g} s for {'ever' if request.duration == inf else f'{request.duration:g} s'}"
    spread = ", spread over all nodes of a server" if request.spread else ""
    bandwidth = f" with {say([request.bandwidth], ['bandwidth'])}" if request.bandwidth else ""
    return f"request {request.index} ({say(request.demand, resources)}{bandwidth}, {time}{spread})"
