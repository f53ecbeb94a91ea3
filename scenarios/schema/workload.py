"""The schema of `workload:`: a trace, generators, a published input, tenants, or a class of one's own."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
from pydantic import (
    ConfigDict,
    Discriminator,
    Field,
    SerializerFunctionWrapHandler,
    Tag,
    model_serializer,
    model_validator,
)

from binwright.agents import AGENTS
from binwright.scenarios.agent_spec import AgentSpec
from binwright.scenarios.features import with_keys
from binwright.scenarios.features.placement import PlacementKeys, WeightedRole
from binwright.scenarios.schema.cluster import DEVICE, ClusterSpec
from binwright.scenarios.schema.trace import Trace
from binwright.scenarios.schema.workload_kind import Roled, WorkloadKind, some_weight
from binwright.simcore.errors import WorkloadError, suggest
from binwright.simcore.fields import (
    Count,
    Keys,
    Lifespan,
    Model,
    PositiveTime,
    Text,
    checked,
    known_resources,
    together,
    wrong,
)
from binwright.simcore.memmap import blocks, zeros
from binwright.simcore.options import Registered
from binwright.simcore.registry import Registry
from binwright.simcore.rng import stream
from binwright.simcore.roles import NO_ROLE, Roles
from binwright.simcore.types import QUANTUM, Floats, Form, Ints
from binwright.simcore.units import quanta
from binwright.simcore.workload import Workload as Requests
from binwright.workloads import ARRIVALS, LIFETIMES, WORKLOADS
from binwright.workloads.amounts import checked_amount, show_amounts
from binwright.workloads.arrivals import Bursty, Fixed, Poisson
from binwright.workloads.demands import DEMANDS
from binwright.workloads.lifetimes import Empirical, Exponential, Lognormal, pick
from binwright.workloads.offline import FITTED, NAMES, machines
from binwright.workloads.parts import Parts, gangs_of
from binwright.workloads.virtual import Bandwidth, DrawnNetworks, Networks


class Columns(NamedTuple):
    """Draws the columns of the `n` requests of a seed, each from the stream of its name.

    Every request takes one uniform of each, whatever the distributions are: a change of one part moves no other, and
    more requests continue fewer.
    """

    seed: int
    n: int

    def uniform(self, *name: str) -> Floats:
        """Draw float64 [n] in [0, 1)."""
        return stream(self.seed, "workload", *name).random(self.n)

    def whole(self, name: str, low: int, high: int) -> Ints:
        """Draw int64 [n] from `low` to `high`, both included."""
        return low + (self.uniform(name) * (high - low + 1)).astype(np.int64)

    def in_blocks(self, *names: str) -> Iterator[tuple[slice, list[Floats]]]:
        """Draw uniform columns of these names block by block of rows, where all rows may not fit into memory."""
        streams = [stream(self.seed, "workload", name) for name in names]
        for rows in blocks(self.n):
            yield rows, [each.random(rows.stop - rows.start) for each in streams]


def _check_times(key: str, times: Floats, *, finite: bool) -> None:
    """Refuse what somebody else's distribution draws, if it is no times."""
    wrong = ~(times >= 0) | (finite & ~np.isfinite(times))
    if wrong.any():
        problem, remedy = f"a draw of {key} is not a time", "Every gap, mean and lifetime is zero or more seconds."
        raise WorkloadError(problem, key=f"workload.{key}", value=float(times[wrong][0]), remedy=remedy)


class Arrivals(Registered):
    """When requests arrive: one of these."""

    registry: ClassVar[Registry] = ARRIVALS
    what: ClassVar[str] = "way of arriving"
    poisson: Poisson | None = Field(default=None, description="Independent requests.", examples=["{every: 10 s}"])
    fixed: Fixed | None = Field(default=None, description="Requests at equal distances.", examples=["{every: 1 s}"])
    bursty: Bursty | None = Field(default=None, description="Bursts.", examples=["{every: 10 min, size: 8}"])


class Lifetimes(Registered):
    """How long requests stay: one of these."""

    registry: ClassVar[Registry] = LIFETIMES
    what: ClassVar[str] = "distribution of lifetimes"
    fixed: Lifespan | None = Field(default=None, description="All equally long.", examples=["10 min"])
    exponential: Exponential | None = Field(default=None, description="Without memory.", examples=["{mean: 1 h}"])
    lognormal: Lognormal | None = Field(None, examples=["{median: 10 min, sigma: 1.5}"])
    """The logarithm is normal."""
    empirical: Empirical | None = Field(None, examples=["{quantiles: [1 s, 3 min, 2 h]}"])
    """Measured."""


