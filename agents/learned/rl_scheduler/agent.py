"""Orders requests that wait with the weights that rl-scheduler learned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from binwright.agents.learned.common.tensors import find, fitting
from binwright.agents.learned.numa.mlp import untrained as drawn
from binwright.agents.learned.rl_scheduler.episode import LAYERS, SIZE, scores
from binwright.agents.nested_agent import inner
from binwright.agents.waiting_jobs import WINDOW, observed, visible
from binwright.simcore.rng import stream
from binwright.simcore.types import Agent, Floats, Placement, Refusal, Request, View

NAME = "rl-scheduler"
DESCRIBED = {"agent": NAME, "layers": list(LAYERS)}
"""What notes beside its weights say."""


class RLScheduler(Agent):
    """Another agent is asked for the requests that wait, the one first that a small network scores highest.

    `weights` names shipped ones, `path` is a file that `binwright train` wrote, `untrained` is where training began.
    The network sees 128 requests; others that wait come after these. `agent`, its `options`, `backfilling` and `commit`
    are as of in-line; it learned with `commit`.
    """

    reference = (
        "Zhang and others 2020, RLScheduler: an automated HPC batch job scheduler using reinforcement learning, SC, "
        "arXiv:1910.08925"
    )
    orders_line = needs_lifetimes = places_gangs = True

    def __init__(
        self,
        weights: str = "lublin-1",
        path: str | None = None,
        agent: str = "first-fit",
        backfilling: str = "none",
        commit: bool = False,
        untrained: bool = False,
        options: dict[str, Any] | None = None,
    ) -> None:
        given = {"agent": agent, "backfilling": backfilling, "commit": commit, "options": options}
        self.line: Any
        self.line = inner("in-line", given)
        self.line.orders = self.in_order
        self.any_size = self.line.any_size
        self._file = None if untrained else find(NAME, weights, path)

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Load the weights, and start the agent."""
        self.line.start(view, rng)
        if self._file is None:
            self._weights = untrained(0)
        else:
            self._weights = fitting(self._file, {"weights": (SIZE,)}, DESCRIBED)["weights"].astype(np.float64)

    def decide(self, view: View, request: Request) -> Placement | Refusal | None:
        """Ask the agent."""
        found: Placement | Refusal | None = self.line.decide(view, request)
        return found

    def decide_line(
        self, view: View, requests: Sequence[Request]
    ) -> Iterator[tuple[Request, Placement | Refusal | None]]:
        """Ask the agent for one request after another."""
        yield from self.line.decide_line(view, requests)

    def in_order(self, view: View, requests: Sequence[Request]) -> list[Request]:
        """Sort requests by their scores, the highest first, equals as they are seen."""
        seen = visible(requests, WINDOW)
        order = np.argsort(-scores(observed(view, seen), self._weights), kind="stable")
        known = {one.index for one in seen}
        return [seen[number] for number in order.tolist()] + [one for one in requests if one.index not in known]


def untrained(seed: int) -> Floats:
    """Draw the weights from which a training of this seed begins."""
    return drawn(LAYERS, stream(seed, "train", "weights"))
