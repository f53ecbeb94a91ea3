"""Asks one compiled kernel, a scan over the servers, for every decision."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from simcore.errors import UserError
from simcore.jit import is_kernel, prepared
from simcore.vocabulary import Agent, Amounts, Compiled, Ints, Placement, Request, View

Scan: TypeAlias = Callable[[Ints, Ints, Amounts, bool], int]
"""(free, capacity, demand, spread) -> server * nodes + node, or -1 when the request fits nowhere.

The node is 0 for a spread request. `free` and `capacity` are int64 [servers, nodes, resources], unchanged. All rules
have this one shape, so that a compiled run can call any of them. Keyword arguments would be slow: a rule with two forms
is two kernels.
"""


class ScanAgent(Agent):
    """Decides by one kernel, `scan`, over what is free. So its runs can be compiled as a whole."""

    scan: Scan
    _prepared: Scan | None = None

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Compile the kernel, or load it, so that no decision takes the time for it."""
        if not is_kernel(self.scan):
            remedy = "Write @cheapest_server, @cheapest_place or @kernel above it."
            raise UserError(f"scan of {type(self).__name__} is not a kernel", remedy=remedy)
        self._prepared = prepared(self.scan, view.free, view.capacity, (1,) * len(view.resources), False)

    def decide(self, view: View, request: Request) -> Placement | None:
        """Place the request where the kernel says."""
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
        """The kernel; `None` if a subclass decides in another way."""
        simple = type(self).decide is ScanAgent.decide and is_kernel(getattr(self, "scan", None))
        return Compiled(self.scan) if simple else None
