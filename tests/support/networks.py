"""Small networks, their ledgers, and requests for them."""

from typing import Any

import networkx
import numpy as np

from binwright.fabric.cluster import NEVER, Cluster
from binwright.fabric.ledger import Ledger
from binwright.fabric.routing import Routing
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


def ledger_of(name: str, nodes: int = 1, cpu: int = 4, mem: int = 3) -> Ledger:
    """Build the ledger of a network, of which every node has so many units of cpu and memory."""
    network = uneven() if name == "uneven" else topology(name, **NETWORKS.get(name, {}))
    node = np.array([cpu, mem], np.int64) * QUANTUM
    capacity = np.broadcast_to(node, (network.servers, nodes, 2)).copy()
    cluster = Cluster(("cpu", "mem"), capacity, (NEVER, NEVER), capacity[0])
    return Ledger(cluster, routing=Routing(network))


def request(row: int, cpu: int, mem: int, bandwidth: float) -> Request:
    """Make a request, in units."""
    return Request(row, 0.0, 1.0, (cpu * QUANTUM, mem * QUANTUM), False, round(bandwidth * QUANTUM))


def of_links(links: dict[tuple[str, str], int], name: str) -> Topology:
    """Build the network of connected links with their quanta: what has exactly one link is a server.

    Vertices are numbered by their hops to the nearest server, of equals in the order of their first mention.
    """
    graph = networkx.Graph([*links])
    is_server = {vertex for vertex, degree in graph.degree() if degree == 1}
    level = networkx.multi_source_dijkstra_path_length(graph, is_server)
    names = sorted(graph, key=lambda vertex: (vertex in is_server, level[vertex]))
    ends = {link: sorted(link, key=lambda end: (level[end], names.index(end))) for link in links}
    ordered = sorted(links, key=lambda link: names.index(ends[link][0]) if ends[link][0] in is_server else len(names))
    racks = [names.index(ends[link][1]) for link in ordered if ends[link][0] in is_server]
    return Topology(
        name,
        names,
        racks,
        [-1] * len({*racks}),
        [[names.index(end) for end in ends[link]] for link in ordered],
        [links[link] for link in ordered],
        [level[vertex] for vertex in names],
    )


def uneven() -> Topology:
    """Build a network of racks of unequal size, a switch without servers, and paths of different lengths."""
    servers = [("a", "p"), ("b", "p"), ("c", "q"), ("d", "q"), ("e", "r")]
    return of_links(dict.fromkeys([*servers, ("p", "m"), ("m", "q"), ("q", "r"), ("p", "r")], QUANTUM), "uneven")


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
    low, high = min(a, b), max(a, b)
    sampler = routing.routes.paths[high * (high - 1) // 2 + low]
    paths = [tuple(path[1 : 1 + path[0]].tolist()) for path in sampler if path[0]]
    return paths if a < b else [links[::-1] for links in paths]


def paths_between(routing: Routing, a: int, b: int) -> list[tuple[int, ...]]:
    """List the same paths as vertices, both racks included."""
    result = []
    for links in links_between(routing, a, b):
        path = [a]
        for link in links:
            each, other = routing.topology.link_ends[link].tolist()
            path.append(other if path[-1] == each else each)
        result.append(tuple(path))
    return result
