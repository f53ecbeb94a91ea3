"""The schema of `cluster:`, with servers of traces."""

from collections.abc import Collection
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from binwright.scenarios.features import with_keys
from binwright.scenarios.features.feature import WithFeatures
from binwright.scenarios.features.overcommit import Predict
from binwright.scenarios.features.placement import KnownServers, Labels
from binwright.scenarios.features.server_labels import SERVER
from binwright.scenarios.schema.network import Network
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.fields import Count, Index, Keys, Model, Names, Text, checked, known_resources, wrong
from binwright.simcore.units import many_of
from binwright.workloads import TRACES, WITH_SERVERS
from binwright.workloads.amounts import NamedAmounts, Units
from binwright.workloads.traces.presets import ServerFile

DEVICE = "gpu"
"""The resource that servers have as devices."""


class TracedServers(Model):
    """The servers that a trace was taken on."""

    name: Text = Field(description="The trace.", examples=["alibaba-openb"])
    path: Text | None = None
    """The file of its servers; by default it is looked up like a trace."""
    only: Literal["all", "devices"] = Field("all", examples=["devices"])
    """Take all servers, or only those that have devices."""
    units: Units = Field(default_factory=dict, examples=["{mem: 1 GB}"])
    """How much a unit of a resource in the file is, as in the workload's `units`."""

    @model_validator(mode="after")
    def _known(self) -> Self:
        checked(servers_of, ("name",))(self.name)
        return self


def servers_of(name: str) -> ServerFile:
    """Return what is known of the servers that a trace comes with."""
    known: ServerFile | None = TRACES.load(name).servers if name in WITH_SERVERS else None
    if known is None:
        raise UserError("comes without servers", value=name, remedy=f"Traces with servers: {', '.join(WITH_SERVERS)}.")
    return known


class DevicesSpec(Model):
    """Devices of a server. A request takes a part of one, or several whole ones, as `gpu`."""

    count: Annotated[Count, Field(le=32)] = Field(description="How many each server has.")
    model: Text = Field(default="", description="The model, for requests that name one.")


@with_keys("group")
class Group(WithFeatures):
    """Equal servers of a cluster that has different ones."""

    count: Index = Field(description="How many servers; some group has at least one.")
    node: NamedAmounts = Field(description="What one node of each has.", examples=["{cpu: 40, mem: 90 GB}"])
    nodes: Count | None = Field(default=None, description="NUMA nodes of each; by default as `nodes` of the cluster.")
    name: Text | None = Field(default=None, description="A name for people.")
    devices: DevicesSpec | None = Field(None, examples=["{model: V100, count: 8}"])
    """Its devices, if it has any."""
    labels: Labels = Field(default_factory=dict, examples=["{zone: a, kind: large}"])
    """Labels for requests and rules of placement."""
    taints: Names = Field(default=(), description="Only requests that tolerate all of these may lie here.")


