"""From a scenario to what the engine takes: cluster, workload, overflow, faults, agents."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from functools import lru_cache
from math import ceil, inf
from pathlib import Path
from typing import Any

import numpy as np

from agents import AGENTS
from fabric.cluster import NEVER, Cluster
from fabric.ledger import Ledger
from scenarios.schema.agent import AgentSpec
from scenarios.schema.cluster import Csv, Failure, Failures, OtherOverflow, PartFailures, expand_of, wait_of
from scenarios.schema.fields import Model
from scenarios.schema.multiserver import MultiServer
from scenarios.schema.networks import routing
from scenarios.schema.offline import Offline
from scenarios.schema.options import check_options
from scenarios.schema.registered import Registered
from scenarios.schema.scenario import Scenario
from scenarios.schema.tenants import Networks
from scenarios.schema.tenants import Tenants as TenantsSpec
from scenarios.schema.workload import ApartStart, Generated, ListedStart, RandomStart, Trace
from simcore.errors import ScenarioError
from simcore.faults import Faults, Kind
from simcore.opened import digest_of
from simcore.rules import Overflow, Pacing
from simcore.units import LARGEST, TIME, measure_of, quanta
from simcore.vocabulary import QUANTUM, Agent, Ints, Workload, part
from workloads.generators import Flavour, Synthetic, generate
from workloads.multiserver import MultiServer as Requests
from workloads.offline import FITTED, machines
from workloads.starts import listed_start
from workloads.traces.library import copy_of, find, read_mapped
from workloads.traces.mapped import Columns, is_mapped
from workloads.virtual import Tenants
from workloads.windows import ApartStart as ApartRow
from workloads.windows import RandomStart as RandomRow
from workloads.windows import Start, TimeStart, Window, firsts, select


def build_agent(spec: AgentSpec) -> Agent:
    """A new agent with the scenario's options."""
    kind = AGENTS.load(spec.name)
    agent: Agent = kind(**check_options(kind, spec.options))
    return agent


def build_cluster(scenario: Scenario) -> Cluster:
    """The cluster at the start of a run. Servers that are added later are like those of the last group or row."""
    spec = scenario.cluster
    resources = spec.resources
    if spec.csv:
        capacity = _from_csv(spec.csv, spec.nodes)
    else:
        groups = [(group.count, group.node) for group in spec.groups or ()]
        kinds = groups or [(spec.size or 0, spec.node or {})]
        nodes = [[quanta(node.get(name, 0.0)) for name in resources] for _, node in kinds]
        servers = np.repeat(np.array(nodes, np.int64), [count for count, _ in kinds], axis=0)
        capacity = np.repeat(servers[:, None, :], spec.nodes, axis=1)
    above = tuple(quanta(spec.spread_above[name]) if name in spec.spread_above else NEVER for name in resources)
    return Cluster(resources, capacity, above, capacity[-1])


def build_overflow(scenario: Scenario) -> Overflow:
    """What happens when a request fits nowhere."""
    spec = scenario.overflow
    if expand := expand_of(spec):
        return Overflow("expand", expand.by, expand.limit, expand.then)
    if wait := wait_of(spec):
        return Overflow("wait", together=wait.together, window=wait.window)
    assert not isinstance(spec, OtherOverflow)
    return Overflow(spec)


def build_expansion(scenario: Scenario) -> list[tuple[float, int]]:
    """Planned expansion: (time, servers to add)."""
    return [(added.at, added.by) for added in scenario.cluster.expansion]


def build_faults(scenario: Scenario, seed: int) -> list[Faults]:
    """The failures of a seed, for every kind of part that fails."""
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
            (
                one.at,
                one.server if isinstance(one, Failure) else one.part,
                inf if one.repair_after is None else one.repair_after,
            )
            for one in failures.scheduled
        )
        if failures.mtbf is not None or scheduled:
            found.append(Faults(failures.mtbf or inf, failures.mttr or 0.0, scheduled, requeue, seed, kind))
    return found


def build_pacing(scenario: Scenario) -> Pacing | None:
    """How requests are offered, if not as they arrive."""
    spec = scenario.pacing
    return Pacing(spec.step, spec.await_room) if spec else None


def build_ledger(scenario: Scenario) -> Ledger:
    """An empty cluster's ledger, with a network where the scenario has one."""
    network = scenario.cluster.network
    if network is None:
        return Ledger(build_cluster(scenario))
    from fabric.network import NetworkLedger  # numba: only networks pay for it

    paths = routing(network.topology.built, network.paths, network.order)
    return NetworkLedger(build_cluster(scenario), paths, network.routes == "weighted")


