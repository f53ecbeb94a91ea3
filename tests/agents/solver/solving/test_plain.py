"""Small problems are answered, and proven, before anything is compiled: by first fit and CP-SAT."""

import numpy as np
import pytest

import binwright as bw
from binwright.agents.solver import load_problem
from binwright.agents.solver.model.verify import faults
from tests.support.properties import first
from tests.support.solving import nothing_compiled, problem


@nothing_compiled()
@pytest.mark.parametrize("name", ["cdn", "replicas", "time-varying", "vm-placement"])
def test_examples_need_no_kernel(name: str) -> None:
    requested = load_problem(name)
    answer = bw.solve(requested, time=10_000)
    assert answer.status == "optimal"
    assert not faults(answer.problem, answer.alloc)


@nothing_compiled()
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
    for requested in (*packed, crowd):
        answer = bw.solve(requested, search=search, time=0.4)
        assert answer.placed == requested.balls if requested.matrix is not None else answer.placed > 0
        assert any("compiling took longer" in note for note in answer.notes)
        assert answer.search == "first fit"
