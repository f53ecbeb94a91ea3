"""What is plainly impossible is said at once, and only what is impossible."""

from itertools import product
from time import monotonic

import pytest
from hypothesis import given
from hypothesis import strategies as st

import binwright as bw
from binwright.agents.solver import examples, load_problem, problem
from binwright.agents.solver.model.bounds import impossible
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.verify import faults
from tests.support.properties import first, scaled


def made(
    more: str = "", body: str = "UTIL.S[BIN] += D[BALL]", bins: str = "3", top: str = "S[b in BINS] => 4"
) -> Problem:
    return problem(
        f"TABLE D = [1, 2, 3, 2] BALLS 4 BINS {bins} RESOURCES {top} {more} "
        f"procedure UTILFN(BALL, BIN, ALLOC) {body} end"
    )


PLAIN = {
    "ball 2 takes 3 of S, and no bin has more than 2": made(top="S[b in BINS] => 2"),
    "ball 1 takes 2 of S, and no bin has more than 1.5": made(top="S[b in BINS] => 1.5", bins="?"),
    "balls 0, 2, 3 are FRIENDS, and together take 6 of S, and no bin has more than 4": made(
        "FRIENDS 0, 2 FRIENDS 3, 2"
    ),
    "balls 0, 1, 2, 3 are DIFFERENT, and need 4 bins; there are 3": made("DIFFERENT 0 .. 4"),
    "balls 1, 2, 3 are DIFFERENT, and need 3 bins; there are 2": made(
        "DIFFERENT 1 .. 4", "UTIL.S += count(o in BALLS except BALL: ALLOC[o] == BIN)", "? TO 2", "S => 9"
    ),
    "all balls take 8 of S, and all bins have 6": made(bins="2", top="S[b in BINS] => 3"),
    "5 balls need at least 3 bins, and there are 2": problem(
        "BALLS 5 BINS 2 RESOURCES S[b in BINS] => 5 procedure UTILFN(BALL, BIN, ALLOC) UTIL.S[BIN] += 2 end"
    ),
    "4 balls need at least 4 bins, and TO allows 3": made(bins="? TO 3", body="UTIL.S[BIN] += 3"),
}


@pytest.mark.parametrize("why", PLAIN)
@pytest.mark.parametrize("search", first(1, ["ours", "published"]))
def test_impossible_problems_are_answered_at_once_with_the_reason(why: str, search: str) -> None:
    bw.solve(PLAIN[why], attempts=1, search=search)  # compiled
    began = monotonic()
    answer = bw.solve(PLAIN[why], time=20, search=search)
    assert monotonic() - began < 5
    assert impossible(PLAIN[why]) == why
    assert answer.impossible  # of a part of it, where that is impossible, too
    assert answer.at_fault
    assert answer.status in ("partial", "unsolved")
    assert not faults(answer.problem, answer.alloc)


@pytest.mark.parametrize(
    ("rules", "blamed"),
    [
        ("FRIENDS 0, 1 FOES 1, 0", ["FRIENDS", "FOES"]),
        ("FOES 0, 3 PIN 0 TO 1 PIN 3 TO 1", ["FOES", "PIN", "PIN"]),
        ("FRIENDS 2, 0 DIFFERENT 0 .. 3", ["FRIENDS", "DIFFERENT"]),
        ("FRIENDS 0, 3 PIN 0 TO 1 PIN 3 TO 2", ["FRIENDS", "PIN", "PIN"]),
        ("PIN 2 TO 1 PIN 3 TO 1", ["PIN", "PIN", "RESOURCES S"]),
    ],
)
def test_rules_that_contradict_one_another_are_proven_to(rules: str, blamed: list[str]) -> None:
    pytest.importorskip("ortools")
    answer = bw.solve(made(rules), time=20)
    assert answer.impossible
    assert sorted(fault.what for fault in answer.at_fault) == sorted(blamed)


@pytest.mark.parametrize("name", examples())
def test_solvable_examples_are_not_called_impossible(name: str) -> None:
    assert impossible(load_problem(name)) == ""


def test_capacities_may_add_up_to_more_than_64_bits() -> None:
    assert impossible(made(bins="10000", top="S[b in BINS] => 1e9")) == ""
    by_bin = "UTIL.S[BIN] += D[BALL] if BIN == 3 REJECT end"
    assert impossible(made(bins="9500", top="S[b in BINS] => 1e9", body=by_bin)) == ""
    retained = made("DRAIN 0", bins="? TO 19000", top="S[b in BINS] => 1e9 - b")
    assert impossible(retained) == ""


def test_bins_that_are_to_be_empty_or_gone_are_so_only_if_there_cannot_be_more() -> None:
    assert impossible(made("DRAIN 0", bins="? TO 3")) == ""
    assert impossible(made("DRAIN 0", top="S[b in BINS] => 3")) == "all balls take 8 of S, and all bins have 6"
    assert impossible(made("DRAIN 0, 1, 2")) == "all bins are to be empty"


