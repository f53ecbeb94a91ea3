"""Movers and rules of moves that are drawn, for runs on the engine and by its reference."""

import hashlib
from collections.abc import Sequence
from random import Random

from hypothesis import strategies as st

from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.moves import MakeRoom, MovesSpec, Rescheduling
from binwright.scenarios.features.moves.run import Moving
from binwright.simcore.moves import Move, Mover, Running
from binwright.simcore.types import QUANTUM, Request, View
from tests.reference.engine import Room, Where, feasible, shares
from tests.reference.moving import May, Plans, Rules, Runs
from tests.support.simulations import place


def shuffler(salt: int) -> Plans:
    """Make what plans moves at random, always the same in the same situation, and each fits after those before."""

    def plans(free: Room, running: Runs, moves: int, request: int, may: May) -> list[tuple[int, Where]]:
        digest = hashlib.blake2b(repr((salt, free, running, moves, request)).encode(), digest_size=8).digest()
        rng = Random(digest)
        free = [[list(node) for node in server] for server in free]
        at = {row: where for row, where, _, _ in running}
        result = []
        for _ in range(rng.randint(0, moves)):
            row, _, demand, spread = rng.choice(running)
            open_to = may(row)
            places = [where for where in feasible(free, demand, spread) if where != at[row] and open_to[where[0]]]
            if places:
                where = rng.choice(places)
                for to, sign in ((where, -1), (at[row], +1)):
                    for server, node, amounts in shares(demand, spread, to, len(free[0])):
                        for r, amount in enumerate(amounts):
                            free[server][node][r] += sign * amount
                at[row] = where
                result.append((row, where))
        return result

    return plans


class Told(Mover):
    """Plans what a function says."""

    def __init__(self, plans: Plans) -> None:
        self.plans = plans

    def plan(self, view: View, running: Running, moves: int, request: Request | None = None) -> Sequence[Move]:
        runs: Runs = []
        for row, server, node in zip(running.row.tolist(), running.server.tolist(), running.node.tolist(), strict=True):
            each = running.request(row)
            runs.append((row, (server, node), each.demand, each.spread))
        servers, nodes, _ = view.free.shape

        def may(row: int) -> list[bool]:
            result: list[bool] = running.may(row).tolist() if running.may else [True] * servers
            return result

        result = self.plans(view.free.tolist(), runs, moves, -1 if request is None else request.index, may)
        return [Move(row, place(running.request(row), where, nodes)) for row, where in result]


def move_in(simulation: Simulation, rules: Rules, mover: Mover) -> Moving:
    """Have a mover move in a simulation."""
    spec = MovesSpec.model_construct(
        bandwidth=1 / rules.per_quantum / QUANTUM if rules.per_quantum else None,
        downtime=rules.downtime,
        at_once=rules.at_once or None,
    )
    room = (MakeRoom.model_construct(moves=rules.room), mover) if rules.room else None
    when = Rescheduling.model_construct(moves=rules.moves, every=rules.every)
    schedule = (when, mover) if rules.every else None
    moving = Moving(simulation, spec, room, schedule)
    moving.resource = 0  # as the reference has it, whatever it is called
    return moving


rules_of_moves = st.builds(
    Rules,
    every=st.sampled_from([2, 1, 0, 5]),
    moves=st.integers(1, 4),
    room=st.sampled_from([2, 0, 1, 4]),
    per_quantum=st.sampled_from([0.5, 0.0, 1.0, 2.0]),
    downtime=st.sampled_from([0.0, 1.0]),
    at_once=st.sampled_from([0, 1, 2]),
)
"""Draws how moves are made."""


def drawn_rules(rng: Random) -> Rules:
    """Draw how moves are made in a long case."""
    return Rules(
        rng.choice([0, 1, 2, 3]),
        rng.randint(1, 5),
        rng.choice([0, 1, 3]),
        rng.choice([0.0, 0.5, 1.0]),
        rng.choice([0.0, 0.5, 2.0]),
        rng.choice([0, 1, 2]),
    )
