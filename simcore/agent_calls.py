"""Asks an agent for decisions and turns its exceptions into `AgentError`."""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf, isnan
from time import perf_counter_ns

from binwright.simcore.errors import AgentError, WorkloadError, place_in
from binwright.simcore.types import Agent, Placement, Refusal, Request, View
from binwright.simcore.units import say

WRITE_DECIDE = "Write a method decide(self, view, request) that returns request.on(server, node), or None."


@contextmanager
def rare_collection() -> Iterator[None]:
    """Make garbage collection rare within it.

    A run holds many small objects without cycles: at its usual pace the collector would walk through them for nothing.
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(100_000, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


def answer_all(
    agent: Agent,
    view: View,
    offer: list[Request],
    answer: Callable[[Placement | Refusal | None, Request], None],
) -> int:
    """Let an agent answer the requests of `offer`, which are offered together; returns the nanoseconds it thought.

    `answer` applies each answer and takes the request from `offer`, which is empty in the end.
    """
    offered, thought = tuple(offer), 0
    answers: Iterator[tuple[Request, Placement | Refusal | None]] | None = None
    while True:
        before = perf_counter_ns()
        try:
            if answers is None:
                answers = iter(agent.decide_line(view, offered))
            request, placement = next(answers, (None, None))
        except Exception as error:
            raise raised(
                agent, error, f"{len(offered)} requests from {describe_request(offered[0], view.resources)} on"
            ) from error
        thought += perf_counter_ns() - before
        if request is None:
            offer.clear()
            return thought
        answer(placement, request)


def raised(agent: object, error: Exception, of: str) -> AgentError:
    """Turn what an agent or a mover raised into an `AgentError` that says where in its own file, and for which request.

    An interruption, Ctrl-C for one, that came while compiled code was being called is raised again: Python has made a
    SystemError of it.
    """
    cause = error.__cause__
    if isinstance(error, SystemError) and cause is not None and not isinstance(cause, Exception):
        raise cause
    if isinstance(error, WorkloadError):  # of what it asked, such as a predictor
        raise error
    kind = type(agent)
    return AgentError(f"{kind.__name__} raised {error!r} at {place_in(kind.__module__, error)} for {of}")


def describe_request(request: Request, resources: Sequence[str]) -> str:
    """Put a request in words: which, what it asks for, when and for how long as far as agents may know."""
    stays = request[2]
    lasts = "" if isnan(stays) else " for ever" if stays == inf else f" for {stays:g} s"
    time = f"at {request.arrival:g} s{lasts}"
    spread = ", spread over all nodes of a server" if request.spread else ""
    bandwidth = f" with {say([request.bandwidth], ['bandwidth'])}" if request.bandwidth else ""
    gang = f", part {request.index - request.gang.first + 1} of {request.gang.parts}" if request.gang else ""
    return f"request {request.index} ({say(request.demand, resources)}{bandwidth}, {time}{spread}{gang})"
