"""Sets with WITH: together (or apart) first, otherwise when they must, and the answer says which hold."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import binwright as bw
from binwright.agents.solver.backends.cpu import Outcome
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.verify import faults
from tests.reference import attempts as reference
from tests.support.opencl import BACKENDS, opencl_device
from tests.support.properties import scaled
from tests.support.solving import problem

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long


def made(sets: str, balls: int = 12, bins: int | str = 4, room: int = 3, body: str = "UTIL.S[BIN] += 1") -> Problem:
    return problem(
        f"BALLS {balls} BINS {bins} RESOURCES S[b in BINS] => {room} {sets} "
        f"procedure UTILFN(BALL, BIN, ALLOC) {body} end"
    )


@st.composite
def specs(draw: st.DrawFn, balls: int = 0, bins: int = 0) -> str:
    """Small ones with all kinds of sets; balls that look at others, and need less for it."""
    balls, bins = balls or draw(st.integers(3, 8)), bins or draw(st.integers(1, 4))
    lines = [f"TABLE D = {draw(st.lists(st.integers(0, 3), min_size=balls, max_size=balls))}"]
    lines.append(f"BALLS {balls} BINS {bins} RESOURCES S[b in BINS] => {draw(st.integers(2, 8))}")
    for kind in draw(st.lists(st.sampled_from(["FRIENDS", "FOES"]), min_size=1, max_size=4)):
        size = st.lists(st.integers(0, balls - 1), min_size=2, max_size=3, unique=True)
        members = ", ".join(map(str, draw(size)))
        lines.append(f"{kind} {members} WITH {draw(st.sampled_from(['0.3', '0.7', '0.95', '1']))}")
    for ball in draw(st.lists(st.integers(0, balls - 1), max_size=2, unique=True)):
        lines += [f"PIN {ball} TO {draw(st.integers(0, bins - 1))}"]
    use = draw(st.sampled_from(["D[BALL]", "if m > 0 then 1 else 2", "min(m + 1, 5 - m) - min(m, 6 - m)"]))
    count = "let m = count(o in BALLS except BALL: ALLOC[o] == BIN) " if "m" in use else ""
    return " ".join(lines) + f" procedure UTILFN(BALL, BIN, ALLOC) {count}UTIL.S[BIN] += {use} end"


def test_friends_are_apart_where_they_must_and_it_is_said() -> None:
    answer = bw.solve(made("FRIENDS 0 .. 4 WITH 0.9 FRIENDS 4, 5 WITH 0.5"), attempts=16)  # four have no room in three
    assert (answer.status, answer.placed) == ("solved", 12)
    broken, wish = answer.problem.wishes
    assert broken.broken(answer.alloc) == ((0, 1, 2, 3),)
    assert (wish.wanted, wish.broken(answer.alloc)) == (1, ())
    assert answer.alloc[4] == answer.alloc[5]
    assert "FRIENDS WITH 0.9: 0 of 1 sets hold, 1 asked for; not 0, 1, 2, 3" in answer.notes
    assert not any("WITH 0.5" in note for note in answer.notes)


def test_soft_sets_hold_for_the_requested_share() -> None:
    """Of ten pairs only nine fit together with the ball that takes a bin alone."""
    for share, wanted in ((0.9, 9), (0.5, 5), (0.1, 1)):
        sets = f"FRIENDS 2 * i, 2 * i + 1 WITH {share} for i in 10 PIN 18 TO 9 PIN 19 TO 8"
        answer = bw.solve(made(sets, balls=20, bins=10, room=2), attempts=200)
        [wish] = answer.problem.wishes
        broken = wish.broken(answer.alloc)
        assert wish.wanted == wanted
        assert len(wish.sets) - len(broken) >= (8 if share == 0.9 else wanted)
        assert (answer.status == "optimal") == (len(broken) <= 10 - wanted)
        assert (18, 19) in broken


def test_patience_with_wishes_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three pairs cannot all be together in bins of three, which is not plain to see."""
    monkeypatch.setattr("binwright.agents.solver.solving.solve.PATIENCE", 200)
    answer = bw.solve(made("FRIENDS 2 * i, 2 * i + 1 WITH 0.99 for i in 3", balls=6, bins=2), search="published")
    assert (answer.status, answer.placed) == ("solved", 6)
    assert len(answer.problem.wishes[0].broken(answer.alloc)) == 1
    assert 200 <= answer.checked < 400


def test_patience_with_wishes_begins_when_all_balls_are_placed(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(problem: Problem, seed: int, first: int, *_: object) -> Iterator[Outcome]:
        left = int(first < 300)
        yield Outcome(left, np.full(2, -left), first, 1)

    monkeypatch.setattr("binwright.agents.solver.backends.cpu.attempts", late)
    monkeypatch.setattr("binwright.agents.solver.solving.solve.PATIENCE", 200)
    assert bw.solve(made("FRIENDS 0, 1 WITH 0.5", balls=2, bins=2), search="published").status == "optimal"


@scaled(0.25)
@given(text=specs(), seed=st.integers(0, 2**40))
def test_cpu_agrees(text: str, seed: int) -> None:
    agrees("cpu", text, seed)


@pytest.mark.long  # kernels for every example; test_backends has some in make test
@pytest.mark.parametrize("backend", [name for name in BACKENDS if "opencl" in name])
@scaled(0.1)  # each builds kernels of its own
@given(text=specs(), seed=st.integers(0, 2**40))
def test_opencl_agrees(backend: str, text: str, seed: int) -> None:
    opencl_device()
    agrees(backend, text, seed)


def agrees(backend: str, text: str, seed: int) -> None:
    """Hold a back end to the reference on a specification."""
    result = problem(text)
    *_, fast = BACKENDS[backend](result, seed, 0, 4)
    *_, slow = reference.attempts(result, seed, 0, 4)
    alloc = fast.where.tolist()
    assert (alloc, fast.left, fast.attempt) == (slow.where.tolist(), slow.left, slow.attempt)
    assert fast.left == len({int(result.unit_of[ball]) for ball, place in enumerate(alloc) if place == NULL})
    assert not (result.program.alloc_free and faults(result, alloc))