@with_keys("cluster")
class ClusterSpec(WithFeatures):
    """The servers. Either `servers` and `node`, or `groups`, or `trace`, or `network` and `node`."""

    servers: Count | None = Field(default=None, description="How many equal servers.")
    nodes: Count = Field(default=1, description="NUMA nodes of every server, unless a group says otherwise.")
    node: NamedAmounts | None = Field(
        default=None, description="What one node has.", examples=["{cpu: 40, mem: 90 GB}"]
    )
    groups: tuple[Group, ...] | None = Field(None, min_length=1)
    """Groups of equal servers; each gives the amount of every resource."""
    trace: TracedServers | None = Field(None, examples=["{name: alibaba-openb, only: devices}"])
    """The servers of a trace."""
    devices: DevicesSpec | None = Field(None, examples=["{model: V100, count: 8}"])
    """Devices of each server."""
    numbering: Literal["given", "drawn", "fgd"] = "given"
    """The order of servers (ties go to the lowest number): as written, drawn by each seed, or as FGD's program has it.
    """
    network: Network | None = Field(None, examples=["{topology: alpha}"])
    """The network between the servers, which gives their number; `node` says what each has."""
    spread_above: NamedAmounts = Field(default_factory=dict, examples=["{mem: 10 GB}"])
    """A request for more than this takes an even part of every node of one server."""
    domains: dict[str, Count] = Field(default_factory=dict, examples=["{rack: 20, zone: 200}"])
    """`rack: 20` labels servers 0 to 19 as rack 0, and so on, added servers included."""

    @model_validator(mode="after")
    def _form(self) -> Self:
        written = [name for name in ("node", "groups", "trace") if getattr(self, name) is not None]
        if self.network:
            self._networked(self.network)
        elif (self.servers is None) != (self.node is None):
            missing = "node" if self.node is None else "servers"
            raise wrong("is missing", "Equal servers need `servers: 10` and `node: {cpu: 40, mem: 90 GB}`.", (missing,))
        if len(written) != 1:
            forms = "`servers` with `node`, or `groups`, or `trace`"
            problem = f"has servers in {len(written)} ways: {', '.join(written)}" if written else "has no servers"
            raise wrong(problem, f"Give one of {forms}; what an extended file says is taken back by `key: null`.")
        for at, node in self._node_kinds():
            if not any(node.values()):
                raise wrong("has nothing on it", "Give at least one resource, like {cpu: 40, mem: 90 GB}.", at)
            for name in node:
                if name in ClusterSpec.model_fields or name in Group.model_fields:
                    raise wrong("is a key of the cluster, and no resource", f"Write {name} beside node.", (*at, name))
        self._check_devices()
        known_resources(self.overcommit, self.resources, ("overcommit",))
        if self.has_devices and DEVICE in self.overcommit:
            remedy = "Take it out; requests take parts of devices."
            raise wrong("a device is not overcommitted", remedy, ("overcommit", DEVICE))
        if SERVER in self.domains:
            raise wrong("is reserved for single servers", "Give the label another name.", ("domains", SERVER))
        for number, group in enumerate(self.groups or ()):
            self._check_group(group, ("groups", number))
        return self

    def _check_group(self, group: Group, at: Keys) -> None:
        """Refuse a group that does not go with those before it: a misspelt resource would be another one."""
        first, count = (self.groups or ())[0], group.nodes or self.nodes
        if not self.size:
            raise wrong("has no server", "Give one of the groups a `count` of 1 or more.", ("groups",))
        for name in [name for name in group.node if name not in first.node]:
            remedy = f"{suggest(name, first.node)} If the others have none, write `{name}: 0` there."
            raise wrong("the groups before it have no such resource", remedy, (*at, "node", name))
        for name in [name for name in first.node if name not in group.node]:
            problem = f"says nothing of {name}, which the groups before it have"
            raise wrong(problem, f"Write `{name}: 0` where there is none.", (*at, "node"))
        if self.spread_above and count != (usual := first.nodes or self.nodes):
            problem = f"has {many_of(count, 'node')}, and the groups before it have {usual}"
            remedy = f"Take out spread_above, or give all groups {usual}: spread requests need equal servers."
            raise wrong(problem, remedy, (*at, "nodes"), count)
        self._check_labels(group.labels, (*at, "labels"))

    def _check_devices(self) -> None:
        """Refuse what does not go with devices."""
        if self.devices and self.node is None:
            raise wrong("does not go with other servers than equal ones", "Give groups their own.", ("devices",))
        if not self.has_devices:
            return
        if self.network:
            raise wrong("servers in a network have no devices", "Take out the network or the devices.", ("network",))
        several: list[Keys] = [
            ("groups", n, "nodes") for n, group in enumerate(self.groups or ()) if (group.nodes or 1) > 1
        ]
        several += [(key,) for key, used in (("nodes", self.nodes > 1), ("spread_above", self.spread_above)) if used]
        if several:
            raise wrong("servers with devices have one node", "Take it out, or the devices.", several[0])
        for at, names in self._node_kinds():
            if DEVICE in names:
                remedy = f"Take {DEVICE} out here; `devices` says how many there are."
                raise wrong("comes from the devices", remedy, (*at, DEVICE))

    def _check_labels(self, labels: Collection[str], at: Keys) -> None:
        """Refuse labels that are said twice, and `server`, which all servers have by themselves."""
        for label in labels:
            if label == SERVER:
                raise wrong("is reserved for single servers", "Give the label another name.", (*at, label))
            if label in self.domains:
                raise wrong("is already set by `domains`", "Remove one of the two.", (*at, label))

    @property
    def predicted(self) -> dict[str, Predict]:
        """The resources of which predicted peaks decide what may be placed."""
        return {name: how for name, how in self.overcommit.items() if isinstance(how, Predict)}

    @property
    def known_servers(self) -> KnownServers:
        """What is known of its servers before a file is read."""
        if self.network:
            return KnownServers.of(self.network.server_labels)
        groups, values = self.groups or (), dict[str, set[str] | None]()
        for group in groups:
            for label, value in group.labels.items():
                values[label] = (values.get(label) or set()) | {value}
        for label, size in self.domains.items():
            grows = self.size is None or self.expansion
            values[label] = None if grows else {str(number) for number in range(-(-(self.size or 0) // size))}
        every = [set(group.labels) for group in groups]
        everywhere = {*self.domains, *(set.intersection(*every) if every else ())}
        return KnownServers(values, everywhere, {taint for group in groups for taint in group.taints}, self.size)

    @property
    def kinds(self) -> list[str] | None:
        """The kinds of its servers, for `costs`: none where all are of one; `None` where a file says it."""
        return None if self.trace else [group.name or "" for group in self.groups or ()]

    @property
    def is_labelled(self) -> bool:
        """Whether servers have labels or taints, beside the labels that a topology gives by itself."""
        return bool(self.network.marked if self.network else self.known_servers.values or self.known_servers.taints)

    @property
    def has_devices(self) -> bool:
        """Whether any server may have devices."""
        groups = any(group.devices for group in self.groups or ())
        return bool(self.devices or groups or self.trace)

    def _networked(self, network: Network) -> None:
        if self.node is None:
            raise wrong(
                "is missing", "Say what a node of each server has, like node: {cpu: 10, mem: 10 GB}.", ("node",)
            )
        for key, value in (("servers", self.servers), ("spread_above", self.spread_above), ("domains", self.domains)):
            if value:
                raise wrong("does not go with a network", "The topology says which servers there are.", (key,))
        if self.numbering != "given":
            raise wrong("does not go with a network", "The topology numbers the servers.", ("numbering",))

    def _node_kinds(self) -> list[tuple[Keys, dict[str, float]]]:
        if self.groups:
            return [(("groups", number, "node"), group.node) for number, group in enumerate(self.groups)]
        return [] if self.node is None else [(("node",), self.node)]

    @property
    def resources(self) -> tuple[str, ...]:
        """The names of all resources, in the order in which they are first written."""
        devices = (DEVICE,) if self.has_devices else ()
        if self.trace:
            return (*servers_of(self.trace.name).columns, *devices)
        return (*dict.fromkeys(name for _, node in self._node_kinds() for name in node), *devices)

    @property
    def size(self) -> int | None:
        """How many servers there are at first; `None` where a file says it."""
        if self.network:
            return self.network.topology.built.servers
        return sum(group.count for group in self.groups) if self.groups else self.servers
