"""Random packings in their dense form."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from agents.solver.search.packing import Packing, powers


@st.composite
def packings(draw: st.DrawFn) -> Packing:
    """Draw few balls and bins of small sizes; some pinned, as far as that keeps the rules, some foes."""
    dims, bins, balls = draw(st.integers(1, 3)), draw(st.integers(1, 5)), draw(st.integers(1, 12))
    number = st.integers(0, 6)
    capacity = np.array(draw(st.lists(st.lists(number, min_size=dims, max_size=dims), min_size=bins, max_size=bins)))
    demand = np.array(draw(st.lists(st.lists(number, min_size=dims, max_size=dims), min_size=balls, max_size=balls)))
    sets = st.lists(st.integers(0, balls - 1), min_size=1, max_size=3, unique=True).map(tuple)
    foes = tuple(draw(st.lists(sets, max_size=3)))
    built = Packing(demand, capacity, np.full(balls, -1), foes, powers(bins))
    for ball in draw(st.lists(st.integers(0, balls - 1), max_size=3, unique=True)):
        pins = built.pins.copy()
        pins[ball] = draw(st.integers(0, bins - 1))
        if built.keeps(pins, partial=True):
            built = Packing(demand, capacity, pins, foes, built.groupings)
    return built
