"""The schema of a scenario file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, PrivateAttr, model_validator

from binwright.agents import AGENTS
from binwright.analysis.measure.condition import target_of
from binwright.analysis.measure.costs.tariffs import CostsSpec
from binwright.analysis.measure.measuring import check_added
from binwright.fabric.peak_predictors import LimitPeak
from binwright.fabric.placement.rules import Drain
from binwright.scenarios.schema.agent import AgentEntry, AgentSpec, shortly
from binwright.scenarios.schema.cluster import ClusterSpec
from binwright.scenarios.schema.kind import Changing
from binwright.scenarios.schema.knowledge import Knowledge
from binwright.scenarios.schema.metric import Figures, MetricEntry, check_headings, headings_of
from binwright.scenarios.schema.moves import MovesSpec, Rescheduling, check_moves
from binwright.scenarios.schema.overflow import Overflow, expand_of, preempt_of, queues_at, room_of, wait_of
from binwright.scenarios.schema.placement import PlacementRule, Values, check_role, check_rule, check_rules, empties
from binwright.scenarios.schema.priorities import Priorities, Spot, check_prices, check_priorities, hourly
from binwright.scenarios.schema.queues import check_queues
from binwright.scenarios.schema.quotas import Quotas
from binwright.scenarios.schema.server_files import known_resources
from binwright.scenarios.schema.sites import SitesSpec
from binwright.scenarios.schema.size import Size, metrics_of, place_of
from binwright.scenarios.schema.sweep import Sweep
from binwright.scenarios.schema.train import Train
from binwright.scenarios.schema.use import UseSpec, Using
from binwright.scenarios.schema.warm_start import WarmStart
from binwright.scenarios.schema.workload import Workload
from binwright.scenarios.schema.yaml_source import Keys, Source
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.fields import Count, Index, Model, Number, PositiveTime, Text, together, wrong
from binwright.simcore.run_options import Pacing
from binwright.workloads.changes import DemandChange


class Scenario(Model):
    """A scenario: a cluster, a workload, and the agents to compare on them."""

    other_names: ClassVar[Mapping[str, str]] = {"seeds": "replications"}

    name: Annotated[Text, Field(pattern=r"^\w[\w .+-]*$")] = Field(
        default="scenario",
        description="The name of the results' folder; by default the file's name. Not inherited by `extends`.",
        examples=["ten-servers"],
    )
    description: Text = Field(default="", description="For people. Not inherited by `extends`.")
    extends: Text | Annotated[tuple[Text, ...], Field(min_length=1)] | None = Field(
        default=None,
        description="A file, relative to this one, or a shipped scenario (`cvd/table3`), or a list, each laid over "
        "those before. This file changes them: mappings key by key, all else as a whole; `key: null` "
        "takes a key back.",
        examples=["base.yaml"],
    )
    cluster: ClusterSpec = Field(description="The servers.", examples=["{servers: 10, node: {cpu: 40, mem: 90 GB}}"])
    workload: Workload = Field(description="The requests.", examples=["{trace: huawei-east-1}"])
    warm_start: WarmStart | None = Field(
        default=None, description="Fill the cluster first.", examples=["{resource: cpu, until: 50 %, with: best-fit}"]
    )
    pacing: Pacing | None = Field(
        None, description="Offer requests one by one.", examples=["{step: 1 s, await_room: true}"]
    )
    placement: tuple[PlacementRule, ...] = Field(
        default=(),
        description="Rules for where requests may lie. Labels and taints need none.",
        examples=["[{at_most: 2, of: web, per: zone}, {spread: db, over: rack}, {apart: [web, db], per: server}]"],
    )
    priorities: Priorities = Field(
        default_factory=dict,
        description="The number of each class of priorities; higher is more urgent. Labels `priority` of a trace "
        "name a class, or a number.",
        examples=["{production: 1000, batch: 10}"],
    )
    quotas: Quotas | None = Field(
        default=None,
        description="What tenants may use, borrow and reclaim.",
        examples=["{by: tenant, of: {a: {nominal: {cpu: 40}}}}"],
    )
    overflow: Overflow = Field(
        default="drop",
        description="What happens to a request that fits nowhere: it is lost (`drop`), waits (`wait`; with "
        "`together`, several are offered at once), ends the run (`stop`), or makes room: by new servers "
        "(`expand`), moves (`make_room`), or evictions (`preempt`).",
        examples=["stop", "{expand: {by: 10, limit: 110}}", "{wait: {together: 32}}", "{make_room: {moves: 3}}"],
    )
    rescheduling: Rescheduling | None = Field(
        default=None,
        description="Move running requests at times.",
        examples=["{every: 1 h, moves: 50, mover: agent}"],
    )
    moves: MovesSpec = Field(
        default=MovesSpec.model_validate({}),
        description="How moves are made.",
        examples=["{bandwidth: 10 Gbps, at_once: 4, per_hour: 100}"],
    )
    knowledge: Knowledge = Field(
        default_factory=Knowledge,
        description="What agents may know of the requests.",
        examples=["{lifetimes: known}", "{lifetimes: {predicted: {noise: {sigma: 1}}}}"],
    )
    agents: Annotated[tuple[AgentEntry, ...], AfterValidator(shortly)] = Field(
        description="The agents to compare; all meet the same requests.",
        examples=["[first-fit, {best-fit: {node: loose}}, mine.py:Mine]"],
        min_length=1,
    )
    replications: Annotated[Count, Field(le=100_000)] = Field(default=1, description="How many seeds.", examples=[100])
    seed: Annotated[Index, Field(le=2**62)] = Field(
        default=0, description="The first seed; the others follow it.", examples=[7]
    )
    prices: dict[str, Number] = Field(
        default_factory=dict,
        description="What an allocated unit earns; data has its unit in the key (`mem_gib_hour`).",
        examples=["{cpu_hour: 0.04, mem_gb_hour: 0.005}"],
        json_schema_extra={"propertyNames": {"pattern": "_hour$"}},
    )
    spot: Spot | None = Field(
        default=None,
        description="Requests of some priorities pay less.",
        examples=["{of: [batch], pays: 30 %}"],
    )
    costs: CostsSpec | None = Field(
        default=None,
        description="What servers draw and cost.",
        examples=["{servers: {power: {idle: 100 W, peak: 300 W}, price: 0.5}, electricity: {carbon: 380}}"],
    )
    sites: SitesSpec | None = Field(
        default=None,
        description="Several sites, with prices and emissions of their own.",
        examples=["{router: carbon, of: {oslo: {electricity: {carbon: 30}}, essen: {electricity: {carbon: 380}}}}"],
    )
    sweep: Sweep = Field(default_factory=Sweep, description="Points to run instead of one.")
    record: tuple[Literal["requests", "samples", "states", "times", "devices", "moves", "sites", "use"], ...] = Field(
        default=(),
        description="Details kept of every run: a row for each of the `requests` and `moves`, `samples` (allocation "
        "over time), `states` (servers and links over time), `times` (of "
        "decisions), `devices` (requested, held and fragmented, after each decision), `sites` (by hour), "
        "`use` (by step).",
        examples=["[requests]"],
    )
    metrics: tuple[MetricEntry, ...] = Field(
        default=(),
        description="Additional metrics, of all requests or of the last part, when the cluster has filled.",
        examples=["[mine.py:longest_queue, {acceptance: {last: 20 %}}]"],
    )
    decision_limit: Annotated[PositiveTime, Field(ge=0.01, le=10**7)] = Field(
        default=600.0,
        description="A decision that takes longer is interrupted, and its run fails. Starting an agent may take ten "
        "minutes.",
        examples=["30 s"],
    )
    train: Train | None = Field(
        default=None,
        description="What `binwright train` does.",
        examples=["{agent: nara, iterations: 150, episodes: {workload.requests: 32}}"],
    )
    size: Size | None = Field(
        default=None,
        description="What `binwright size` looks for.",
        examples=["{until: acceptance >= 99 %, most: 500}"],
    )
    headline_metrics: tuple[Text, ...] = Field(
        default=(),
        description="The metrics that tables, figures and the report show first; by default money, then those in "
        "which agents differ clearly.",
        examples=["[energy, cost]"],
    )
    headings: dict[str, Text] = Field(
        default_factory=dict,
        description="Names of agents, swept keys and metrics in tables, figures and reports.",
        examples=["{best-fit: Best Fit, cluster.servers: Servers, acceptance: Accepted (%)}"],
    )
    figures: Figures = Field(
        default_factory=Figures,
        description="How figures look.",
        examples=["{style: ieee, width: column, titles: false, format: pdf}"],
    )
    _source: Source | None = PrivateAttr(None)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        together(
            self._check_spread,
            self._check_warm_start,
            self._check_prices,
            self._check_costs,
            self._check_overflow,
            self._check_sites,
            self._check_predicted,
            self._check_moves,
            self._check_network,
            self._check_failures,
            self._check_gangs,
            self._check_placement,
            self._check_priorities,
            self._check_workload,
            self._check_labels,
            self._check_metrics,
            self._check_size,
            self._check_headline_metrics,
            self._check_headings,
        )
        return self

    def _check_spread(self) -> None:
        known_resources(self.cluster.spread_above, self.cluster.resources, ("cluster", "spread_above"))

    def _check_warm_start(self) -> None:
        if self.warm_start and (name := self.warm_start.resource) not in self.cluster.resources:
            remedy = suggest(name, self.cluster.resources)
            raise wrong("the cluster has no such resource", remedy, ("warm_start", "resource"), name)

    def _check_prices(self) -> None:
        check_prices(self.prices, self.cluster.resources)

    def _check_costs(self) -> None:
        if self.costs:
            kinds, resources = self.cluster.kinds, self.cluster.resources
            self.costs.check_against(resources, kinds, self.moves.memory(resources))
            if self.use and self.costs.activity != 1:
                remedy = "Take it out, or `workload.use`, by which power goes."
                raise wrong("is for requests that do not say what they use", remedy, ("costs", "activity"))

    def _check_overflow(self) -> None:
        expand, size = expand_of(self.overflow), self.cluster.size
        if expand and size is not None and expand.limit < size:
            remedy = f"The cluster starts with {size} servers: give that or more."
            raise wrong("is below the servers there are", remedy, ("overflow", "expand", "limit"), expand.limit)
        if "devices" in self.record and not self.cluster.has_devices:
            raise wrong("the servers have no devices", "Take devices from record.", ("record",), "devices")
        if self.pacing and wait_of(self.overflow):
            raise wrong("does not go with requests that are offered together", "Remove one of the two.", ("pacing",))
        if preempt_of(self.overflow) and self.cluster.network:
            remedy = "Take a cluster without a network, or another overflow."
            raise wrong("nobody is evicted from a network", remedy, ("overflow", "preempt"))
        if "times" in self.record and wait_of(self.overflow):
            remedy = "Take times from record, or offer requests one by one."
            raise wrong("decisions about many requests are not timed one by one", remedy, ("record",), "times")

    def _check_sites(self) -> None:
        """Refuse what requests that are sent to sites do not know."""
        cluster, sites = self.cluster, self.sites
        if "sites" in self.record and not (sites and self.costs and self.costs.has_power):
            remedy = "Take sites from record, or write sites, and costs with a power."
            raise wrong("no site draws anything", remedy, ("record",), "sites")
        if sites is None:
            return
        for at, there in (
            (("cluster", "network"), cluster.network),
            (("cluster", "expansion"), cluster.expansion),
            (("overflow", "expand"), expand_of(self.overflow)),
            (("overflow", "wait"), wait_of(self.overflow)),
            (("overflow", "preempt"), preempt_of(self.overflow)),
            (("overflow", "make_room"), room_of(self.overflow)),
            (("rescheduling",), self.rescheduling),
            (("pacing",), self.pacing and sites.flexible),
        ):
            if there:
                raise wrong("does not go with sites", "Take it out, or sites.", at)
        sites.check(cluster, self.costs.electricity if self.costs else None)

    def _check_predicted(self) -> None:
        """Refuse what does not go with predicted peaks."""
        cluster = self.cluster
        for name, how in cluster.predicted.items():
            for at, there in (
                (("cluster", "network"), cluster.network),
                (("cluster", "trace" if cluster.trace else "devices"), cluster.has_devices),
                (("placement",), self.ruled_by),
                (("overflow", "make_room"), room_of(self.overflow)),
                (("rescheduling",), self.rescheduling),
                (("sites",), self.sites),
                (("quotas",), self.quotas),
                (("pacing",), self.pacing),
            ):
                if there:
                    raise wrong("does not go with predicted peaks", f"Take it out, or cluster.overcommit.{name}.", at)
            if not isinstance(how.predict, LimitPeak) and not getattr(self.workload, "use", None):
                remedy = "Say it, like workload: {use: {cpu: {mean: 30 %, peak: 80 %}}}."
                problem = "predicts what requests use, but no use is known"
                raise wrong(problem, remedy, ("cluster", "overcommit", name, "predict"))

    def _check_moves(self) -> None:
        if self.moves_some:
            at = ("overflow", "make_room") if room_of(self.overflow) else ("rescheduling",)
            check_moves(self.cluster, self.pacing is not None, at)
        elif "moves" in self.record:
            remedy = "Take moves from record, or write `rescheduling`, or `overflow: {make_room: ...}`."
            raise wrong("nothing is moved", remedy, ("record",), "moves")
        asked = self.rescheduling
        if asked and asked.on_load is not None and not self.use:
            remedy = "Write what requests use, like `use: {cpu: 40 %}` in the workload, or take it out."
            raise wrong("requests use all that they ask for", remedy, ("rescheduling", "on_load"))
        if asked and asked.every is None and asked.on_load is None and not empties(self.placement):
            remedy = "Write a rule into `placement` like {drain: [3, 4], at: 1 d}, or say how often, like every: 1 h."
            raise wrong("no server is to be emptied while a run goes on", remedy, ("rescheduling", "on_drain"))
        self.moves.check_against(self.cluster.resources)

    @property
    def moves_some(self) -> bool:
        """Whether requests that run are moved."""
        return self.rescheduling is not None or room_of(self.overflow) is not None

    def _check_gangs(self) -> None:
        """Refuse what does not go with requests of several parts."""
        for at, _ in self.workload.gangs[:1]:
            if self.cluster.network:
                remedy = "Ask for virtual clusters: `workload: {networks: {hose: {machines: 16, ...}}}`."
                raise wrong("parts do not reserve links", remedy, ("workload", *at))
        ruled = next((at for at, parts in self.workload.gangs if parts.restricts), None)
        there = "make_room" if room_of(self.overflow) and self.workload.gangs else "rescheduling" if ruled else ""
        if there and self.moves_some:
            remedy = f"Take {there} out, or `parts`." if there == "make_room" else f"Take {there} out, or the rules."
            raise wrong(f"does not go with {there}", remedy, ("workload", *(ruled or self.workload.gangs[0][0])))

    def _check_placement(self) -> None:
        cluster = self.cluster
        if not self.ruled_by and not any(placed.where or placed.tolerates for _, placed in self.workload.placed):
            return  # the labels of a large network take a while to write
        said = [str(rule) for rule in self.placement]
        for number, text in enumerate(said):
            if (before := said.index(text)) < number:
                remedy = "Remove one of the two."
                raise wrong(f"says the same as placement.{before}", remedy, ("placement", number))
        self.check_placed(cluster.values, cluster.everywhere, cluster.taints, None if self.grows else cluster.size)

    def _check_priorities(self) -> None:
        check_priorities(self.priorities, self.workload.placed)
        if self.spot:
            self.spot.check(self.priorities, bool(self.prices))
        if self.quotas:
            self.quotas.check(self.cluster.resources)
        wait = wait_of(self.overflow)
        if wait and wait.queues:
            hidden = self.knowledge.lifetimes == "hidden"
            check_queues(wait.queues, self.cluster.resources, hidden, queues_at(self.overflow))
        for number, metric in enumerate(self.metrics):
            names = [*wait.queues] if wait else []
            for name in metric.by.get("queue", ()) if names else ():
                if name not in names:
                    raise wrong(
                        "there is no such queue", suggest(name, names), ("metrics", number, "by", "queue"), name
                    )
        groups = self.workload.groups
        for at, label, name in self.names_of_requests:
            if label == "group" and groups is not None and name not in groups:
                raise wrong("no request is of this group", suggest(name, groups), at, name)

    @property
    def names_of_requests(self) -> list[tuple[Keys, str, str]]:
        """List the keys, the label (or `group`, `models`) and the value wherever requests are chosen by one."""
        found: list[tuple[Keys, str, str]] = []
        wheres: list[tuple[Keys, Mapping[str, Iterable[str]]]] = [
            (("moves", "fixed", number), where) for number, where in enumerate(self.moves.fixed)
        ]
        if self.quotas:
            found += [(("quotas", "of", name), self.quotas.by, name) for name in self.quotas.of]
            wheres.append((("quotas", "only"), self.quotas.only))
        if preempt := preempt_of(self.overflow):
            budgets = "overflow", "preempt", "budgets"
            wheres += [((*budgets, number, "of"), one.of) for number, one in enumerate(preempt.budgets)]
        if wait := wait_of(self.overflow):
            wheres += [((*queues_at(self.overflow), name, "of"), one.of) for name, one in wait.queues.items()]
        for number, metric in enumerate(self.metrics):
            own = {label: names for label, names in metric.by.items() if label != "queue" or not (wait and wait.queues)}
            wheres.append((("metrics", number, "by"), own))
        if self.sites and (by := self.sites.by):
            for site, spec in self.sites.of.items():
                at: Keys = ("sites", "of", site)
                found += [((*at, "latency", name), by, name) for name in spec.latency]
                found += [((*at, "home_of"), by, name) for name in spec.home_of or ()]
        if self.sites and self.sites.flexible:
            wheres.append((("sites", "flexible", "of"), self.sites.flexible.of))
        if self.use:
            wheres += self.use.wheres
        if isinstance(self.workload, Changing):
            wheres += [
                (("workload", "changes", number, "of"), change.of)
                for number, change in enumerate(self.workload.changes)
                if isinstance(change, DemandChange)
            ]
        return found + [
            ((*at, label), label, name) for at, where in wheres for label, names in where.items() for name in names
        ]

    def check_placed(
        self, values: Values, everywhere: set[str] | None, taints: set[str] | None, size: int | None
    ) -> None:
        """Refuse what rules and requests say of what there is not.

        `values` are those of every label, `everywhere` the labels that all servers have, and `size` is how many servers
        there are; what is None is not known yet.
        """
        groups = self.workload.groups
        together(
            *(
                partial(check_rule, rule, ("placement", number), values, everywhere, groups, size)
                for number, rule in enumerate(self.placement)
            ),
            *(partial(check_role, placed, values, taints, ("workload", *at)) for at, placed in self.workload.placed),
            *(partial(parts.check_labels, values, everywhere, ("workload", *at)) for at, parts in self.workload.gangs),
            partial(check_rules, self.placement, values, everywhere, size),
        )

    @property
    def goes_by_priority(self) -> bool:
        """Whether a rule of the scenario, or an option of an agent, compares priorities."""
        lower = self.quotas is not None and self.quotas.reclaim == "lower"
        options = (str(agent.options) for agent in self.agents)
        return bool(preempt_of(self.overflow) or self.spot or lower or any("priority" in each for each in options))

    @property
    def grows(self) -> bool:
        """Whether servers are added."""
        return bool(self.cluster.expansion or expand_of(self.overflow))

    @property
    def ruled_by(self) -> str:
        """Name what says where requests may lie, empty if nothing does."""
        for name, there in (
            ("rules of placement", self.placement),
            ("rules for parts of requests", any(parts.restricts for _, parts in self.workload.gangs)),
            ("cluster.domains", self.cluster.domains),
            ("labels or taints of servers", self.cluster.is_labelled),
            ("labels in `where`", self.cluster.network and any(placed.where for _, placed in self.workload.placed)),
        ):
            if there:
                return name
        return ""

    def _check_workload(self) -> None:
        warm: list[tuple[Keys, AgentSpec]] = []
        if self.warm_start and self.warm_start.other:
            warm.append((("warm_start", "with"), self.warm_start.other))
        asked: list[tuple[Keys, AgentSpec]] = [(("agents", number), agent) for number, agent in enumerate(self.agents)]
        self.workload.check_against(self.cluster, [*warm, *asked], self.replications)
        if self.use:
            self.use.check(self.cluster.resources)
        elif "use" in self.record:
            raise wrong("no use is known", "Take use out, or write `workload.use`.", ("record",), "use")
        elif self.cluster.contention != "proportional":
            remedy = "Write what requests use, like `use: {cpu: 40 %}` in the workload, or take it out."
            raise wrong("requests use all that they ask for", remedy, ("cluster", "contention"))

    @property
    def use(self) -> UseSpec | None:
        """What share of what they ask for requests use; None where all."""
        return self.workload.use if isinstance(self.workload, Using) else None

    def _check_labels(self) -> None:
        labels: dict[str, int] = {}
        for number, agent in enumerate(self.agents):
            if agent.label in labels:
                problem = f"has the same label as agent {labels[agent.label]}"
                remedy = "Remove one, or give a label: {name: ..., options: ..., label: ...}."
                raise wrong(problem, remedy, ("agents", number), agent.label)
            labels[agent.label] = number

    def _check_metrics(self) -> None:
        network = self.cluster.network
        try:
            tiers = network.topology.built.tiers if network else ()
            asked = [one.asked for one in self.metrics]
            check_added(asked, self.resources, tiers, [*self.sweep.product, *self.sweep.zip])
        except UserError as error:
            raise wrong(error.problem, error.remedy, ("metrics", int(error.key or 0)), error.value) from None

    def _check_size(self) -> None:
        if self.size:
            try:
                # Which of several groups, the command may say.
                if self.size.kind is not None or len(self.cluster.groups or ()) < 2:
                    place_of(self.cluster, self.size.kind)
                target_of(self.size.until, metrics_of(self.cluster, self.metrics, self.currency))
            except UserError as error:
                at = ("size", error.key) if error.key in Size.known() else ("size",)
                raise wrong(error.problem, error.remedy, at, error.value) from None

    def _check_headline_metrics(self) -> None:
        if self.headline_metrics:
            known = [metric.name for metric in metrics_of(self.cluster, self.metrics, self.currency)]
            for number, name in enumerate(self.headline_metrics):
                if name not in known:
                    raise wrong("there is no such metric", suggest(name, known), ("headline_metrics", number), name)

    def _check_headings(self) -> None:
        if self.headings:
            metrics = [metric.name for metric in metrics_of(self.cluster, self.metrics, self.currency)]
            swept = [*self.sweep.product, *self.sweep.zip]
            check_headings(self.shown_headings, [*(agent.label for agent in self.agents), *AGENTS, *swept, *metrics])

    @property
    def shown_headings(self) -> dict[str, str]:
        """The headings, by the names that agents, swept keys and metrics have in results."""
        called = {agent.name: agent.label for agent in self.agents if not agent.options}
        for one in self.metrics:
            if one.name in self.headings and ":" in one.name:
                own = {metric.name for metric in metrics_of(self.cluster, [])}
                called[one.name] = next(it.name for it in metrics_of(self.cluster, [one]) if it.name not in own)
        return headings_of(self.headings, called)

    def _check_network(self) -> None:
        network, failures = self.cluster.network, self.cluster.failures
        if network and expand_of(self.overflow):
            raise wrong("a network does not grow", "Write drop, wait or stop.", ("overflow",))
        for kind, parts in (("links", failures.links), ("switches", failures.switches)):
            if parts is None:
                continue
            at = ("cluster", "failures", kind)
            if network is None:
                raise wrong("the cluster has no network", "Give the cluster a network, or remove this key.", at)
            count = getattr(network.topology.built, kind)
            for number, failure in enumerate(parts.scheduled):
                if failure.part >= count:
                    where = (*at, "scheduled", number, "part")
                    raise wrong("there is no such part", f"The {kind} are 0 to {count - 1}.", where, failure.part)

    def _check_failures(self) -> None:
        size = self.cluster.size
        if size is None or self.grows:
            return  # how many servers there will be is not known here
        for number, failure in enumerate(self.cluster.failures.scheduled):
            if failure.server >= size:
                at = ("cluster", "failures", "scheduled", number, "server")
                raise wrong("there is no such server", f"Servers are 0 to {size - 1}.", at, failure.server)

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
    def planned(self) -> list[tuple[str, float]]:
        """What is to happen at set times, and when, in seconds from the first request on."""
        cluster, failures = self.cluster, self.cluster.failures
        several: list[Any] = [failures, *filter(None, (failures.links, failures.switches)), *failures.domains.values()]
        return [
            *(("a failure", one.at) for each in several for one in each.scheduled),
            *(("an expansion", one.at) for one in cluster.expansion),
            *(("a drain", rule.at) for rule in self.placement if isinstance(rule, Drain)),
        ]

    @property
    def currency(self) -> str:
        """What prices are in; empty where nobody says."""
        return self.costs.currency if self.costs else ""

    @property
    def hourly(self) -> dict[str, float]:
        """What an hour of one unit of each priced resource earns."""
        return hourly(self.prices, self.resources)
