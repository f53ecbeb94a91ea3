"""The schema of `workload:`: a trace, generators, a published model or input, tenants, or a class of one's own."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from inspect import signature
from math import inf
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BeforeValidator,
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
from binwright.scenarios.features.feature import WithFeatures
from binwright.scenarios.features.placement import PlacementKeys, WeightedRole
from binwright.scenarios.schema.cluster import DEVICE, ClusterSpec
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.fields import (
    TIMES,
    Count,
    Keys,
    Lifespan,
    Model,
    Number,
    PositiveNumber,
    PositiveTime,
    Shown,
    Text,
    Units,
    checked,
    checked_amount,
    is_name,
    known_resources,
    mapping_of,
    show_amounts,
    together,
    wrong,
)
from binwright.simcore.options import check_options
from binwright.simcore.registered import Registered
from binwright.simcore.registry import Registry
from binwright.simcore.types import QUANTUM, Agent
from binwright.simcore.types import Workload as Requests
from binwright.simcore.units import COUNT, DATA, LARGEST, TIME, amount, measure_of, quanta
from binwright.workloads import ARRIVALS, LIFETIMES, TRACES, WORKLOADS
from binwright.workloads.arrivals import Bursty, Fixed, Poisson
from binwright.workloads.changes import Change
from binwright.workloads.demands import DEMANDS
from binwright.workloads.lifetimes import Empirical, Exponential, Lognormal
from binwright.workloads.lublin import Lublin
from binwright.workloads.offline import CLASSES, FITTED, NAMES, WIDEST, machines
from binwright.workloads.parts import Parts
from binwright.workloads.traces.check import TEXTS
from binwright.workloads.traces.filters import REMEDY, check_conditions
from binwright.workloads.virtual import NETWORKS, Hose, Pairs
from binwright.workloads.windows import ApartStart, Window


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
    lognormal: Lognormal | None = Field(
        default=None, description="The logarithm is normal.", examples=["{median: 10 min, sigma: 1.5}"]
    )
    empirical: Empirical | None = Field(
        default=None, description="Measured.", examples=["{quantiles: [1 s, 3 min, 2 h]}"]
    )


class Changing(Model):
    """Requests that may be changed."""

    changes: tuple[Change, ...] = Field(
        default=(),
        description="Changes, one after another: growth, or another mix.",
        examples=["[{demand: +20 %}, {demand: -50 %, of: {tenant: acme}}]"],
    )


class WorkloadKind(WithFeatures):
    """A kind of workload, which knows what does not go with it."""

    knows_groups: ClassVar[bool] = False
    """Whether the scenario says the groups of its requests; of others they are known only when these are drawn."""

    @property
    def groups(self) -> set[str] | None:
        """The groups of its requests, where they are known."""
        return {role.group for _, role in self.placed} - {""} if self.knows_groups else None

    @property
    def placed(self) -> Sequence[tuple[Keys, PlacementKeys]]:
        """What its requests say to rules of placement, with the keys below the workload's."""
        return ()

    @property
    def gangs(self) -> Sequence[tuple[Keys, Parts]]:
        """What is said of requests of several parts, with the keys below the workload's."""
        parts: Parts | None = getattr(self, "parts", None)
        return [(("parts",), parts)] if parts else []

    def check_against(self, cluster: ClusterSpec, agents: Sequence[tuple[Keys, AgentSpec]], seeds: int) -> None:
        """Refuse what does not go with the cluster, with so many seeds, or with agents, named by their keys."""


class Roled(WorkloadKind):
    """A kind of workload that says by itself only what its requests ask for, and not what they are to rules."""

    roles: tuple[WeightedRole, ...] = Field(
        default=(),
        description="Groups and labels for rules of placement, drawn by weight.",
        examples=["[{group: web, weight: 3}, {group: db, where: {pod: pod-0}}]"],
    )

    knows_groups: ClassVar[bool] = True

    @property
    def placed(self) -> Sequence[tuple[Keys, PlacementKeys]]:
        """What its requests say to rules of placement, with the keys below the workload's."""
        return [(("roles", number), role) for number, role in enumerate(self.roles)]

    @model_validator(mode="after")
    def _weighted(self) -> Self:
        _some_weight("roles", self.roles)
        return self


def _some_weight(key: str, kinds: "Sequence[WeightedRole | Flavour]") -> None:
    if kinds and not any(kind.weight for kind in kinds):
        raise wrong("have no weight above zero", "Give one of them a weight above zero.", (key,))


