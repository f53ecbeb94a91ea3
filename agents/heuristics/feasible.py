"""Keeps another agent from choosing servers that it can't connect: Feasible."""

from __future__ import annotations

from typing import Any

import numpy as np

from binwright.agents.heuristics.networks.common import NetworkAgent
from binwright.agents.heuristics.random_fit import RandomFit
from binwright.agents.nested_agent import inner
from binwright.simcore.errors import UserError
from binwright.simcore.types import Agent, Placement, Refusal, Request, View


class Feasible(Agent):
    """An agent for networks that passes over servers without a working route to those chosen before.

    `agent` is its name, `options` are its own.
    """

    reference = "ours: what of a method's failures is due to choices that could not work"

    def __init__(self, agent: str = "tetris", options: dict[str, Any] | None = None) -> None:
        made = inner(agent, options)
        if not isinstance(made, NetworkAgent | RandomFit):
            remedy = "Name an agent that takes servers from a network, such as tetris."
            raise UserError("does not choose servers one by one", key="agent", value=agent, remedy=remedy)
        made.masked = True
        self.agent: Agent = made
        self.needs_lifetimes = made.needs_lifetimes

    def start(self, view: View, rng: np.random.Generator) -> None:
        self.agent.start(view, rng)

    def decide(self, view: View, request: Request) -> Placement | Refusal | None:
        """Ask the agent."""
        return self.agent.decide(view, request)
