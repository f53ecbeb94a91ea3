"""Whole tenants: jobs whose workers share bandwidth are placed as units, before any search, as well as by greedy."""

import signal
import threading
from time import monotonic, sleep
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import binwright as bw
from binwright.agents.solver import problem
from binwright.agents.solver.local.construct import Construction, tenants
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.verify import faults, utilisation
from tests.support.properties import scaled
from tests.support.solver_jobs import Jobs


def never() -> bool:
    return False


def constructed(inputs: Problem) -> Construction:
    """Place the tenants."""
    result = tenants(inputs, never)
    assert result is not None
    made = Construction(inputs, result, never)
    made.construct()
    return made


def test_thousands_of_friends_are_placed_soon() -> None:
    text = "BALLS 10000 BINS 2 RESOURCES C[b in BINS] => 10000 FRIENDS 0 .. 9999"
    made = Construction(problem(f"{text} procedure UTILFN(BALL, BIN, ALLOC) UTIL.C[BIN] += 1 end"), None, never)
    began = monotonic()
    made.construct()
    assert monotonic() - began < 2


@pytest.mark.parametrize(
    ("workers", "spare", "link", "uplink"),
    [(239, 0.1, 100, 200), (239, 0.02, 50, 150), (1990, 0.1, 100, 200)],
)
def test_all_jobs_that_a_plain_greedy_places_are_placed(workers: int, spare: float, link: int, uplink: int) -> None:
    jobs = Jobs.drawn(workers, 0, spare, link, uplink)
    assert jobs.greedy() == workers
    made = jobs.problem()
    alloc = constructed(made).where
    assert jobs.whole(alloc) == workers
    assert not faults(made, alloc)


@pytest.mark.parametrize(("spare", "link", "uplink"), [(0.0, 40, 60), (0.05, 20, 40), (0.3, 10, 20)])
def test_where_links_are_scarce_more_are_placed_than_by_greedy(spare: float, link: int, uplink: int) -> None:
    placed = greedy = 0
    for seed in range(4):
        jobs = Jobs.drawn(239, seed, spare, link, uplink)
        made = jobs.problem()
        alloc = constructed(made).where
        assert not faults(made, alloc)
        assert jobs.whole(alloc) >= 0.98 * jobs.greedy()
        placed, greedy = placed + jobs.whole(alloc), greedy + jobs.greedy()
    assert placed >= 1.05 * greedy


@scaled(0.4)
@given(seed=st.integers(0, 999), spare=st.sampled_from([0.0, 0.1]), link=st.sampled_from([5, 20, 60]))
def test_what_is_kept_of_a_construction_is_right(seed: int, spare: float, link: int) -> None:
    jobs = Jobs.drawn(60, seed, spare, link, 2 * link)
    made = jobs.problem()
    construction = constructed(made)
    alloc = construction.where
    assert not faults(made, alloc)
    assert sum(place != NULL for place in alloc) == jobs.whole(alloc)
    assert construction.used == utilisation(made, alloc)[0]


def test_jobs_are_placed_whole_where_servers_may_be_over() -> None:
    jobs = Jobs.drawn(239, 0)
    half = Jobs(jobs.size, jobs.rate, jobs.free // 2, jobs.link, jobs.uplink)  # twice as many GPUs as there are
    strict, soft = (half.problem(more) for more in ("", "SOFT GPU[s] SHARE 0 OVER 1 for s in BINS"))
    placed = []
    for made in (strict, soft):
        construction = constructed(made)
        assert not faults(made, construction.where)
        placed.append(half.whole(construction.where))
    assert placed[0] <= half.free.sum() < placed[1] == 239
    answer = bw.solve(soft, time=20)
    assert (answer.search, answer.placed) == ("whole tenants", half.whole(answer.alloc))


@pytest.mark.parametrize("known", [False, True])
def test_a_ball_that_fits_nowhere_keeps_no_other_out(known: bool) -> None:
    text = "TABLE D = [9, 1, 3] BALLS 3 BINS 1 RESOURCES C[b in BINS] => 4"
    made = problem(f"{text} procedure UTILFN(BALL, BIN, ALLOC) UTIL.C[BIN] += D[BALL] end")
    construction = Construction(made, tenants(made, never) if known else None, never)
    construction.construct()
    assert construction.where == [NULL, 0, 0]


def test_balls_of_a_tenant_that_is_too_large_count_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty balls look at one another in a ring, and two have nothing to do with them: 18 have room."""
    other = "if BALL < 20 and ALLOC[(BALL + 1) % 20] == BIN then 1 else 1"
    text = f"FRIENDS 20, 21 procedure UTILFN(BALL, BIN, ALLOC) UTIL.C[BIN] += {other} end"
    requested = problem(f"BALLS 22 BINS 3 RESOURCES C[b in BINS] => 6 {text}")
    construct, orders = Construction.construct, list[Any]()

    def counted(self: Construction, rng: Any = None) -> None:
        orders.append(rng)
        construct(self, rng)

    monkeypatch.setattr(Construction, "construct", counted)
    assert bw.solve(requested, attempts=4).placed == 18
    assert len(orders) == 4, "attempts end the orders of tenants, too"


def test_placed_jobs_survive_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = Jobs.drawn(239, 0)
    put, calls, main_thread = Construction.put_unit, list[int](), threading.main_thread().ident
    assert main_thread is not None

    def interrupted(self: Construction, unit: int, place: int) -> Any:
        calls.append(place)
        if len(calls) == 150:
            signal.pthread_kill(main_thread, signal.SIGINT)
            sleep(0.3)
        return put(self, unit, place)

    monkeypatch.setattr(Construction, "put_unit", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        answer = bw.solve(jobs.problem(), time=20)
    finally:
        signal.signal(signal.SIGINT, before)
    assert answer.interrupted
    assert (answer.status, answer.search) == ("partial", "whole tenants")
    assert answer.placed == jobs.whole(answer.alloc) > 50
