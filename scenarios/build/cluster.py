"""From a scenario to its cluster, before anything is placed on it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from binwright.fabric.cluster import MOST_DEVICES, NEVER, Cluster, DevicesOf
from binwright.fabric.ledger import Ledger
from binwright.fabric.routing import Routing
from binwright.scenarios.features import used
from binwright.scenarios.features.feature import Servers
from binwright.scenarios.features.server_labels import ServerLabels, numbered
from binwright.scenarios.schema.cluster import DEVICE, ClusterSpec, TracedServers
from binwright.scenarios.schema.scenario import Scenario
from binwright.scenarios.schema.trace import Trace
from binwright.simcore.extras import pl
from binwright.simcore.rng import stream
from binwright.simcore.types import QUANTUM, Floats, Ints
from binwright.simcore.units import LARGEST, quanta
from binwright.workloads.csv_files import read_text
from binwright.workloads.inflation import fgd_order
from binwright.workloads.traces.cells import number, report
from binwright.workloads.traces.library import find_servers

UNNAMED = "unnamed"
"""The model of devices that nobody has named."""


def build_ledger(scenario: Scenario, seed: int = 0) -> Ledger:
    """Make an empty cluster's ledger, with a network or devices where the scenario has them.

    The servers are numbered as with this seed.
    """
    servers, network = servers_of(scenario, seed), scenario.cluster.network
    labels = network.server_labels if network else servers.labels
    books = {name: make for feature in used(scenario) for name, make in feature.books(scenario, labels).items()}
    routing = Routing(network.topology.built, network.paths, network.order) if network else None
    return Ledger(cluster_of(scenario.cluster, servers), routing=routing, **books)


def cluster_of(spec: ClusterSpec, servers: Servers) -> Cluster:
    """Make the cluster at the start of a run. Servers that are added later are like those of the last group or row."""
    above = tuple(quanta(spec.spread_above[name]) if name in spec.spread_above else NEVER for name in spec.resources)
    capacity, physical, like = servers.capacity, None, servers.labels.like
    ratios = ratios_of(spec)
    if (ratios != 1).any():
        physical, capacity = capacity, np.rint(capacity * ratios).astype(np.int64)
    devices = None
    if spec.has_devices:
        models = tuple(sorted({*servers.model.tolist()} - {""}))
        places = np.array([models.index(model) if model else -1 for model in servers.model.tolist()], np.int64)
        added = int(servers.devices[like]), int(places[like])
        devices = DevicesOf(len(spec.resources) - 1, servers.devices, places, models, added)
    growth = None if physical is None else physical[like]
    return Cluster(spec.resources, capacity, above, capacity[like], devices, physical, growth)


def servers_of(scenario: Scenario, seed: int = 0) -> Servers:
    """Collect the servers, numbered as with this seed."""
    spec = scenario.cluster
    written = _from_trace(spec, spec.trace) if spec.trace else _from_groups(spec)
    return written if spec.numbering == "given" else written.take(_order(scenario, written, seed))


def _order(scenario: Scenario, servers: Servers, seed: int) -> Ints:
    """Return the order in which a seed numbers the servers, int64 [servers]."""
    workload = scenario.workload
    if scenario.cluster.numbering == "fgd" and isinstance(workload, Trace) and workload.inflate:
        from binwright.scenarios.build.trace import inflated, window_of

        total = servers.capacity.sum(axis=(0, 1)) / QUANTUM
        units = dict(zip(scenario.resources, total.tolist(), strict=True))
        window = window_of(workload, scenario.resources, seed)
        return fgd_order(len(servers.capacity), seed, inflated(workload, window, units))
    return stream(seed, "cluster", "numbering").permutation(len(servers.capacity))


def ratios_of(spec: ClusterSpec) -> Floats:
    """Return how overcommitted each resource is, float64 [resources]; 1 where predicted peaks decide."""
    ratios = {name: how for name, how in spec.overcommit.items() if isinstance(how, float)}
    return np.array([ratios.get(name, 1.0) for name in spec.resources])


def _servers(
    spec: ClusterSpec,
    capacity: Ints,
    devices: Ints,
    model: Any,
    kind: Any,
    labels: Mapping[str, Any],
    taints: Sequence[tuple[str, ...]],
    of: Ints | slice = slice(None),
) -> Servers:
    """Put servers together, in the order in which they are written.

    Each is like the one in place `of` int64 [servers] among those whose columns are given, by default all as they are.
    """
    count = len(capacity[of])
    written = {label: np.array(values, np.str_)[of] for label, values in labels.items()}
    written |= {label: numbered(count, size) for label, size in spec.domains.items()}
    names = sorted({taint for own in taints for taint in own})
    tainted = {taint: np.array([taint in own for own in taints])[of] for taint in names}
    described = ServerLabels(count, written, tainted, dict(spec.domains), count - 1)
    texts = np.array(model, np.str_)[of], np.array(kind, np.str_)[of]
    return Servers(capacity[of], devices[of], *texts, described, np.arange(count))


def _from_groups(spec: ClusterSpec) -> Servers:
    """Collect the servers of groups, or equal ones."""
    groups = spec.groups or ()
    forms = [(group.count, group.node, group.devices, group.nodes or spec.nodes) for group in groups]
    counts, has, devices, nodes = zip(
        *forms or [(spec.size or 0, spec.node or {}, spec.devices, spec.nodes)], strict=True
    )
    names = [name for name in spec.resources if name != DEVICE or not spec.has_devices]
    node = np.array([[quanta(each.get(name, 0.0)) for name in names] for each in has], np.int64)
    own = np.array([each.count if each else 0 for each in devices], np.int64)
    if spec.has_devices:
        node = np.column_stack([node, own * QUANTUM])
    most = max(each for count, each in zip(counts, nodes, strict=True) if count)
    exists = np.arange(most) < np.array(nodes)[:, None]  # a node that a server does not have has a capacity of 0
    return _servers(
        spec,
        node[:, None, :] * exists[:, :, None],
        own,
        [each.model or UNNAMED if each else "" for each in devices],
        [group.name or "" for group in groups] or [""],
        {label: [group.labels.get(label, "") for group in groups] for group in groups for label in group.labels},
        [group.taints for group in groups],
        np.repeat(np.arange(len(counts)), counts),
    )


def _from_trace(spec: ClusterSpec, trace: TracedServers) -> Servers:
    """Read the servers that a trace comes with, a row for each; their model is their kind."""
    path, known = find_servers(trace.name, trace.path)
    wanted = frozenset({*(column for column, _ in known.columns.values()), known.devices, known.model})
    frame = read_text(path, wanted).filter(pl.any_horizontal(pl.exclude("line").is_not_null()))
    count, remedy = pl.col(known.devices), f"Give a whole number from 0 to {MOST_DEVICES}."
    right = count.is_null() | (count.is_between(0, MOST_DEVICES) & (count == count.round()))
    devices = np.rint(_numbers(frame, known.devices, path, right, "is no number of devices", remedy)).astype(np.int64)
    models = frame[known.model].fill_null("").str.strip_chars().to_list()
    model = [(each or UNNAMED) * bool(n) for n, each in zip(devices, models, strict=True)]
    columns = []
    for name, (column, factor) in known.columns.items():
        unit, remedy = factor * trace.units.get(name, 1.0), f"Give a number from 0, at most {LARGEST:,.0f}."
        right = (pl.col(column) * unit).is_between(0, LARGEST)
        columns.append([quanta(each * unit) for each in _numbers(frame, column, path, right, "is no capacity", remedy)])
    capacity = np.array([*columns, devices * QUANTUM], np.int64).T[:, None, :]
    some = np.flatnonzero(devices) if trace.only == "devices" else slice(None)
    return _servers(spec, capacity, devices, model, model, {}, (), some)


def _numbers(frame: pl.DataFrame, column: str, path: Path, right: pl.Expr, problem: str, remedy: str) -> list[float]:
    """Read the numbers of a column, 0 for none, and refuse the rows where it is not `right`."""
    numbers = number(frame, column, path)
    wrong = numbers.to_frame().select(~right.fill_null(value=False)).to_series()
    if wrong.any():
        report(frame, wrong, path, column, problem, remedy, frame[column].filter(wrong)[0])
    return numbers.fill_null(0.0).to_list()