class Flavour(WeightedRole):
    """One size of request. Every key that is not listed here is a resource with its amount: `{cpu: 1, mem: 2 GB}`."""

    model_config = ConfigDict(extra="allow")

    lifetimes: Lifetimes | None = Field(default=None, description="Its own lifetimes, instead of the workload's.")
    parts: Parts | None = Field(None, examples=[16, "{number: 16, together: rack, at_most: {server: 8}}"])
    """How many equal parts of this size it has, placed together or not at all."""

    @classmethod
    def takes(cls, key: str, data: Mapping[str, Any]) -> bool:
        # A mapping is not an amount: a misspelt key of this model, then.
        return not isinstance(data[key], dict | list)

    @classmethod
    def parse_more(cls, data: dict[str, Any]) -> dict[str, Any]:
        return {key: value if key in cls.known() else checked_amount(key, value) for key, value in data.items()}

    @model_serializer(mode="wrap")
    def _show(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {**handler(self), **show_amounts(self.demand)}

    @property
    def demand(self) -> dict[str, float]:
        """Units of each resource."""
        return dict(self.model_extra or {})


@with_keys("workload")
class Generated(WorkloadKind):
    """Requests drawn from a mix of flavours."""

    knows_groups: ClassVar[bool] = True
    other_names: ClassVar[Mapping[str, str]] = {"time_scale": "arrivals"}

    arrivals: Arrivals = Field(description="When requests arrive.", examples=["{poisson: {every: 10 s}}"])
    flavours: tuple[Flavour, ...] = Field(
        examples=["[{cpu: 1, mem: 2 GB, weight: 3}, {cpu: 4, mem: 8 GB}]"], min_length=1
    )
    """The sizes of requests."""
    lifetimes: Lifetimes | None = Field(None, examples=["{exponential: {mean: 1 h}}"])
    """How long requests stay, unless every flavour says it."""
    requests: Count = Field(description="How many requests.", examples=[10000])

    @property
    def _stays(self) -> list[Any]:
        """The distribution of the lifetimes of each flavour."""
        return [stays.build() for kind in self.flavours if (stays := kind.lifetimes or self.lifetimes)]

    @property
    def drawn(self) -> bool:
        """Whether the requests depend on the seed: flavours do, and times of all distributions but `fixed`."""
        parts = [self.arrivals.build(), *self._stays]
        return len(self.flavours) > 1 or any(getattr(part, "drawn", True) for part in parts)

    def draw(self, resources: tuple[str, ...], seed: int) -> Requests:
        """Draw the requests of a seed, for a cluster's resources; ids are 0, 1, 2, ..."""
        n, columns, flavours, stays = self.requests, Columns(seed, self.requests), self.flavours, self._stays
        weights = [kind.weight for kind in flavours]
        demands = np.array([[quanta(kind.demand.get(name, 0.0)) for name in resources] for kind in flavours], np.int64)
        roles = tuple(dict.fromkeys(kind.role for kind in flavours))
        role_of = np.array([roles.index(kind.role) for kind in flavours])
        arrival = self.arrivals.build().draw(n, stream(seed, "workload", "arrivals"))
        duration, demand = zeros(n, np.float64), zeros((n, len(resources)), np.int64)
        ids, of, role = zeros(n, np.int64), zeros(n, np.int64), zeros(n if len(roles) > 1 else 0, np.int64)
        for rows, (kinds, ends) in columns.in_blocks("flavours", "lifetimes"):
            drawn, lasts = pick(weights, kinds), np.empty(len(kinds))
            for number, lifetimes in enumerate(stays):
                chosen = drawn == number
                lasts[chosen] = lifetimes.at(ends[chosen])
            _check_times("arrivals", arrival[rows], finite=True)
            _check_times("lifetimes", lasts, finite=False)
            of[rows], duration[rows], demand[rows] = drawn, lasts, demands[drawn]
            ids[rows] = np.arange(rows.start, rows.stop)
            if len(roles) > 1:
                role[rows] = role_of[drawn]
        parts = tuple(kind.parts for kind in flavours)
        gangs = gangs_of(parts, of, columns.uniform("parts")) if any(parts) else None
        drawn_roles = None if roles == (NO_ROLE,) else Roles(roles, role if len(roles) > 1 else zeros(n, np.int64))
        return Requests(resources, arrival, duration, demand, ids, roles=drawn_roles, gangs=gangs)

    @property
    def placed(self) -> Sequence[tuple[Keys, PlacementKeys]]:
        """What its flavours say to rules of placement."""
        return [(("flavours", number), flavour) for number, flavour in enumerate(self.flavours)]

    @property
    def gangs(self) -> Sequence[tuple[Keys, Parts]]:
        """Its flavours of several parts."""
        return [(("flavours", n, "parts"), flavour.parts) for n, flavour in enumerate(self.flavours) if flavour.parts]

    @model_validator(mode="after")
    def _complete(self) -> Self:
        for number, flavour in enumerate(self.flavours):
            if flavour.parts and flavour.parts.by:
                at = ("flavours", number, "parts", "by")
                raise wrong("is for a trace", "Say how many parts, as parts: 16.", at, flavour.parts.by)
            if self.lifetimes is None and flavour.lifetimes is None:
                raise wrong("has no lifetimes", "Give `lifetimes:` here or for the workload.", ("flavours", number))
            if not any(flavour.demand.values()):
                raise wrong("asks for nothing", "Give an amount, like cpu: 1.", ("flavours", number))
        some_weight("flavours", self.flavours)
        return self

    def check_against(self, cluster: ClusterSpec, agents: Sequence[tuple[Keys, AgentSpec]], seeds: int) -> None:
        def fits(number: int, demand: Mapping[str, float]) -> None:
            at, devices = ("workload", "flavours", number), demand.get(DEVICE, 0)
            known_resources(demand, cluster.resources, at, tuple(Flavour.known()))
            if cluster.has_devices and devices > 1 and quanta(devices) % QUANTUM:
                remedy = "Give up to 1, or a whole number."
                raise wrong("is neither a part of one device nor whole ones", remedy, (*at, DEVICE), devices)

        together(*(partial(fits, number, flavour.demand) for number, flavour in enumerate(self.flavours)))


class OwnWorkload(Registered, WorkloadKind):
    """Requests of your own kind: `{package.module:Class: {option: value}}`, or `{file.py:Class: {...}}`.

    The class takes the options, and `draw(resources, seed)` returns a `binwright.Workload`.
    """

    model_config = ConfigDict(extra="allow")
    registry: ClassVar[Registry] = WORKLOADS
    what: ClassVar[str] = "kind of workload"


class Demand(Registered):
    """What requests ask for, by name, with its options: `uniform`, or `{azure: {path: packing.sqlite}}`."""

    registry: ClassVar[Registry] = DEMANDS
    what: ClassVar[str] = "demand"
    by_word: ClassVar[bool] = True


@with_keys("workload")
class MultiServer(Roled):
    """Requests that may need several servers and bandwidth between them."""

    demand: Demand = Field(examples=["uniform", "azure-like", "{azure: {path: packing.sqlite, split: test}}"])
    """What requests ask for; `binwright list workloads` lists the kinds."""
    requests: Count = Field(description="How many requests.", examples=[128])
    holding: Count = Field(examples=[30])
    """Each stays for a whole number of steps from 1 to this, drawn uniformly."""
    bandwidth: Bandwidth = Field((0.1, 1.0), examples=["[0.1, 1.0]"])
    """What each needs between its servers, drawn uniformly, in the unit of link capacities."""
    step: PositiveTime = Field(1.0, description="One request arrives every step.", examples=["1 s"])

    def draw(self, resources: tuple[str, ...], seed: int) -> Requests:
        """Draw the requests of a seed, for a cluster's resources (cpu, mem, in any order; others are not needed).

        Whole seconds as `step` keep times exact, so that what ends when a request arrives has ended.
        """
        columns, ids = Columns(seed, self.requests), np.arange(self.requests)
        if not {"cpu", "mem"} <= {*resources}:
            remedy = "These requests need cpu and mem: give both."
            raise WorkloadError("a resource is missing", key="cluster", value=list(resources), remedy=remedy)
        demand = np.zeros((self.requests, len(resources)), np.int64)
        units = self.demand.build().law().at(columns.uniform("demands"))
        demand[:, [resources.index("cpu"), resources.index("mem")]] = units * QUANTUM
        low, high = map(quanta, self.bandwidth)
        duration = columns.whole("lifetimes", 1, self.holding).astype(np.float64) * self.step
        bandwidth = columns.whole("bandwidth", low, high)
        return Requests(resources, ids.astype(np.float64) * self.step, duration, demand, ids, bandwidth)


@with_keys("workload")
class Offline(WorkloadKind):
    """Machines that all arrive at time 0, in the order of the input, and never end."""

    offline: Text = Field(
        description=f"The input: {', '.join(FITTED)}, as shares of a server's cpu, mem, disk, net_out and net_in; or "
        "one of the literature's, such as `binpack1`, of the resource `size`.",
        examples=["pgrank"],
    )

    @model_validator(mode="after")
    def _known(self) -> Self:
        if self.offline not in NAMES:
            raise wrong("unknown offline input", suggest(self.offline, NAMES), ("offline",), self.offline)
        return self

    def draw(self, resources: tuple[str, ...], seed: int) -> Requests:
        """Draw the machines of a seed, for a cluster's resources."""
        return machines(self.offline, seed).requests(resources)


AT = ("workload", "networks")


class Tenants(Roled):
    """Virtual networks of machines that need bandwidth between them. The cluster needs a network."""

    networks: Networks = Field(examples=["{hose: {machines: 50, machine: {slots: 1}, bandwidth: [10 Mbps, 100 Mbps]}}"])
    """What each asks for."""
    requests: Count = Field(description="How many virtual networks.", examples=[300])
    arrivals: Arrivals = Field(Arrivals.model_validate({"fixed": {"every": 1}}), examples=["{fixed: {every: 1 s}}"])
    """When they arrive."""
    lifetimes: Lifetimes = Field(Lifetimes.model_validate({"fixed": "never"}), examples=["{exponential: {mean: 1 h}}"])
    """How long they stay."""

    def draw(self, resources: tuple[str, ...], seed: int) -> Requests:
        """Draw the networks of a seed, for a cluster's resources."""
        columns, (form, kind) = Columns(seed, self.requests), self.networks.chosen
        machine = np.array([quanta(kind.machine.get(name, 0.0)) for name in resources], np.int64)
        size = kind.machines.at(columns.uniform("sizes"))
        bandwidth = columns.whole("bandwidth", *map(quanta, kind.bandwidth))
        return Requests(
            resources,
            self.arrivals.build().draw(self.requests, stream(seed, "workload", "arrivals")),
            self.lifetimes.build().at(columns.uniform("lifetimes")),
            size[:, None] * machine,
            np.arange(self.requests),
            np.where(size > 1, bandwidth * (size if form == "hose" else 1), 0),
            DrawnNetworks(form, machine, size, bandwidth, seed),
        )

    def check_against(self, cluster: ClusterSpec, agents: Sequence[tuple[Keys, AgentSpec]], seeds: int) -> None:
        form, kind = self.networks.chosen
        if cluster.network is None:
            remedy = "Give it one, like network: {topology: {fat-tree: {k: 16}}}."
            raise wrong("virtual networks need a network, and the cluster has none", remedy, ("cluster",))
        known_resources(kind.machine, cluster.resources, (*AT, form, "machine"))
        if form == "hose":
            from binwright.fabric.virtual import tree  # numba

            checked(tree, ("cluster", "network", "topology"))(cluster.network.topology.built)
        for at, agent in agents:
            embeds: tuple[Form, ...] = AGENTS.load(agent.name).embeds
            if form not in embeds:
                able = ", ".join(name for name in AGENTS if form in AGENTS.load(name).embeds)
                raise wrong(
                    "does not place virtual networks" + f" of this form ({form})" * bool(embeds),
                    f"Take an agent that places them: {able}.",
                    at,
                    agent.name,
                )


_FORMS: dict[str, type[Model]] = {
    "offline": Offline,
    "networks": Tenants,
    "trace": Trace,
    "demand": MultiServer,
}
"""Kinds of workload by a key that one has, in this order."""


def _form_of_workload(value: Any) -> str:
    """Tell kinds of workload apart; a mapping without a key that one has is what it is nearest."""
    if not isinstance(value, Mapping):
        return f"<{type(value).__name__}>" if isinstance(value, WorkloadKind) else "<Trace>"
    keys = {str(key) for key, content in value.items() if content is not None}
    for key, kind in _FORMS.items():
        if key in keys:
            return f"<{kind.__name__}>"
    if any(":" in key or key in WORKLOADS for key in keys):
        return "<OwnWorkload>"
    return "<Trace>" if len(keys & Trace.known().keys()) >= len(keys & Generated.known().keys()) else "<Generated>"


Workload: TypeAlias = Annotated[
    Annotated[Trace, Tag("<Trace>")]
    | Annotated[Generated, Tag("<Generated>")]
    | Annotated[MultiServer, Tag("<MultiServer>")]
    | Annotated[Offline, Tag("<Offline>")]
    | Annotated[Tenants, Tag("<Tenants>")]
    | Annotated[OwnWorkload, Tag("<OwnWorkload>")],
    Discriminator(_form_of_workload),
]
