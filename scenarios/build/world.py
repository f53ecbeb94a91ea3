"""From a point of a scenario to the world of its runs: the one place where a scenario is interpreted."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial
from math import inf
from pathlib import Path
from typing import Literal

import numpy as np

from binwright.agents import AGENTS
from binwright.agents.nested_agent import make, split_book
from binwright.agents.rules.on_devices import WithDevices, no_devices_for
from binwright.agents.world import WarmStart, World
from binwright.scenarios.build.cluster import build_cluster, build_labels, build_ledger
from binwright.scenarios.build.lifetime_info import foreseen
from binwright.scenarios.build.requests import requests_of
from binwright.scenarios.build.sites import build_sites, postponed
from binwright.scenarios.schema.agent import AgentSpec
from binwright.scenarios.schema.failures import DomainFailures, Failure, Failures, PartFailures
from binwright.scenarios.schema.overflow import (
    OtherOverflow,
    Word,
    after_room,
    expand_of,
    preempt_of,
    queues_at,
    room_of,
    wait_of,
)
from binwright.scenarios.schema.queues import COUNTED
from binwright.scenarios.schema.scenario import Scenario
from binwright.scenarios.schema.tenants import Tenants
from binwright.scenarios.schema.warm_start import WarmStart as WarmStartSpec
from binwright.scenarios.schema.workload import Trace
from binwright.simcore.errors import ScenarioError, UserError, suggest
from binwright.simcore.faults import Faults, Kind
from binwright.simcore.options import check_options
from binwright.simcore.queues import REQUESTS, JobQueue
from binwright.simcore.quotas import Quota, QuotaRules
from binwright.simcore.roles import where_of
from binwright.simcore.rules import VICTIM_RULES, DisruptionBudget, Overflow, PreemptionRules
from binwright.simcore.types import QUANTUM, Agent, Ints, Workload
from binwright.workloads.changes import matching, words_of


def build_world(scenario: Scenario, cache: Path | None = None) -> World:
    """Make the world of a scenario, whose sweep is left out; traces are kept converted in the folder `cache`."""
    warm = scenario.warm_start
    _faults(scenario, 0)  # refuses domains that there are not
    requests = requests_of(scenario, lru_cache(maxsize=1)(partial(_total, scenario)), cache)
    return World(
        ledger=partial(build_ledger, scenario),
        requests=postponed(scenario, foreseen(scenario, requests, cache)),
        overflow=_overflow(scenario),
        pacing=scenario.pacing,
        expansion=[(added.at, added.by) for added in scenario.cluster.expansion],
        faults=partial(_faults, scenario),
        warm_start=_warm_start(warm) if warm else None,
        networked=scenario.cluster.network is not None,
        virtual=isinstance(scenario.workload, Tenants),
        devices=scenario.cluster.has_devices,
        numbered=scenario.cluster.numbering != "given",
        ruled=scenario.ruled_by,
        gangs=_gangs(scenario),
        timed="times" in scenario.record,
        hidden=scenario.knowledge.lifetimes == "hidden",
        asks_again=_asks_again(scenario),
        quotas=_quotas(scenario),
        queues=_queues(scenario),
        sites=partial(build_sites, scenario) if scenario.sites else None,
        predicts=bool(scenario.cluster.predicted),
        moves="overflow.make_room" if room_of(scenario.overflow) else "rescheduling" if scenario.rescheduling else "",
    )


def build_learning(scenario: Scenario, warm: bool = False) -> World:
    """Make the world of a scenario to learn in, and refuse what nobody learns with.

    With `warm` a warm start is not refused: there are trainers that begin with it.
    """
    world = build_world(scenario)
    for key, there in (
        ("warm_start", world.warm_start and not warm),
        ("cluster.failures", world.fails),
        ("cluster.expansion", world.expansion),
        ("workload.networks", world.virtual),
        ("workload.parts", world.gangs),
        ("cluster.devices", world.devices),
        ("cluster.overcommit", world.predicts),
        ("cluster.numbering", world.numbered),
        ("placement" if scenario.placement else "cluster.network.marked", world.ruled and world.networked),
        (world.moves, world.moves),
        ("quotas", world.quotas),
        ("overflow.wait.queues", world.queues),
        ("sites", world.sites),
    ):
        if there:
            remedy = "Take it out of the scenario to learn in."
            raise ScenarioError("nothing is learned with it", file=scenario.file, key=key, remedy=remedy)
    return world


def build_agent(spec: AgentSpec) -> Agent:
    """Make a new agent with the scenario's options."""
    kind = AGENTS.load(spec.name)
    own, book = split_book(kind, spec.options)
    return make(kind, check_options(kind, own) | ({"by": book} if book else {}))


