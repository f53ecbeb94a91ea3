"""Whole tenants: jobs whose workers share bandwidth are placed as units, before any search, as well as by greedy."""

from collections import Counter
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import binwright as bw
from binwright.agents.solver import problem
from binwright.agents.solver.local import portfolio
from binwright.agents.solver.local.greedy import Greedy
from binwright.agents.solver.local.portfolio import Portfolio
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.tenants import Tenants, levels, tenants
from binwright.agents.solver.model.verify import faults, utilisation
from binwright.agents.solver.solving.first_answer import FirstAnswer
from binwright.agents.solver.solving.searches import Searches
from binwright.agents.solver.solving.shared_progress import Known
from tests.support.properties import first, scaled
from tests.support.solver_jobs import GPUS, PER_RACK, Jobs


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


@pytest.mark.parametrize("seed", first(1, range(4)))
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
            greedy.ruin_and_recreate()
    assert jobs.whole(greedy.alloc) >= jobs.greedy()
    assert not faults(made, greedy.alloc)


def test_a_job_that_is_not_placed_whole_holds_nothing() -> None:
    jobs = Jobs.drawn(60, 1, 0.3, 5, 10)
    answer = bw.solve(jobs.problem(), time=1.0)
    assert answer.status == "partial"
    assert answer.placed == jobs.whole(answer.alloc) >= jobs.greedy()


def test_greedy_depends_on_the_seed_alone() -> None:
    made = Jobs.drawn(100, 4, 0.1, 20, 40).problem()
    found = []
    for seed in (3, 3, 4):
        greedy = Greedy(made, tenants_of(made), seed)
        greedy.construct(lambda: False)
        for _ in range(20):
            greedy.ruin_and_recreate()
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
            greedy.ruin_and_recreate()
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


APART = """procedure UTILFN(BALL, BIN, ALLOC)
    if ALLOC[OTHER[BALL]] == BIN REJECT end
    UTIL.SLOTS[BIN] += 1
end"""


def pairs(text: str, balls: int, bins: int, size: int, **more: Any) -> Problem:
    """Return a problem of tenants of two balls."""
    other = (np.arange(balls) ^ 1).tolist()
    sizes = {"SLOTS[b in BINS]": size}
    return problem(text, balls=balls, bins=bins, resources=sizes, tables={"OTHER": other}, **more)


@pytest.mark.parametrize(("bins", "suited"), [(1_000, True), (800_000, False)])
def test_very_many_bins_are_left_to_compiled_code(bins: int, suited: bool) -> None:
    made = pairs(APART, 100, bins, 2)
    assert FirstAnswer.suits(made, Searches(made, "cpu", "ours", 0, inf)) is suited


def test_looking_for_groups_of_bins_stops_when_time_is_over() -> None:
    made = pairs(APART, 100, 5_000, 2)
    known, asked = Known(made), list[bool]()

    def over() -> bool:
        asked.append(len(asked) > made.balls + 10)
        return asked[-1]

    assert FirstAnswer(made, known, 0, lambda: None).construct(True, over, over) is None
    assert made.balls + 10 < len(asked) < made.balls + 20
    assert (known.best, known.tenants) == (None, None)


