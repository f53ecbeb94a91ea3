"""The schema of a scenario file: its own keys, and those of `size`, `figures`, `sweep` and `overflow`."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import BeforeValidator, Field, PrivateAttr, model_validator
from pydantic_core import to_jsonable_python

from binwright.analysis.figures import Venue
from binwright.analysis.measure.definition import MetricSpec, check_added, describe
from binwright.analysis.measure.metric import Metric, targets_of
from binwright.scenarios.agent_spec import AgentEntry, AgentSpec
from binwright.scenarios.features import features, used, with_keys
from binwright.scenarios.features.feature import CORE, Named, WithFeatures, chosen, way, written
from binwright.scenarios.features.overflow import AfterPreemption, Word
from binwright.scenarios.schema.cluster import ClusterSpec
from binwright.scenarios.schema.train import Train
from binwright.scenarios.schema.workload import Workload
from binwright.scenarios.schema.yaml_source import Source
from binwright.simcore.errors import UserError, nearest, suggest
from binwright.simcore.fields import (
    Count,
    Index,
    Keys,
    Model,
    Quantity,
    Shown,
    Text,
    known_resources,
    together,
    wrong,
)
from binwright.simcore.unions import PlainOrMapping
from binwright.simcore.units import TIME


class Size(Model):
    """The question that `binwright size` answers for every agent. `binwright run` ignores it."""

    until: Text = Field(
        default="acceptance >= 99 %",
        examples=["acceptance >= 99 %", "wait_p95 <= 10 min", "acceptance >= 99 % and contention_p99 <= 1 %"],
    )
    """A cluster is large enough when this mean over the seeds meets the bound; `and` joins several."""
    kind: Text | None = None
    """The group of servers whose number is looked for, by its name, or its place (0, 1, ...) where it has none; the
    others stay as they are."""
    most: Count | None = None
    """The most servers to try; by default a hundred times those that there are."""


def place_of(cluster: ClusterSpec, kind: str | None) -> tuple[str, int]:
    """Find the key that says the number of servers that is looked for, and how many there are now."""
    if cluster.network or cluster.trace:
        key, by = ("network", "topology") if cluster.network else ("trace", "trace")
        remedy = "Give the cluster `servers: 10` and a `node`, or `groups`."
        raise UserError(f"the {by} fixes how many servers there are", key=f"cluster.{key}", remedy=remedy)
    if cluster.groups is None and kind is None:
        assert cluster.servers is not None
        return "cluster.servers", cluster.servers
    names = [group.name or str(number) for number, group in enumerate(cluster.groups or ())]
    if kind is None and len(names) > 1:
        remedy = f"Say which by `size: {{kind: ...}}`: {', '.join(names)}."
        raise UserError("the cluster has several groups, and one of them can be sized", key="size.kind", remedy=remedy)
    if kind is not None and kind not in names:
        raise UserError("there is no such group of servers", key="size.kind", value=kind, remedy=suggest(kind, names))
    number, groups = names.index(kind or names[0]), cluster.groups or ()
    return f"cluster.groups.{number}.count", groups[number].count


class Figures(Model):
    """How figures of the results look, unless the command says otherwise."""

    style: Venue | None = Field(default=None, description="The venue: its fonts, widths and size of text.")
    width: Literal["column", "page"] | None = None
    """One of the style's widths; by default each figure's own."""
    titles: bool = Field(default=True, strict=True)
    """Whether figures have titles; captions can say the same."""
    format: Literal["png", "svg", "pdf"] = Field(default="png", description="What `binwright figures` writes.")


MetricEntry: TypeAlias = Annotated[MetricSpec, Shown("name, {name: {last: share}}, or [Metric](#metric)")]
FIXED = (
    *("name", "description", "extends", "agents", "replications", "seed", "record", "metrics"),
    *("decision_limit", "sweep", "train", "size", "headline_metrics", "headings", "figures"),
)
"""Top-level keys that are the same for all points of a sweep, and do not change what a run gives."""

# YAML makes dates of what looks like some; they become text again, as tables and the names of folders have it.
Values: TypeAlias = Annotated[tuple[Any, ...], Field(min_length=1), BeforeValidator(to_jsonable_python)]


class Sweep(Model):
    """Points: the scenario again for every combination of values, by dotted keys."""

    product: dict[str, Values] = Field(
        default_factory=dict, examples=["{cluster.servers: [10, 50], overflow: [drop, wait]}"]
    )
    """Every combination of these values."""
    zip: dict[str, Values] = Field(
        default_factory=dict, examples=["{cluster.servers: [10, 50], workload.requests: [1000, 5000]}"]
    )
    """Points from the first values of all lists, the second ones, and so on; combined with `product`."""

    @classmethod
    def prepare(cls, data: Any) -> Any:
        """Refuse keys of a scenario that stand in neither of the two."""
        for key in data if isinstance(data, Mapping) else ():
            if not nearest(str(key), cls.model_fields):
                raise wrong(
                    "unknown key", f"Write `sweep: {{product: {{{key}: [...]}}}}`, or `zip` for `product`.", (key,)
                )
        return data

    @model_validator(mode="after")
    def _points(self) -> Self:
        for kind in ("product", "zip"):
            for key in getattr(self, kind):
                if key.split(".")[0] in FIXED:
                    remedy = "All points meet the same agents and seeds; list agents with their options in `agents:`."
                    raise wrong("cannot be swept", remedy, (kind, key))
        for key in self.product.keys() & self.zip.keys():
            raise wrong("is swept twice", "Keep it in product or in zip.", ("zip", key))
        lengths = {key: len(values) for key, values in self.zip.items()}
        first = next(iter(lengths), "")
        for key, length in lengths.items():
            if length != lengths[first]:
                problem = f"has {length} values, but {first} has {lengths[first]}"
                raise wrong(problem, "Lists in zip go together: make them equally long.", ("zip", key))
        return self


@with_keys("overflow")
class OtherOverflow(AfterPreemption):
    """A way to overflow."""


Overflow: TypeAlias = Annotated[
    Word | OtherOverflow,
    PlainOrMapping(),
    Shown(
        "`drop`, `wait`, `stop`, {expand: [Expand](#expand)}, {wait: [Wait](#wait)}, {preempt: [Preempt](#preempt)} "
        "or {make_room: [MakeRoom](#makeroom)}"
    ),
]


@with_keys("")
class Scenario(WithFeatures):
    """A scenario: a cluster, a workload, and the agents to compare on them."""

    other_names: ClassVar[Mapping[str, str]] = {"seeds": "replications"}

    name: Annotated[Text, Field(pattern=r"^\w[\w .+-]*$")] = Field("scenario", examples=["ten-servers"])
    """The name of the results' folder; by default the file's name. Not inherited by `extends`."""
    description: Text = Field(default="", description="For people. Not inherited by `extends`.")
    extends: Text | Annotated[tuple[Text, ...], Field(min_length=1)] | None = Field(None, examples=["base.yaml"])
    """A file, relative to this one, or a shipped scenario (`cvd/table3`), or a list, each laid over those before. This
    file changes them: mappings key by key, all else as a whole; `key: null` takes a key back."""
    cluster: ClusterSpec = Field(description="The servers.", examples=["{servers: 10, node: {cpu: 40, mem: 90 GB}}"])
    workload: Workload = Field(description="The requests.", examples=["{trace: huawei-east-1}"])
    overflow: Overflow = Field(
        "drop", examples=["stop", "{expand: {by: 10, limit: 110}}", "{wait: {together: 32}}", "{make_room: {moves: 3}}"]
    )
    """What happens to a request that fits nowhere: it is lost (`drop`), waits (`wait`; with `together`, several are
    offered at once), ends the run (`stop`), or makes room: by new servers (`expand`), moves (`make_room`), or evictions
    (`preempt`)."""
    agents: tuple[AgentEntry, ...] = Field(
        examples=["[first-fit, {best-fit: {node: loose}}, mine.py:Mine]"], min_length=1
    )
    """The agents to compare; all meet the same requests."""
    replications: Annotated[Count, Field(le=100_000)] = Field(default=1, description="How many seeds.")
    seed: Annotated[Index, Field(le=2**62)] = Field(default=0, description="The first seed; the others follow it.")
    sweep: Sweep = Field(default_factory=Sweep, description="Points to run instead of one.")
    record: tuple[Literal["requests", "samples", "states", "times", "devices", "sites", "use"], ...] = Field(
        (), examples=["[requests]"]
    )
    """Details kept of every run: a row for each of the `requests`, `samples` (allocation over time),
    `states` (servers and links over time), `times` (of decisions), `devices` (requested, held and fragmented, after
    each decision), `sites` (by hour), `use` (by step)."""
    metrics: tuple[MetricEntry, ...] = Field((), examples=["[mine.py:longest_queue, {acceptance: {last: 20 %}}]"])
    """Additional metrics, of all requests or of the last part, when the cluster has filled."""
    decision_limit: Annotated[float, Quantity("time from 10 ms", TIME, least="10 ms", most="10000000 s")] = 600.0
    """A decision that takes longer is interrupted, and its run fails. Starting an agent may take ten minutes."""
    train: Train | None = Field(None, examples=["{agent: nara, iterations: 150, episodes: {workload.requests: 32}}"])
    """What `binwright train` does."""
    size: Size | None = Field(None, examples=["{until: acceptance >= 99 %, most: 500}"])
    """What `binwright size` looks for."""
    headline_metrics: tuple[Text, ...] = Field((), examples=["[energy, cost]"])
    """The metrics that tables, figures and the report show first; by default money, then those in which agents differ
    clearly."""
    headings: dict[str, Text] = Field(
        default_factory=dict, examples=["{best-fit: Best Fit, cluster.servers: Servers, acceptance: Accepted (%)}"]
    )
    """Names of agents, swept keys and metrics in tables, figures and reports."""
    figures: Figures = Field(
        default_factory=Figures, examples=["{style: ieee, width: column, titles: false, format: pdf}"]
    )
    """How figures look."""
    _source: Source | None = PrivateAttr(None)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        together(
            self._check_excluded,
            *(partial(feature.check, self) for feature in used(self)),
            *(partial(feature.check_keys, self) for feature in features()),
            self._check_cluster,
            self._check_record,
            self._check_names,
            self._check_workload,
            self._check_labels,
            self._check_metrics,
            self._check_size,
            self._check_headline_metrics,
        )
        return self

    def _check_excluded(self) -> None:
        for feature in used(self):
            for key, why in feature.excludes.items():
                if at := written(self, key):
                    own, what = feature.at(self), feature.name
                    if key in CORE:  # of which people think first
                        at, own, what = tuple(own.split(".")), key, CORE[key]
                    raise wrong(f"does not go with {what}: {why}", f"Take it out, or {own}.", at)

    def _check_record(self) -> None:
        if "devices" in self.record and not self.cluster.has_devices:
            raise wrong("the servers have no devices", "Take devices from record.", ("record",), "devices")
        if "times" in self.record and way(self.overflow, "wait"):
            remedy = "Take times from record, or offer requests one by one."
            raise wrong("decisions about many requests are not timed one by one", remedy, ("record",), "times")

    def _check_cluster(self) -> None:
        known_resources(self.cluster.spread_above, self.cluster.resources, ("cluster", "spread_above"))
        for at, parts in self.workload.gangs if self.cluster.network else ():
            if parts.labels:
                remedy = "Take `together` and `at_most` out, or ask for virtual clusters: `workload: {networks: ...}`."
                raise wrong("a part may lie on several servers of a network", remedy, ("workload", *at))

    def _check_names(self) -> None:
        groups = self.workload.groups
        for at, label, name in self.names_of_requests:
            if label == "group" and groups is not None and name not in groups:
                raise wrong("no request is of this group", suggest(name, groups), at, name)

    @property
    def labels_of_features(self) -> list[str]:
        """Labels that requests have by the features that are used, and not by the workload."""
        return [label for feature in used(self) for label in feature.labels]

    @property
    def names_of_requests(self) -> list[Named]:
        """List the keys, the label (or `group`, `models`) and the value wherever requests are chosen by one."""
        result = [named for feature in features() for named in feature.names(self)]
        for number, metric in enumerate(self.metrics):
            own = {label: names for label, names in metric.by.items() if label not in self.labels_of_features}
            result += chosen(("metrics", number, "by"), own)
        return result

    @property
    def grows(self) -> str:
        """Name the key by which servers may be added, empty if nothing does."""
        return next((feature.at(self) for feature in used(self) if feature.grows), "")

    @property
    def ruled_by(self) -> str:
        """Name what says where requests may lie, empty if nothing does."""
        for name, present in (
            ("rules of placement", self.placement),
            ("rules for parts of requests", any(parts.labels for _, parts in self.workload.gangs)),
            ("cluster.domains", self.cluster.domains),
            ("labels or taints of servers", self.cluster.is_labelled),
            ("labels in `where`", self.cluster.network and any(placed.where for _, placed in self.workload.placed)),
            *((feature.key, feature.section(self)) for feature in features() if feature.drains),
        ):
            if present:
                return name
        return ""

    @property
    def other_agents(self) -> list[tuple[Keys, AgentSpec]]:
        """The agents that take part beside those that are compared, and their keys."""
        return [each for feature in used(self) for each in feature.agents(self)]

    def _check_workload(self) -> None:
        agents = [*self.other_agents, *((("agents", number), agent) for number, agent in enumerate(self.agents))]
        self.workload.check_against(self.cluster, agents, self.replications)

    @property
    def use(self) -> Any:
        """What share of what they ask for requests use; None where all."""
        return getattr(self.workload, "use", None)

    def _check_labels(self) -> None:
        labels: dict[str, int] = {}
        for number, agent in enumerate(self.agents):
            if agent.label in labels:
                problem = f"has the same label as agent {labels[agent.label]}"
                remedy = "Remove one, or give a label: {name: ..., options: ..., label: ...}."
                raise wrong(problem, remedy, ("agents", number), agent.label)
            labels[agent.label] = number

    def _check_metrics(self) -> None:
        try:
            check_added(self.metrics, self.resources, self._tiers, [*self.sweep.product, *self.sweep.zip])
        except UserError as error:
            raise wrong(error.problem, error.remedy, ("metrics", int(error.key or 0)), error.value) from None

    def _check_size(self) -> None:
        if self.size:
            try:
                # Which of several groups, the command may say.
                if self.size.kind is not None or len(self.cluster.groups or ()) < 2:
                    place_of(self.cluster, self.size.kind)
                targets_of(self.size.until, self.described_metrics)
            except UserError as error:
                at = ("size", error.key) if error.key == "until" else tuple((error.key or "size").split("."))
                raise wrong(error.problem, error.remedy, at, error.value) from None

    def _check_headline_metrics(self) -> None:
        if self.headline_metrics:
            known = [metric.name for metric in self.described_metrics]
            for number, name in enumerate(self.headline_metrics):
                if name not in known:
                    raise wrong("there is no such metric", suggest(name, known), ("headline_metrics", number), name)

    @property
    def _tiers(self) -> Sequence[str]:
        return self.cluster.network.topology.built.tiers if self.cluster.network else ()

    @property
    def described_metrics(self) -> list[Metric]:
        """The metrics that its runs may have."""
        return describe(self.resources, self._tiers, self.metrics, self.currency)

    @property
    def shown_headings(self) -> dict[str, str]:
        """The headings, by the names that agents, swept keys and metrics have in results."""
        return {Path(name).name if ".py:" in name else name: text for name, text in self.headings.items()}

    def __eq__(self, other: object) -> bool:
        """Equal when they say the same; where it was read does not matter."""
        return isinstance(other, Scenario) and self.dump() == other.dump()

    __hash__ = None  # type: ignore[assignment]  # equal by content, and not to be a key

    @property
    def file(self) -> Path | None:
        return self._source.file if self._source else None

    @property
    def resources(self) -> tuple[str, ...]:
        """The cluster's resources, in order."""
        return self.cluster.resources

    @property
    def currency(self) -> str:
        """What prices are in; empty where nobody says."""
        return getattr(getattr(self, "costs", None), "currency", "")
