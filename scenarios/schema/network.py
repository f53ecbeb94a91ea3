"""The schema of `cluster.network:`."""

from __future__ import annotations

import json
from functools import lru_cache, partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from binwright.fabric.topology import TOPOLOGIES, Topology, topology
from binwright.scenarios.features.placement import KnownServers, Labels
from binwright.scenarios.features.placement.rules import SomeServers
from binwright.scenarios.features.server_labels import SERVER, ServerLabels, labels_of
from binwright.simcore.fields import Count, Model, Names, checked, wrong
from binwright.simcore.options import Registered
from binwright.simcore.registry import Registry
from binwright.simcore.roles import where_of
from binwright.simcore.types import Flags


class TopologyChoice(Registered):
    """A network by name, with its options: `alpha`, or `{fat-tree: {k: 4}}`."""

    registry: ClassVar[Registry] = TOPOLOGIES
    what: ClassVar[str] = "topology"
    by_word: ClassVar[bool] = True

    @classmethod
    def check(cls, name: str, options: Any) -> None:
        super().check(name, options)
        checked(partial(_topology, json.dumps(options, sort_keys=True)), (name,))(name)

    @property
    def built(self) -> Topology:
        """The network itself."""
        name, options = self.chosen
        return _topology(json.dumps(options, sort_keys=True), name)


class Marked(Model):
    """Servers of a network that have labels or taints of their own."""

    servers: SomeServers = Field(examples=["[0, 1]", "{rack: rack-0}", "{pod: [pod-0, pod-1]}"])
    """The servers, by number, or by the topology's labels `rack` and `pod`."""
    labels: Labels = Field(default_factory=dict, examples=["{feed: a, kind: large}"])
    """Labels for requests and rules of placement."""
    taints: Names = Field(default=(), description="Only requests that tolerate all of these may lie here.")

    def of(self, labels: ServerLabels) -> Flags:
        """Tell which servers are marked, bool [servers]; `labels` are the topology's."""
        if isinstance(self.servers, dict):
            return labels.matching(where_of(self.servers))
        return np.isin(np.arange(labels.servers), self.servers)


class Network(Model):
    """The network between the servers. A request then takes what it needs from any number of servers."""

    topology: TopologyChoice = Field(examples=["alpha", "{fat-tree: {k: 4}}"])
    """Servers, switches and links."""
    paths: Count = Field(3, le=100, description="How many shortest paths between two racks may be used (K).")
    order: Literal["even", "networkx"] = "even"
    """Which of equally short routes comes first: the planes in turn (`even`), or plane 0, as networkx and publications
    have it."""
    marked: tuple[Marked, ...] = Field(
        (), examples=["[{servers: {pod: pod-0}, labels: {feed: a}}, {servers: [0, 1], taints: [spot]}]"]
    )
    """Labels and taints of servers, beside the topology's labels `rack` and `pod`. Of two values of a label the later
    holds."""

    @model_validator(mode="after")
    def _marks(self) -> Self:
        for number, mark in enumerate(self.marked):
            at, known = ("marked", number), KnownServers.of(labels_of(self.topology.built))
            if not mark.labels and not mark.taints:
                raise wrong("says nothing of the servers", "Give `labels` or `taints`.", at)
            for label in mark.labels:
                if label == SERVER or label in known.values:
                    why = "is reserved for single servers" if label == SERVER else "is already set by the topology"
                    raise wrong(why, "Give the label another name.", (*at, "labels", label))
            known.check_servers(mark.servers, (*at, "servers"))
        return self

    @property
    def server_labels(self) -> ServerLabels:
        """The labels and taints of the servers: those that the topology gives, and those that they are marked with."""
        own = labels_of(self.topology.built)
        labels, taints = dict(own.labels), dict[str, Flags]()
        for mark in self.marked:
            marked = mark.of(own)
            for label, value in mark.labels.items():
                labels[label] = np.where(marked, value, labels.get(label, np.full(own.servers, "")))
            for taint in mark.taints:
                taints[taint] = marked | taints.get(taint, False)
        return ServerLabels(own.servers, labels, taints)


@lru_cache(maxsize=4)
def _topology(options: str, name: str) -> Topology:
    """Build the topology of that name with options in JSON; the last ones are kept."""
    return topology(name, **json.loads(options))
