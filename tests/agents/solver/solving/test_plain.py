"""Small problems are answered, and proven, before anything is compiled: by CP-SAT, or by trying all allocations."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import binwright as bw
from binwright.agents.solver import load_problem
from binwright.agents.solver.language.errors import SpecError
from binwright.agents.solver.local.construct import Construction
from binwright.agents.solver.model.verify import faults
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
    found = next(Construction(asked, None, seed, lambda: False).allocations(), None)
    if found is not None:
        assert right(asked, found)
        assert not faults(asked, found)
    elif asked.program.non_negative or not len(asked.soft_allowed):
        assert not possible(asked)


@pytest.mark.usefixtures("nothing_compiles")
@pytest.mark.parametrize("name", ["cdn", "multicast", "path-length", "server-selection", "vlans"])
def test_examples_need_no_kernel(name: str) -> None:
    asked = load_problem(name)
    answer = bw.solve(asked, time=10_000)
    assert answer.status == "optimal"
    assert not faults(answer.problem, answer.alloc)


@pytest.mark.usefixtures("nothing_compiles")
def test_goals_of_a_tiny_problem_are_proven_by_trying_all_and_that_is_said() -> None:
    asked = problem(
        "MINIMISE sum(b in BINS: UTIL.A[b] * b) procedure UTILFN(BALL, BIN, ALLOC)"
        " UTIL.A[BIN] += 1 + count(o in BALLS except BALL: ALLOC[o] == BIN) end",
        balls=4, bins=3, resources={"A[b in BINS]": 4},
    )  # fmt: skip
    answer = bw.solve(asked, time=10_000)
    assert (answer.status, answer.search) == ("optimal", "depth first")
    assert answer.goals[0].value == 3  # two balls, which take 3 together, in each of the first bins


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
