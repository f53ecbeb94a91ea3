"""Builds agents whose rule is one kernel with numbers of its own: weights, options, the state of a random stream."""

from __future__ import annotations

from typing import Any

import numpy as np

from fabric.compiled.numa_loop import placement_of
from simcore.jit import kernel, prepared
from simcore.vocabulary import Agent, Compiled, Floats, Placement, Request, View


class Ruled(Agent):
    """Decides by one kernel, `rule`: (free, capacity, demand, spread, *numbers) -> what a `Scan` answers.

    Subclasses have `numbers` from the constructor on, each float64 [any], and may give them other values in `start`,
    where they call `get_ready` last.
    """

    rule: Any
    numbers: tuple[Floats, ...]

    def get_ready(self, view: View) -> None:
        """Compile the kernel, or load it, so that no decision takes the time for it."""
        demand = (1,) * len(view.resources)
        self._prepared = prepared(self.rule, view.free, view.capacity, demand, False, *self.numbers)

    def decide(self, view: View, request: Request) -> Placement | None:
        """Place the request where the kernel says."""
        code = self._prepared(view.free, view.capacity, request.demand, request.spread, *self.numbers)
        return None if code < 0 else placement_of(code, request, view.free.shape[1])

    @property
    def compiled(self) -> Compiled:
        """The kernel and its numbers, for compiled runs."""
        return Compiled(self.rule, self.numbers)


@kernel
def drawn(stream: Floats) -> float:
    """Return the next number of a stream, in [0, 1), by SplitMix64; changes `stream` float64 [2], a seed and a count.

    Whole numbers below 2**53, so that floats hold them exactly.
    """
    stream[1] += 1.0
    mixed = np.uint64(stream[0]) + np.uint64(stream[1]) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11)) / 2.0**53