def adapt_agent(world: World, agent: Agent) -> Agent:
    """Return an agent that places in a world: where servers have devices, one that chooses them.

    Raises a `UserError` where they have none and the agent chooses them, where rules of placement or devices are to
    hold for an agent that chooses among several requests, each of which may see other servers, and where how long
    requests stay is hidden from an agent that asks for it.
    """
    if world.hidden and agent.needs_lifetimes:
        raise UserError(
            f"{type(agent).__name__} asks how long requests stay, and the scenario hides it",
            key="agents",
            remedy="Write `knowledge: {lifetimes: known}`, or how they are predicted, or take another agent, such as "
            "best-fit.",
        )
    hiding = world.ruled or ("devices" if world.devices and not agent.on_devices else "")
    if hiding and world.overflow.together and type(agent).decide_line is not Agent.decide_line:
        raise UserError(
            f"{type(agent).__name__} chooses among requests that wait, for each of which {hiding} hide other servers",
            key="agents",
            remedy=f"Take an agent that answers one request after another, such as best-fit, or remove {hiding}.",
        )
    if world.queues and type(agent).decide_line is not Agent.decide_line and not agent.keeps_queues:
        remedy = "Take `in-line` with an order, or an agent that answers one request after another, such as best-fit."
        problem = f"{type(agent).__name__} chooses among requests that wait, and knows no queues"
        raise UserError(problem, key="agents", remedy=remedy)
    alone = type(agent).decide_line is Agent.decide_line or agent.places_gangs
    if world.gangs and world.overflow.together and not alone:
        remedy = "Take an agent that answers one request after another, such as best-fit."
        problem = f"{type(agent).__name__} chooses among requests that wait, and knows none of several parts"
        raise UserError(problem, key="agents", remedy=remedy)
    if world.devices == agent.on_devices:
        return agent
    if agent.on_devices:
        raise no_devices_for(agent)
    return WithDevices(agent)


def _asks_again(scenario: Scenario) -> bool:
    """Tell whether predictions change when they have passed: not the times that users asked for, of whole runs."""
    spec, trace = scenario.knowledge.lifetimes, scenario.workload
    if isinstance(spec, str) or spec.predicted is None:
        return False
    whole = not isinstance(trace, Trace) or trace.start == 0 or trace.running == "drop"
    return spec.predicted.chosen[0] != "requested" or not whole


def _warm_start(spec: WarmStartSpec) -> WarmStart:
    other = spec.other
    return WarmStart(spec.resource, spec.until, partial(build_agent, other) if other else None)


def _gangs(scenario: Scenario) -> Literal["", "plain", "ruled"]:
    """Say whether requests have several parts, and whether these keep rules or are not all needed."""
    parts = [parts for _, parts in scenario.workload.gangs]
    if any(each.restricts or each.least for each in parts):
        return "ruled"
    return "plain" if parts else ""


def _total(scenario: Scenario) -> dict[str, float]:
    total = build_cluster(scenario).installed().sum(axis=(0, 1)) / QUANTUM
    return dict(zip(scenario.resources, total.tolist(), strict=True))


def _overflow(scenario: Scenario) -> Overflow:
    spec = scenario.overflow
    preempt = _preemption(spec)
    if expand := expand_of(spec):
        return Overflow("expand", expand.by, expand.limit, expand.then, preempt=preempt)
    if wait := wait_of(spec):
        how = wait.together, wait.window, wait.one_by_one
        return Overflow("wait", 0, 0, "stop", *how, preempt)
    word = after_room(spec)
    assert isinstance(word, str)
    return Overflow(word, preempt=preempt)


def _preemption(overflow: Word | OtherOverflow) -> PreemptionRules | None:
    """Read who is evicted, and how."""
    spec = preempt_of(overflow)
    if spec is None:
        return None
    budgets = tuple(
        DisruptionBudget(
            partial(matching, of=dict(where_of(one.of)), key=f"overflow.preempt.budgets.{number}.of"), *one.most
        )
        for number, one in enumerate(spec.budgets)
    )
    rule = VICTIM_RULES.load(spec.victims)
    return PreemptionRules(rule, spec.grace, spec.then == "requeue", spec.checkpoint or inf, budgets)


