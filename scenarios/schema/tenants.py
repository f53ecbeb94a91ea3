"""The schema of a `workload:` of tenants' virtual networks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, ClassVar, Self, TypeAlias

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from agents import AGENTS
from scenarios.schema.agent import AgentSpec
from scenarios.schema.arrivals import Arrivals, Lifetimes
from scenarios.schema.cluster import ClusterSpec, known_resources
from scenarios.schema.kind import Roled
from scenarios.schema.network import Network
from scenarios.schema.registered import Registered
from scenarios.schema.yaml_source import Keys
from simcore.fields import (
    Amounts,
    Count,
    FromOne,
    Index,
    Model,
    OneOf,
    PositiveNumber,
    Share,
    Shown,
    checked,
    wrong,
)
from simcore.json_schema import Schema, quantity
from simcore.registry import Registry
from simcore.types import QUANTUM, Agent
from simcore.units import BANDWIDTH, LARGEST, amount
from workloads.virtual import NETWORKS, Sizes


def _range_of(value: object) -> tuple[float, float]:
    """Both ends in Gbps, from one bandwidth or a pair of them."""
    ends = value if isinstance(value, list | tuple) else (value, value)
    if len(ends) != 2:
        raise wrong("is not a range", "Write [50 Mbps, 150 Mbps], or one bandwidth.", value=value)
    low, high = (checked(partial(amount, "bandwidth"))(end) for end in ends)
    if not 0 < low <= high:
        raise wrong("is an empty range", "Give the lower bandwidth first, above 0.", value=value)
    return low, high


_BANDWIDTH = quantity(BANDWIDTH, above_zero=True, largest=LARGEST)
Bandwidth: TypeAlias = Annotated[
    tuple[float, float],
    BeforeValidator(_range_of),
    PlainSerializer(lambda ends: [BANDWIDTH.show(end) for end in ends], return_type=list[str]),
    WithJsonSchema({"anyOf": [_BANDWIDTH, {"type": "array", "items": _BANDWIDTH, "minItems": 2, "maxItems": 2}]}),
    Shown("bandwidth, or [low, high]"),
]


MOST = 1_000_000
"""Machines of a network."""
Size: TypeAlias = Annotated[Count, Field(le=MOST)]
AT = ("workload", "networks")


class Exponential(Model):
    """An exponential number of machines, rounded."""

    mean: Annotated[PositiveNumber, Field(le=MOST)] = Field(description="Of the exponential number.", examples=[49])
    above: Annotated[Index, Field(le=MOST)] = Field(
        0, description="Added to it: 64 for 64 machines and some.", examples=[64]
    )
    least: Size = Field(1, description="Smaller ones count as this.", examples=[10])
    most: Size = Field(MOST, description="Larger ones count as this.", examples=[340])

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if self.most < self.least:
            raise wrong("is smaller than `least`", "Give that number or a larger one.", ("most",), self.most)
        return self


class Machines(OneOf):
    """How many machines a network has: a number, or one of these."""

    what: ClassVar[str] = "distribution of sizes"
    fixed: Size | None = Field(None, description="Always so many.", examples=[100])
    uniform: tuple[Size, Size] | None = Field(None, description="From the first to the last.", examples=["[64, 128]"])
    exponential: Exponential | None = Field(
        None, description="Exponential, clipped.", examples=["{mean: 49, least: 10, most: 340}"]
    )

    @classmethod
    def prepare(cls, data: Any) -> Any:
        return {"fixed": data} if isinstance(data, int | float) else data

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if self.uniform and self.uniform[0] > self.uniform[1]:
            raise wrong("is an empty range", "Give the smaller size first.", ("uniform",), list(self.uniform))
        return self

    @classmethod
    def outline(cls, own: Schema) -> Schema:
        return {"anyOf": [{"type": "integer", "minimum": 1, "maximum": MOST}, super().outline(own)]}

    @property
    def sizes(self) -> Sizes:
        """What the generator takes."""
        if self.exponential:
            spec = self.exponential
            return Sizes(spec.least, spec.most, spec.mean, spec.above)
        least, most = self.uniform or (self.fixed or 1, self.fixed or 1)
        return Sizes(least, most)


class _Network(Model):
    machines: Machines = Field(
        description="How many machines: a number or a distribution.", examples=[100, "{uniform: [64, 128]}"]
    )
    machine: Amounts = Field(
        description="What each machine takes.",
        examples=["{slots: 1, mem: 256 MB, disk: 10 GB}"],
    )

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not any(self.machine.values()):
            raise wrong("asks for nothing", "Give an amount, like slots: 1.", ("machine",))
        return self


class Pairs(_Network):
    """Virtual data centres (SecondNet): bandwidth between pairs of machines."""

    bandwidth: Bandwidth = Field(
        description="Of a whole network, drawn uniformly and spread over a random matrix of pairs.",
        examples=["[50 Mbps, 150 Mbps]"],
    )
    density: Share = Field(1.0, description="The probability that a pair talks at all.", examples=["10 %"])


class Hose(_Network):
    """Virtual clusters (Oktopus): every machine has a bandwidth to one virtual switch, or to that of its group."""

    bandwidth: Bandwidth = Field(
        description="Of every machine of a network, drawn uniformly for each network.", examples=["[10 Mbps, 100 Mbps]"]
    )
    group: Count | None = Field(
        None, description="Two levels: so many machines share a switch of their own.", examples=[20]
    )
    oversubscription: FromOne = Field(
        1.0, description="The switch of a group has group x bandwidth / this to the root.", examples=[4]
    )

    @model_validator(mode="after")
    def _two_levels(self) -> Self:
        if self.group is None and self.oversubscription > 1:
            raise wrong("is missing", "Only groups are oversubscribed: say how large they are.", ("group",))
        return self


class Networks(Registered):
    """What tenants ask for: one of these."""

    registry: ClassVar[Registry] = NETWORKS
    what: ClassVar[str] = "form of virtual network"
    pairs: Pairs | None = Field(None, description="Bandwidth between pairs of machines.")
    hose: Hose | None = Field(None, description="Bandwidth of every machine to one virtual switch.")


class Tenants(Roled):
    """Virtual networks of machines that need bandwidth between them. The cluster needs a network."""

    networks: Networks = Field(
        description="What each asks for.",
        examples=["{hose: {machines: 50, machine: {slots: 1}, bandwidth: [10 Mbps, 100 Mbps]}}"],
    )
    requests: Count = Field(description="How many virtual networks.", examples=[300])
    arrivals: Arrivals = Field(
        Arrivals.model_validate({"fixed": {"every": 1}}),
        description="When they arrive.",
        examples=["{fixed: {every: 1 s}}"],
    )
    lifetimes: Lifetimes = Field(
        Lifetimes.model_validate({"fixed": "never"}),
        description="How long they stay.",
        examples=["{exponential: {mean: 1 h}}"],
    )

    def __hash__(self) -> int:
        """Hash fewer keys than are compared: mappings among them have no hash."""
        return hash((self.requests, self.arrivals, self.lifetimes))

    def check_against(self, cluster: ClusterSpec, agents: Sequence[tuple[Keys, AgentSpec]], seeds: int) -> None:
        form, spec = self.networks.chosen
        if cluster.network is None:
            remedy = "Give it one, like network: {topology: {fat-tree: {k: 16}}}."
            raise wrong("virtual networks need a network, and the cluster has none", remedy, ("cluster",))
        if isinstance(spec, Pairs | Hose):
            _check_machine(spec, cluster, (*AT, form))
            _check_bandwidth(spec, cluster.network, (*AT, form, "bandwidth"))
        if form == "hose":
            from fabric.virtual_tree import tree  # numba

            checked(tree, ("cluster", "network", "topology"))(cluster.network.topology.built)
        for at, agent in agents:
            kind: type[Agent] = AGENTS.load(agent.name)
            if form in ("pairs", "hose") and form not in kind.embeds:
                able = ", ".join(name for name in AGENTS if form in AGENTS.load(name).embeds)
                raise wrong(
                    "does not place virtual networks" + f" of this form ({form})" * bool(kind.embeds),
                    f"Take an agent that places them: {able}.",
                    at,
                    agent.name,
                )


def _check_machine(spec: Pairs | Hose, cluster: ClusterSpec, at: tuple[str, ...]) -> None:
    known_resources(spec.machine, cluster.resources, (*at, "machine"))
    for name, units in spec.machine.items():
        if cluster.node is not None and units > cluster.node.get(name, 0.0):
            remedy = f"A node has {cluster.node.get(name, 0.0):g}: ask for less, or give the servers more."
            raise wrong("is more than any server has", remedy, (*at, "machine", name), units)


def _check_bandwidth(spec: Pairs | Hose, network: Network, at: tuple[str, ...]) -> None:
    """At least one pair, or machine, of every network asks for the mean or more."""
    widest = int(network.topology.built.link_capacity.max()) / QUANTUM
    sizes = spec.machines.sizes
    parties = sizes.most * (sizes.most - 1) / 2 if isinstance(spec, Pairs) else 1
    if spec.bandwidth[0] > widest * parties and sizes.most > 1:
        remedy = f"The widest has {widest:g} Gbps: ask for less, or give the links more."
        raise wrong("is more than any link has", remedy, at, list(spec.bandwidth))
