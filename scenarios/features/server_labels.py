"""Describes servers by their labels and taints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from binwright.fabric.topology import Topology
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.types import Flags, Ints

SERVER = "server"
"""The label that every server has by itself: each is a domain of its own."""
Texts: TypeAlias = npt.NDArray[np.str_]


@dataclass(frozen=True, slots=True)
class ServerLabels:
    """Describes servers: `labels` str [servers] by name, and `taints`, each bool [servers].

    `blocks` are labels that number the servers, so many to a domain. An added server has the labels and taints of
    server `like`, but for `blocks`, whose numbers go on.
    """

    servers: int
    labels: Mapping[str, Texts] = field(default_factory=dict)
    taints: Mapping[str, Flags] = field(default_factory=dict)
    blocks: Mapping[str, int] = field(default_factory=dict)
    like: int = -1

    def domains(self, label: str) -> Ints:
        """Return the domain of each server by a label that all have, int64 [servers]."""
        if label == SERVER:
            return np.arange(self.servers)
        return np.unique(self.labels[label], return_inverse=True)[1].astype(np.int64)

    def matching(self, where: Iterable[tuple[str, tuple[str, ...]]]) -> Flags:
        """Tell which servers have one of the values of each of these labels, bool [servers]."""
        matches = np.ones(self.servers, np.bool_)
        for label, values in where:
            if label not in self.labels:
                remedy = suggest(label, self.labels)
                raise UserError("the servers have no such label", key="where", value=label, remedy=remedy)
            matches &= np.isin(self.labels[label], values)
        return matches

    def tolerated(self, taints: Iterable[str]) -> Flags:
        """Tell which servers have no taints but these, bool [servers]."""
        tolerated = np.ones(self.servers, np.bool_)
        for taint, tainted in self.taints.items():
            if taint not in taints:
                tolerated &= ~tainted
        return tolerated

    def grown(self, by: int) -> ServerLabels:
        """Describe the servers with so many more."""
        more = np.arange(self.servers, self.servers + by)
        labels = {}
        for label, values in self.labels.items():
            size = self.blocks.get(label)
            added = np.full(by, values[self.like]) if size is None else (more // size).astype(np.str_)
            labels[label] = np.concatenate([values, added])
        taints = {
            taint: np.concatenate([tainted, np.full(by, tainted[self.like])]) for taint, tainted in self.taints.items()
        }
        like = self.like % self.servers
        return ServerLabels(self.servers + by, labels, taints, self.blocks, like)


def labels_of(topology: Topology) -> ServerLabels:
    """Return the labels that a topology gives to its servers: `rack`, by the name of its switch, and `pod`.

    There are pods only where every rack is in one.
    """
    labels = {"rack": np.array(topology.names[: topology.racks], np.str_)[topology.rack_of]}
    if (topology.pod_of >= 0).all():
        pods = np.array([f"pod-{number}" for number in range(int(topology.pod_of.max()) + 1)])
        labels["pod"] = pods[topology.pod_of[topology.rack_of]]
    return ServerLabels(topology.servers, labels)


def numbered(servers: int, size: int) -> Texts:
    """Return the number of each server's domain, so many servers to one: str [servers]."""
    return (np.arange(servers) // size).astype(np.str_)
