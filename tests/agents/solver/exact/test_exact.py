"""The exact methods beside exhaustive search: patterns, prices, bounds and packings."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.solver import problem
from binwright.agents.solver.exact import pricing
from binwright.agents.solver.exact.columns import Columns
from binwright.agents.solver.exact.kinds import Kinds
from binwright.agents.solver.exact.pricing import Pricing
from binwright.agents.solver.exact.prover import Prover
from binwright.agents.solver.model.fleet import Fleet
from binwright.agents.solver.model.packing_bound import lower_bound
from binwright.agents.solver.packing.heuristics import ffd_prod
from binwright.agents.solver.packing.pack import pack
from binwright.agents.solver.search.packing import Packing
from binwright.agents.solver.solving.solve import solve
from binwright.simcore.types import Floats, Ints
from binwright.workloads.offline import machines
from tests.support.packings import balls, needed
from tests.support.properties import scaled


def patterns(kinds: Kinds, count: Ints) -> list[Ints]:
    """Everything that a bin can hold."""
    every = (np.array(one) for one in product(*(range(most + 1) for most in count.tolist())))
    return [one for one in every if (one @ kinds.size <= kinds.fleet.capacity).all()]


@pytest.mark.long
@scaled(2)
@given(balls(most=7), st.data(), st.sampled_from([3, 2000]))
def test_patterns_are_the_best_and_all_of_them(given: tuple[Ints, Ints], data: st.DataObject, states: int) -> None:
    kinds = Kinds.of(given[0], Fleet.alike(given[1]))
    length = len(kinds.count)
    value = np.array(data.draw(st.lists(st.integers(0, 9), min_size=length, max_size=length)))
    count = np.array([data.draw(st.integers(0, most)) for most in kinds.count.tolist()])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pricing, "STATES", states)
        priced = Pricing(kinds)
        found, most = priced.best(value, count, 10_000)
        hasty, bound = priced.best(value, count, 3)
        least = data.draw(st.integers(0, 12))
        full, whole = priced.every(value, count, least, 10_000, 1_000)
        some, all_of_them = priced.every(value, count, least, 10_000, 2)
    every = patterns(kinds, count)
    best = max(int(one @ value) for one in every)
    assert int(found @ value) == most == best
    assert int(hasty @ value) <= best <= bound
    for one in (found, hasty):
        assert (one <= count).all()
        assert (one @ kinds.size <= kinds.fleet.capacity).all()
    unit = np.eye(length, dtype=np.int64)
    expected = {
        tuple(one.tolist())
        for one in every
        if one @ value >= max(least, 1)
        and not any(
            one[kind] < count[kind] and ((one + unit[kind]) @ kinds.size <= kinds.fleet.capacity).all()
            for kind in range(length)
        )
    }
    assert whole
    assert {tuple(one) for one in full.tolist()} == expected
    assert len(full) == len(expected)
    assert len(some) == min(2, len(expected))
    assert all_of_them or len(expected) > 2


@scaled(1)
@given(balls(most=7))
def test_what_is_proven_is_what_is_needed(given: tuple[Ints, Ints]) -> None:
    demand, capacity = given
    prover = Prover(demand, Fleet.alike(capacity))
    prover.work(1e9, len(demand) + 1)
    best = needed(demand, capacity)
    assert prover.known == best
    assert prover.bound <= best
    where = prover.where
    assert where is not None
    assert Packing.alike(demand, capacity, best).keeps(where)


@scaled(1)
@given(balls(most=7), st.integers(0, 2**32))
def test_no_mistake_of_the_linear_program_proves_too_much(given: tuple[Ints, Ints], seed: int) -> None:
    demand, capacity = given
    rng = np.random.default_rng(seed)

    class Mistaken(Columns):
        def _master(self, count: Ints, most: Ints) -> tuple[Floats, Floats]:
            found = super()._master(count, most)
            assert found is not None
            prices, of_bins = found
            return prices * rng.uniform(0.5, 2, len(prices)) + rng.normal(0, 0.3, len(prices)), of_bins

    kinds = Kinds.of(demand, Fleet.alike(capacity))
    columns = Mistaken.of(kinds)
    for _ in zip(range(20), columns.rounds(kinds.count, kinds.fleet.count), strict=False):
        assert columns.bound <= needed(demand, capacity)


@pytest.mark.parametrize(("name", "count", "plain", "proven"), [("ct6", 99, 42, 43), ("u120", None, 49, 49)])
def test_classes_of_the_literature_are_solved(name: str, count: int | None, plain: int, proven: int) -> None:
    given = machines(name, 1, count)
    assert lower_bound(given.demand, given.capacity) == plain
    prover = Prover(given.demand, Fleet.alike(given.capacity))
    prover.work(1e9, int(ffd_prod(given.demand, given.capacity).max()) + 1)
    assert prover.bound == prover.known == proven


@pytest.mark.long
def test_pack_proves_what_its_searches_do_not_find() -> None:
    given = machines("t60")
    packed = pack(given.demand, given.capacity, "solver", seconds=30)
    assert (packed.bins, packed.bound) == (20, 20)
    harder = machines("ct6", 1, 99)
    packed = pack(harder.demand, harder.capacity, "solver", seconds=60)
    assert (packed.bins, packed.bound) == (43, 43)


def test_a_prover_ends_where_there_are_too_many_kinds_or_no_time() -> None:
    demand = np.arange(1, 1_000)[:, None]
    prover = Prover(demand, Fleet.alike(np.array([5_000])))
    prover.work(1e9, 200)
    assert prover.over
    assert prover.bound == 1
    prover = Prover(demand[:50], Fleet.alike(np.array([100])))
    prover.work(1e9, 50, until=0)
    assert not prover.over
    assert prover.spent == 0


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give proofs all the time that they want, so that the search does not use so much."""
    monkeypatch.setattr("binwright.agents.solver.solving.shared_progress.SHARE", 1e9)


