"""Asks one compiled kernel, a scan over the servers, for every decision."""

from collections.abc import Callable
from inspect import CO_VARARGS
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from binwright.fabric.ranking import standings
from binwright.fabric.servers import fits_node, fits_spread
from binwright.simcore.errors import UserError
from binwright.simcore.jit import is_kernel, kernel, prepared
from binwright.simcore.types import Agent, Amounts, Compiled, Ints, Placement, Request, View
from binwright.simcore.units import many_of

Scan: TypeAlias = Callable[..., int]
"""(free, capacity, demand, spread, *numbers) -> server * nodes + node, or -1 when the request fits nowhere.

The node is 0 for a spread request. `free` and `capacity` are int64 [servers, nodes, resources], unchanged; `demand` is
the quanta of each resource, and `numbers` are the agent's own, each float64 [any]. All rules have this one shape, so
that a compiled run can call any of them. Keyword arguments would be slow: a rule with two forms is two kernels.
"""

SCAN_ARGUMENTS = 4
"""Arguments of a `Scan` before the agent's own numbers."""


class ScanAgent(Agent):
    """Decides by one kernel, `scan`, over what is free. So its runs can be compiled as a whole.

    `numbers` are further arguments of the kernel: weights, options, the state of a random stream. Subclasses have as
    many from the constructor on, and may give them other values in `start`, where they call `get_ready` last.
    """

    scan: Scan
    numbers: tuple[npt.NDArray[Any], ...] = ()
    _prepared: Scan | None = None
    _following: Scan | None = None
    _log: Ints | None = None

    def start(self, view: View, rng: np.random.Generator) -> None:
        self.get_ready(view)

    def get_ready(self, view: View) -> None:
        """Compile the kernel that this view takes, or load it."""
        if not is_kernel(self.scan):
            remedy = "Write @cheapest or @kernel above it, and @staticmethod above that."
            raise UserError(f"scan of {type(self).__name__} is not a kernel", remedy=remedy)
        scan = cast(Any, self.scan)
        code = scan.py_func.__code__
        own = code.co_argcount - SCAN_ARGUMENTS
        if own != len(self.numbers) and not code.co_flags & CO_VARARGS:
            problem = f"scan of {type(self).__name__} takes {many_of(own, 'array')} of its own, not {len(self.numbers)}"
            raise UserError(problem, remedy="Set self.numbers = (array,) in __init__, with as many.")
        arguments = view.free, view.capacity, (1,) * len(view.resources), False, *self.numbers
        self._prepared, self._log = prepared(self.scan, *arguments), view.changed
        if self._log is None or scan.incremental is None or len(view.free) < scan.worth_it:
            self._following = None
            return
        self._known = standings(view.free)
        self._following = prepared(scan.incremental, *arguments, self._log, *self._known)

    def decide(self, view: View, request: Request) -> Placement | None:
        free, demand, spread, log = view.free, request.demand, request.spread, view.changed
        if log is not self._log:
            self.get_ready(view)  # the cluster has grown
        if self._following and log is not None:
            code = self._following(free, view.capacity, demand, spread, *self.numbers, log, *self._known)
        else:
            code = (self._prepared or self.scan)(free, view.capacity, demand, spread, *self.numbers)
        if code < 0:
            return None
        nodes = free.shape[1]
        server = code // nodes
        if spread:
            return request.across(server, nodes)
        return Placement(((server, code - server * nodes, demand),))  # request.on, without the call

    @property
    def compiled(self) -> Compiled | None:
        """The kernel and its numbers; `None` if a subclass decides in another way."""
        simple = type(self).decide is ScanAgent.decide and is_kernel(getattr(self, "scan", None))
        return Compiled(self.scan, self.numbers) if simple else None


@kernel
def places_with_room(free: Ints, demand: Amounts, spread: bool) -> Ints:
    """List all places on which a request fits, ascending, as codes of a `Scan`, int64 [any]; changes nothing."""
    nodes: int = free.shape[1]
    codes, count = np.empty(len(free) * nodes, np.int64), 0
    for server in range(len(free)):
        for node in range(1 if spread else nodes):
            if fits_spread(free, server, demand) if spread else fits_node(free, server, node, demand):
                codes[count] = server * nodes + node
                count += 1
    return codes[:count]
