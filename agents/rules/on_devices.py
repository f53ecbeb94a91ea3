"""Builds agents for servers with devices: rules that choose a server and devices, and any agent for servers.

A rule costs every server on which a request fits: a function of `(free, left, held, demand, resource, server, there,
model, count, each, numbers)`, which returns the cost and the devices, as the bits of a number; -1 leaves them to
`tightest`. `free` is that of the view, `left` and `held` are `free` and `held` of its devices, unchanged: the server
has `there` devices of `model`. The request takes `count` devices with `each` quanta of `resource`. `numbers` is a tuple
of the agent's own. The lowest cost wins, and of equals the server with the lowest number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from fabric.devices import Devices, DeviceView, fits_server, fitting, in_python, on_devices, tightest, wanted
from simcore.errors import UserError
from simcore.jit import inlined, kernel, prepared
from simcore.vocabulary import Agent, Amounts, Ints, Placement, Refusal, Request, View

DeviceCost: TypeAlias = Callable[[Ints, Ints, Ints, Amounts, int, int, int, int, int, int, Any], tuple[float, int]]
DeviceScan: TypeAlias = Callable[[Ints, Ints, Devices, Amounts, int, int, Any], int]
"""(free, capacity, devices, demand, resource, models, numbers) -> the server's number, shifted by as many bits as
`devices.free` has columns, and there the devices; -1 when the request fits nowhere.
"""


def cheapest_on_devices(cost: DeviceCost) -> DeviceScan:
    """Make a `DeviceScan` of a cost: the cheapest server of all on which the request fits, and the devices there."""
    of: Any = inlined(cost)

    def scan(
        free: Ints, capacity: Ints, devices: Devices, demand: Amounts, resource: int, models: int, numbers: Any
    ) -> int:
        # Unpacked once: within the loop, numba would count references at every access.
        left, there, model, held = devices
        best, least, taken = -1, np.inf, 0
        count, each = wanted(demand[resource])
        for server in range(len(free)):
            own, kind = there[server], model[server]
            if fits_server(free, left, server, own, kind, demand, count, each, models):
                here, chosen = of(free, left, held, demand, resource, server, own, kind, count, each, numbers)
                if here < least:
                    best, least, taken = server, here, chosen
        if best < 0:
            return -1
        if taken < 0:
            taken = tightest(left, best, there[best], count, each)
        code: int = (best << left.shape[1]) + taken
        return code

    # Kept machine code is named after the function that somebody wrote.
    scan.__module__, scan.__name__, scan.__qualname__ = cost.__module__, cost.__name__, cost.__qualname__
    scan.__doc__ = cost.__doc__
    return kernel(scan)


class DeviceAgent(Agent):
    """Decides by one kernel, `rule`, a `DeviceScan`, with `numbers` of its own, which `start` may set."""

    on_devices = True
    rule: Any
    numbers: tuple[Any, ...] = ()

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Compile the kernel, or load it, so that no decision takes the time for it."""
        self.get_ready(devices_of(self, view))

    def get_ready(self, view: DeviceView) -> None:
        """Compile the kernel for the numbers there are."""
        arguments = (view.free, view.capacity, view.devices, (1,) * len(view.resources), view.resource, 0)
        self._prepared = prepared(self.rule, *arguments, self.numbers)

    def decide(self, view: View, request: Request) -> Placement | None:
        """Place the request where the kernel says."""
        assert isinstance(view, DeviceView)
        code = self._prepared(
            view.free, view.capacity, view.devices, request.demand, view.resource, request.models, self.numbers
        )
        if code < 0:
            return None
        most = view.devices.free.shape[1]
        return on_devices(request, code >> most, code & ((1 << most) - 1))


def devices_of(agent: Agent, view: View) -> DeviceView:
    """Return a view that has devices; refuse any other, as this agent chooses devices."""
    if isinstance(view, DeviceView):
        return view
    raise UserError(
        f"{type(agent).__name__} chooses devices, and the servers have none",
        key="agents",
        remedy="Give the servers `devices`, or take another agent, such as best-fit.",
    )


def largest(view: DeviceView) -> tuple[float, float]:
    """Return what the largest servers have: quanta of the first resource, and of the devices' one."""
    most = view.capacity.max(axis=(0, 1), initial=1)
    return float(most[0]), float(most[view.resource])


class WithDevices(Agent):
    """Has an agent for servers place on servers with devices.

    The agent sees nothing free on servers whose devices do not fit the request. Of the server that it chooses, the
    request gets the devices with least free that have enough.
    """

    on_devices = True

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.reference = agent.reference  # type: ignore[misc]
        self.any_size = agent.any_size

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Start the agent on what it is to see."""
        devices = devices_of(self, view)
        self._mask = prepared(
            fitting, view.free, devices.devices, (1,) * len(view.resources), devices.resource, 0, view.free
        )
        self.agent.start(View(view.resources, view.capacity, view.free, view.now), rng)

    def decide(self, view: View, request: Request) -> Placement | Refusal | None:
        """Ask the agent, and choose the devices of its server."""
        assert isinstance(view, DeviceView)
        shown = view.free
        amount = request.demand[view.resource]
        if amount:
            shown = np.empty_like(view.free)
            self._mask(view.free, view.devices, request.demand, view.resource, request.models, shown)
        answer = self.agent.decide(View(view.resources, view.capacity, shown, view.now), request)
        if not amount or not isinstance(answer, Placement) or len(answer.shares) != 1:
            return answer
        server, _, _ = answer.shares[0]
        if not 0 <= server < len(view.free):
            return answer  # which the ledger refuses
        count, each = in_python(amount)
        own = view.devices
        return on_devices(request, server, tightest(own.free, server, int(own.there[server]), count, each))
