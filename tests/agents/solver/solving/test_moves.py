"""NOW, MOVES and DRAIN: held to what they mean over all allocations of small problems, and tried as a user would."""

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import binwright as bw
from binwright.agents.solver.language.errors import SpecError
from binwright.agents.solver.model.bounds import impossible
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.verify import faults, utilisation
from binwright.agents.solver.solving import exact
from binwright.agents.solver.solving.solve import _Over
from binwright.cli import main
from tests.support.properties import scaled
from tests.support.solving import changed, problem

PLAIN = "procedure UTILFN(BALL, BIN, ALLOC) UTIL.C[BIN] += D[BALL] end"
SHARED = "procedure UTILFN(BALL, BIN, ALLOC) UTIL.C[BIN] += D[BALL] UTIL.Z[BIN % 2] += 1 end"


@st.composite
def drawn(draw: st.DrawFn) -> tuple[Callable[..., Problem], list[int], set[int], int | None]:
    """Draw what makes a problem, with a goal, where its balls are, the bins to be emptied, and how many may move."""
    balls, bins = draw(st.integers(2, 4)), draw(st.integers(2, 3))
    demand = draw(st.lists(st.integers(0, 3), min_size=balls, max_size=balls))
    now = draw(st.lists(st.integers(-1, bins - 1), min_size=1, max_size=balls))
    drained = draw(st.sets(st.integers(0, bins - 1), max_size=2))
    moves = draw(st.none() | st.integers(0, balls))
    resources: dict[str, float | str] = {"C[b in BINS]": draw(st.integers(2, 7))}
    text = draw(st.sampled_from([PLAIN, SHARED]))
    if text == SHARED:
        resources["Z[z in 2]"] = draw(st.integers(1, 4))
    more = draw(st.sampled_from(["", " FOES 0, 1", " FRIENDS 0, 1", " PIN 0 TO 1"]))

    def make(goal: str = "", **further: Any) -> Problem:
        tables: dict[str, Any] = {"D": demand}
        return problem(text + more + goal, balls=balls, bins=bins, resources=resources, tables=tables, **further)

    return make, now, drained, moves


def clusters() -> st.SearchStrategy[Any]:
    """Draw a problem, where its balls are, the bins to be emptied, and how many balls may move."""
    return drawn().map(lambda each: (each[0](), *each[1:]))


def right(inputs: Problem, now: list[int], drained: set[int], moves: int | None) -> dict[tuple[int, ...], int]:
    """All right allocations of all balls, by the plain rule, and how many balls each moves."""
    bin_of = {}
    for alloc in product(range(inputs.bins), repeat=inputs.balls):
        moved = sum(local not in (-1, present) for local, present in zip(now, alloc, strict=False))
        if not faults(inputs, alloc) and drained.isdisjoint(alloc) and (moves is None or moved <= moves):
            bin_of[alloc] = moved
    return bin_of


BODIES = (
    PLAIN,
    SHARED,
    "procedure UTILFN(BALL, BIN, ALLOC) if BIN == BALL % 3 REJECT end UTIL.C[BIN] += D[BALL] end",
    """procedure UTILFN(BALL, BIN, ALLOC)
        UTIL.C[BIN] += D[BALL]
        let n = count(o in BALLS: o // 2 == BALL // 2)
        let m = count(o in BALLS except BALL: o // 2 == BALL // 2 and ALLOC[o] == BIN)
        UTIL.Z[BIN % 2] += min(m + 1, n - m - 1) - min(m, n - m)
    end""",
)
MORE = (
    "DRAIN 0", "FOES 0, 1", "FRIENDS 0, 1", "FOES 0, 1 WITH 0.5", "FRIENDS 0, 1 WITH 0.5", "PIN 0 TO 0",
    "SOFT C[b] SHARE 0 OVER 0.5 for b in BINS", "SOFT Z[*] SHARE 0.5 OVER 1",
)  # fmt: skip


@st.composite
def growing(draw: st.DrawFn) -> Problem:
    """Draw a problem of named balls with all constructs, the number of whose bins is given or asked for."""
    balls, most = draw(st.integers(2, 4)), draw(st.integers(1, 4))
    numbers = st.lists(st.integers(1, 3), min_size=balls, max_size=balls)
    tables: dict[str, Any] = {"D": draw(numbers), "NAMES": [f"pod-{ball}" for ball in range(balls)]}
    more = draw(st.lists(st.sampled_from([*MORE, f"DRAIN {most - 1}"]), max_size=3, unique=True))
    if any(each.startswith("DRAIN") for each in more) or draw(st.booleans()):
        tables["HOME"] = draw(st.lists(st.integers(-1, most - 1), min_size=balls, max_size=balls))
        more += ["NOW HOME", *draw(st.sampled_from([[], ["MOVES 0"], ["MOVES 1"], ["MOVES 2"]]))]
    bins = draw(st.sampled_from([f"? FROM {draw(st.integers(1, most))} TO {most}", str(most)]))
    return problem(
        f'TABLE NAMES FROM "pods.csv" COLUMN "name" AS pod BALLS len(NAMES) AS pod {" ".join(more)} '
        f"{draw(st.sampled_from(BODIES))}",
        bins=bins,
        resources={"C[b in BINS]": draw(st.integers(2, 4)), "Z[z in 2]": draw(st.integers(1, 3))},
        tables=tables,
    )