def _columns(values: Any) -> dict[str, Any]:
    def column(name: str, value: Any) -> Any:
        deep = name == "where" and isinstance(value, Mapping) and value
        texts = list(value.values()) if deep else [value]
        if not is_name(name) or not all(isinstance(text, str) and text for text in texts):
            remedy = "Write the name of a column, in quotes if it looks like a number" + (
                ", or columns by label: {zone: az}." if name == "where" else "."
            )
            raise wrong("is not the name of a column", remedy, (name,))
        return dict(value) if deep else value

    result = mapping_of(values, "names to columns", "{arrival: created, end: deleted, cpu: vCPUs}", column)
    if "end" in result and "lifetime" in result:
        raise wrong("says the same as `lifetime`", "Keep the one that is right.", ("end",))
    return result


def _stands_for(name: str, value: Any) -> float:
    """Read what an empty cell stands for: a time or `never`, or an amount."""
    if name not in TIMES:
        return amount(name, value)
    return inf if value in ("never", inf) else TIME.parse(value)


def _empty(values: Any) -> dict[str, str]:
    """Read what empty cells stand for, as texts that read as exactly the same."""

    def text(name: str, value: Any) -> str:
        if name == "arrival":
            raise wrong("has no default", "Leave out such rows: `keep: {Created: '!='}`.", (name,))
        result = checked(partial(_stands_for, name), (name,))(value)
        return "never" if result == inf else (TIME if name in TIMES else measure_of(name)).show(result)

    return mapping_of(values, "columns to values", "{end: never, gpu: 0}", text)


def _keep(values: Any) -> dict[str, list[str]]:
    def conditions(name: str, value: Any) -> list[str]:
        items = value if isinstance(value, list | tuple) else [value]
        if not all(isinstance(item, str | int | float) for item in items):
            raise wrong("is no condition", f"{REMEDY} Dates are put in quotes.", (name,))
        texts = [str(item).lower() if isinstance(item, bool) else str(item) for item in items]
        checked(check_conditions, (name,))(texts)
        return texts

    return mapping_of(values, "columns to conditions", "{vCPUs: '> 0', State: [running, stopped]}", conditions)


_Names: TypeAlias = Annotated[
    dict[str, Any],
    BeforeValidator(_columns),
    Shown("{name: column}"),
]
_Empty: TypeAlias = Annotated[dict[str, str], BeforeValidator(_empty), Shown("{name: time, `never`, or amount}")]
_Keep: TypeAlias = Annotated[
    dict[str, list[str]],
    BeforeValidator(_keep),
    Shown("{column: value, list of values, or comparisons}"),
]


class Flavour(PlacementKeys):
    """One size of request. Every key that is not listed here is a resource with its amount: `{cpu: 1, mem: 2 GB}`."""

    model_config = ConfigDict(extra="allow")

    weight: Number = Field(default=1, description="How often, in relation to the other flavours.", examples=[3])
    lifetimes: Lifetimes | None = Field(default=None, description="Its own lifetimes, instead of the workload's.")
    parts: Parts | None = Field(
        default=None,
        description="How many equal parts of this size it has, placed together or not at all.",
        examples=[16, "{number: 16, together: rack, at_most: {server: 8}}"],
    )

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
class Generated(Changing, WorkloadKind):
    """Requests drawn from a mix of flavours."""

    knows_groups: ClassVar[bool] = True

    arrivals: Arrivals = Field(description="When requests arrive.", examples=["{poisson: {every: 10 s}}"])
    flavours: tuple[Flavour, ...] = Field(
        description="The sizes of requests.",
        examples=["[{cpu: 1, mem: 2 GB, weight: 3}, {cpu: 4, mem: 8 GB}]"],
        min_length=1,
    )
    lifetimes: Lifetimes | None = Field(
        default=None,
        description="How long requests stay, unless every flavour says it.",
        examples=["{exponential: {mean: 1 h}}"],
    )
    requests: Count = Field(description="How many requests.", examples=[10000])

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
        _some_weight("flavours", self.flavours)
        return self

    def check_against(self, cluster: ClusterSpec, agents: Sequence[tuple[Keys, AgentSpec]], seeds: int) -> None:
        def fits(number: int, demand: Mapping[str, float]) -> None:
            at, devices = ("workload", "flavours", number), demand.get(DEVICE, 0)
            known_resources(demand, cluster.resources, at, tuple(Flavour.known()))
            if cluster.has_devices and devices > 1 and quanta(devices) % QUANTUM:
                remedy = "Give up to 1, or a whole number."
                raise wrong("is neither a part of one device nor whole ones", remedy, (*at, DEVICE), devices)

        together(*(partial(fits, number, flavour.demand) for number, flavour in enumerate(self.flavours)))


