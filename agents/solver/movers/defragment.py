"""Defragments by the solver's search: from where things are, with so many moves."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from agents.rules.moving import Aim, Standing, aim_at, apply, can_move, checked_size, losses, moved, standing
from agents.solver.solving.solve import solve
from agents.solver.specification.load import problem
from simcore.errors import UserError
from simcore.moves import Move, Mover, Running
from simcore.types import Ints, Request, View


class SolverMover(Mover):
    """Local search for the placement of all requests in which most of a `size` find room, with so many moves.

    `size` is in units of the first resource, by default what the largest usual request takes of a node; `runs` are
    runs of the search. The moves are put in an order in which each finds room beside its old place; those for which
    there is none, as two that would change places, are left out. Every plan is a search of its own with a number as
    seed, from 1.
    """

    reference = "ours: the page 'The solver' has the search"
    makes_room = False

    def __init__(self, size: float | None = None, runs: int = 4) -> None:
        self._size, self._runs = checked_size(size), runs
        if runs < 1:
            raise UserError("no run of the search", key="runs", value=runs, remedy="Give 1 or more.")
        self._seed = 0

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Count the searches anew."""
        self._seed = 0

    def plan(self, view: View, running: Running, moves: int, request: Request | None = None) -> Sequence[Move]:
        """Return the moves, in order; none where a request is to be made room for, which is no goal of this mover."""
        if request is not None or not len(running.row) or not moves:
            return []
        now = standing(view, running)
        aim = aim_at("fragments", self._size, now)
        self._seed += 1
        home = now.place.tolist()
        found = solve(stated(now, aim.size, moves), seed=self._seed, attempts=self._runs)
        if found.placed < len(home):
            return []
        targets = {ball: to for ball, (old, to) in enumerate(zip(home, found.alloc, strict=True)) if old != to}
        plan = ordered(standing(view, running), targets)
        return moved(running, now, useful(now, plan, aim))


def stated(now: Standing, size: int, moves: int) -> Any:
    """State what runs as a problem, in the largest unit of which all amounts are whole numbers."""
    servers, nodes, kinds = now.free.shape
    demand, spread = now.demands[now.kind], now.spread[now.kind]
    part = demand[:, None] // nodes + (np.arange(nodes)[:, None] < demand[:, None] % nodes)
    room = now.free.copy()
    for which, place in enumerate(now.place.tolist()):
        if spread[which]:
            room[place // nodes] += part[which]
        else:
            room[place // nodes, place % nodes] += demand[which]
    unit = int(np.gcd.reduce(np.concatenate([room.ravel(), part.ravel(), demand.ravel(), [size]])))
    return problem(
        files("agents.solver").joinpath("templates", "defragment.alloc").read_text("utf-8"),
        params={"SERVERS": servers, "NODES": nodes, "KINDS": kinds, "SIZE": size // unit},
        tables={
            "ROOM": room // unit,
            "DEMAND": demand // unit,
            "PART": part // unit,
            "SPREAD": spread,
            "HOME": now.place,
        },
        moves=moves,
    )


def ordered(now: Standing, targets: dict[int, int]) -> Ints:
    """Put moves to these places in an order in which each fits beside its old place, [any, 2]; `now` is changed.

    Of those that fit the lowest request comes first. What never fits is left out.
    """
    left = dict(sorted(targets.items()))
    plan: list[tuple[int, int]] = []
    while True:
        fitting = next((which for which, place in left.items() if can_move(now, which, place)), None)
        if fitting is None:
            return np.array(plan, np.int64).reshape(-1, 2)
        place = left.pop(fitting)
        apply(now, fitting, place)
        plan.append((fitting, place))


def useful(now: Standing, plan: Ints, aim: Aim) -> Ints:
    """Return the moves of a plan up to where least is lost, the first of equals; `now`, before them, is changed."""
    least = [losses(now.free, aim)]
    for which, place in plan.tolist():
        apply(now, which, place)
        least.append(losses(now.free, aim))
    return plan[: int(np.argmin(least))]
