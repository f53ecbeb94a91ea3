"""What attempts are said to do is what they do."""

from __future__ import annotations

import numpy as np
import pytest

from agents.solver import problem
from agents.solver.backends import reference
from agents.solver.model.problem import Problem
from agents.solver.model.program import OPS
from agents.solver.specification.load import load_problem
from benchmarks.solver_counts import ADD, COSTS, H200, READ, counted, side_by_side, speculating


def lines(balls: int, bins: int, room: int) -> Problem:
    """Make balls of size 1 for bins of one resource."""
    return problem(
        "procedure UTILFN(BALL, BIN, ALLOC) UTIL.A[BIN] += D[BALL] end",
        balls=balls,
        bins=bins,
        resources={"A[s in BINS]": room},
        tables={"D": [1.0] * balls},
    )


def test_counts_by_hand() -> None:
    """Six balls, two bins for two each: in groups of one bin, two are taken and four fail, then two and two."""
    made = lines(6, 2, 2)
    ways = [np.diff(grouping.offsets).tolist() for grouping in made.groupings]
    assert ways == [[2], [1, 1]]
    counts = counted(made, 0, range(1), 4)
    assert (counts.attempts, counts.groups, counts.placed) == (2, 3, 8)
    assert counts.units == 6 + 6 + 4
    # One group of both bins: four are placed, and two fail in both. Two groups: every unit is tried in one bin.
    together = counts.calls - 6 - 4
    assert 4 + 4 <= together <= 8 + 4
    each = ADD + READ
    assert counts.longest >= each
    assert counts.instructions % counts.calls == 0
    assert counts.longest == counts.instructions // counts.calls
    assert counts.reads == 3 * counts.calls
    # Four lanes, two units with two bins each: 1, 1, 1, 1 and both that fail. Four units with one bin: 1, 1 and the
    # four that fail; then 1, 1 and two.
    assert counts.rounds == 5 + 3 + 3
    assert counts.rounds_of_bins == 6 + 6 + 4


def test_a_lane_alone_makes_a_round_of_every_call() -> None:
    made = load_problem("network")
    counts = counted(made, 3, range(2), 1)
    assert counts.rounds == counts.rounds_of_bins == counts.calls
    assert counts.side_by_side >= counts.calls
    assert counted(made, 3, range(1), 1).side_by_side == counted(made, 3, range(1), 1).calls


@pytest.mark.parametrize("name", ["network", "replicas", "time-varying"])
def test_counting_changes_no_answer(name: str) -> None:
    made = load_problem(name)
    before = [reference.attempt(made, 1, way, 0) for way in range(len(made.groupings))]
    counts = counted(made, 1, range(1), 32)
    assert counts.placed == sum(len(made.units) - left for _, left in before)
    assert [reference.attempt(made, 1, way, 0) for way in range(len(made.groupings))] == before


@pytest.mark.parametrize("speculates", [True, False])
def test_predictions_fall_with_what_there_is_to_do(speculates: bool) -> None:
    found = []
    for balls in (20, 80):
        made = lines(balls, 8, balls // 10)
        counts = counted(made, 0, range(2), 32)
        rounds = counts.each("rounds")
        found.append(speculating(made, counts, H200, rounds) if speculates else side_by_side(made, counts, H200))
    fast, slow = found
    for better, worse in ((fast.issue, slow.issue), (fast.memory, slow.memory), (fast.least, slow.least)):
        assert better > worse > 0
    assert fast.latency[0] < fast.latency[1]
    assert fast.least <= fast.most


def test_every_operation_has_its_cost() -> None:
    assert set(COSTS) == set(OPS)
