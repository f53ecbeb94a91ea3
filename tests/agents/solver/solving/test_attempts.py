"""The compiled searches: held to plain Python, indifferent to threads, and verified."""

import threading
from collections.abc import Iterator
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.solver.backends import cpu
from binwright.agents.solver.backends.cpu import Outcome, Over, best_of, fewest, never
from binwright.agents.solver.backends.flat import room
from binwright.agents.solver.local import search as local_search
from binwright.agents.solver.model.problem import Matrix, Problem
from binwright.agents.solver.model.program import MICRO
from binwright.agents.solver.model.verify import faults
from binwright.agents.solver.packing import PACKING, pack
from binwright.agents.solver.solving.solve import solve
from binwright.simcore.types import Ints
from binwright.workloads.offline import Machines, machines
from tests.reference import attempts as reference
from tests.support.packings import packings
from tests.support.properties import first, scaled
from tests.support.solving import problem, stated


def vectors() -> Machines:
    """Sixty machines that take 5 to 20 % of two resources, after Caprara and Toth's fourth class."""
    demand = np.random.default_rng(1).integers(50, 200, (60, 2), endpoint=True)
    return Machines("vectors", ("a", "b"), demand * MICRO, np.array([1000, 1000]) * MICRO)


def packed(inputs: Machines, bins: int) -> Problem:
    """Machines as balls for so many bins."""
    text = PACKING.replace("BINS ?", f"BINS {bins}")
    return problem(text, tables={"DEMAND": inputs.demand / MICRO, "ROOM": inputs.capacity / MICRO})


def best(
    inputs: Problem, seed: int = 0, count: int = 1 << 30, over: Over = never, search: Any = local_search
) -> Outcome:
    """The best of some attempts."""
    attempts: Iterator[Outcome] = search.attempts(inputs, seed, 0, count, over)
    *_, frame = attempts
    return frame


@pytest.mark.parametrize(("search", "bins"), [(local_search, 8), (cpu, 9)])
def test_a_success_has_the_lowest_number_whatever_the_threads(search: Any, bins: int) -> None:
    inputs, answers = packed(vectors(), bins), set()
    for threads in (1, 2, 7):
        with pytest.MonkeyPatch.context() as patch:
            module = "binwright.agents.solver.backends.cpu"
            patch.setattr(f"{module}.usable_threads", lambda threads=threads: threads)
            actual = best(inputs, 5, 64, search=search)
        answers.add((actual.left, actual.attempt, *actual.where.tolist()))
    [(left, _, *where)] = answers
    assert left == 0
    assert best(inputs, 6, 64, search=search).where.tolist() != where


FITTED = [("pgrank", 88, 89, range(20)), ("clkbot", 420, 420, range(20)), ("imgproc", 1403, 1403, range(2))]


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "bins", "published_bins", "seeds"), first(3, [*FITTED, ("imgproc", 1403, 1403, range(2, 20))])
)
def test_fitted_inputs_are_packed_into_the_known_number_of_bins(
    name: str, bins: int, published_bins: int, seeds: range
) -> None:
    """Ours at the lower bound for every seed; the published search as low as its authors came. No clock decides."""
    inputs = packed(machines(name), bins)
    for seed in seeds:
        result = best(inputs, seed, 16)
        assert result.left == 0
        assert not faults(inputs, result.where.tolist())
    inputs = packed(machines(name), published_bins)
    result = best(inputs, 1, 200, search=cpu)  # a seed that is soon successful with imgproc
    assert result.left == 0
    assert not faults(inputs, result.where.tolist())


@pytest.mark.parametrize("search", [local_search, cpu])
def test_a_search_ends_in_time_with_a_verified_partial_answer(search: Any) -> None:
    inputs = packed(machines("pgrank"), 87)
    assert inputs.matrix is not None  # computed before the clock runs
    best(inputs, count=1, search=search)
    began = monotonic()
    result = best(inputs, over=lambda: monotonic() > began + 0.5, search=search)
    assert monotonic() - began < 5
    assert 0 < result.left < 50
    assert not faults(inputs, result.where.tolist())
    result = best(inputs, over=lambda: True, search=search)  # is cut short, and no other is begun
    assert result.left > 0
    assert not faults(inputs, result.where.tolist())


