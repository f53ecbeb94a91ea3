"""From a scenario to its cluster, before anything is placed on it."""

import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from binwright.fabric.cluster import MOST_DEVICES, NEVER, Cluster, DevicesOf
from binwright.fabric.ledger import Ledger
from binwright.fabric.placement.rules import Drain, ServerLabels, numbered
from binwright.scenarios.features.feature import Servers
from binwright.scenarios.features.overcommit import predictor_of
from binwright.scenarios.features.placement import check_placed
from binwright.scenarios.schema.cluster import DEVICE, ClusterSpec, Csv, DeviceColumns, TracedServers
from binwright.scenarios.schema.explain import explain
from binwright.scenarios.schema.network import routing
from binwright.scenarios.schema.scenario import Scenario
from binwright.scenarios.schema.workload import Trace
from binwright.scenarios.schema.yaml_source import Source
from binwright.simcore.errors import ScenarioError, unread
from binwright.simcore.rng import stream
from binwright.simcore.roles import read_names
from binwright.simcore.types import QUANTUM, Floats, Ints
from binwright.simcore.units import LARGEST, measure_of, quanta
from binwright.workloads.inflation import fgd_order
from binwright.workloads.traces.library import find_servers

UNNAMED = "unnamed"
"""The model of devices that nobody has named."""


def build_ledger(scenario: Scenario, seed: int = 0) -> Ledger:
    """Make an empty cluster's ledger, with a network or devices where the scenario has them.

    The servers are numbered as with this seed.
    """
    servers = servers_of(scenario, seed)
    cluster, labels = _cluster(scenario.cluster, servers), servers.labels
    peaks, network, more = scenario.cluster.predicted.items(), scenario.cluster.network, dict[str, Any]()
    if peaks:
        more["predictors"] = {scenario.resources.index(name): predictor_of(how.predict) for name, how in peaks}
    if network:
        drains = any(isinstance(rule, Drain) for rule in scenario.placement)
        is_read = scenario.costs is not None or scenario.use is not None or drains or "states" in scenario.record
        paths = routing(network.topology.built, network.paths, network.order)
        more |= {"routing": paths, "weighted": network.routes == "weighted", "remembers": is_read}
    if not scenario.ruled_by:
        return Ledger(cluster, **more)
    if network:
        labels = network.server_labels
    else:
        _check_labels(scenario, labels)
    return Ledger(cluster, labels, scenario.placement, **more)


def build_cluster(scenario: Scenario, seed: int = 0) -> Cluster:
    """Make the cluster at the start of a run. Servers that are added later are like those of the last group or row."""
    return _cluster(scenario.cluster, servers_of(scenario, seed))


def _cluster(spec: ClusterSpec, servers: Servers) -> Cluster:
    above = tuple(quanta(spec.spread_above[name]) if name in spec.spread_above else NEVER for name in spec.resources)
    capacity, physical, like = servers.capacity, None, servers.labels.like
    ratios = ratios_of(spec, len(capacity))[servers.order]
    if (ratios != 1).any():
        physical, capacity = capacity, np.rint(capacity * ratios[:, None]).astype(np.int64)
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
    if spec.csv:
        written = _from_csv(spec, spec.csv)
    else:
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


def ratios_of(spec: ClusterSpec, servers: int) -> Floats:
    """Return how overcommitted each server is, in the order in which they are written, float64 [servers, resources]."""
    common = {name: how for name, how in spec.overcommit.items() if isinstance(how, float)}
    kinds = [(group.count, {**common, **group.overcommit}) for group in spec.groups or ()]
    kinds = kinds or [(servers, common)]
    each = np.array([[ratios.get(name, 1.0) for name in spec.resources] for _, ratios in kinds])
    return np.repeat(each, [count for count, _ in kinds], axis=0)


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
    there = np.arange(most) < np.array(nodes)[:, None]  # a node that a server does not have has a capacity of 0
    return _servers(
        spec,
        node[:, None, :] * there[:, :, None],
        own,
        [each.model or UNNAMED if each else "" for each in devices],
        [group.name or "" for group in groups] or [""],
        {label: [group.labels.get(label, "") for group in groups] for group in groups for label in group.labels},
        [group.taints for group in groups],
        np.repeat(np.arange(len(counts)), counts),
    )


def _from_trace(spec: ClusterSpec, trace: TracedServers) -> Servers:
    """Read the servers that a trace comes with; their model is their kind."""
    path, known = find_servers(trace.name, trace.path)
    columns = {name: column for name, (column, _) in known.columns.items()}
    units = {name: factor * trace.units.get(name, 1.0) for name, (_, factor) in known.columns.items()}
    devices = DeviceColumns(count=known.devices, model=known.model)
    rows = _Rows(Csv.model_construct(path=str(path), columns=columns, units=units, devices=devices), 1)
    count, model = rows.devices()
    some = np.flatnonzero(count) if trace.only == "devices" else slice(None)
    return _servers(spec, rows.capacity(count), count, model, model, {}, (), some)


