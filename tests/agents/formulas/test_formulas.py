"""Formulas: the interpreter against Python's own arithmetic and against a compiled rule; source against expressions."""

import re

import numpy as np
import pytest
from hypothesis import example, given

from binwright.agents.formulas.parse import expression, source
from binwright.agents.formulas.program import LOST, Formula
from binwright.agents.rules.cheapest_place import cheapest
from binwright.agents.rules.scan import ScanAgent
from binwright.simcore.errors import UserError
from binwright.simcore.types import Ints
from tests.reference import formulas
from tests.support.formulas import expressions, in_units, played
from tests.support.properties import scaled
from tests.support.rooms import Case, cases


@pytest.mark.long
@given(text=expressions(), case=cases())
@scaled(6)
@example("1 / (free_a - 1)", ([[[2]], [[1]], [[4]]], [[[5]], [[5]], [[5]]], (1,), False))
@example("log(free_a - 1)", ([[[2]], [[1]]], [[[5]], [[5]]], (1,), False))
@example("min(0 / 0 * free_a, 1)", ([[[2]], [[1]]], [[[5]], [[5]]], (1,), False))
def test_interpreter_scores_as_python_does(text: str, case: Case) -> None:
    assert played(Formula(text), case) == formulas.chosen(text, *in_units(case))


@cheapest
def strange(free: Ints, capacity: Ints, taken: Ints, node: int) -> float:
    """Costs no number, infinity of both signs and ties, depending on what is free."""
    a = (free[:, 0].sum() if node < 0 else free[node, 0]) / 1e6
    gap = a - taken[:, 0].sum() / 1e6
    if gap == 0.0:
        return np.nan
    if gap == 1.0:
        return np.inf
    cost: float = -np.log(gap) if gap == 2.0 else np.floor(a)
    return cost


class Strange(ScanAgent):
    """The compiled form of `STRANGE`."""

    scan = staticmethod(strange)


GAP = "(free_a - demand_a)"
STRANGE = f"-where({GAP} == 0, 0/0, where({GAP} == 1, 1/0, where({GAP} == 2, -log({GAP}), floor(free_a))))"


@pytest.mark.long
@given(case=cases())
@scaled(6)
def test_interpreter_chooses_as_the_compiled_form_does(case: Case) -> None:
    assert played(Formula(STRANGE), case) == played(Strange(), case)


def test_decisions_without_a_score_are_counted() -> None:
    case = [[[4]], [[2]]], [[[9]], [[9]]], (1,), False
    some, none = Formula("sqrt(free_a - 1.5)"), Formula("0 / 0 + free_a")
    assert played(some, case) == (0, 0)
    assert played(none, case) is None
    assert [agent.numbers[2][LOST] for agent in (some, none)] == [0, 1]


WRITTEN = {
    "free_a + 1": "def score(free_a):\n    'Words.'\n    return free_a + 1",
    "where(free_a > demand_a, (2 + free_a) * (2 + free_a), 4)": "def score(free_a, demand_a):\n    x = 2\n"
    "    if free_a > demand_a:\n        x += free_a\n    else:\n        x = -x\n    return x * x",
    "where(free_a > 2, 1, where(free_a == 1, -free_a, 0))": "def score(free_a):\n    if free_a > 2:\n        return 1\n"
    "    elif free_a == 1:\n        return -free_a\n    return 0",
    "(1 < free_a <= 2) and free_a or 0.5": "def score(free_a):\n    return (1 < free_a <= 2) and free_a or 0.5",
    "sqrt(floor(free_a))": "def score(free_a):\n    import math\n    from math import floor\n"
    "    return math.sqrt(floor(free_a))",
}
"""Functions by what they mean."""
NO_FORMULA = {
    "while": "def score(free_a):\n    while free_a:\n        pass\n    return 1",
    "x = K": "x = K\ndef score(free_a):\n    return x",
    "def half(x):": "def score(free_a):\n    return half(free_a)\ndef half(x):\n    return x / 2",
    "free_a % 2": "def score(free_a):\n    return free_a % 2",
    "in a formula: min": "def score(free_a):\n    min = 3\n    return min",
    "def score(min):": "def score(min):\n    return min",
    "if free_a > 2:": "def score(free_a):\n    if free_a > 2:\n        return 1",
    "is no Python": "def score(free_a:",
    "in a formula: 'a'": "def score(free_a):\n    return 'a'",
    "no function score": "def other(): return 1",
    "def score(x=1):": "def score(x=1): return 1",
}
"""Source that is no formula, by a part of the message."""


@given(case=cases())
@scaled(2)
@pytest.mark.parametrize("meaning", WRITTEN)
def test_a_function_is_followed_and_means_what_python_means(meaning: str, case: Case) -> None:
    formula, _ = source(WRITTEN[meaning])
    assert played(Formula.of(formula), case) == formulas.chosen(meaning, *in_units(case))


@pytest.mark.parametrize("message", NO_FORMULA)
def test_python_that_is_no_formula_is_one_message(message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        source(NO_FORMULA[message])


MISTAKES = {
    "is no expression": "free_a +",
    "cannot be used in a formula: open(free_a)": "open(free_a)",
    "cannot be used in a formula: free_a.real": "free_a.real",
    "cannot be used in a formula: 'x'": "free_a + 'x'",
    "recursion depth exceeded": "-" * 5000 + "1",
    "more than 2,000 steps": f"max({', '.join(['free_a'] * 1500)})",
}


@pytest.mark.parametrize("message", MISTAKES)
def test_a_wrong_expression_is_one_message(message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        expression(MISTAKES[message])


def test_an_unknown_feature_is_named_with_the_nearest() -> None:
    with pytest.raises(UserError, match=r"(?s)no such feature .*fre_a.*Did you mean 'free_a'"):
        played(Formula("fre_a"), ([[[4]]], [[[9]]], (1,), False))
