"""CP-SAT's bound on what moves can reach, against every choice of moves in clusters that are small enough."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.heuristics.movers.defragment import defragment
from binwright.agents.rules.moving import aim_at, losses, standing
from binwright.simcore.types import QUANTUM
from tests.reference import defragment as slow
from tests.support.in_use import as_slow, in_use
from tests.support.properties import scaled

pytest.importorskip("ortools")

from benchmarks.moves_bound import best

SIZE = 8


def least(free: Any, requests: list[slow.One], moves: int) -> int:
    """Try every place for every request: what is lost at least, with at most so many elsewhere."""
    ways = [[at for at in slow.places(free) if not (one["spread"] and at[1])] for one in requests]
    found = slow.fragments(free, SIZE)
    for chosen in product(*ways):
        gone = [i for i, one in enumerate(requests) if chosen[i] != (one["server"], one["node"])]
        if len(gone) > moves:
            continue
        after = [[list(node) for node in server] for server in free]
        for which in gone:
            one = requests[which]
            slow.change(after, one, one["server"], one["node"], 1)
            slow.change(after, one, *chosen[which], -1)
        if min(amount for server in after for node in server for amount in node) >= 0:
            found = min(found, slow.fragments(after, SIZE))
    return found


@pytest.mark.long
@given(st.integers(0, 2**32), st.integers(0, 3))
@scaled(0.5)
def test_the_bound_is_what_the_best_choice_leaves(seed: int, moves: int) -> None:
    view, running = in_use(seed, servers=2, requests=5, most=12)
    if not len(running.row):
        return
    now = standing(view, running)
    free, requests = as_slow(view, running)
    bound = best(now, SIZE, moves)
    assert bound.proved
    assert bound.lost == least(free, requests, moves)
    defragment(now, aim_at("fragments", SIZE / QUANTUM, now), moves, 4)
    assert losses(now.free, aim_at("fragments", SIZE / QUANTUM, now)) >= bound.lost
    assert np.all(now.free >= 0)
