"""What the ledger of a network accepts, as slow, obvious rules: lists, sums and every pair of servers."""

from collections.abc import Sequence
from itertools import combinations
from operator import index
from typing import Any

import networkx

from binwright.fabric.ledger import Ledger
from binwright.fabric.topology import Topology
from binwright.simcore.types import Request


def joined(found: Topology, servers: Sequence[int], links: Sequence[int]) -> bool:
    """Leads a way along these links from every server to every other?"""
    graph = networkx.Graph(found.link_ends[list(links)].tolist())
    for one, other in combinations(sorted({found.switches + server for server in servers}), 2):
        if not (one in graph and other in graph and networkx.has_path(graph, one, other)):
            return False
    return True


def span(found: Topology, servers: Sequence[int]) -> int:
    """How far apart these servers are: an index into `binwright.fabric.network.SPANS`."""
    racks = {int(found.rack_of[server]) for server in servers}
    pods = {int(found.pod_of[rack]) for rack in racks}
    if len(set(servers)) == 1:
        return 0
    return 1 if len(racks) == 1 else 2 if len(pods) == 1 and pods != {-1} else 3


def accepts(ledger: Ledger, request: Request, shares: Any, links: Any, chosen: Any = ()) -> bool:
    """May the request have these shares and links, as the view shows what is free?"""
    free, link_free, found = ledger.view.free.tolist(), ledger.view.link_free.tolist(), ledger.network.topology
    servers, nodes, resources = ledger.view.free.shape
    try:
        taken = [(index(server), index(node), [index(amount) for amount in part]) for server, node, part in shares]
        wires, more = [index(link) for link in links], [index(server) for server in chosen]
    except (TypeError, ValueError):
        return False
    there = all(0 <= server < servers and 0 <= node < nodes for server, node, _ in taken)
    if not taken or not there or len({(server, node) for server, node, _ in taken}) < len(taken):
        return False
    if any(len(part) != resources or min(part) < 0 for _, _, part in taken):
        return False
    if [sum(part[r] for _, _, part in taken) for r in range(resources)] != list(request.demand):
        return False
    if any(part[r] > free[server][node][r] for server, node, part in taken for r in range(resources)):
        return False
    if len(set(wires)) < len(wires) or not all(0 <= link < found.links for link in wires):
        return False
    if any(link_free[link] < request.bandwidth for link in wires) or not all(0 <= one < servers for one in more):
        return False
    return joined(found, [server for server, _, _ in taken] + more, wires)
