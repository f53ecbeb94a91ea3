"""The schema of `cluster.network:`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from fabric.presets import TOPOLOGIES
from scenarios.schema.fields import Count, Model, checked, wrong
from scenarios.schema.networks import topology
from scenarios.schema.outline import Schema, quantity
from scenarios.schema.registered import Registered
from simcore.registry import Registry
from simcore.units import BANDWIDTH, LARGEST

if TYPE_CHECKING:
    from fabric.topology import Topology


class TopologyChoice(Registered):
    """A network by name, with its options: `alpha`, or `{fat-tree: {k: 4}}`."""

    registry: ClassVar[Registry] = TOPOLOGIES
    what: ClassVar[str] = "topology"

    @classmethod
    def prepare(cls, data: Any) -> Any:
        return {data: {}} if isinstance(data, str) else data

    @classmethod
    def check(cls, name: str, options: Any) -> None:
        if not isinstance(options, dict):
            raise wrong("must be a mapping of options", "Write it like {fat-tree: {k: 4}}.", (name,))
        checked(partial(topology, **options), (name,))(name)

    @classmethod
    def options(cls) -> dict[str, Schema]:
        found = super().options()
        for taken in found.values():
            for name, own in taken["properties"].items():
                if own.get("type") == "integer":
                    own["minimum"] = 1
                if own.get("items") == {"type": "integer"}:
                    own["items"]["minimum"] = 1
                if name == "capacities":
                    own["items"] = quantity(BANDWIDTH, above_zero=True, largest=LARGEST)
        return found

    @property
    def built(self) -> Topology:
        """The network itself."""
        name, options = self.chosen
        return topology(name, **options)


class Network(Model):
    """The network between the servers. A request then takes what it needs from any number of servers."""

    topology: TopologyChoice = Field(
        description="Servers, switches and links.", examples=["alpha", "{fat-tree: {k: 4}}"]
    )
    paths: Count = Field(3, description="How many shortest paths there are between two racks (K).", examples=[3])
    routes: Literal["hops", "weighted"] = Field(
        "hops",
        description="What the shortest path is, of which the first with the bandwidth free is taken: the one with "
        "fewest hops, or weighted, the one with least bandwidth free in all.",
    )
    order: Literal["even", "networkx"] = Field(
        "even",
        description="Which of a fabric's shortest routes comes first: planes in turn, so that all are loaded alike, or "
        "plane 0 for all racks, as networkx lists paths and as publications have them. Longer routes, which there are "
        "where `paths` exceeds the number of shortest ones, are in the order of their vertices either way.",
    )
