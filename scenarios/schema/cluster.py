"""The schema of `cluster:`, with servers from files and traces."""

from collections.abc import Collection
from functools import partial
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from binwright.fabric.placement.rules import SERVER
from binwright.scenarios.features import with_keys
from binwright.scenarios.features.feature import WithFeatures
from binwright.scenarios.features.overcommit import Predict, Ratios
from binwright.scenarios.features.placement import Labels
from binwright.scenarios.schema.network import Network
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.fields import (
    Amounts,
    Count,
    Index,
    Keys,
    Model,
    Names,
    Text,
    Units,
    checked,
    known_resources,
    together,
    wrong,
)
from binwright.simcore.units import DATA, many_of, measure_of
from binwright.workloads import TRACES, WITH_SERVERS
from binwright.workloads.traces.base import ServerFile

DEVICE = "gpu"
"""The resource that servers have as devices."""


class DeviceColumns(Model):
    """The columns of devices in a file of servers."""

    count: Text = Field(description="The column with the number of a server's devices.", examples=["gpu"])
    model: Text | None = Field(default=None, description="The column with their model.", examples=["model"])


class TracedServers(Model):
    """The servers that a trace was taken on."""

    name: Text = Field(description="The trace.", examples=["alibaba-openb"])
    path: Text | None = Field(
        default=None, description="The file of its servers; by default it is looked up like a trace."
    )
    only: Literal["all", "devices"] = Field(
        default="all", description="Take all servers, or only those that have devices.", examples=["devices"]
    )
    units: Units = Field(
        default_factory=dict,
        description="How much a unit of a resource in the file is, as in the workload's `units`.",
        examples=["{mem: 1 GB}"],
    )

    @model_validator(mode="after")
    def _known(self) -> Self:
        checked(servers_of, ("name",))(self.name)
        return self


class Csv(Model):
    """Servers from a CSV file with a header: a server per row, its capacity split evenly over its nodes."""

    path: Text = Field(description="The file, relative to this one.", examples=["nodes.csv"])
    columns: dict[str, Text] = Field(
        description="The column of each resource, in the order of the cluster's resources.",
        examples=["{cpu: cpu_milli, mem: memory_mib, gpu: gpu}"],
        min_length=1,
    )
    units: Units = Field(
        default_factory=dict,
        description="The unit of the column, or how much a 1 there is. Data needs it; others are cores, cards, or 1.",
        examples=["{cpu: millicores, mem: MiB}"],
    )
    devices: DeviceColumns | None = Field(
        default=None, description="The columns of devices.", examples=["{count: gpu, model: model}"]
    )
    labels: dict[str, Text] = Field(
        default_factory=dict, description="The column of each label of the servers.", examples=["{zone: az}"]
    )
    kind: Text | None = Field(
        default=None, description="The column of each server's kind, for `costs`.", examples=["sku"]
    )
    taints: Text | None = Field(
        default=None, description="The column of taints, as in `spot|old`.", examples=["taints"]
    )

    @model_validator(mode="after")
    def _units(self) -> Self:
        known_resources(self.units, tuple(self.columns), ("units",))
        for name, column in self.columns.items():
            if name not in self.units and measure_of(name) is DATA:
                remedy = f"Say so: `units: {{{name}: GB}}`, or GiB, MiB, ..."
                raise wrong(f"does not say in what unit the column {column} is", remedy, ("units",))
        return self


def servers_of(name: str) -> ServerFile:
    """Return what is known of the servers that a trace comes with."""
    known: ServerFile | None = TRACES.load(name).servers if name in WITH_SERVERS else None
    if known is None:
        raise UserError("comes without servers", value=name, remedy=f"Traces with servers: {', '.join(WITH_SERVERS)}.")
    return known


class DevicesSpec(Model):
    """Devices of a server. A request takes a part of one, or several whole ones, as `gpu`."""

    count: Annotated[Count, Field(le=32)] = Field(description="How many each server has.", examples=[8])
    model: Text = Field(default="", description="The model, for requests that name one.", examples=["V100"])


@with_keys("group")
class Group(WithFeatures):
    """Equal servers of a cluster that has different ones."""

    count: Index = Field(description="How many servers; some group has at least one.", examples=[20])
    node: Amounts = Field(description="What one node of each has.", examples=["{cpu: 40, mem: 90 GB}"])
    nodes: Count | None = Field(
        default=None, description="NUMA nodes of each; by default as `nodes` of the cluster.", examples=[4]
    )
    name: Text | None = Field(default=None, description="A name for people.", examples=["large"])
    devices: DevicesSpec | None = Field(
        default=None, description="Its devices, if it has any.", examples=["{model: V100, count: 8}"]
    )
    overcommit: Ratios = Field(
        default_factory=dict, description="As the cluster's `overcommit`, for this group.", examples=["{cpu: 2}"]
    )
    labels: Labels = Field(
        default_factory=dict,
        description="Labels for requests and rules of placement.",
        examples=["{zone: a, kind: large}"],
    )
    taints: Names = Field(
        default=(), description="Only requests that tolerate all of these may lie here.", examples=["spot"]
    )


