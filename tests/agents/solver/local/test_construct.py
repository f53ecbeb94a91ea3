"""Whole tenants: jobs whose workers share bandwidth are placed as units, before any search, as well as by greedy."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import binwright as bw
from binwright.agents.solver.local.construct import Construction
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.tenants import Tenants, tenants
from binwright.agents.solver.model.verify import faults, utilisation
from tests.support.properties import first, scaled
from tests.support.solver_jobs import Jobs
from tests.support.solving import problem


def never() -> bool:
    return False


def tenants_of(given: Problem) -> Tenants:
    found = tenants(given, never)
    assert found is not None
    return found


def constructed(given: Problem, seed: int = 0, steps: int = 0) -> Construction:
    """Place the tenants, and then make so many steps."""
    made = Construction(given, tenants_of(given), seed, never)
    made.construct()
    for _ in range(steps):
        if made.left:
            made.ruin_and_recreate()
    return made


@pytest.mark.parametrize(
    ("workers", "spare", "link", "uplink"),
    [(239, 0.1, 100, 200), (239, 0.02, 50, 150), (1990, 0.1, 100, 200)],
)
def test_all_jobs_that_a_plain_greedy_places_are_placed(workers: int, spare: float, link: int, uplink: int) -> None:
    jobs = Jobs.drawn(workers, 0, spare, link, uplink)
    assert jobs.greedy() == workers
    made = jobs.problem()
    alloc = constructed(made).alloc
    assert jobs.whole(alloc) == workers
    assert not faults(made, alloc)


@pytest.mark.parametrize("seed", first(1, range(4)))
@pytest.mark.parametrize(("spare", "link", "uplink"), [(0.0, 40, 60), (0.05, 20, 40), (0.3, 10, 20)])
def test_where_links_are_scarce_no_fewer_are_placed_than_by_greedy(
    seed: int, spare: float, link: int, uplink: int
) -> None:
    jobs = Jobs.drawn(239, seed, spare, link, uplink)
    made = jobs.problem()
    alloc = constructed(made, 0, 50).alloc
    assert jobs.whole(alloc) >= jobs.greedy()
    assert not faults(made, alloc)


@scaled(0.4)
@given(seed=st.integers(0, 999), spare=st.sampled_from([0.0, 0.1]), link=st.sampled_from([5, 20, 60]))
def test_every_state_of_the_search_is_right(seed: int, spare: float, link: int) -> None:
    jobs = Jobs.drawn(60, seed, spare, link, 2 * link)
    made = jobs.problem()
    construction = constructed(made, seed)
    before = jobs.whole(construction.alloc)
    for _ in range(5):
        if construction.left:
            construction.ruin_and_recreate()
        alloc = construction.alloc
        assert not faults(made, alloc)
        assert sum(place != NULL for place in alloc) == jobs.whole(alloc) >= before
        assert construction.used == utilisation(made, alloc)[0]
        before = jobs.whole(alloc)


def test_balls_that_all_look_at_one_another_are_no_tenants() -> None:
    one = "procedure UTILFN(BALL, BIN, ALLOC) UTIL.C[BIN] += count(o in BALLS except BALL: ALLOC[o] == BIN) end"
    made = problem(one, balls=5, bins=3, resources={"C[b in BINS]": 9})
    assert not tenants_of(made).several
    assert bw.solve(made, attempts=1).search != "whole tenants"


def pairs(text: str, balls: int, bins: int, size: int) -> Problem:
    """Return a problem of tenants of two balls."""
    other = (np.arange(balls) ^ 1).tolist()
    sizes = {"SLOTS[b in BINS]": size}
    return problem(text, balls=balls, bins=bins, resources=sizes, tables={"OTHER": other})


SPREAD_OUT = """procedure UTILFN(BALL, BIN, ALLOC)
    if {rejected} or ALLOC[OTHER[BALL]] == BIN REJECT end
    UTIL.SLOTS[BIN] += 1
end"""


@pytest.mark.parametrize("cause", ["pins", "rejected"])
def test_pairs_that_cannot_be_placed_keep_no_others_out(cause: str) -> None:
    balls = 200
    rejected = "BIN > 0 and BALL < 4" if cause == "rejected" else "BIN < 0"
    pinned = "PIN ball TO 0 for ball in 4" if cause == "pins" else ""
    made = pairs(f"{SPREAD_OUT.format(rejected=rejected)} {pinned}", balls, 80, 3)
    construction = constructed(made)
    assert sum(place != NULL for place in construction.alloc) >= balls - 4
    assert not faults(made, construction.alloc)


def test_bins_are_tried_in_which_a_ball_takes_less_than_in_the_first_one() -> None:
    text = """procedure UTILFN(BALL, BIN, ALLOC)
        if ALLOC[OTHER[BALL]] != NULL and ALLOC[OTHER[BALL]] != BIN REJECT end
        if BIN == 0 UTIL.SLOTS[BIN] += 3 else UTIL.SLOTS[BIN] += 1 end
    end"""
    made = pairs(text, 200, 101, 3)
    construction = constructed(made)
    assert NULL not in construction.alloc
    assert not faults(made, construction.alloc)


def test_jobs_stay_where_they_are_and_others_come() -> None:
    jobs = Jobs.drawn(239, 0)
    now = np.array(constructed(jobs.problem()).alloc)
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
        construction = constructed(made)
        assert not faults(made, construction.alloc)
        placed.append(half.whole(construction.alloc))
    assert placed[0] <= half.free.sum() < placed[1] == 239
    answer = bw.solve(soft, time=20)
    assert (answer.search, answer.placed) == ("whole tenants", half.whole(answer.alloc))


def test_placed_jobs_survive_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = Jobs.drawn(239, 0)
    put, calls = Construction.put_unit, list[int]()

    def interrupted(self: Construction, unit: int, place: int) -> Any:
        calls.append(place)
        if len(calls) == 150:
            raise KeyboardInterrupt
        return put(self, unit, place)

    monkeypatch.setattr(Construction, "put_unit", interrupted)
    monkeypatch.setattr("binwright.agents.solver.solving.depth_first.suits", lambda _: False)
    answer = bw.solve(jobs.problem(), time=20)
    assert answer.interrupted
    assert (answer.status, answer.search) == ("partial", "whole tenants")
    assert answer.placed == jobs.whole(answer.alloc) > 50
