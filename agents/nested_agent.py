"""Makes agents: that which an option of another one names, and that which sees one of two books."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from inspect import signature
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from binwright.agents import AGENTS
from binwright.simcore.errors import UnknownName, UserError
from binwright.simcore.types import Agent, Ints, Placement, Refusal, Request, View, part

Book: TypeAlias = Literal["asked", "predicted"]
"""What an agent sees as free where peaks are predicted: what is not asked for, or what predictions leave."""


def inner(name: str, options: Mapping[str, Any] | None, keys: tuple[str, str] = ("agent", "options")) -> Agent:
    """Make the agent of that name, with these options; a mistake in one of the two is reported under its key."""
    try:
        kind = AGENTS.load(name)
    except UnknownName as error:
        raise UserError(error.problem, key=keys[0], value=name, remedy=error.remedy) from None
    try:
        signature(kind).bind(**split_book(kind, options or {})[0])
    except TypeError as error:
        known = ", ".join(signature(kind).parameters) or "none"
        raise UserError(f"{name}: {error}", key=keys[1], value=options, remedy=f"Options: {known}.") from None
    return make(kind, options or {})


def split_book(kind: type[Agent], options: Mapping[str, Any]) -> tuple[dict[str, Any], Book | None]:
    """Return the options of an agent's constructor, and the book that `by` names, if it does."""
    own = dict(options)
    return own, None if "by" in signature(kind).parameters else own.pop("by", None)


def make(kind: type[Agent], options: Mapping[str, Any]) -> Agent:
    """Make an agent with these options, one of which may be the book that it is to see."""
    own, book = split_book(kind, options)
    return kind(**own) if book is None else ByBook(kind(**own), book)


class ByBook(Agent):
    """Has an agent see one of the two books of servers whose peaks are predicted.

    By what is asked for, all servers seem to have so many times their capacity as is asked of the one of which most is,
    with the request where it fits. What then is not asked for is free where the request fits by predicted peaks, and
    nothing elsewhere.
    """

    def __init__(self, agent: Agent, book: Book) -> None:
        self.agent, self.book = agent, book
        self.any_size, self.needs_lifetimes = agent.any_size, agent.needs_lifetimes

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Start the agent on what it is to see."""
        if view.asked is None:
            remedy = "Leave `by` out, or write `overcommit: {cpu: {predict: ...}}` into the cluster."
            raise UserError("no peaks are predicted, so there is one book", key="by", value=self.book, remedy=remedy)
        self.agent.start(self._shown(view, np.zeros_like(view.free)) or view, rng)

    def decide(self, view: View, request: Request) -> Placement | Refusal | None:
        """Ask the agent, if the request fits anywhere."""
        nodes, demand = view.free.shape[1], request.demand
        each = [part(demand, node, nodes) if request.spread else demand for node in range(nodes)]
        need = np.broadcast_to(np.array(each, np.int64), view.free.shape)
        shown = self._shown(view, need, request.spread)
        return self.agent.decide(shown, request) if shown else None

    def _shown(self, view: View, need: Ints, spread: bool = False) -> View | None:
        """Return what the agent sees of the servers for a request that needs so much of each node, None if nothing."""
        if self.book == "predicted":
            return view
        assert view.asked is not None
        fits: npt.NDArray[np.bool_] = np.all(view.free >= need, axis=(1, 2) if spread else 2, keepdims=True)
        if not fits.any():
            return None
        wanted = view.asked + need * fits
        times = np.maximum((wanted / np.maximum(view.capacity, 1)).max(axis=(0, 1)), 1.0)
        capacity = np.maximum(np.rint(view.capacity * times).astype(np.int64), wanted)
        return replace(view, capacity=capacity, free=(capacity - view.asked) * fits, changed=None)