@with_keys("cluster")
class ClusterSpec(WithFeatures):
    """The servers. Either `servers` and `node`, or `groups`, or `csv`, or `trace`, or `network` and `node`."""

    servers: Count | None = Field(default=None, description="How many equal servers.", examples=[10])
    nodes: Count = Field(
        default=1, description="NUMA nodes of every server, unless a group says otherwise.", examples=[2]
    )
    node: Amounts | None = Field(default=None, description="What one node has.", examples=["{cpu: 40, mem: 90 GB}"])
    groups: tuple[Group, ...] | None = Field(
        default=None, description="Groups of equal servers; each gives the amount of every resource.", min_length=1
    )
    csv: Csv | None = Field(default=None, description="Servers from a file.")
    trace: TracedServers | None = Field(
        default=None, description="The servers of a trace.", examples=["{name: alibaba-openb, only: devices}"]
    )
    devices: DevicesSpec | None = Field(
        default=None, description="Devices of each server.", examples=["{model: V100, count: 8}"]
    )
    numbering: Literal["given", "drawn", "fgd"] = Field(
        default="given",
        description="The order of servers (ties go to the lowest number): as written, drawn by each seed, or as "
        "FGD's program has it.",
    )
    network: Network | None = Field(
        None,
        description="The network between the servers, which gives their number; `node` says what each has.",
        examples=["{topology: alpha}"],
    )
    spread_above: Amounts = Field(
        default_factory=dict,
        description="A request for more than this takes an even part of every node of one server.",
        examples=["{mem: 10 GB}"],
    )
    domains: dict[str, Count] = Field(
        default_factory=dict,
        description="`rack: 20` labels servers 0 to 19 as rack 0, and so on, added servers included.",
        examples=["{rack: 20, zone: 200}"],
    )

    @model_validator(mode="after")
    def _form(self) -> Self:
        given = [name for name in ("node", "groups", "csv", "trace") if getattr(self, name) is not None]
        if self.network:
            self._networked(self.network)
        elif (self.servers is None) != (self.node is None):
            missing = "node" if self.node is None else "servers"
            raise wrong("is missing", "Equal servers need `servers: 10` and `node: {cpu: 40, mem: 90 GB}`.", (missing,))
        if len(given) != 1:
            forms = "`servers` with `node`, or `groups`, or `csv`, or `trace`"
            problem = f"has servers in {len(given)} ways: {', '.join(given)}" if given else "has no servers"
            raise wrong(problem, f"Give one of {forms}; what an extended file says is taken back by `key: null`.")
        for at, node in self._node_kinds():
            if not any(node.values()):
                raise wrong("has nothing on it", "Give at least one resource, like {cpu: 40, mem: 90 GB}.", at)
            together(*(partial(_is_resource, name, amount, at) for name, amount in node.items()))
        self._same_resources()
        self._with_nodes()
        self._with_devices()
        self._check_overcommit()
        self._check_labels()
        return self

    def _with_nodes(self) -> None:
        """Refuse requests that are spread over nodes where servers have different numbers of them."""
        counts = [group.nodes or self.nodes for group in self.groups or ()]
        for number, count in enumerate(counts):
            if self.spread_above and count != counts[0]:
                problem = f"has {many_of(count, 'node')}, and the groups before it have {counts[0]}"
                remedy = f"Take out spread_above, or give all groups {counts[0]}: spread requests need equal servers."
                raise wrong(problem, remedy, ("groups", number, "nodes"), count)

    def _with_devices(self) -> None:
        """Refuse what does not go with devices."""
        if self.devices and self.node is None:
            raise wrong("does not go with other servers than equal ones", "Give groups their own.", ("devices",))
        if not self.has_devices:
            return
        if self.network:
            raise wrong("servers in a network have no devices", "Take out the network or the devices.", ("network",))
        for number, group in enumerate(self.groups or ()):
            if (group.nodes or 1) > 1:
                remedy = "Take out nodes, or the devices."
                raise wrong("servers with devices have one node", remedy, ("groups", number, "nodes"), group.nodes)
        if self.nodes > 1 or self.spread_above:
            key = "nodes" if self.nodes > 1 else "spread_above"
            raise wrong("servers with devices have one node", f"Take out {key}, or the devices.", (key,))
        written = [(at, set(node)) for at, node in self._node_kinds()]
        for at, names in (*written, (("csv", "columns"), set(self.csv.columns if self.csv else ()))):
            if DEVICE in names:
                remedy = f"Take {DEVICE} out here; `devices` says how many there are."
                raise wrong("comes from the devices", remedy, (*at, DEVICE))

    def _check_overcommit(self) -> None:
        """Refuse ratios of what servers do not have, or cannot be shared."""
        said: list[tuple[Keys, Collection[str]]] = [(("overcommit",), self.overcommit)]
        for at, ratios in (*said, *self._group_ratios):
            known_resources(ratios, self.resources, at)
            for name in ratios if at != ("overcommit",) else ():
                if isinstance(self.overcommit.get(name), Predict):
                    remedy = "Take one of the two out."
                    raise wrong("is admitted by predicted peaks, on all servers", remedy, (*at, name))
            if self.has_devices and DEVICE in ratios:
                remedy = "Take it out; requests take parts of devices."
                raise wrong("a device is not overcommitted", remedy, (*at, DEVICE))

    @property
    def _group_ratios(self) -> list[tuple[Keys, dict[str, float]]]:
        return [(("groups", number, "overcommit"), group.overcommit) for number, group in enumerate(self.groups or ())]

    @property
    def predicted(self) -> dict[str, Predict]:
        """The resources of which predicted peaks decide what may be placed."""
        return {name: how for name, how in self.overcommit.items() if isinstance(how, Predict)}

    def _check_labels(self) -> None:
        """Refuse labels that are said twice, and `server`, which all servers have by themselves."""
        written: list[tuple[Keys, dict[str, str]]]
        written = [(("groups", number, "labels"), group.labels) for number, group in enumerate(self.groups or ())]
        written.append((("csv", "labels"), self.csv.labels if self.csv else {}))
        for at, labels in (*written, (("domains",), dict.fromkeys(self.domains, ""))):
            for label in labels:
                if label == SERVER:
                    raise wrong("is reserved for single servers", "Give the label another name.", (*at, label))
                if label in self.domains and at != ("domains",):
                    raise wrong("is already set by `domains`", "Remove one of the two.", (*at, label))

    @property
    def values(self) -> dict[str, set[str] | None]:
        """The values that servers have of every label; `None` where a file says them."""
        if self.network:
            written = self.network.server_labels.labels
            return {label: {*values.tolist()} - {""} for label, values in written.items()}
        found: dict[str, set[str] | None] = dict.fromkeys(self.csv.labels if self.csv else ())
        for group in self.groups or ():
            for label, value in group.labels.items():
                found[label] = (found.get(label) or set()) | {value}
        for label, size in self.domains.items():
            grows = self.size is None or self.expansion
            found[label] = None if grows else {str(number) for number in range(-(-(self.size or 0) // size))}
        return found

    @property
    def everywhere(self) -> set[str] | None:
        """The labels that all servers have; `None` where a file says it."""
        if self.network:
            return {label for label, each in self.network.server_labels.labels.items() if (each != "").all()}
        if self.csv and self.csv.labels:
            return None
        every = [set(group.labels) for group in self.groups or ()]
        return {*self.domains, *(set.intersection(*every) if every else ())}

    @property
    def taints(self) -> set[str] | None:
        """The taints that servers have; `None` where a file says it."""
        if self.network:
            return {taint for mark in self.network.marked for taint in mark.taints}
        if self.csv and self.csv.taints:
            return None
        return {taint for group in self.groups or () for taint in group.taints}

    @property
    def kinds(self) -> list[str] | None:
        """The kinds of its servers, for `costs`: none where all are of one; `None` where a file says it."""
        if self.trace or (self.csv and self.csv.kind):
            return None
        return [group.name or "" for group in self.groups or ()]

    @property
    def is_labelled(self) -> bool:
        """Whether servers have labels or taints, beside the labels that a topology gives by itself."""
        return bool(self.network.marked) if self.network else bool(self.values) or self.taints != set()

    @property
    def has_devices(self) -> bool:
        """Whether any server may have devices."""
        groups = any(group.devices for group in self.groups or ())
        return bool(self.devices or groups or (self.csv and self.csv.devices) or self.trace)

    def _same_resources(self) -> None:
        """Refuse groups of different resources: one that is misspelt in a group would be another one."""
        if self.groups and not self.size:
            raise wrong("has no server", "Give one of the groups a `count` of 1 or more.", ("groups",))
        for number, group in enumerate(self.groups or ()):
            first, at = (self.groups or ())[0].node, ("groups", number, "node")
            for name in [name for name in group.node if name not in first]:
                remedy = f"{suggest(name, first)} If the others have none, write `{name}: 0` there."
                raise wrong("the groups before it have no such resource", remedy, (*at, name))
            for name in [name for name in first if name not in group.node]:
                remedy = f"Write `{name}: 0` where there is none."
                raise wrong(f"says nothing of {name}, which the groups before it have", remedy, at)

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
        if self.csv:
            return (*self.csv.columns, *devices)
        if self.trace:
            return (*servers_of(self.trace.name).columns, *devices)
        return (*dict.fromkeys(name for _, node in self._node_kinds() for name in node), *devices)

    @property
    def size(self) -> int | None:
        """How many servers there are at first; `None` where a file says it."""
        if self.network:
            return self.network.topology.built.servers
        return sum(group.count for group in self.groups) if self.groups else self.servers


def _is_resource(name: str, amount: float, at: Keys) -> None:
    """Refuse among the amounts of a node what is a key of the cluster."""
    if name in ClusterSpec.model_fields or name in Group.model_fields:
        raise wrong("is a key of the cluster, and no resource", f"Write {name} beside node.", (*at, name))