def test_a_fault_among_a_thousand_declarations_is_found_at_once() -> None:
    many = " ".join(f"DIFFERENT {ball}, {ball + 1}" for ball in range(999))
    text = f"BALLS 1000 BINS 5 RESOURCES S[b in BINS] => 1000 {many} DIFFERENT 3 .. 9"
    inputs = problem(f"{text} procedure UTILFN(BALL, BIN, ALLOC) UTIL.S[BIN] += 1 end")
    result, why = inputs.source.at_fault(monotonic() + 20, impossible)
    assert [each.what for each in result] == ["DIFFERENT"]
    assert why.endswith("are DIFFERENT, and need 6 bins; there are 5")


@scaled(1.0)
@given(
    st.integers(1, 4),
    st.sampled_from(["BINS", "4"]),
    st.sampled_from(["4", "C[b]"]),
    st.lists(st.integers(0, 6), min_size=4, max_size=4),
    st.sampled_from(["", "FRIENDS 0, 1", "FOES 0, 1", "PIN 0 TO 0 PIN 1 TO 1", "DRAIN 0", "DRAIN 1, 0"]),
    st.sampled_from(["D[BALL]", "if BIN == 0 then 5 else D[BALL]", "T[BIN]", "2 * D[BALL] - BIN", "3 + BIN"]),
    st.sampled_from(["", "if BIN < 1 REJECT end", "if BIN + BALL < 2 REJECT end"]),
)
def test_nothing_is_impossible_and_done(
    most: int, range_: str, capacity: str, entries: list[int], sets: str, amount: str, rejects: str
) -> None:
    """Whatever the number of bins that is found."""
    result = problem(
        f"TABLE C = {entries} TABLE T = {entries[::-1]} TABLE D = [1, 2, 1, 3] BALLS 4 BINS ? TO {most} "
        f"RESOURCES S[b in {range_}] => {capacity} {sets if most > 1 else ''} "
        f"procedure UTILFN(BALL, BIN, ALLOC) {rejects} UTIL.S[BIN] += {amount} end"
    )
    if impossible(result):
        for bins in range(result.bins, most + 1):
            each = result.with_bins(bins)
            assert all(faults(each, places) for places in product(range(bins), repeat=4))
    answer = bw.solve(result, time=0.2)
    assert not (answer.impossible and answer.status in ("solved", "optimal"))


@scaled(3.0)
@given(
    st.lists(st.integers(0, 5), min_size=4, max_size=4),
    st.lists(st.integers(0, 6), min_size=2, max_size=3),
    st.sampled_from(["", "FRIENDS 0, 1", "FOES 0, 1", "FRIENDS 0, 1 FOES 1, 2", "FOES 0, 1, 2"]),
    st.sampled_from(["", "PIN 0 TO 0", "PIN 0 TO 1 PIN 1 TO 1", "PIN 2 TO 0 PIN 1 TO 1"]),
    st.sampled_from(
        [
            "UTIL.S[BIN] += D[BALL]",
            "UTIL.S[BIN] += if BIN == 0 then D[BALL] else 2 * D[BALL]",
            "UTIL.S[BIN] += D[BALL] UTIL.Z[BALL % 2, BIN % 2] += 1",
            "UTIL.Z[BALL % 2, BIN % 2] += BIN + 1 UTIL.Z[0, 1] += D[BALL]",
        ]
    ),
)
def test_problems_called_impossible_have_no_answer(
    demand: list[int], capacity: list[int], sets: str, pins: str, body: str
) -> None:
    result = problem(
        f"TABLE C = {capacity} TABLE D = {demand} BALLS 4 BINS len(C) "
        f"RESOURCES S[b in BINS] => C[b], Z[a in 2, b in 2] => 1 + a {sets} {pins} "
        f"procedure UTILFN(BALL, BIN, ALLOC) {body} end"
    )
    if impossible(result):
        assert all(faults(result, places) for places in product(range(len(capacity)), repeat=4))


CONFLICT = """
BALLS 4 BINS 3
PARAM most = 2
RESOURCES S[b in BINS] => 4,
    Z[z in most] => 1
FRIENDS 1, 3
FOES 0, 2
PIN 0 TO 0
PIN 2 TO 0
procedure UTILFN(BALL, BIN, ALLOC)
    if BIN == 2 and BALL == 3 REJECT end
    UTIL.S[BIN] += 1
    UTIL.Z[BIN % 2] += 1
end"""


@pytest.mark.parametrize("without", ["", "FRIENDS 1, 3"])
def test_declarations_at_fault_are_a_minimal_conflict(without: str) -> None:
    pytest.importorskip("ortools")
    text = CONFLICT.replace(without, "")
    result = bw.solve(problem(text), time=60).at_fault
    assert result
    lines = text.split("\n")
    limits = {number: line for number, line in enumerate(lines, 1) if number in range(4, 10)}
    endless = {4: "RESOURCES S[b in BINS] => 100,", 5: "Z[z in most] => 100"}

    def possible(retained: set[int | None]) -> bool:
        some = [endless.get(n, "") if n in limits and n not in retained else line for n, line in enumerate(lines, 1)]
        each = problem("\n".join(some))
        return not all(faults(each, places) for places in product(range(3), repeat=4))

    blamed = {each.line for each in result}
    assert not possible(blamed)
    assert all(possible(blamed - {each}) for each in blamed)