_UNITS = ("workload", "units")


class Inflate(Model):
    """Requests in random order, then random ones of them again, a second apart; none ends."""

    until: PositiveNumber = Field(
        description="They go on until they ask for this times what the servers have.", examples=[1.3]
    )
    of: Text = Field(description="The resource that `until` is about.", examples=["gpu"])
    draws: Literal["ours", "fgd"] = Field(
        default="ours",
        description="With `fgd`, seeds 42 to 51 have the requests of FGD's experiments (Weng and others 2023).",
    )


def _trace_kind(name: str) -> type:
    """Load a trace format; says what to write where a file stands in its place."""
    if name not in TRACES and ":" not in name and any(letter in name for letter in "./"):
        remedy = (
            f"A file of your own is `trace: table` with `path: {name}`; `binwright traces describe {name} --out FILE` "
            "finds out what its columns are, and writes a scenario that reads it."
        )
        raise UserError("is a file, and the name of a format belongs here", value=name, remedy=remedy)
    kind: type = TRACES.load(name)
    return kind


@with_keys("workload")
class Trace(PlacementKeys, Window, Changing, WorkloadKind):
    """Requests of a trace. Options of a trace of your own are further keys."""

    model_config = ConfigDict(extra="allow")

    trace: Text = Field(
        description="A trace format (`binwright list workloads` lists them), or `package.module:Class`.",
        examples=["huawei-east-1"],
    )
    path: Text | None = Field(
        default=None,
        description="The file, relative to this one; by default it is looked up in $BINWRIGHT_TRACES and the user's "
        "cache.",
        examples=["../shared/traces/huawei-east-1.csv"],
    )
    columns: _Names = Field(
        default_factory=dict,
        description="The columns of a `table` for `arrival`, `lifetime` or `end`, `id`, resources, `models`, "
        "`group`, `where` (or one for each label) and `tolerates`, where they have other names.",
        examples=["{arrival: Created At, end: Deleted At, cpu: vCPUs, mem: RAM, where: {zone: AZ}}"],
    )
    units: Units = Field(
        default_factory=dict,
        description="The unit of a column, or how much a 1 there is: of resources, and in a `table` of `arrival`, "
        "`end` and `lifetime`. Needed for data in a `table` and for azure-packing-2020.",
        examples=["{cpu: millicores, mem: GiB, arrival: ms}"],
    )
    labels: dict[str, Text] = Field(
        default_factory=dict,
        description="Columns of a `table` that become labels of the requests. Agents do not see them.",
        examples=["{tenant: Customer, priority: Prio}"],
    )
    empty: _Empty = Field(
        default_factory=dict,
        description="What an empty cell of a `table` is: a time or `never` for `end` or `lifetime`, an amount for a "
        "resource. Otherwise such a row is refused.",
        examples=["{end: never, gpu: 0}"],
    )
    keep: _Keep = Field(
        default_factory=dict,
        description="Read only rows with one of these values, or that meet all comparisons (>, >=, <, <=, !=) with "
        "numbers or dates. Columns are those of a `table`'s file; of other traces `arrival` and "
        "`lifetime` in seconds, and resources.",
        examples=["{State: [running, stopped], vCPUs: '> 0', Created: '>= 2026-11-01'}", "{cpu: '>= 4'}"],
    )
    parts: Parts | None = Field(
        default=None,
        description="How many parts every request has, placed together or not at all.",
        examples=["processors", "{by: pods, together: rack}"],
    )
    inflate: Inflate | None = Field(
        default=None,
        description="Fill the cluster with these requests again and again.",
        examples=["{until: 1.3, of: gpu}"],
    )

    @classmethod
    def prepare(cls, data: Any) -> Any:
        for key in ("arrivals", "flavours"):
            if isinstance(data, Mapping) and data.get(key) is not None:
                remedy = "A workload is a trace or generated; what an extended file says is taken back by `key: null`."
                raise wrong("does not go with a trace", remedy, (key,))
        return data

    @classmethod
    def more(cls, data: Mapping[str, Any]) -> Iterable[str]:
        name = str(data.get("trace"))
        return signature(TRACES.load(name)).parameters if name in TRACES else ()

    @classmethod
    def takes(cls, key: str, data: Mapping[str, Any]) -> bool:
        return ":" in str(data.get("trace")) or key in cls.more(data)

    @classmethod
    def parse_more(cls, data: dict[str, Any]) -> dict[str, Any]:
        if isinstance(data["trace"], str):
            options = {key: value for key, value in data.items() if key not in cls.known()}
            check_options(checked(_trace_kind, ("trace",))(data["trace"]), options)
        return data

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for key, present in (("changes", self.changes), ("resample", self.resample), ("parts", self.parts)):
            if present and self.inflate:
                raise wrong("does not go with `inflate`", "Remove one of the two.", (key,))
        written = [key for key in ("columns", "labels", "empty") if getattr(self, key)]
        for key in (*written, *["units"] * bool({*self.units} & {*TIMES})) if not self.knows_units else ():
            raise wrong("is for a table of your own", f"{self.trace} knows its columns: remove it.", (key,))
        return self

    @property
    def placed(self) -> Sequence[tuple[Keys, PlacementKeys]]:
        """What all of its requests say to rules of placement."""
        return [((), self)]

    def check_against(self, cluster: ClusterSpec, agents: Sequence[tuple[Keys, AgentSpec]], seeds: int) -> None:
        resources, start = cluster.resources, self.start
        known = {"columns": ["id", *TIMES, *TEXTS, *resources], "empty": ["end", "lifetime", *resources]}

        def meant(key: str, name: str) -> None:
            if name not in known[key]:
                problem = "is neither a resource of the cluster nor anything else that requests have"
                raise wrong(problem, suggest(name, known[key]), ("workload", key, name))

        def inflated() -> None:
            if self.inflate and self.inflate.of not in resources:
                remedy, at = suggest(self.inflate.of, resources), ("workload", "inflate", "of")
                raise wrong("the cluster has no such resource", remedy, at, self.inflate.of)

        def apart() -> None:
            if isinstance(start, ApartStart) and self.requests and start.count(self.requests) < seeds * self.superpose:
                problem = f"has {start.count(self.requests)} windows of {self.requests} requests side by side, too few"
                problem += f" for {seeds} seeds" + f" with {self.superpose} windows each" * (self.superpose > 1)
                remedy = "Give fewer replications, shorter windows, or a wider range."
                raise wrong(problem, remedy, ("workload", "start", "apart"), [*start.apart])

        together(
            partial(known_resources, [name for name in self.units if name not in TIMES], resources, _UNITS),
            *(partial(meant, key, name) for key in known for name in getattr(self, key)),
            inflated,
            partial(self.units_of, resources),
            apart,
        )

    def units_of(self, resources: tuple[str, ...]) -> dict[str, float]:
        """Return how many units of each of these resources a 1 in the trace is; refuses what nobody has said."""
        known: Mapping[str, str] = TRACES.load(self.trace).units
        result: dict[str, float] = {}
        for name in resources:
            measure, unit = measure_of(name), known.get(name, "")
            understood = unit in measure.factors if unit else measure is not DATA
            if name not in self.units and measure is not COUNT and not understood:
                problem = f"the trace's {name} is in {unit}, no unit of {measure.name}"
                remedy = f"Say what a 1 in its column is: `units: {{{name}: {measure.base}}}`, if that is right."
                raise wrong(problem if unit else f"the unit of the trace's {name} is not known", remedy, _UNITS)
            result[name] = self.units.get(name, float(measure.factors.get(unit, 1)))
        return result

    @property
    def knows_units(self) -> bool:
        """Whether the reader itself turns what is in the file into units."""
        return "factors" in self.more({"trace": self.trace})

    @property
    def options(self) -> dict[str, Any]:
        """The reader's options, in seconds and units: the trace's own, and what is said of a table."""
        result: dict[str, Any] = {"keep": self.keep}
        if self.knows_units:
            shares = self.use.labels if self.use else ()
            result |= {
                "columns": self.columns,
                "factors": self.units,
                "labels": {**{name: name for name in shares}, **self.labels},
                "empty": {name: _stands_for(name, value) for name, value in self.empty.items()},
            }
        return {**(self.model_extra or {}), **{name: value for name, value in result.items() if value}}


