"""Small problems are answered, and proven, before anything is compiled: by CP-SAT, or by trying all allocations."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import binwright as bw
from binwright.agents.solver import load_problem
from binwright.agents.solver.language.errors import SpecError
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.verify import faults
from binwright.agents.solver.solving.depth_first import allocations
from tests.support.properties import first, scaled
from tests.support.solving import nothing_compiled, possible, problem, right
from tests.support.specifications import specifications


@pytest.fixture(scope="module")
def nothing_compiles() -> Iterator[None]:
    with nothing_compiled():
        yield


@scaled(1.5)
@given(specifications(), st.integers(0, 9))
def test_an_allocation_is_found_if_there_is_one(text: str, seed: int) -> None:
    """Of whatever the language can say, although it may depend on the order of the balls."""
    try:
        asked = problem(text)
    except SpecError:
        return
    found = next(allocations(asked, seed, lambda: False), None)
    if found is not None:
        assert right(asked, found)
        assert not faults(asked, found)
    elif asked.program.non_negative or not len(asked.soft_allowed):
        assert not possible(asked)


@st.composite
def tiny(draw: st.DrawFn) -> Problem:
    """Draw a problem that does not depend on the order of the balls."""
    balls, bins = draw(st.integers(2, 5)), draw(st.integers(2, 3))
    demand = draw(st.lists(st.integers(1, 5), min_size=balls, max_size=balls))
    body = draw(
        st.sampled_from(
            [
                "",
                "UTIL.Z[BALL % 2, BIN % 2] += 1",
                "UTIL.L[BIN] += count(o in BALLS except BALL: ALLOC[o] == BIN)",
                """let m = count(o in BALLS except BALL: ALLOC[o] == BIN)
                UTIL.L[BIN] += min(m + 1, BALLS - m - 1) - min(m, BALLS - m)""",
                "if (BALL + BIN) % 3 == 0 REJECT end",
            ]
        )
    )
    sets = draw(st.sampled_from(["", "FOES 0, 1", "FRIENDS 0, 1", "PIN 0 TO 1"]))
    return problem(
        f"procedure UTILFN(BALL, BIN, ALLOC) UTIL.S[BIN] += D[BALL] {body} end {sets}",
        balls=balls,
        bins=draw(st.just(bins) | st.just("?")),
        resources={
            "S[b in BINS]": max(*demand, -(-sum(demand) // bins) + draw(st.integers(0, 1))),
            "Z[a in 2, z in 2]": draw(st.integers(1, 3)),
            "L[b in BINS]": draw(st.integers(1, 2)),
        },
        tables={"D": demand},
    )


@pytest.mark.usefixtures("nothing_compiles")
@scaled(3.0)
@given(tiny())
def test_tiny_problems_need_no_kernel(asked: Problem) -> None:
    """Nor does the proof that they are impossible, or need so many bins: it would take for ever to wait for one."""
    least, most = asked.limits if asked.searched else (asked.bins, asked.bins)
    sized = ((bins, asked.with_bins(bins) if asked.searched else asked) for bins in range(least, most + 1))
    fewest = next((bins for bins, one in sized if possible(one)), None)
    answer = bw.solve(asked, time=10_000)
    assert (answer.bins if answer.placed == asked.balls else None) == fewest
    assert answer.status in (("optimal", "solved") if fewest else ("partial", "unsolved"))
    assert bool(answer.impossible) == (fewest is None)
    assert answer.bound == answer.bins or fewest is None
    assert not faults(answer.problem, answer.alloc)


@pytest.mark.usefixtures("nothing_compiles")
@pytest.mark.parametrize("name", ["cdn", "multicast", "path-length", "server-selection", "vlans"])
def test_examples_need_no_kernel(name: str) -> None:
    asked = load_problem(name)
    answer = bw.solve(asked, time=10_000)
    assert answer.status == "optimal"
    assert not faults(answer.problem, answer.alloc)


@pytest.mark.usefixtures("nothing_compiles")
@pytest.mark.parametrize("search", first(1, ["ours", "published"]))
def test_problems_too_large_for_plain_python_are_answered_in_time(search: str) -> None:
    """By first fit where there is a dense form, and else by what one attempt comes to."""
    demand = np.random.default_rng(7).integers(1, 4000, 2_000) / 1000
    packed = [
        problem("procedure UTILFN(BALL, BIN, ALLOC) UTIL.A[BIN] += D[BALL] end", balls=len(some), bins=bins,
                resources={"A[b in BINS]": 16}, tables={"D": some})
        for some, bins in ((demand, "?"), (demand[:500], 500))
    ]  # fmt: skip
    crowd = problem(
        "procedure UTILFN(BALL, BIN, ALLOC) UTIL.A[BIN] += count(o in BALLS except BALL: ALLOC[o] == BIN) end",
        balls=600, bins=600, resources={"A[b in BINS]": 1},
    )  # fmt: skip
    for asked in (*packed, crowd):
        answer = bw.solve(asked, search=search, time=0.4)
        assert answer.placed == asked.balls if asked.matrix is not None else answer.placed > 0
        assert any("compiling took longer" in note for note in answer.notes)
        assert answer.search == "first fit"
