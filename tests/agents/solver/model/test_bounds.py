"""Bounds beside exhaustive search: none is above what is needed, and each sees something that the others do not."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.solver import problem
from binwright.agents.solver.model.bounds import lower_bound
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.verify import faults
from binwright.agents.solver.solving.solve import solve
from tests.support.properties import scaled


def needed(result: Problem, most: int) -> int:
    """The fewest bins by trying every allocation; one more than `most` if there is none in so many."""
    for bins in range(result.limits[0], most + 1):
        tried = result.with_bins(bins)
        if any(not faults(tried, alloc) for alloc in product(range(bins), repeat=tried.balls)):
            return bins
    return most + 1


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
    result = problem(
        f"TABLE D = {demand} TABLE F = {other} BALLS 4 BINS ? RESOURCES C[s in BINS] => {capacity}, "
        f"E[s in BINS] => 3 {more} procedure UTILFN(BALL, BIN, ALLOC) {body} end"
    )
    bound = lower_bound(result)
    assert bound <= needed(result, min(4, bound))


@pytest.mark.parametrize(
    ("body", "more", "capacity", "bound"),
    [
        ("UTIL.C[BIN] += 2", "", "4", 3),
        ("UTIL.C[BIN] += 2", "PIN 0 TO 1 FOES 1, 2", "4", 3),
        ("UTIL.C[BIN] += 1", "FRIENDS 0, 1, 2 FRIENDS 3, 4, 5", "4", 2),
        ("UTIL.C[BIN] += 1", "DIFFERENT 0 .. 5", "4", 5),
        ("UTIL.C[BIN] += 1 / BINS", "", "1", 1),
        ("UTIL.K[BIN] += 1", "PIN 0 TO 1", "9, K[k in 2] => 1 + 4 * k", 2),
    ],
)
def test_sizes_and_sets_bound_the_number_of_bins(body: str, more: str, capacity: str, bound: int) -> None:
    result = problem(
        f"BALLS 6 BINS ? RESOURCES C[s in BINS] => {capacity} {more} procedure UTILFN(BALL, BIN, ALLOC) {body} end"
    )
    assert lower_bound(result) == bound
    assert solve(result, attempts=16).bound == bound