@pytest.mark.long
@scaled(1.5)
@given(case=growing())
def test_fewest_bins_are_found_under_any_declarations(case: Problem) -> None:
    """The answer has the first number of bins for which any allocation is right, or more if wishes ask for them."""
    least, most = case.limits if case.searched else (case.bins, case.bins)
    fewest = next(
        (
            bins
            for bins in range(least, most + 1)
            if not all(faults(case.with_bins(bins), places) for places in product(range(bins), repeat=case.balls))
        ),
        None,
    )
    answer = bw.solve(case, attempts=30)
    done = answer.status in ("solved", "optimal")
    assert done == (fewest is not None)
    if fewest is not None:
        assert answer.bins == fewest or (case.wishes and answer.bins > fewest)
    assert answer.bound <= (fewest or most)
    assert not (impossible(case) and fewest)
    assert not (answer.impossible and fewest)
    assert not faults(answer.problem, answer.alloc)


@given(cluster=clusters())
def test_verifier_agrees_with_the_plain_rules_of_moves_and_drains(cluster: Any) -> None:
    plain, now, drained, moves = cluster
    requested = changed(plain, now, moves, drained)
    every = right(plain, now, drained, moves)
    for alloc in product(range(plain.bins), repeat=plain.balls):
        assert (not faults(requested, alloc)) == (alloc in every)


@given(cluster=drawn(), goal=st.sampled_from(["", " MINIMISE UTIL.C[0] + UTIL.C[1]"]))
@scaled(2.0)
def test_of_equally_good_answers_the_one_with_fewest_moves_is_proven(cluster: Any, goal: str) -> None:
    pytest.importorskip("ortools")
    make, now, drained, moves = cluster
    some = right(make(), now, drained, moves)
    requested = changed(make(goal, now=now), None, moves, drained)
    proof = exact.prove(requested, lambda: False)
    assert proof.impossible == (not some)
    if proof.alloc is not None:
        used = {alloc: sum(utilisation(requested, alloc)[0][:2]) if goal else 0 for alloc in some}
        best = min((used[alloc], moved) for alloc, moved in some.items())
        assert (used[tuple(proof.alloc)], some[tuple(proof.alloc)]) == best


@given(cluster=clusters(), pick=st.integers(0, 80), seed=st.integers(0, 9))
def test_balls_that_may_stay_do_not_move(cluster: Any, pick: int, seed: int) -> None:
    plain, _, drained, _ = cluster
    some = list(right(plain, [], drained, None))
    if some:
        local = list(some[pick % len(some)])
        answer = bw.solve(changed(plain, local, None, drained), seed=seed, attempts=1)
        assert answer.alloc == local
        assert answer.moves == ()


WRONG = {
    "MOVES 3": "MOVES needs to know where the balls are now",
    "MINIMISE MOVES": "MOVES needs to know where the balls are now", "NOW HOM": "Did you mean 'HOME'",
    "NOW HOME NOW HOME": "NOW is there twice", "NOW HOME MOVES 1 MOVES 2": "MOVES is there twice",
    "NOW HOME MOVES -1": "-1 is not a number of moves", "NOW HOME MOVES 0.5": "must be a whole number",
    "DRAIN 7": "there is no bin 7", "NOW D": "ball 0 is in bin 6, which there is not",
    "NOW HALVES": "HALVES does not say where the balls are", "NOW MANY": "MANY does not say where the balls are",
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_mistakes_are_told(wrong: str) -> None:
    tables = {"D": [6, 5, 5, 4, 3], "HOME": [0, 1, 1, 0, -1], "HALVES": [0.5, 1, 1, 1, 1], "MANY": [0] * 6}
    with pytest.raises(SpecError, match=WRONG[wrong]):
        problem(f"{PLAIN} {wrong}", balls=5, bins=4, resources={"C[b in BINS]": 10}, tables=tables)


def test_solve_from_starts_at_an_earlier_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, now = tmp_path / "now.csv", tmp_path / "now.json"
    assert main(["solve", "vm-placement", "--json"]) == 0
    now.write_text(capsys.readouterr().out)
    before = json.loads(now.read_text())["alloc"]
    file.write_text("ball,bin\n" + "".join(f"{ball},{place}\n" for ball, place in enumerate(before)))
    for known in (file, now):
        assert main(["solve", "vm-placement", "--from", str(known), "--json"]) == 0
        result = json.loads(capsys.readouterr().out)
        assert (result["alloc"], result["moves"]) == (before, [])
    drain = ["--drain", str(before[0]), "--moves", "4", "--time", "1s"]
    assert main(["solve", "vm-placement", "--from", str(file), *drain]) == 1
    assert f" from {before[0]} to " in capsys.readouterr().out


@pytest.mark.parametrize("text", [PLAIN, SHARED])
def test_nobody_is_thrown_out_for_want_of_time(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is compiled in time: all stay but the two that have to go, and their friends."""

    def late(*_: object) -> None:
        raise _Over

    monkeypatch.setattr("binwright.agents.solver.solving.solve._Search.attempt", late)
    home = [0, 0, 1, 2, 2, 3]
    inputs = problem(f"{text} FRIENDS 1, 4", balls=6, bins=4, resources={"C[b in BINS]": 9, "Z[z in 2]": 9},
                    tables={"D": [9, 0, 9, 9, 0, 9]})  # fmt: skip
    home[4] = 0
    answer = bw.solve(inputs, now=home, drain=[2], time=1)
    assert (answer.alloc, answer.search, answer.status) == ([0, 0, 1, NULL, 0, 3], "whole tenants", "partial")
    assert bw.solve(inputs, now=home, drain=[0], time=1).alloc == [
        NULL,
        1,
        1,
        2,
        1,
        3,
    ]  # friends go where there is room
