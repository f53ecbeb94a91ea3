"""Builds agents for servers with devices: rules that choose a server and devices, and any agent that others name."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from pydantic import ValidationError

from binwright.agents import AGENTS
from binwright.fabric.devices import Devices, DeviceView, fits_server, fitting, in_python, on_devices, tightest, wanted
from binwright.simcore.errors import UserError
from binwright.simcore.fields import describe_mistake, keys_of
from binwright.simcore.jit import inlined, lean, named_after, prepared
from binwright.simcore.options import check_options
from binwright.simcore.types import Agent, Amounts, Ints, Placement, Refusal, Request, View


class DeviceDemand(NamedTuple):
    """Says that a request takes so `many` devices, and of each so many quanta of `resource`, a place in its demand."""

    resource: int
    many: int
    each: int


class At(NamedTuple):
    """Names a server, which has `installed` devices of `model`.

    `free` is that of the view, `left` and `held` are `free` and `held` of its devices: of all servers, unchanged.
    """

    server: int
    installed: int
    model: int
    free: Ints
    left: Ints
    held: Ints


DeviceScan: TypeAlias = Callable[[Ints, Ints, Devices, Amounts, int, int, Any], int]
"""(free, capacity, devices, demand, resource, models, numbers) -> the server's number, shifted by as many bits as
`devices.free` has columns, and there the devices; -1 when the request fits nowhere.
"""


def cheapest_on_devices(cost: Callable[[At, Amounts, DeviceDemand, Any], tuple[float, int]]) -> DeviceScan:
    """Make a `DeviceScan` of a cost: the cheapest server of all on which the request fits, and the devices there.

    `cost(at, demand, taken, numbers)` returns what a server costs, and the devices, as the bits of a number; -1 leaves
    them to `tightest`. `numbers` is a tuple of the agent's own. Of equals the server with the lowest number wins.
    """
    of: Any = inlined(cost)

    def scan(
        free: Ints, capacity: Ints, devices: Devices, demand: Amounts, resource: int, models: int, numbers: Any
    ) -> int:
        left, counts, model, held = devices
        best, least, taken = -1, np.inf, 0
        count, each = wanted(demand[resource])
        for server in range(len(free)):
            own, kind = counts[server], model[server]
            if fits_server(free, left, server, own, kind, demand, count, each, models):
                at = At(server, own, kind, free, left, held)
                price, chosen = of(at, demand, DeviceDemand(resource, count, each), numbers)
                if price < least:
                    best, least, taken = server, price, chosen
        if best < 0:
            return -1
        if taken < 0:
            taken = tightest(left, best, counts[best], count, each)
        code: int = (best << left.shape[1]) + taken
        return code

    named: DeviceScan = named_after(cost, scan)
    return lean(named)


class DeviceAgent(Agent):
    """Decides by one kernel, `rule`, a `DeviceScan`, with `numbers` of its own."""

    on_devices = True
    rule: Any

    def start(self, view: View, rng: np.random.Generator) -> None:
        seen = devices_of(self, view)
        self._numbers = self.learn(seen, rng)
        arguments = (seen.free, seen.capacity, seen.devices, (1,) * len(seen.resources), seen.resource, 0)
        self._prepared = prepared(self.rule, *arguments, self._numbers)

    def learn(self, view: DeviceView, rng: np.random.Generator) -> tuple[Any, ...]:
        """Return the numbers for a run: what the largest servers have, of the first resource and of the devices'."""
        most = view.capacity.max(axis=(0, 1), initial=1)
        return float(most[0]), float(most[view.resource])

    def decide(self, view: View, request: Request) -> Placement | None:
        assert isinstance(view, DeviceView)
        code = self._prepared(
            view.free, view.capacity, view.devices, request.demand, view.resource, request.models, self._numbers
        )
        if code < 0:
            return None
        most = view.devices.free.shape[1]
        return on_devices(request, code >> most, code & ((1 << most) - 1))


def devices_of(agent: Agent, view: View) -> DeviceView:
    """Return a view that has devices; refuse any other, as this agent chooses devices."""
    if isinstance(view, DeviceView):
        return view
    raise no_devices_for(agent)


def no_devices_for(agent: Agent) -> UserError:
    """Make the error that says that an agent chooses devices, and the servers have none."""
    remedy = "Give the servers `devices`, or take another agent, such as best-fit."
    problem = f"{type(agent).__name__} chooses devices, and the servers have none"
    return UserError(problem, key="agents", remedy=remedy)


class WithDevices(Agent):
    """Has an agent for servers place on servers with devices.

    The agent sees nothing free on servers whose devices do not fit the request. Of the server that it chooses, the
    request gets the devices with least free that have enough.
    """

    on_devices = True

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.any_size, self.needs_lifetimes = agent.any_size, agent.needs_lifetimes

    def start(self, view: View, rng: np.random.Generator) -> None:
        seen = devices_of(self, view)
        demand = (1,) * len(view.resources)
        self._mask = prepared(fitting, view.free, seen.devices, demand, seen.resource, 0, view.free)
        self.agent.start(view.showing(view.free), rng)

    def decide(self, view: View, request: Request) -> Placement | Refusal | None:
        """Ask the agent, and choose the devices of its server."""
        assert isinstance(view, DeviceView)
        shown = view.free
        amount = request.demand[view.resource]
        if amount:
            shown = np.empty_like(view.free)
            self._mask(view.free, view.devices, request.demand, view.resource, request.models, shown)
        answer = self.agent.decide(view.showing(shown), request)
        if not amount or not isinstance(answer, Placement) or len(answer.shares) != 1:
            return answer
        server, own = answer.shares[0][0], view.devices
        if not 0 <= server < len(view.free):
            return answer  # which the ledger refuses
        return on_devices(request, server, tightest(own.free, server, int(own.installed[server]), *in_python(amount)))


def choosing(agent: Agent, view: View) -> Agent:
    """Return an agent that places on what is shown: one for servers has its devices chosen where there are some."""
    return WithDevices(agent) if isinstance(view, DeviceView) and not agent.on_devices else agent


def nested(name: str, options: Mapping[str, Any] | None) -> Agent:
    """Make the agent that an option of another one names; a mistake is reported under `agent` or `options`."""
    try:
        kind = AGENTS.load(name)
    except UserError as error:
        error.key = "agent"
        raise
    try:
        made: Agent = kind(**check_options(kind, options))
    except ValidationError as error:
        mistake = error.errors(include_url=False)[0]
        problem, remedy, value = describe_mistake(mistake)
        key = ".".join(map(str, ("options", *keys_of(mistake))))
        raise UserError(problem, key=key, value=mistake["input"] if value is None else value, remedy=remedy) from None
    return made