def build_workload(scenario: Scenario, seed: int, cache: Path | None = None) -> Workload:
    """The requests of a seed; the last workload is kept, since every agent of a seed meets it.

    Traces are kept converted in the folder `cache`, if there is one.
    """
    spec = scenario.workload
    if isinstance(spec, Trace):
        file = find(spec.trace, spec.path)
        stat = file.stat()
        scale = tuple(spec.units_of(scenario.resources).items())
        version = (stat.st_mtime_ns, stat.st_size)
        return _select(spec.trace, file, json.dumps(spec.options), _window(spec, seed), scale, seed, cache, version)
    if isinstance(spec, MultiServer):
        total = build_cluster(scenario).capacity.sum(axis=(0, 1)) / QUANTUM
        return _draw(spec, scenario.resources, tuple(total.tolist()), seed)
    if isinstance(spec, Offline):
        count = None if spec.offline in FITTED else spec.requests
        return machines(spec.offline, seed, count).requests(scenario.resources, spec.requests)
    if isinstance(spec, TenantsSpec):
        kinds = _networks(spec.networks)
        tenants = Tenants(spec.requests, _registered(spec.arrivals), _registered(spec.lifetimes), kinds)
        return tenants.draw(scenario.resources, seed)
    return _generate(spec, scenario.resources, seed)


def is_drawn(scenario: Scenario) -> bool:
    """Do the requests or the failures of a run depend on its seed?"""
    if any(faults.mtbf < inf for faults in build_faults(scenario, scenario.seed)):
        return True
    spec = scenario.workload
    if isinstance(spec, Trace):
        return _is_drawn(spec)
    if not isinstance(spec, Generated):
        return True
    parts = [spec.arrivals, *(kind.lifetimes or spec.lifetimes for kind in spec.flavours)]
    return len(spec.flavours) > 1 or any(part is not None and part.chosen[0] != "fixed" for part in parts)


def _is_drawn(spec: Trace) -> bool:
    """Do its windows depend on the seed?"""
    if isinstance(spec.start, ApartStart | ListedStart):
        return True
    return isinstance(spec.start, RandomStart) and spec.start.random[0] < spec.start.random[1]


def windows_of(
    scenario: Scenario, seed: int, drawn: int | None = None, met: float = 1.0
) -> list[tuple[int, int]] | None:
    """The rows of a trace that a seed's windows have, from the first up to but without the last; of each the first
    `met`, a share. None where all seeds have the same.

    Windows that go on to the end of the trace have `drawn` requests in all; None where nobody says how many.
    """
    spec = scenario.workload
    if not isinstance(spec, Trace) or not _is_drawn(spec):
        return None
    window = _window(spec, seed)
    if window.requests is None and drawn is None:
        return None
    starts = firsts(window, seed)
    rows = ((drawn or 0) + sum(starts)) // len(starts)
    return [(first, first + ceil((window.requests or rows - first) * met)) for first in starts]


def content_of(spec: Trace) -> str:
    """A hash of what is in a trace's file, by which runs are named."""
    return digest_of(find(spec.trace, spec.path))


@lru_cache(maxsize=1)
def _draw(spec: MultiServer, resources: tuple[str, ...], total: tuple[float, ...], seed: int) -> Workload:
    asked = Requests(spec.requests, _registered(spec.demand), spec.holding, spec.load, spec.bandwidth, spec.step)
    return asked.settled(dict(zip(resources, total, strict=True))).draw(resources, seed)


@lru_cache(maxsize=1)
def _generate(spec: Generated, resources: tuple[str, ...], seed: int) -> Workload:
    return generate(_synthetic(spec), resources, seed)


@lru_cache(maxsize=1)
def _select(
    name: str,
    file: Path,
    options: str,
    window: Window,
    scale: tuple[tuple[str, float], ...],
    seed: int,
    cache: Path | None,
    version: tuple[int, int],
) -> Workload:
    resources = tuple(resource for resource, _ in scale)
    table = _table(name, file, options, resources, cache, version)
    return select(table, window, resources, seed, scale=dict(scale), file=file)


@lru_cache(maxsize=2)
def _table(
    name: str, file: Path, options: str, resources: tuple[str, ...], cache: Path | None, version: tuple[int, int]
) -> Columns:
    """Runs that differ in agent or seed read the same file: keep the last ones, while `version` stays."""
    return read_mapped(name, file, options=json.loads(options), resources=resources, cache=cache)