@with_keys("workload")
class Modelled(Changing, WorkloadKind):
    """Jobs of a parallel machine, drawn from a published model."""

    lublin: Lublin = Field(
        description="The model of Lublin and Feitelson 2003, JPDC 63: its options, or `{}`.", examples=["{load: 70 %}"]
    )
    requests: Count = Field(description="How many jobs.", examples=[10000])
    parts: Parts | None = Field(
        default=None,
        description="How many parts every job has, placed together or not at all; by default a job lies on one server.",
        examples=["processors"],
    )

    def check_against(self, cluster: ClusterSpec, agents: Sequence[tuple[Keys, AgentSpec]], seeds: int) -> None:
        known_resources(self.lublin.processor, cluster.resources, ("workload", "lublin", "processor"))


class OwnWorkload(Registered, WorkloadKind):
    """Requests of your own kind: `{package.module:Class: {option: value}}`, or `{file.py:Class: {...}}`.

    The class takes the options, and `draw(resources, seed)` returns a `binwright.Workload`.
    """

    model_config = ConfigDict(extra="allow")
    registry: ClassVar[Registry] = WORKLOADS
    what: ClassVar[str] = "kind of workload"

    @classmethod
    def check(cls, name: str, options: Any) -> None:
        super().check(name, options)
        if not callable(getattr(WORKLOADS.load(name), "draw", None)):
            raise wrong("draw is missing", "Write `def draw(self, resources, seed): ...` into the class.", (name,))