def _quotas(scenario: Scenario) -> QuotaRules | None:
    """Read what tenants may use."""
    spec = scenario.quotas
    if spec is None:
        return None

    def of(workload: Workload) -> Ints:
        found = np.full(len(workload), -1, np.int64)
        counts = matching(workload, dict(where_of(spec.only)), "quotas.only")
        for number, name in enumerate(spec.of):
            found[counts & matching(workload, {spec.by: (name,)}, "quotas.by")] = number
        return found

    quanta = partial(_quanta, scenario)
    quotas = tuple(
        Quota(name, quanta(one.nominal), quanta(one.borrow), quanta(one.lend), one.cohort)
        for name, one in spec.of.items()
    )
    evicted = PreemptionRules(checkpoint=spec.checkpoint or inf)
    return QuotaRules(spec.by, of, quotas, spec.above == "wait", spec.reclaim, evicted)


def _quanta(scenario: Scenario, units: Mapping[str, float]) -> dict[int, int]:
    """Turn amounts by resource into quanta by its place; of `requests`, if they are said, into how many."""
    found = {scenario.resources.index(name): round(each * QUANTUM) for name, each in units.items() if name != COUNTED}
    return found | ({REQUESTS: int(units[COUNTED])} if COUNTED in units else {})


def _queues(scenario: Scenario) -> list[JobQueue]:
    """Read which queues there are, if there are several."""
    wait = wait_of(scenario.overflow)
    found = []
    for name, one in (wait.queues if wait else {}).items():
        at = ".".join(map(str, (*queues_at(scenario.overflow), name)))
        found.append(
            JobQueue(
                name,
                partial(matching, of=dict(where_of(one.of)), key=f"{at}.of"),
                one.priority,
                one.longest or inf,
                _quanta(scenario, one.running),
                {
                    label: (partial(words_of, label=label, key=f"{at}.each"), _quanta(scenario, limits))
                    for label, limits in one.each.items()
                },
            )
        )
    return found


def _faults(scenario: Scenario, seed: int) -> list[Faults]:
    """Make the failures of a seed, for every kind of part that fails."""
    spec = scenario.cluster.failures
    requeue = spec.on_failure == "requeue"
    found = []
    kinds: tuple[tuple[Kind, Failures | PartFailures | None], ...] = (
        ("server", spec),
        ("link", spec.links),
        ("switch", spec.switches),
    )
    for kind, failures in kinds:
        if failures is None:
            continue
        scheduled = tuple(
            (one.at, one.server if isinstance(one, Failure) else one.part, one.lasts) for one in failures.scheduled
        )
        if failures.mtbf is not None or scheduled:
            told = [isinstance(one, Failure) and one.announced for one in failures.scheduled]
            known = tuple(one for one, said in zip(scheduled, told, strict=True) if said)
            chance = failures.mtbf or inf, failures.mttr or 0.0
            found.append(Faults(*chance, scheduled, requeue, seed, kind, announced=known))
    return [*found, *(_together(scenario, label, each, seed) for label, each in spec.domains.items())]


def _together(scenario: Scenario, label: str, spec: DomainFailures, seed: int) -> Faults:
    """Make the failures of the domains of a label; they are numbered as their first servers are."""
    there = build_labels(scenario, seed)
    names = list(dict.fromkeys(name for name in there.labels.get(label, np.array([])).tolist() if name))
    if not names:
        remedy = suggest(label, there.labels)
        key = f"cluster.failures.domains.{label}"
        raise ScenarioError("no server has this label", file=scenario.file, key=key, remedy=remedy)
    scheduled = []
    for number, one in enumerate(spec.scheduled):
        if one.domain not in names:
            key = f"cluster.failures.domains.{label}.scheduled.{number}.domain"
            remedy = suggest(one.domain, names)
            raise ScenarioError("there is no such domain", file=scenario.file, key=key, value=one.domain, remedy=remedy)
        scheduled.append((one.at, names.index(one.domain), one.lasts))

    def domains(servers: int) -> list[list[int]]:
        values = there.grown(servers - there.servers).labels[label] if servers > there.servers else there.labels[label]
        members: dict[str, list[int]] = {name: [] for name in names}
        for server, name in enumerate(values.tolist()):
            if name:
                members.setdefault(name, []).append(server)
        return list(members.values())

    requeue = scenario.cluster.failures.on_failure == "requeue"
    return Faults(spec.mtbf or inf, spec.mttr or 0.0, tuple(scheduled), requeue, seed, label=label, domains=domains)