def with_copy(scenario: Scenario, cache: Path) -> Scenario:
    """The same scenario with its trace, if it has one, taken from the copy in `cache`, wherever the original lies."""
    spec = scenario.workload
    if not isinstance(spec, Trace):
        return scenario
    file = find(spec.trace, spec.path)
    if is_mapped(file):
        copy = file
    else:
        read_mapped(spec.trace, file, options=spec.options, resources=scenario.resources, cache=cache)
        copy = copy_of(spec.trace, file, options=spec.options, resources=scenario.resources, cache=cache)
    return scenario.model_copy(update={"workload": spec.model_copy(update={"path": str(copy)})})


def forget() -> None:
    """Drop the kept workloads: files and code that they come from may have changed since."""
    for kept in (_generate, _draw, _select, _table):
        kept.cache_clear()


def _window(spec: Trace, seed: int) -> Window:
    start: Start
    requests = spec.requests
    if isinstance(spec.start, RandomStart):
        start = RandomRow(*spec.start.random)
    elif isinstance(spec.start, ApartStart):
        start = ApartRow(*spec.start.apart)
    elif isinstance(spec.start, ListedStart):
        start, listed = listed_start(Path(spec.start.path), seed)
        requests = requests or listed
    else:
        start = TimeStart(TIME.parse(spec.start)) if isinstance(spec.start, str) else spec.start
    return Window(start, requests, spec.superpose, spec.time_scale)


def _synthetic(spec: Generated) -> Synthetic:
    return Synthetic(
        spec.requests,
        _registered(spec.arrivals),
        tuple(
            Flavour(kind.demand, kind.weight, _registered(kind.lifetimes) if kind.lifetimes else None)
            for kind in spec.flavours
        ),
        _registered(spec.lifetimes) if spec.lifetimes else None,
    )


def _registered(spec: Registered) -> Any:
    """The object behind `{name: options}`."""
    name, options = spec.chosen
    kind = spec.registry.load(name)
    if isinstance(options, Model):
        return kind(**{key: value for key, value in options if value is not None})
    return kind(**check_options(kind, options)) if isinstance(options, dict) else kind(options)


def _networks(spec: Networks) -> Any:
    """The virtual networks behind `{form: options}`."""
    form, options = spec.chosen
    if isinstance(options, Model):
        given = {key: value for key, value in options if value is not None}
        return spec.registry.load(form)(**{**given, "machines": given["machines"].sizes})
    return _registered(spec)


def _from_csv(spec: Csv, nodes: int) -> Ints:
    """Capacity int64 [servers, nodes, resources] from a file."""
    try:
        with Path(spec.path).open(encoding="utf-8-sig", newline="") as file:
            rows = list(_rows(spec, csv.DictReader(file), nodes))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        remedy = "Give a CSV file in UTF-8 with a header."
        why = error.strerror if isinstance(error, OSError) else error
        raise ScenarioError(f"cannot be read: {why}", file=spec.path, key="cluster.csv.path", remedy=remedy) from None
    if not np.any(rows):
        problem = "has no servers" if not rows else "has servers with nothing on them"
        raise ScenarioError(problem, file=spec.path, key="cluster.csv.path", remedy="Give a row per server.")
    return np.array(rows, np.int64)


def _rows(spec: Csv, reader: csv.DictReader[str], nodes: int) -> Iterator[list[tuple[int, ...]]]:
    columns = list(reader.fieldnames or ())
    for name, column in spec.columns.items():
        if column not in columns:
            raise ScenarioError(
                f"has no column {column}",
                file=spec.path,
                line=1,
                key=f"cluster.csv.columns.{name}",
                remedy=f"Its columns: {', '.join(columns)}.",
            )
    twice = [name for name in spec.columns.values() if columns.count(name) > 1]
    if twice:
        remedy = "Columns that are read need a name of their own."
        raise ScenarioError(f"has two columns {twice[0]}", file=spec.path, line=1, remedy=remedy)
    for row in reader:
        if None in row:
            remedy = "Every row needs as many cells as the header."
            raise ScenarioError("has more cells than columns", file=spec.path, line=reader.line_num, remedy=remedy)
        total = []
        for name, column in spec.columns.items():
            try:
                number = float(row[column] or "")
            except ValueError:
                number = -1.0
            units = number * spec.scale.get(name, 1.0)
            if not 0 <= units <= LARGEST:
                raise ScenarioError(
                    "is no capacity",
                    file=spec.path,
                    line=reader.line_num,
                    key=column,
                    value=row[column],
                    remedy=f"Give a number from 0, at most {measure_of(name).show(LARGEST)}.",
                )
            total.append(quanta(units))
        yield [part(tuple(total), node, nodes) for node in range(nodes)]
