"""Whole tenants: jobs whose workers share bandwidth are placed as units, before any search, as well as by greedy."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import binwright as bw
from agents.solver import problem
from agents.solver.local.greedy import Greedy
from agents.solver.model.problem import Problem
from agents.solver.model.program import NULL
from agents.solver.model.tenants import Tenants, levels, tenants
from agents.solver.model.verify import faults, utilisation
from benchmarks.solver_jobs import GPUS, PER_RACK, Jobs
from tests.support.properties import scaled


def tenants_of(given: Problem) -> Tenants:
    found = tenants(given, lambda: False)
    assert found is not None
    return found


@pytest.mark.parametrize("workers", [239, 1990])
@pytest.mark.parametrize(("spare", "link", "uplink"), [(0.1, 100, 200), (0.02, 50, 150)])
def test_all_jobs_that_a_plain_greedy_places_are_placed(workers: int, spare: float, link: int, uplink: int) -> None:
    jobs = Jobs.drawn(workers, 0, spare, link, uplink)
    assert jobs.greedy() == workers
    made = jobs.problem()
    greedy = Greedy(made, tenants_of(made), 0)
    greedy.construct(lambda: False)
    assert jobs.whole(greedy.alloc) == workers
    assert not faults(made, greedy.alloc)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("spare", "link", "uplink"), [(0.0, 40, 60), (0.05, 20, 40), (0.3, 10, 20)])
def test_where_links_are_scarce_no_fewer_are_placed_than_by_greedy(
    seed: int, spare: float, link: int, uplink: int
) -> None:
    jobs = Jobs.drawn(239, seed, spare, link, uplink)
    made = jobs.problem()
    greedy = Greedy(made, tenants_of(made), 0)
    greedy.construct(lambda: False)
    for _ in range(50):
        if greedy.left:
            greedy.step()
    assert jobs.whole(greedy.alloc) >= jobs.greedy()
    assert not faults(made, greedy.alloc)


def test_a_job_that_is_not_placed_whole_holds_nothing() -> None:
    jobs = Jobs.drawn(60, 1, 0.3, 5, 10)
    answer = bw.solve(jobs.problem(), time=1.0)
    assert answer.status == "partial"
    assert answer.placed == jobs.whole(answer.alloc) >= jobs.greedy()


def test_the_same_seed_gives_the_same() -> None:
    made = Jobs.drawn(100, 4, 0.1, 20, 40).problem()
    found = []
    for seed in (3, 3, 4):
        greedy = Greedy(made, tenants_of(made), seed)
        greedy.construct(lambda: False)
        for _ in range(20):
            greedy.step()
        found.append(greedy.alloc)
    assert found[0] == found[1] != found[2]


@scaled(0.4)
@given(seed=st.integers(0, 999), spare=st.sampled_from([0.0, 0.1]), link=st.sampled_from([5, 20, 60]))
def test_every_state_of_the_search_is_right(seed: int, spare: float, link: int) -> None:
    jobs = Jobs.drawn(60, seed, spare, link, 2 * link)
    made = jobs.problem()
    greedy = Greedy(made, tenants_of(made), seed)
    greedy.construct(lambda: False)
    before = jobs.whole(greedy.alloc)
    for _ in range(5):
        if greedy.left:
            greedy.step()
        alloc = greedy.alloc
        assert not faults(made, alloc)
        assert sum(place != NULL for place in alloc) == jobs.whole(alloc) >= before
        assert greedy._partial.used == utilisation(made, alloc)[0]
        before = jobs.whole(alloc)
        free = GPUS - np.bincount([place for place in alloc if place != NULL], minlength=made.bins)
        assert [row[0] for row in (greedy._free // 10**6).tolist()] == free.tolist()


def test_tenants_are_the_balls_that_look_at_one_another() -> None:
    jobs = Jobs.drawn(100, 1)
    made = jobs.problem()
    found = tenants_of(made)
    assert [len(members) for members, _ in found.sets] == jobs.size.tolist()
    assert found.several
    [racks] = levels(made)
    assert racks.group.tolist() == (np.arange(made.bins) // PER_RACK).tolist()
    assert racks.family is not None
    assert racks.family.name == "UPLINK"
    half = [0 if ball < 50 else NULL for ball in range(100)]
    kept = found.whole(half).tolist()
    sizes = Counter(np.repeat(np.arange(len(jobs.size)), jobs.size)[:50].tolist())
    whole = sum(count for job, count in sizes.items() if count == jobs.size[job])
    assert kept == [0] * whole + [NULL] * (100 - whole)


def test_balls_that_all_look_at_one_another_are_no_tenants() -> None:
    one = "procedure UTILFN(BALL, BIN, ALLOC) UTIL.C[BIN] += count(o in BALLS except BALL: ALLOC[o] == BIN) end"
    made = problem(one, balls=5, bins=3, resources={"C[b in BINS]": 9})
    assert not tenants_of(made).several
    assert bw.solve(made, attempts=1).search != "whole tenants"


def test_other_balls_are_placed_one_by_one_before_any_search() -> None:
    text = """procedure UTILFN(BALL, BIN, ALLOC)
        if BIN % 5 == 0 and BALL % 3 == 0 REJECT end
        UTIL.C[BIN] += D[BALL]
        UTIL.ZONE[BALL % 40, BIN % 3] += 1
    end"""
    demand = (1 + np.arange(1200) % 7).tolist()
    sizes = {"C[b in BINS]": 20, "ZONE[a in 40, z in 3]": 12}
    made = problem(text, balls=1200, bins=300, resources=sizes, tables={"D": demand}, foes=[[0, 1], [2, 3, 4]])
    answer = bw.solve(made, time=20)
    assert (answer.status, answer.search, answer.checked) == ("optimal", "whole tenants", 1)
