"""From a scenario to its cluster, before anything is placed on it."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import ValidationError

from binwright.fabric.cluster import MOST_DEVICES, NEVER, Cluster, DevicesOf
from binwright.fabric.ledger import Ledger
from binwright.fabric.placement.rules import Drain, ServerLabels, numbered
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
from binwright.simcore.types import QUANTUM, Floats, Ints, part
from binwright.simcore.units import LARGEST, measure_of, quanta
from binwright.workloads.inflation import fgd_order
from binwright.workloads.traces.library import find_servers

UNNAMED = "unnamed"
"""The model of devices that nobody has named."""


class ServerTable(NamedTuple):
    """Holds what servers have: `capacity` int64 [servers, nodes, resources] quanta, and the devices of each.

    `devices` int64 [servers] is how many devices, and `model` what they are, empty where a server has none. `cells` are
    what a file says of the servers' labels, taints and kinds, by column.
    """

    capacity: Ints
    devices: Ints
    model: list[str]
    cells: Mapping[str, list[str]]


def build_ledger(scenario: Scenario, seed: int = 0) -> Ledger:
    """Make an empty cluster's ledger, with a network or devices where the scenario has them.

    The servers are numbered as with this seed.
    """
    cluster, labels = _build(scenario, seed)
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
    return _build(scenario, seed)[0]


def build_labels(scenario: Scenario, seed: int = 0) -> ServerLabels:
    """Make the labels of the servers at the start of a run, numbered as with this seed."""
    network = scenario.cluster.network
    return network.server_labels if network else _build(scenario, seed)[1]


def _build(scenario: Scenario, seed: int) -> tuple[Cluster, ServerLabels]:
    """Make the cluster, and the labels of its servers."""
    spec = scenario.cluster
    resources = spec.resources
    servers = _servers(spec)
    growth, last = servers.capacity[-1], len(servers.capacity) - 1
    order = np.arange(len(servers.capacity))
    if spec.numbering != "given":
        order = _order(scenario, servers, seed)
        kinds = [servers.model[one] for one in order]
        servers = ServerTable(servers.capacity[order], servers.devices[order], kinds, servers.cells)
        last = int(np.flatnonzero(order == last)[0])
    above = tuple(quanta(spec.spread_above[name]) if name in spec.spread_above else NEVER for name in resources)
    capacity, physical, growths = servers.capacity, None, (growth, None)
    ratios = ratios_of(spec, len(capacity))[order]
    if (ratios != 1).any():
        physical, capacity = capacity, np.rint(capacity * ratios[:, None]).astype(np.int64)
        growths = capacity[last], growth
    devices = None
    if spec.has_devices:
        models = tuple(sorted({model for model in servers.model if model}))
        known = {model: number for number, model in enumerate(models)}
        places = [known.get(model, -1) for model in servers.model]
        added = int(servers.devices[last]), places[last]
        devices = DevicesOf(len(resources) - 1, servers.devices, np.array(places, np.int64), models, added)
    labels = _labels_of(spec, servers.cells, order, last)
    return Cluster(resources, capacity, above, growths[0], devices, physical, growths[1]), labels


def ratios_of(spec: ClusterSpec, servers: int) -> Floats:
    """Return how overcommitted each server is, in the order in which they are written, float64 [servers, resources]."""
    common = {name: how for name, how in spec.overcommit.items() if isinstance(how, float)}
    kinds = [(group.count, {**common, **group.overcommit}) for group in spec.groups or ()]
    kinds = kinds or [(servers, common)]
    each = np.array([[ratios.get(name, 1.0) for name in spec.resources] for _, ratios in kinds])
    return np.repeat(each, [count for count, _ in kinds], axis=0)


def kinds_of(scenario: Scenario, seed: int = 0) -> tuple[list[str], int]:
    """Name the kind of each server, empty where it has none, and find the server that added ones are like."""
    spec = scenario.cluster
    if spec.csv or spec.trace:
        servers = _servers(spec)
        column = spec.csv.kind if spec.csv else None
        kinds = servers.model if spec.trace else list(servers.cells[column]) if column else [""] * len(servers.model)
    else:
        kinds = [group.name or "" for group in spec.groups or () for _ in range(group.count)] or [""] * (spec.size or 0)
    if spec.numbering == "given":
        return kinds, len(kinds) - 1
    order = order_of(scenario, seed).tolist()
    return [kinds[one] for one in order], order.index(len(kinds) - 1)


def order_of(scenario: Scenario, seed: int = 0) -> Ints:
    """Return the order in which a seed numbers the servers as they are written, int64 [servers]."""
    servers = _servers(scenario.cluster)
    given = scenario.cluster.numbering == "given"
    return np.arange(len(servers.capacity)) if given else _order(scenario, servers, seed)


def _order(scenario: Scenario, servers: ServerTable, seed: int) -> Ints:
    """Return the order in which a seed numbers the servers, int64 [servers]."""
    workload = scenario.workload
    if scenario.cluster.numbering == "fgd" and isinstance(workload, Trace) and workload.inflate:
        from binwright.scenarios.build.trace import inflated, window_of

        total = servers.capacity.sum(axis=(0, 1)) / QUANTUM
        units = dict(zip(scenario.resources, total.tolist(), strict=True))
        window = window_of(workload, scenario.resources, seed)
        return fgd_order(len(servers.capacity), seed, inflated(workload, window, units))
    return stream(seed, "cluster", "numbering").permutation(len(servers.capacity))


def _servers(spec: ClusterSpec) -> ServerTable:
    """Collect the servers in the order in which they are written."""
    if spec.csv:
        return _from_csv(spec.csv, spec.nodes)
    if spec.trace:
        return _from_trace(spec.trace)
    kinds = [(group.count, group.node, group.devices, group.nodes or spec.nodes) for group in spec.groups or ()]
    kinds = kinds or [(spec.size or 0, spec.node or {}, spec.devices, spec.nodes)]
    names = [name for name in spec.resources if name != DEVICE or not spec.has_devices]
    nodes = np.array([[quanta(node.get(name, 0.0)) for name in names] for _, node, _, _ in kinds], np.int64)
    own = np.array([devices.count if devices else 0 for _, _, devices, _ in kinds], np.int64)
    if spec.has_devices:
        nodes = np.column_stack([nodes, own * QUANTUM])
    times = [count for count, _, _, _ in kinds]
    there = np.array([count for _, _, _, count in kinds])
    most = max((nodes for times, _, _, nodes in kinds if times), default=spec.nodes)
    has = np.arange(most) < there[:, None]  # a node that a server does not have has a capacity of 0
    capacity = np.repeat(nodes[:, None, :] * has[:, :, None], times, axis=0)
    models = [devices.model or UNNAMED if devices else "" for _, _, devices, _ in kinds]
    models = [model for model, n in zip(models, times, strict=True) for _ in range(n)]
    return ServerTable(capacity, np.repeat(own, times), models, {})


def _from_trace(spec: TracedServers) -> ServerTable:
    path, known = find_servers(spec.name, spec.path)
    columns = {name: column for name, (column, _) in known.columns.items()}
    units = {name: factor * spec.units.get(name, 1.0) for name, (_, factor) in known.columns.items()}
    asked = Csv.model_construct(
        path=str(path), columns=columns, units=units, devices=DeviceColumns(count=known.devices, model=known.model)
    )
    found = _from_csv(asked, 1)
    if spec.only == "all":
        return found
    rows = np.flatnonzero(found.devices)
    return ServerTable(found.capacity[rows], found.devices[rows], [found.model[row] for row in rows], {})


def _from_csv(spec: Csv, nodes: int) -> ServerTable:
    """Read servers from a file."""
    try:
        with Path(spec.path).open(encoding="utf-8-sig", newline="") as file:
            rows = list(_rows(spec, csv.DictReader(file), nodes))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        remedy = "Give a CSV file in UTF-8 with a header."
        problem, remedy = unread(error, spec.path, remedy)
        raise ScenarioError(problem, file=spec.path, key="cluster.csv.path", remedy=remedy) from None
    capacity = np.array([parts for parts, _, _, _ in rows], np.int64)
    if not capacity.any():
        problem = "has no servers" if not rows else "has servers with nothing on them"
        raise ScenarioError(problem, file=spec.path, key="cluster.csv.path", remedy="Give a row per server.")
    devices = np.array([count for _, count, _, _ in rows], np.int64)
    columns = _texts(spec)
    cells = {column: [cells[place] for _, _, _, cells in rows] for place, column in enumerate(columns)}
    return ServerTable(capacity, devices, [model for _, _, model, _ in rows], cells)


def _texts(spec: Csv) -> list[str]:
    """List the columns of labels, taints and kinds."""
    return [*spec.labels.values(), *(column for column in (spec.taints, spec.kind) if column)]


def _rows(
    spec: Csv, reader: "csv.DictReader[str]", nodes: int
) -> Iterator[tuple[list[tuple[int, ...]], int, str, list[str]]]:
    """Yield what each node of every server has, how many devices there are, of which model, and labels with taints."""
    columns = list(reader.fieldnames or ())
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
            units = number * spec.units.get(name, 1.0)
            if not 0 <= units <= LARGEST:
                remedy, at = f"Give a number from 0, at most {measure_of(name).show(LARGEST)}.", reader.line_num
                raise ScenarioError(
                    "is not a capacity", file=spec.path, line=at, key=column, value=row[column], remedy=remedy
                )
            total.append(quanta(units))
        count, model = _devices(spec, spec.devices, row, reader.line_num) if spec.devices else (0, "")
        if spec.devices:
            total.append(count * QUANTUM)
        cells = [(row[column] or "").strip() for column in _texts(spec)]
        yield [part(tuple(total), node, nodes) for node in range(nodes)], count, model, cells


def _devices(spec: Csv, columns: DeviceColumns, row: dict[str, str], line: int) -> tuple[int, str]:
    """Read how many devices a server has, and of which model."""
    text = (row[columns.count] or "0").strip()
    if not text.isdecimal() or int(text) > MOST_DEVICES:
        remedy = f"Give a whole number from 0 to {MOST_DEVICES}."
        raise ScenarioError(
            "is no number of devices", file=spec.path, line=line, key=columns.count, value=text, remedy=remedy
        )
    count = int(text)
    return count, ((row[columns.model] or "").strip() or UNNAMED) if columns.model and count else UNNAMED * (count > 0)


def _labels_of(spec: ClusterSpec, cells: Mapping[str, Sequence[str]], order: Ints, last: int) -> ServerLabels:
    """Make the labels of servers numbered by `order` int64 [servers], places among the servers as they are written.

    `cells` are what a CSV file says of each server, by column. Added servers are like number `last`.
    """
    servers = len(order)
    labels = {label: list(cells[column]) for label, column in (spec.csv.labels if spec.csv else {}).items()}
    tainted = [read_names(text) for text in cells[spec.csv.taints]] if spec.csv and spec.csv.taints else []
    if spec.groups:
        for label in dict.fromkeys(label for group in spec.groups for label in group.labels):
            labels[label] = [group.labels.get(label, "") for group in spec.groups for _ in range(group.count)]
        tainted = [group.taints for group in spec.groups for _ in range(group.count)]
    written = {label: np.array(values, np.str_) for label, values in labels.items()}
    written |= {label: numbered(servers, size) for label, size in spec.domains.items()}
    taints = {
        taint: np.array([taint in own for own in tainted]) for taint in sorted({t for own in tainted for t in own})
    }
    return ServerLabels(
        servers,
        {label: values[order] for label, values in written.items()},
        {taint: there[order] for taint, there in taints.items()},
        dict(spec.domains),
        last,
    )


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
