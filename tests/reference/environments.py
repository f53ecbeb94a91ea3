"""What environments show, written anew from the state of the simulations at every step."""

import numpy as np

from binwright.agents.environments.observation import Observer
from binwright.agents.environments.stepping import Seen
from binwright.fabric.compiled.many import NumaEpisodes
from binwright.fabric.compiled.many_networks import NetworkEpisodes
from binwright.simcore.types import Floats, Request


def numa(episodes: NumaEpisodes) -> Seen:
    """What is seen of servers with NUMA nodes; a place may be taken if an empty ledger with as much free takes it."""
    many, every = episodes.many, np.arange(episodes.count)
    capacity = episodes.cluster.capacity
    asked = many.requests.demand[every, episodes.row] / np.maximum(capacity.max(axis=(0, 1)), 1)
    request = np.column_stack([asked, many.requests.spread[every, episodes.row]])
    request[episodes.over] = 0.0
    mask = np.zeros((episodes.count, capacity.shape[0] * capacity.shape[1]), np.int8)
    for i in np.flatnonzero(~episodes.over).tolist():
        mask[i] = [_fits(episodes, i, place) for place in range(mask.shape[1])]
    shares = (many.state.free / np.maximum(capacity, 1)).astype(np.float32)
    return {"free": shares, "request": request.astype(np.float32), "mask": mask}


def _fits(episodes: NumaEpisodes, i: int, place: int) -> bool:
    many, row, nodes = episodes.many, episodes.row[i], episodes.cluster.capacity.shape[1]
    spread, demand = bool(many.requests.spread[i, row]), tuple(many.requests.demand[i, row].tolist())
    request, (server, node) = Request(int(row), 0.0, 1.0, demand, spread), divmod(place, nodes)
    if spread and node:
        return False
    placement = request.across(server, nodes) if spread else request.on(server, node)
    return all((many.state.free[i, s, n] >= amounts).all() for s, n, amounts in placement.shares)


def worth(episodes: NumaEpisodes, reward: str) -> Floats:
    """The reward for placing the request on offer in each simulation."""
    many, at = episodes.many, (np.arange(episodes.count), episodes.row)
    if reward == "one":
        return np.ones(episodes.count)
    found: Floats = many.requests.demand[at][:, 0] / episodes.cluster.capacity.sum(axis=(0, 1))[0]
    return found


def network(episodes: NetworkEpisodes, edges: np.ndarray) -> Seen:
    """What is seen of a network with these edges."""
    seen = Observer(episodes)()
    servers = episodes.view.topology.servers
    return {
        "nodes": seen.nodes,
        "links": seen.edges[:, :, None],
        "edges": edges,
        "chosen": seen.nodes[:, -servers:, -1].astype(np.int8),
        "mask": episodes.state.mask.astype(np.int8),
        "cluster": seen.cluster,
    }