def _from_csv(spec: ClusterSpec, file: Csv) -> Servers:
    """Read servers from a file."""
    rows = _Rows(file, spec.nodes)
    count, model = rows.devices()
    kind = rows.cells(file.kind) if file.kind else [""] * len(count)
    labels = {label: rows.cells(column) for label, column in file.labels.items()}
    taints = [read_names(text) for text in rows.cells(file.taints)] if file.taints else []
    return _servers(spec, rows.capacity(count), count, model, kind, labels, taints)


class _Rows:
    """The rows of a file of servers, each of which has so many nodes."""

    def __init__(self, spec: Csv, nodes: int) -> None:
        self._spec, self._nodes = spec, nodes
        try:
            with Path(spec.path).open(encoding="utf-8-sig", newline="") as file:
                reader = csv.DictReader(file)
                self._check_columns(list(reader.fieldnames or ()))
                self._rows = [(reader.line_num, row) for row in reader]
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            problem, remedy = unread(error, spec.path, "Give a CSV file in UTF-8 with a header.")
            raise ScenarioError(problem, file=spec.path, key="cluster.csv.path", remedy=remedy) from None
        for line, row in self._rows:
            if None in row:
                remedy = "Every row needs as many cells as the header."
                raise ScenarioError("has more cells than columns", file=spec.path, line=line, remedy=remedy)

    def _check_columns(self, columns: list[str]) -> None:
        spec = self._spec
        named = {f"columns.{name}": column for name, column in spec.columns.items()}
        if spec.devices:
            named |= {f"devices.{key}": column for key, column in spec.devices if column}
        named |= {f"labels.{label}": column for label, column in spec.labels.items()}
        named |= {key: column for key in ("kind", "taints") if (column := getattr(spec, key))}
        for name, column in named.items():
            if (there := columns.count(column)) != 1:
                remedy = f"Its columns: {', '.join(columns)}."
                problem, key = f"has {'two columns' if there else 'no column'} {column}", f"cluster.csv.{name}"
                raise ScenarioError(problem, file=spec.path, line=1, key=key, remedy=remedy)

    def cells(self, column: str) -> list[str]:
        """Return the texts of a column."""
        return [(row[column] or "").strip() for _, row in self._rows]

    def _numbers(self, column: str, read: Callable[[str], float | None], problem: str, remedy: str) -> list[Any]:
        """Read the numbers of a column; refuses what `read` makes nothing of."""
        found = [read(text) for text in self.cells(column)]
        if None in found:
            (line, row), file = self._rows[found.index(None)], self._spec.path
            raise ScenarioError(problem, file=file, line=line, key=column, value=row[column], remedy=remedy)
        return found

    def devices(self) -> tuple[Ints, list[str]]:
        """Read how many devices each server has, int64 [servers], and their models."""
        columns = self._spec.devices
        if columns is None:
            return np.zeros(len(self._rows), np.int64), [""] * len(self._rows)

        def read(text: str) -> int | None:
            return int(text or 0) if (text or "0").isdecimal() and int(text or 0) <= MOST_DEVICES else None

        remedy = f"Give a whole number from 0 to {MOST_DEVICES}."
        count = self._numbers(columns.count, read, "is no number of devices", remedy)
        models = self.cells(columns.model) if columns.model else [""] * len(count)
        return np.array(count, np.int64), [(each or UNNAMED) * (n > 0) for n, each in zip(count, models, strict=True)]

    def capacity(self, devices: Ints) -> Ints:
        """Read what each node of every server has, with its devices, int64 [servers, nodes, resources] quanta."""
        spec, found = self._spec, []
        for name, column in spec.columns.items():

            def read(text: str, name: str = name) -> int | None:
                try:
                    units = float(text) * spec.units.get(name, 1.0)
                except ValueError:
                    return None
                return quanta(units) if 0 <= units <= LARGEST else None

            remedy = f"Give a number from 0, at most {measure_of(name).show(LARGEST)}."
            found.append(self._numbers(column, read, "is not a capacity", remedy))
        total = np.array([*found, *([devices * QUANTUM] if spec.devices else [])], np.int64).T
        if not total.any():
            problem = "has servers with nothing on them" if len(total) else "has no servers"
            raise ScenarioError(problem, file=spec.path, key="cluster.csv.path", remedy="Give a row per server.")
        each = total[:, None, :]
        shares: Ints = each // self._nodes + (np.arange(self._nodes)[:, None] < each % self._nodes)
        return shares


def _check_labels(scenario: Scenario, labels: ServerLabels) -> None:
    """Refuse what rules and requests say of labels, taints and servers that there are not, where a file says which."""
    csv = scenario.cluster.csv
    if csv is None:
        return
    values = scenario.cluster.values | {label: {*labels.labels[label].tolist()} - {""} for label in csv.labels}
    everywhere = {label for label, each in labels.labels.items() if (each != "").all()}
    try:
        check_placed(scenario, values, everywhere, set(labels.taints), None if scenario.grows else labels.servers)
    except ValidationError as error:
        raise explain(error, Source(None, scenario.dump())) from None