class Demand(Registered):
    """What requests ask for, by name, with its options: `uniform`, or `{azure: {path: packing.sqlite}}`."""

    registry: ClassVar[Registry] = DEMANDS
    what: ClassVar[str] = "demand"
    by_word: ClassVar[bool] = True


def _ascending(pair: tuple[float, float]) -> tuple[float, float]:
    if not 0 <= pair[0] <= pair[1] <= LARGEST:
        remedy = f"Give the lower bandwidth first, from 0, and at most {LARGEST:,.0f} last."
        raise wrong("is an empty range" if pair[0] > pair[1] else "is too much", remedy, value=list(pair))
    return pair


@with_keys("workload")
class MultiServer(Roled):
    """Requests that may need several servers and bandwidth between them."""

    demand: Demand = Field(
        description="What requests ask for; `binwright list workloads` lists the kinds.",
        examples=["uniform", "azure-like", "{azure: {path: packing.sqlite, split: test}}"],
    )
    requests: Count = Field(description="How many requests.", examples=[128])
    holding: Count = Field(
        description="Each stays for a whole number of steps from 1 to this, drawn uniformly.", examples=[30]
    )
    bandwidth: Annotated[
        tuple[Number, Number], AfterValidator(_ascending), Shown("[low, high] in units of link capacities")
    ] = Field((0.1, 1.0), description="What each needs between its servers, drawn uniformly.", examples=["[0.1, 1.0]"])
    step: PositiveTime = Field(1.0, description="One request arrives every step.", examples=["1 s"])


@with_keys("workload")
class Offline(WorkloadKind):
    """Machines that all arrive at time 0, in the order of the input, and never end."""

    offline: Text = Field(
        description=f"The input: {', '.join((*FITTED, *CLASSES))}, or one of the literature's, such as `u120`. "
        f"Resources are cpu, mem, disk, net_out and net_in (`{'`, `'.join(FITTED)}`, as shares of a server), `a` and "
        "`b` (`ct1` to `ct10`), or `size`.",
        examples=["pgrank"],
    )
    requests: Count | None = Field(
        default=None,
        description="How many machines; by default the input's own number, of `ct1` to `ct10` 200.",
        examples=[100],
    )

    @model_validator(mode="after")
    def _known(self) -> Self:
        if self.offline not in NAMES:
            raise wrong("unknown offline input", suggest(self.offline, NAMES), ("offline",), self.offline)
        if self.offline in CLASSES and (self.requests or 0) > WIDEST:
            raise wrong("is too many", f"Give {WIDEST} at most.", ("requests",), self.requests)
        return self

    def draw(self, resources: tuple[str, ...], seed: int) -> Requests:
        """Draw the machines of a seed, for a cluster's resources."""
        count = self.requests if self.offline in CLASSES else None
        return machines(self.offline, seed, count).requests(resources, self.requests)


AT = ("workload", "networks")


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

    def check_against(self, cluster: ClusterSpec, agents: Sequence[tuple[Keys, AgentSpec]], seeds: int) -> None:
        form = self.networks.chosen[0]
        if cluster.network is None:
            remedy = "Give it one, like network: {topology: {fat-tree: {k: 16}}}."
            raise wrong("virtual networks need a network, and the cluster has none", remedy, ("cluster",))
        known_resources(self.networks.build().machine, cluster.resources, (*AT, form, "machine"))
        if form == "hose":
            from binwright.fabric.virtual_tree import tree  # numba

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


_FORMS: dict[str, type[Model]] = {
    "offline": Offline,
    "networks": Tenants,
    "lublin": Modelled,
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
    | Annotated[Modelled, Tag("<Modelled>")]
    | Annotated[OwnWorkload, Tag("<OwnWorkload>")],
    Discriminator(_form_of_workload),
]
