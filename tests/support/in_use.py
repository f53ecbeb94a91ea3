"""Clusters in use, for movers."""

from typing import Any

import numpy as np

from binwright.simcore.moves import Move, Running
from binwright.simcore.types import Request, View
from tests.reference import emptying as slow
from tests.support.simulations import place


def in_use(seed: int, servers: int = 4, requests: int = 14, nodes: int = 2, most: int = 20) -> tuple[View, Running]:
    """Fill a small cluster at random; whole requests of up to 10 cores, and spread ones of up to twice that."""
    rng = np.random.default_rng(seed)
    capacity = np.full((servers, nodes, 2), most, np.int64)
    capacity[rng.random(servers) < 0.2] //= 2
    free, rows = capacity.copy(), []
    for row in range(requests):
        spread = bool(nodes > 1 and rng.random() < 0.25)
        demand = tuple(int(amount) for amount in rng.choice([1, 2, 3, 4, 6, 8], 2) * (1 + spread))
        each = {"demand": demand, "spread": spread}
        present = [
            (server, node)
            for server in range(servers)
            for node in range(1 if spread else nodes)
            if slow.fits(free.tolist(), each, server, node)
        ]
        if present:
            server, node = present[int(rng.integers(len(present)))]
            for n in slow.nodes_of(each, node, nodes):
                free[server, n] -= slow.taken(each, n, nodes)
            rows.append((row * 3, server, -1 if spread else node, demand, rng.exponential(100.0)))
    scenario = {row: Request(row, 0.0, left, demand, node < 0) for row, _, node, demand, left in rows}
    columns: Any = list(zip(*rows, strict=True)) if rows else [()] * 5
    running = Running(
        np.array(columns[0], np.int64),
        np.array(columns[1], np.int64),
        np.array(columns[2], np.int64),
        np.array(columns[3], np.int64).reshape(-1, 2),
        scenario.__getitem__,
        {row: place(scenario[row], (server, node), nodes) for row, server, node, _, _ in rows}.__getitem__,
    )
    return View(("cpu", "mem"), capacity, free), running


def as_slow(view: View, running: Running) -> tuple[Any, list[slow.One]]:
    """Return what is free, and what runs, for the slow movers."""
    parts = zip(running.demand.tolist(), running.server.tolist(), running.node.tolist(), strict=True)
    requests = [
        {"demand": demand, "spread": node < 0, "server": server, "node": max(node, 0)} for demand, server, node in parts
    ]
    return view.free.tolist(), requests


def made(view: View, running: Running, plan: list[Move], moves: int) -> Any:
    """Make the moves one by one, each beside its old place, which must fit, and return what is free afterwards."""
    assert len(plan) <= moves
    free, requests = as_slow(view, running)
    rows = running.row.tolist()
    for row, placement in plan:
        each, nodes = requests[rows.index(row)], view.free.shape[1]
        server, node, _ = placement.shares[0]
        request = running.request(row)
        right = request.across(server, nodes) if each["spread"] else request.on(server, node)
        assert placement == right
        assert slow.may(free, each, server, node)
        slow.move(free, each, server, node)
    return free