@pytest.mark.long
@pytest.mark.usefixtures("at_once")
def test_solve_proves_and_finds_what_its_search_does_not() -> None:
    given = machines("t60")
    text = "procedure UTILFN(BALL, BIN, ALLOC) UTIL.C[BIN] += D[BALL] end"
    sizes = (given.demand[:, 0] // 1e6).tolist()
    found = problem(text, balls=len(sizes), bins="?", resources={"C[s in BINS]": 1000}, tables={"D": sizes})
    answer = solve(found)
    assert (answer.bins, answer.bound, answer.status, answer.search) == (20, 20, "optimal", "column generation")
    assert solve(found, attempts=1).search != "column generation"
    fixed = problem(text, balls=len(sizes), bins=20, resources={"C[s in BINS]": 1000}, tables={"D": sizes})
    answer = solve(fixed)
    assert (answer.status, answer.search, answer.placed) == ("optimal", "column generation", 60)
    more = f"FOES 0, 1 PIN 0 TO 2 {text}"
    foes = problem(more, balls=60, bins="?", resources={"C[s in BINS]": 1000}, tables={"D": sizes})
    answer = solve(foes, time=2)
    assert answer.bound == 20
    assert answer.placed == 60
    assert answer.alloc[0] == 2 != answer.alloc[1]


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(("bins", "limit"), [(42, "there are"), ("? TO 42", "TO allows")])
def test_what_is_proven_to_be_impossible_is_said(bins: int | str, limit: str) -> None:
    given = machines("ct6", 1, 99)
    found = problem(
        f"BALLS 99 BINS {bins} RESOURCES A[s in BINS] => 150, B[s in BINS] => 150 "
        "procedure UTILFN(BALL, BIN, ALLOC) UTIL.A[BIN] += D[BALL, 0] UTIL.B[BIN] += D[BALL, 1] end",
        tables={"D": given.demand // 10**6},
    )
    answer = solve(found)
    assert answer.impossible == f"99 balls need at least 43 bins, and {limit} 42"
    assert answer.status == "partial"
