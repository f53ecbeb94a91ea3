"""Bounds beside exhaustive search: none is above what is needed, and each sees something that the others do not."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.solver import problem
from binwright.agents.solver.language.errors import SpecError
from binwright.agents.solver.model.bounds import floor, lower_bound, opened_bound
from binwright.agents.solver.model.packing_bound import clique
from binwright.agents.solver.model.packing_bound import lower_bound as packing_bound
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.agents.solver.model.verify import faults
from binwright.agents.solver.solving.solve import solve
from binwright.simcore.types import Ints
from tests.reference.interpreter import call
from tests.support.properties import scaled
from tests.support.specifications import BALLS, BINS, specifications


def needed(found: Problem, most: int) -> int:
    """The fewest bins by trying every allocation; one more than `most` if there is none in so many."""
    for bins in range(found.limits[0], most + 1):
        tried = found.with_bins(bins)
        if any(not faults(tried, alloc) for alloc in product(range(bins), repeat=tried.balls)):
            return bins
    return most + 1


LIKE_NONE = ["PIN 0 TO 3", "DRAIN 0, 1 NOW at MOVES 1", "NOW at MOVES 0", "DIFFERENT 0, 1", ""]


@scaled(1)
@given(
    st.lists(st.integers(0, 4), min_size=4, max_size=4),
    st.booleans(),
    st.sampled_from(LIKE_NONE),
    st.integers(0, 2),
    st.sampled_from(["", ", ALL => 2 * BINS", ", ALL => 3"]),
)
def test_no_fewer_bins_hold_balls_than_is_said(
    capacity: list[int], alike: bool, rule: str, rejected: int, total: str
) -> None:
    """Whichever bins these are; that the first k are too few says nothing of others where bins differ."""
    room = [capacity[0]] * 4 if alike else capacity
    reject = f"if BIN < {rejected} REJECT end" if rejected else ""
    body = f"{reject} UTIL.C[BIN] += 1 {'UTIL.ALL += 1' if total else ''}"
    few = problem(
        f"TABLE ROOM = {room} TABLE at = [3, 2, 3] BALLS 3 BINS ? TO 4 RESOURCES C[b in BINS] => ROOM[b]{total} {rule} "
        f"procedure UTILFN(BALL, BIN, ALLOC) {body} end"
    )
    widest = few.with_bins(4)
    opened = [len(set(alloc)) for alloc in product(range(4), repeat=3) if not faults(widest, alloc)]
    assert opened_bound(few, min(needed(few, 4), 4)) <= min(opened, default=4)


@scaled(1)
@given(specifications(), st.lists(st.integers(NULL, BINS - 1), min_size=BALLS, max_size=BALLS))
def test_no_ball_takes_less_than_its_floor(text: str, alloc: list[int]) -> None:
    try:
        found = problem(text)
    except SpecError:
        return
    low = floor(found)
    if low is None:
        return
    column = {name: at for at, name in enumerate(low.names)}
    sliced = found.without_alloc
    for ball, place in product(range(BALLS), range(BINS)):
        if found.pins[ball] not in (NULL, place):
            continue
        added = call(found.program, ball, place, alloc)
        if added is None:
            continue
        assert call(sliced, ball, place, []) is not None
        took = np.zeros(len(column), np.int64)
        for dim, amount in added:
            family = next(one for one in found.families if dim in one)
            name = family.name_of(dim, family.bin_axis) if family.bin_axis is not None else ""
            if name in column and found.owner[dim] == place:
                took[column[name]] += amount
        assert (took >= low.demand[found.unit_of[ball]]).all() or len(found.units) < BALLS


BODIES = (
    "UTIL.C[BIN] += D[BALL]",
    "UTIL.C[BIN] += D[BALL] UTIL.E[BIN] += F[BALL]",
    "UTIL.C[BIN] += D[BALL] if BALL > 0 and ALLOC[BALL - 1] == BIN UTIL.C[BIN] += 1 end",
    "if count(o in BALLS except BALL: ALLOC[o] == BIN) > 1 REJECT end UTIL.C[BIN] += D[BALL]",
    "UTIL.C[BIN] += if BIN == 0 then 1 else D[BALL]",
    "if ALLOC[0] != NULL and ALLOC[0] != BALL REJECT end UTIL.C[BIN] += D[BALL]",
    "if D[BALL] == 2 REJECT end UTIL.C[BIN] += D[BALL] UTIL.E[0] += 1",
)
MORE = ("", "FOES 0, 1 FOES 1, 2", "FRIENDS 0, 2", "PIN 0 TO 0", "FOES 0, 1, 2", "SOFT C SHARE 0.5 OVER 0.5")
CAPACITIES = ("4", "3 + s", "5 - min(s, 3)")


@scaled(1.6)
@given(
    st.sampled_from(BODIES),
    st.sampled_from(MORE),
    st.sampled_from(CAPACITIES),
    st.lists(st.integers(0, 4), min_size=4, max_size=4),
    st.lists(st.integers(0, 3), min_size=4, max_size=4),
)
def test_no_bound_of_a_problem_is_above_what_is_needed(
    body: str, more: str, capacity: str, demand: list[int], other: list[int]
) -> None:
    found = problem(
        f"TABLE D = {demand} TABLE F = {other} BALLS 4 BINS ? RESOURCES C[s in BINS] => {capacity}, "
        f"E[s in BINS] => 3 {more} procedure UTILFN(BALL, BIN, ALLOC) {body} end"
    )
    bound = lower_bound(found)
    assert bound <= needed(found, min(4, bound))


@pytest.mark.parametrize(
    ("body", "more", "capacity", "bound"),
    [
        ("UTIL.C[BIN] += 2", "", "4", 3),
        ("UTIL.C[BIN] += 2 if BALL > 0 and ALLOC[BALL - 1] == BIN UTIL.C[BIN] += 1 end", "", "4", 3),
        ("if BALL > 0 and ALLOC[BALL - 1] == BIN REJECT end UTIL.C[BIN] += 2", "", "4", 3),
        ("UTIL.C[BIN] += if BIN == 2 then 1 else 2", "", "4", 2),
        ("UTIL.C[BIN] += 2", "SOFT C SHARE 0 OVER 1", "4", 2),
        ("UTIL.C[BIN] += 1", "FOES i, j for i in 6, j in i + 1 .. 6", "4", 6),
        ("UTIL.C[BIN] += 1", "PIN 3 TO 1 PIN 5 TO 2 FOES 3, 0 FOES 5, 0 FOES 1, 0 FOES 1, 3 FOES 1, 5", "4", 4),
        ("UTIL.C[BIN] += 1", "FRIENDS 0, 1, 2 FRIENDS 3, 4, 5", "4", 2),
        ("UTIL.C[BIN] += 1", "", "1 + s", 3),
        ("UTIL.C[BIN] += 1 / BINS", "", "1", 1),
    ],
)
def test_least_use_of_every_ball_bounds_problems_of_any_form(body: str, more: str, capacity: str, bound: int) -> None:
    found = problem(
        f"BALLS 6 BINS ? RESOURCES C[s in BINS] => {capacity} {more} procedure UTILFN(BALL, BIN, ALLOC) {body} end"
    )
    assert lower_bound(found) == bound
    assert solve(found, attempts=16).bound == bound


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Ints, Ints, list[tuple[int, int]]]:
    """Balls of two dimensions and pairs of foes."""
    count = draw(st.integers(2, 9))
    demand = draw(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), min_size=count, max_size=count))
    ball = st.integers(0, count - 1)
    return np.array(demand), np.array([7, 7]), draw(st.lists(st.tuples(ball, ball), max_size=12))


def share(demand: Ints, capacity: Ints, foes: list[tuple[int, int]], one: int, other: int) -> bool:
    return bool((demand[one] + demand[other] <= capacity).all()) and not {(one, other), (other, one)} & set(foes)


@scaled(3)
@given(graphs(), st.integers(0, 5))
def test_no_two_balls_of_a_clique_share_a_bin_and_no_other_ball_could_join(
    given: tuple[Ints, Ints, list[tuple[int, int]]], enough: int
) -> None:
    demand, capacity, foes = given
    found = clique(demand, capacity, foes, enough)
    assert not any(share(demand, capacity, foes, one, other) for one, other in combinations(found, 2))
    assert not found or len(found) > enough
    others = set(range(len(demand))) - set(found) if found else ()
    assert all(any(share(demand, capacity, foes, ball, one) for one in found) for ball in others)


def test_cliques_and_dual_feasible_functions_see_what_totals_do_not() -> None:
    # Any two conflict in some dimension; no dimension alone has more than two above a half.
    corners = np.array([[6, 6, 1], [1, 6, 6], [6, 1, 6]])
    assert packing_bound(corners, np.array([10, 10, 10])) == 3
    # No three of the large ones share a bin. The total fills four, and by their number seven would fit.
    thirds = np.array([[34]] * 10 + [[5]] * 6)
    assert packing_bound(thirds, np.array([100])) == 5
    assert packing_bound(thirds, np.array([100]), list(combinations(range(7), 2))) == 7


def test_of_many_balls_the_largest_are_looked_at() -> None:
    demand = np.concatenate([np.full((3_000, 1), 1), np.full((40, 1), 600)]) * MICRO
    assert len(clique(demand, np.array([1_000 * MICRO]))) == 40
