"""How many bins `BINS ?` may use: never more than TO, never fewer than FROM, PIN and a bound say."""

import pytest

import binwright as bw
from binwright.agents.solver.language.errors import SpecError
from binwright.agents.solver.model.problem import Problem
from tests.support.solving import problem


def made(bins: str, more: str = "", balls: int = 6, each: int = 2) -> Problem:
    return problem(
        f"BALLS {balls} BINS {bins} RESOURCES S[b in BINS] => {each} {more} "
        "procedure UTILFN(BALL, BIN, ALLOC) UTIL.S[BIN] += 1 end"
    )


def test_most_bins_are_never_exceeded() -> None:
    answer = bw.solve(made("? TO 9", balls=60, each=6), attempts=4)
    assert answer.bins <= 9
    assert answer.status == "partial"
    assert answer.placed == 54
    assert answer.impossible == "60 balls need at least 10 bins, and TO allows 9"


def test_a_pinned_bin_is_one_of_the_bins() -> None:
    answer = bw.solve(made("?", "PIN 0 TO 4"), attempts=16)
    assert (answer.bins, answer.bound, answer.status) == (5, 5, "optimal")
    assert answer.alloc[0] == 4
    assert bw.solve(made("?", "PIN 0 TO 2"), attempts=16).bins == 3
    assert bw.solve(made("?", "PIN 0 TO BINS - 1"), attempts=16).bins == 3
    assert bw.solve(made("?", "PIN b TO b // 2 for b in BALLS"), attempts=16).alloc == [0, 0, 1, 1, 2, 2]


def test_groups_have_the_bins_that_there_are() -> None:
    result = made("?", "GROUPS 3, 1 GROUPS 0, 4 GROUPS 2, 5")
    for bins, groups in ((1, [[0]]), (3, [[1], [0], [2]]), (4, [[3, 1], [0], [2]]), (6, [[3, 1], [0, 4], [2, 5]])):
        [grouping] = result.with_bins(bins).groupings
        assert [members for members, _ in grouping] == groups
    answer = bw.solve(result, attempts=16)
    assert (answer.bins, answer.status) == (3, "optimal")


@pytest.mark.parametrize(("bins", "goal"), [("4", ""), ("?", "MINIMISE BINS")])
def test_another_number_of_bins_is_refused_where_it_is_not_searched(bins: str, goal: str) -> None:
    with pytest.raises(SpecError, match="the number of bins is fixed"):
        made(bins, goal).with_bins(7)


def test_links_that_depend_on_how_many_bins_there_are_are_noted() -> None:
    hose = "RESOURCES UP[r in 2] => 9 HOSE 0, 1 RATE 1 OVER UP[{}]"
    assert made("? TO 6", hose.format("BIN // 3")).bins_alike
    assert not made("? TO 6", hose.format("BIN // BINS")).bins_alike
