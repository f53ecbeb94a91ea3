"""What the heuristics share: one compiled scan over the servers, answered as one number."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from simcore.jit import is_kernel, prepared
from simcore.vocabulary import Agent, Amounts, Compiled, Ints, Placement, Request, View

Scan: TypeAlias = Callable[[Ints, Ints, Amounts, bool], int]
"""(free, capacity, demand, spread) -> server * nodes + node, the node being 0 for a spread request; -1 when nothing
fits. `free` and `capacity` int64 [servers, nodes, resources], unchanged. One shape for all, so that a compiled loop
can call any of them. Options would be slow as keyword arguments: a rule with two forms is two kernels.
"""


class ScanAgent(Agent):
    """An agent whose rule is one kernel over what is free."""

    scan: Scan
    _prepared: Scan | None = None

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Have the kernel compiled or loaded, so that no decision takes the time for it."""
        self._prepared = prepared(self.scan, view.free, view.capacity, (1,) * len(view.resources), False)

    def decide(self, view: View, request: Request) -> Placement | None:
        """Where the kernel says."""
        free, demand, spread = view.free, request.demand, request.spread
        code = (self._prepared or self.scan)(free, view.capacity, demand, spread)
        if code < 0:
            return None
        nodes = free.shape[1]
        server = code // nodes
        if spread:
            return request.across(server, nodes)
        return Placement(((server, code - server * nodes, demand),))  # request.on, without the call

    @property
    def compiled(self) -> Compiled | None:
        """The kernel, unless a subclass decides otherwise."""
        simple = type(self).decide is ScanAgent.decide and is_kernel(getattr(self, "scan", None))
        return Compiled(self.scan) if simple else None