@scaled(0.6)
@given(packings(), st.data())
def test_problems_of_the_language_have_the_same_attempts_in_their_dense_form(
    packing: Matrix, data: st.DataObject
) -> None:
    """The same balls and bins, and some friends, written as a program: allocation for allocation.

    The definition of an attempt is the judge; the best of several is that which leaves fewest, of those the first.
    """
    balls, dims = packing.demand.shape
    pair = st.lists(st.integers(0, balls - 1), min_size=2, max_size=3, unique=True)
    written = problem(
        stated("FRIENDS", data.draw(st.lists(pair, max_size=1)) if balls > 1 else [])
        + f" procedure UTILFN(BALL, BIN, ALLOC) for r in {dims} UTIL.R[BIN, r] += DEMAND[BALL, r] end end",
        balls=balls,
        bins=len(packing.capacity),
        resources={f"R[s in BINS, r in {dims}]": "ROOM[s, r]"},
        tables={"DEMAND": packing.demand, "ROOM": packing.capacity},
    )
    assert written.packing is not None
    seed, (call, flat) = data.draw(st.integers(-(2**63), 2**63 - 1)), cpu.compiled_problem(written)
    assert flat.kinds[0] == dims
    alloc = np.empty(balls, np.int64)
    inputs = call, flat, room(written), alloc, seed
    ways, first, answers = len(written.groupings), data.draw(st.integers(0, 1000)), dict[tuple[int, int], list[int]]()
    for number in range(first, first + 2 * ways):
        _, _, count = cpu.search(*inputs, number, number + 1)
        assert (alloc.tolist(), count) == reference.attempt(written, seed, number % ways, number // ways)
        answers[count, number] = alloc.tolist()
    solved = [number for count, number in answers if count == 0]
    made, number, count = cpu.search(*inputs, first, first + 2 * ways)
    assert made == (solved[0] - first + 1 if solved else 2 * ways)
    assert ((count, number), alloc.tolist()) == min(answers.items())


def test_attempts_are_counted_in_every_grouping() -> None:
    """Chunks of them had been counted, and where UTILFN does nothing their size was divided by zero."""
    apart = "BALLS 2 BINS 2 RESOURCES C => 1 FRIENDS 0, 1 PIN 0 TO 1 PIN 1 TO 0"
    for requested in (packed(vectors(), 7), problem(f"{apart} procedure UTILFN(BALL, BIN, ALLOC) end")):
        *_, result = cpu.attempts(requested, 3, 5, 2)
        assert result.left > 0
        assert result.checked == 2 * len(requested.groupings)


NOWHERE = np.zeros(0, np.int64)


@pytest.fixture
def four_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("binwright.agents.solver.backends.cpu.usable_threads", lambda: 4)


@pytest.mark.usefixtures("four_threads")
def test_lowest_successful_attempt_wins_though_a_higher_one_ends_first() -> None:
    def attempt(number: int) -> Outcome:
        if number == 3:
            sleep(0.1)
        return Outcome(0 if number >= 3 else 5 - number, NOWHERE, number, 1)

    *_, actual = best_of(attempt, range(100), never, stop := np.zeros(1, np.int64))
    assert actual == Outcome(0, NOWHERE, 3, 4)
    assert stop[0]
    *_, actual = best_of(attempt, range(3), never, stop := np.zeros(1, np.int64))
    assert actual == Outcome(3, NOWHERE, 2, 3)
    assert not stop[0]


def test_ctrl_c_ends_a_search_with_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs, wait, calls = machines("binpack2"), solve.__globals__["wait"], iter([True, False])

    def interrupted(*how: object) -> None:
        if next(calls):
            raise KeyboardInterrupt
        wait(*how)

    pack(inputs.demand, inputs.capacity, seconds=0.01)  # compiled
    monkeypatch.setitem(pack.__globals__, "searches", lambda *_: {})  # it need not be compiled again
    monkeypatch.setitem(solve.__globals__, "wait", interrupted)
    packed = pack(inputs.demand, inputs.capacity, seconds=60)
    assert packed.interrupted
    assert packed.placed == len(inputs.demand)  # what it knew at the beginning, at least
    assert threading.active_count() < 20


def test_an_answer_that_breaks_the_rules_does_not_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(demand: Ints, capacity: Ints) -> Ints:
        return np.zeros(len(demand), np.int64)

    monkeypatch.setitem(pack.__globals__["HEURISTICS"], "ffd-prod", wrong)
    with pytest.raises(AssertionError, match="wrong answer"):
        pack(np.array([[2], [2]]), np.array([3]), "ffd-prod")


@given(
    least=st.integers(1, 12), below=st.integers(0, 4), beyond=st.integers(0, 4),
    luck=st.lists(st.booleans(), max_size=20), proofs=st.lists(st.integers(0, 2), max_size=20), knows=st.booleans(),
)  # fmt: skip
def test_search_for_the_fewest_bins_ends_at_the_optimum(
    least: int, below: int, beyond: int, luck: list[bool], proofs: list[int], knows: bool
) -> None:
    """Also where proofs raise the bound beside the attempts, and an attempt then reaches it."""
    bound, most = max(1, least - below), least + beyond
    known = most if knows else None
    tried = 0

    def attempt(bins: int, attempts: range) -> int | None:
        nonlocal bound, known, tried
        assert bound <= bins <= most
        assert known is None or bins < known
        if bins >= least and (tried >= len(luck) or luck[tried]):
            known = bins
        bound = min(least, bound + proofs[tried]) if tried < len(proofs) else least
        tried += 1
        assert tried < 1_000
        return known

    fewest(lambda: bound, most, known, lambda: 1 << 60, attempt)
    assert known == bound == least
