"""The verifier looks at all sets at once, and says what the plain rule says of each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.solver import problem
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.verify import faults
from tests.support.properties import scaled

SETS = st.lists(st.lists(st.integers(0, 5), min_size=2, max_size=3, unique=True), max_size=4)


@scaled(1)
@given(SETS, st.lists(st.integers(NULL, 2), min_size=6, max_size=6), st.sampled_from([0, 2, 50]))
def test_different_balls_are_in_bins_of_their_own(sets: list[list[int]], alloc: list[int], paired: int) -> None:
    """Whether a set becomes pairs, or a resource of which every bin has one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("binwright.agents.solver.specification.translated.PAIRED", paired)
        given = problem(
            "procedure UTILFN(BALL, BIN, ALLOC) UTIL.C[BIN] += 1 end",
            balls=6, bins=3, resources={"C[b in BINS]": 6}, different=sets,
        )  # fmt: skip
        placed = [[alloc[ball] for ball in members if alloc[ball] != NULL] for members in sets]
        assert (not faults(given, alloc)) == all(len(places) == len(set(places)) for places in placed)


@scaled(1)
@given(SETS, SETS, st.lists(st.integers(NULL, 2), min_size=6, max_size=6), st.integers(NULL, 2), st.booleans())
def test_sets_pins_and_drains(
    friends: list[list[int]], foes: list[list[int]], alloc: list[int], pin: int, drain: bool
) -> None:
    given = problem(
        f"{'DRAIN 2' if drain else ''} procedure UTILFN(BALL, BIN, ALLOC) UTIL.C[BIN] += 1 end",
        balls=6, bins=3, resources={"C[b in BINS]": 3}, friends=friends, foes=foes, pins=[pin, *[NULL] * 5],
    )  # fmt: skip
    expected = {
        "pinned": int(pin != NULL and alloc[0] not in (pin, NULL)),
        "to be empty": alloc.count(2) if drain else 0,
        "friends": sum(len({alloc[ball] for ball in members}) > 1 for members in friends),
        "foes": sum(len({alloc[ball] for ball in members}) == 1 and alloc[members[0]] != NULL for members in foes),
        "is used": sum(alloc.count(place) > 3 for place in range(3)),
    }
    found = faults(given, alloc)
    assert {word: sum(word in line for line in found) for word in expected} == expected
    assert len(found) == sum(expected.values())
