"""AT LEAST, and goals with `BINS ?`: they mean what a rule in Python says, and the best of tiny problems is proven."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import binwright as bw
from binwright.agents.solver import problem
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.verify import goals_of
from binwright.cli import main
from binwright.simcore.errors import UserError
from tests.support.properties import scaled

SIZES = [3, 2, 2, 1]
BODY = "procedure UTILFN(BALL, BIN, ALLOC) UTIL.C[BIN] += D[BALL] end"


def made(more: str, bins: str = "3", capacity: str = "6") -> Problem:
    return problem(f"TABLE D = {SIZES} BALLS 4 BINS {bins} RESOURCES C[b in BINS] => {capacity} {more} {BODY}")


def loads(alloc: Sequence[int], bins: int) -> list[int]:
    return [sum(size for size, at in zip(SIZES, alloc, strict=True) if at == place) for place in range(bins)]


@scaled(1)
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from(["C", "BALLS"]), st.integers(0, 5), st.booleans()), max_size=4
    )
)
def test_at_least_declarations_count_what_is_missed(requested: list[tuple[int, str, int, bool]]) -> None:
    inputs = made(" ".join(f"AT LEAST {q} OF {of}[{s}] {'OR NONE' * none}" for s, of, q, none in requested))
    for alloc in product(range(3), repeat=4):
        used = {"C": loads(alloc, 3), "BALLS": [alloc.count(place) for place in range(3)]}
        less = [(used[of][s], q) for s, of, q, none in requested if used[of][s] < q and not (none and used[of][s] == 0)]
        if not requested:
            continue
        first = goals_of(inputs, alloc)[0] / 10**6
        assert first == sum(q - used for used, q in less)


@pytest.mark.parametrize(
    ("rules", "holds"),
    [
        ("AT LEAST 2 OF C[s] for s in BINS", lambda used, balls: min(used) >= 2),
        ("AT LEAST 4 OF C[s] OR NONE for s in BINS", lambda used, balls: all(one in (0, 4, 5, 6) for one in used)),
        ("AT LEAST 2 OF BALLS[s] OR NONE for s in BINS", lambda used, balls: 1 not in balls),
        ("AT LEAST 2 OF BALLS[2] AT LEAST 3 OF C[0]", lambda used, balls: balls[2] >= 2 and used[0] >= 3),
    ],
)
def test_at_least_holds(rules: str, holds: object) -> None:
    answer = bw.solve(made(rules), time=20)
    assert answer.status == "optimal"
    assert callable(holds)
    assert holds(loads(answer.alloc, 3), [answer.alloc.count(place) for place in range(3)])


def test_hundreds_of_at_least_declarations_compile() -> None:
    inputs = made(" ".join(f"AT LEAST {1 + n % 3} OF C[{n % 3}]" for n in range(300)))
    assert goals_of(inputs, [0, 1, 1, 2]) == (200 * 10**6,)


def test_an_answer_that_misses_at_least_is_partial(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.alloc").write_text(
        f"TABLE D = {SIZES} BALLS 4 BINS 3 RESOURCES C[b in BINS] => 6 AT LEAST 7 OF C[1] {BODY}"
    )
    assert main(["solve", str(tmp_path / "a.alloc"), "--time", "2s"]) == 1
    shown = capsys.readouterr().out
    assert "minimise what AT LEAST misses: 1 (" in shown
    assert "partial: 4 of 4 balls" in shown


def test_bins_are_as_many_as_from_says_at_least() -> None:
    answer = bw.solve(made("MINIMISE 10 - BINS", "? FROM 2 TO 4"), time=20)
    assert [each.value for each in answer.goals] == [6, 4]
    fewest = bw.solve(made("MINIMISE BINS", "? FROM 3"), time=20)
    assert (fewest.status, fewest.goals[0].value) == ("optimal", 3)


@pytest.mark.parametrize("more", ["AT LEAST 2 OF BALLS[0]", "MINIMISE BINS"])
def test_published_search_refuses_at_least_with_a_remedy(more: str) -> None:
    with pytest.raises(UserError, match=r"search: goals are for our search [(]got 'published'[)]") as caught:
        bw.solve(made(more, "? TO 3"), search="published")
    assert "Leave search as it is" in caught.value.remedy
