"""Small networks, their ledgers, and requests for them."""

from pathlib import Path
from typing import Any

import numpy as np

from binwright.fabric.cluster import NEVER, Cluster
from binwright.fabric.graphs import Graph, build
from binwright.fabric.ledger import Ledger
from binwright.fabric.routing import Routing, route_links
from binwright.fabric.shapes import fabric, tree
from binwright.fabric.topology import Topology, topology
from binwright.simcore.types import QUANTUM, Request

UNIT = 1_000_000
"""Quanta of one unit."""
SMALL_FABRIC: dict[str, Any] = {
    "racks": 4, "servers_per_rack": 2, "racks_per_pod": 2, "fabric_switches": 2, "uplinks": 1,
    "capacities": [1, 1, 1],
}  # fmt: skip
"""Two pods of two racks of two servers."""
NETWORKS: dict[str, dict[str, Any]] = {
    "fabric": SMALL_FABRIC,
    "tree": {"fanouts": [2, 2, 2], "capacities": [1, 1, 2]},
    "fat-tree": {"k": 2},
}
"""Small presets by name, with their options."""


def ledger_of(name: str, nodes: int = 1, cpu: int = 4, mem: int = 3, weighted: bool = False) -> Ledger:
    """Build the ledger of a network, of which every node has so many units of cpu and memory."""
    network = uneven() if name == "uneven" else topology(name, **NETWORKS.get(name, {}))
    node = np.array([cpu, mem], np.int64) * QUANTUM
    capacity = np.broadcast_to(node, (network.servers, nodes, 2)).copy()
    cluster = Cluster(("cpu", "mem"), capacity, (NEVER, NEVER), capacity[0])
    return Ledger(cluster, routing=Routing(network), weighted=weighted)


def show(ledger: Ledger) -> None:
    """Let agents see what a test has written to the ledger's own arrays."""
    ledger._shown[:], ledger.network._links_shown[:] = ledger._free, ledger.network._link_free


def request(row: int, cpu: int, mem: int, bandwidth: float) -> Request:
    """Make a request, in units."""
    return Request(row, 0.0, 1.0, (cpu * QUANTUM, mem * QUANTUM), False, round(bandwidth * QUANTUM))


def uneven() -> Topology:
    """Build a network of racks of unequal size, a switch without servers, and paths of different lengths."""
    graph = Graph(Path("uneven"))
    for one, other in ("ap", "bp", "cq", "dq", "er", "pm", "mq", "qr", "pr"):
        graph.link(one, other, 1, 0)
    return build(graph, "uneven")


SHAPES = [
    Routing(fabric(4, 2, 2, 2, 1, (1, 1, 1))),
    Routing(fabric(4, 3, 2, 1, 2, (1, 2, 1), "one plane")),
    Routing(tree((3, 2), (1, 2))),
    Routing(uneven()),
]
"""Networks of different shapes, with the paths in them."""


def links_between(routing: Routing, a: int, b: int) -> list[tuple[int, ...]]:
    """List the paths from rack a to rack b in order, each as its links; within a rack one path without any."""
    if a == b:
        return [()]
    homes, out = routing.topology.rack_of.tolist(), np.empty(routing.longest, np.int32)
    ends = homes.index(a), homes.index(b)
    free = routing.topology.link_capacity
    counts = (route_links(routing.routes, free, *ends, k, False, out) for k in range(routing.k))
    return [tuple(out[1 : count - 1].tolist()) for count in counts if count >= 0]


def paths_between(routing: Routing, a: int, b: int) -> list[tuple[int, ...]]:
    """List the same paths as vertices, both racks included."""
    found = []
    for links in links_between(routing, a, b):
        path = [a]
        for link in links:
            one, other = routing.topology.link_ends[link].tolist()
            path.append(other if path[-1] == one else one)
        found.append(tuple(path))
    return found