def test_best_allocation_of_ruin_and_recreate_survives_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = Jobs.drawn(60, 1, 0.3, 5, 10)
    made = jobs.problem()
    known, step, states = Known(made), Greedy.ruin_and_recreate, list[list[int]]()

    def look() -> None:
        assert not states, "time is over"

    first = FirstAnswer(made, known, 0, look)
    greedy = first.construct(True, lambda: False, lambda: False)
    assert greedy is not None
    for one in list(greedy.placed)[3:]:
        greedy._change(one, greedy.placed[one], -1)
    known.best = None

    def interrupted(self: Greedy) -> None:
        if len(states) == 3:
            assert self._partial.put_ball(self.tenants[self.left[0]][0], made.bins - 1, [])  # half of a tenant is in
            raise KeyboardInterrupt
        step(self)
        states.append(self.alloc)

    monkeypatch.setattr(Greedy, "ruin_and_recreate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        first.search(greedy, None, lambda: False)
    assert known.best is not None
    assert jobs.whole(known.best.alloc) == max(jobs.whole(state) for state in states)


SPREAD_OUT = """procedure UTILFN(BALL, BIN, ALLOC)
    if {rejected} or ALLOC[OTHER[BALL]] == BIN REJECT end
    UTIL.SLOTS[BIN] += 1
end"""


@pytest.mark.parametrize("cause", ["pins", "rejected"])
def test_pairs_that_cannot_be_placed_keep_no_others_out(cause: str) -> None:
    balls = 200
    more: dict[str, Any] = {}
    if cause == "pins":
        more["pins"] = [0] * 4 + [NULL] * (balls - 4)
    rejected = "BIN > 0 and BALL < 4" if cause == "rejected" else "BIN < 0"
    made = pairs(SPREAD_OUT.format(rejected=rejected), balls, 80, 3, **more)
    greedy = Greedy(made, tenants_of(made), 0)
    greedy.construct(lambda: False)
    assert sum(place != NULL for place in greedy.alloc) >= balls - 4
    assert not faults(made, greedy.alloc)


def test_a_pair_that_foes_keep_out_of_all_bins_keeps_no_others_out() -> None:
    pins = [*range(10), *[NULL] * 22]
    foes = [[10, ball] for ball in range(10)]
    made = pairs(SPREAD_OUT.format(rejected="BIN < 0"), 32, 10, 3, pins=pins, foes=foes)
    greedy = Greedy(made, tenants_of(made), 0)
    greedy.construct(lambda: False)
    assert [ball for ball, place in enumerate(greedy.alloc) if place == NULL] == [10, 11]


def test_single_balls_that_few_bins_take_keep_no_others_out() -> None:
    text = """procedure UTILFN(BALL, BIN, ALLOC)
        if BALL < 10 and BIN < 500 REJECT end
        UTIL.C[BIN] += 1
        UTIL.ZONE[BIN % 3] += 1
    end"""
    pins = [599 if ball == 5 else NULL for ball in range(1000)]
    sizes = {"C[b in BINS]": 2, "ZONE[z in 3]": 1000}
    made = problem(text, balls=1000, bins=600, resources=sizes, pins=pins)
    greedy = Greedy(made, tenants_of(made), 0)
    greedy.construct(lambda: False)
    assert sum(place == NULL for place in greedy.alloc) < 10
    assert greedy.alloc[5] == 599


def test_bins_are_tried_in_which_a_ball_takes_less_than_in_the_first_one() -> None:
    text = """procedure UTILFN(BALL, BIN, ALLOC)
        if ALLOC[OTHER[BALL]] != NULL and ALLOC[OTHER[BALL]] != BIN REJECT end
        if BIN == 0 UTIL.SLOTS[BIN] += 3 else UTIL.SLOTS[BIN] += 1 end
    end"""
    made = pairs(text, 200, 101, 3)
    greedy = Greedy(made, tenants_of(made), 0)
    greedy.construct(lambda: False)
    assert NULL not in greedy.alloc
    assert not faults(made, greedy.alloc)


def test_placed_jobs_survive_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = Jobs.drawn(239, 0)
    put, calls = Greedy._put, list[int]()

    def interrupted(self: Greedy, unit: list[int], place: int, into: list[Any]) -> bool:
        calls.append(place)
        if len(calls) == 150:
            raise KeyboardInterrupt
        return put(self, unit, place, into)

    monkeypatch.setattr(Greedy, "_put", interrupted)
    answer = bw.solve(jobs.problem(), time=20)
    assert answer.interrupted
    assert (answer.status, answer.search) == ("partial", "whole tenants")
    assert answer.placed == jobs.whole(answer.alloc) > 50


def test_jobs_stay_where_they_are_and_others_come() -> None:
    jobs = Jobs.drawn(239, 0)
    greedy = Greedy(jobs.problem(), tenants_of(jobs.problem()), 0)
    greedy.construct(lambda: False)
    now = np.array(greedy.alloc)
    job = np.repeat(np.arange(len(jobs.size)), jobs.size)
    now[job % 5 == 0] = NULL
    made = jobs.problem(f"NOW HOME MOVES {jobs.size.max()}", HOME=now)
    answer = bw.solve(made, time=20)
    assert (answer.status, answer.search, answer.checked) == ("optimal", "whole tenants", 1)
    assert (np.array(answer.alloc) == now)[now != NULL].all()


def test_jobs_are_placed_whole_where_servers_may_be_over() -> None:
    jobs = Jobs.drawn(239, 0)
    half = Jobs(jobs.size, jobs.rate, jobs.free // 2, jobs.link, jobs.uplink)  # twice as many GPUs as there are
    strict, soft = (half.problem(more) for more in ("", "SOFT GPU[s] SHARE 0 OVER 1 for s in BINS"))
    placed = []
    for made in (strict, soft):
        greedy = Greedy(made, tenants_of(made), 0)
        greedy.construct(lambda: False)
        assert not faults(made, greedy.alloc)
        placed.append(half.whole(greedy.alloc))
    assert placed[0] <= half.free.sum() < placed[1] == 239
    answer = bw.solve(soft, time=20)
    assert (answer.search, answer.placed) == ("whole tenants", half.whole(answer.alloc))


def test_jobs_are_placed_into_few_servers() -> None:
    jobs = Jobs.drawn(100, 1)
    made = jobs.problem(bins="? TO 16")
    known = Known(made)
    known.bound, known.most = 1, 16
    first = FirstAnswer(made, known, 0, lambda: None)
    assert first.construct(True, lambda: False, lambda: False) is None
    assert known.best is not None
    assert jobs.whole(known.best.alloc) == 100
    assert 100 // GPUS < known.best.problem.bins <= 16
    assert not faults(known.best.problem, known.best.alloc)


def test_in_large_problems_local_search_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "procedure UTILFN(BALL, BIN, ALLOC) UTIL.C[BIN] += 1 UTIL.ZONE[BIN % 2] += 1 end"
    made = problem(text, balls=9, bins=6, resources={"C[b in BINS]": 3, "ZONE[z in 2]": 5})
    assert next(Portfolio(made, 0).attempts(0, 1)).search == "published"
    monkeypatch.setattr(portfolio, "LARGE", 1)
    assert next(Portfolio(made, 0).attempts(0, 1)).search == "local search"
