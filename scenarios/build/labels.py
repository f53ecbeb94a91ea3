"""From a scenario to the labels and taints of its servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from pydantic import ValidationError

from fabric.placement.rules import ServerLabels, numbered
from scenarios.schema.cluster import ClusterSpec
from scenarios.schema.explain import explain
from scenarios.schema.scenario import Scenario
from scenarios.schema.yaml_source import Source
from simcore.roles import read_names
from simcore.types import Ints


def labels_of(spec: ClusterSpec, cells: Mapping[str, Sequence[str]], order: Ints, last: int) -> ServerLabels:
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


def check_labels(scenario: Scenario, labels: ServerLabels) -> None:
    """Refuse what rules and requests say of labels, taints and servers that there are not, where a file says which."""
    csv = scenario.cluster.csv
    if csv is None:
        return
    values = scenario.cluster.values | {label: {*labels.labels[label].tolist()} - {""} for label in csv.labels}
    everywhere = {label for label, each in labels.labels.items() if (each != "").all()}
    try:
        scenario.check_placed(values, everywhere, set(labels.taints), None if scenario.grows else labels.servers)
    except ValidationError as error:
        raise explain(error, Source(None, scenario.dump())) from None
