"""Finds the best rate of fragments that so many moves could reach, with CP-SAT: a bound, for small clusters."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from binwright.agents.rules.moving import Standing


class Bound(NamedTuple):
    """Says how little `lost` of the first resource, in quanta, any so many moves could leave, and if that is `proved`.

    Where it is not, `lost` is what CP-SAT has not excluded.
    """

    lost: int
    proved: bool


def best(now: Standing, size: int, moves: int, seconds: float = 30.0) -> Bound:
    """Compute the bound for requests of a `size` in quanta.

    Only the end counts: whether the moves can be made one after another, beside the old places, is not asked.
    """
    from ortools.sat.python import cp_model

    servers, nodes, resources = now.free.shape
    kinds, count = np.unique(np.column_stack([now.kind, now.place]), axis=0, return_counts=True)
    model: Any = cp_model.CpModel()
    unit = int(np.gcd.reduce(np.concatenate([now.free.ravel(), now.demands.ravel(), [size]])))
    taken: dict[tuple[int, int, int], list[Any]] = {
        (server, node, r): [] for server in range(servers) for node in range(nodes) for r in range(resources)
    }
    gone: list[Any] = []
    for (kind, home), times in zip(kinds.tolist(), count.tolist(), strict=True):
        spread, demand = bool(now.spread[kind]), now.demands[kind].tolist()
        there = []
        for place in range(0, servers * nodes, nodes if spread else 1):
            left = model.new_int_var(0, int(times), "")
            there.append(left)
            if place == home:
                gone.append(times - left)
            for node in range(nodes) if spread else [place % nodes]:
                for r, amount in enumerate(demand):
                    part = amount // nodes + (node < amount % nodes) if spread else amount
                    here = times if place == home else 0
                    taken[place // nodes, node, r].append((left - here) * (part // unit))
        model.add(sum(there) == times)
    slots = []
    for (server, node, r), parts in taken.items():
        free = int(now.free[server, node, r]) // unit - sum(parts)
        model.add(free >= 0)
        if r == 0:
            slot = model.new_int_var(0, int(now.capacity[server, node, 0]) // size, "")
            model.add(slot * (size // unit) <= free)
            slots.append(slot)
    model.add(sum(gone) <= moves)
    model.maximize(sum(slots))
    solver: Any = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = seconds
    status = solver.solve(model)
    most = int(np.floor(solver.best_objective_bound + 1e-6))
    return Bound(int(now.free[:, :, 0].sum()) - most * size, status == cp_model.OPTIMAL)
