"""Random packings, in their dense form and as balls for equal bins."""

import numpy as np
from hypothesis import strategies as st

from binwright.agents.solver.model.problem import Matrix
from binwright.simcore.types import Ints


@st.composite
def packings(draw: st.DrawFn) -> Matrix:
    """Draw few balls and bins of small sizes."""
    dims, bins, balls = draw(st.integers(1, 3)), draw(st.integers(1, 5)), draw(st.integers(1, 12))
    row = st.lists(st.integers(0, 6), min_size=dims, max_size=dims)
    demand, capacity = (np.array(draw(st.lists(row, min_size=n, max_size=n)), np.int64) for n in (balls, bins))
    return Matrix(demand, capacity, (), np.arange(capacity.size).reshape(capacity.shape))


def keeps(packing: Matrix, where: Ints) -> bool:
    """Tell whether a placement [balls], -1 for who is left out, keeps capacities."""
    used, placed = np.zeros_like(packing.capacity), where >= 0
    np.add.at(used, where[placed], packing.demand[placed])
    return bool((used <= packing.capacity).all())


@st.composite
def balls(draw: st.DrawFn, most: int = 12) -> tuple[Ints, Ints]:
    """Small numbers, so that ties abound; every ball fits an empty bin, some need nothing."""
    count, dims = draw(st.integers(1, most)), draw(st.integers(1, 3))
    capacity = np.array(draw(st.lists(st.integers(0, 8), min_size=dims, max_size=dims)))
    rows = [[draw(st.integers(0, int(room))) for room in capacity] for _ in range(count)]
    return np.array(rows, np.int64), capacity


def needed(demand: Ints, capacity: Ints) -> int:
    """The fewest bins, by trying everything."""
    best = len(demand)

    def place(ball: int, free: list[Ints]) -> None:
        nonlocal best
        if len(free) >= best:
            return
        if ball == len(demand):
            best = len(free)
            return
        for target in range(len(free)):
            if (demand[ball] <= free[target]).all():
                place(ball + 1, [*free[:target], free[target] - demand[ball], *free[target + 1 :]])
        place(ball + 1, [*free, capacity - demand[ball]])

    place(0, [])
    return best
