"""From a scenario to its cluster, before anything is placed on it."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from fabric.cluster import NEVER, Cluster
from fabric.ledger import Ledger
from scenarios.schema.cluster import Csv
from scenarios.schema.networks import routing
from scenarios.schema.scenario import Scenario
from simcore.errors import ScenarioError
from simcore.units import LARGEST, measure_of, quanta
from simcore.vocabulary import Ints, part


def build_ledger(scenario: Scenario) -> Ledger:
    """Make an empty cluster's ledger, with a network where the scenario has one."""
    network = scenario.cluster.network
    if network is None:
        return Ledger(build_cluster(scenario))
    from fabric.network import NetworkLedger  # numba: only networks pay for it

    paths = routing(network.topology.built, network.paths, network.order)
    return NetworkLedger(build_cluster(scenario), paths, network.routes == "weighted")


def build_cluster(scenario: Scenario) -> Cluster:
    """Make the cluster at the start of a run. Servers that are added later are like those of the last group or row."""
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


def _from_csv(spec: Csv, nodes: int) -> Ints:
    """Read capacity int64 [servers, nodes, resources] from a file."""
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
                    "is not a capacity",
                    file=spec.path,
                    line=reader.line_num,
                    key=column,
                    value=row[column],
                    remedy=f"Give a number from 0, at most {measure_of(name).show(LARGEST)}.",
                )
            total.append(quanta(units))
        yield [part(tuple(total), node, nodes) for node in range(nodes)]
