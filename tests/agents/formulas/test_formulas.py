"""Formulas: the interpreter against Python's own arithmetic and against a compiled rule; source against expressions."""

import re

import numpy as np
import pytest
from hypothesis import example, given

from binwright.agents.formulas.parse import NotAFormula, expression, source
from binwright.agents.formulas.program import BLOCK, LOST, Formula
from binwright.agents.formulas.source import ScoreFunction, checked
from binwright.agents.rules.cheapest_place import cheapest
from binwright.agents.rules.scan import ScanAgent
from binwright.simcore.errors import UserError
from binwright.simcore.types import Ints
from tests.reference import formulas
from tests.support.formulas import expressions, in_units, played
from tests.support.properties import scaled
from tests.support.rooms import Case, cases


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


@given(case=cases())
@scaled(6)
def test_interpreter_chooses_as_the_compiled_form_does(case: Case) -> None:
    assert played(Formula(STRANGE), case) == played(Strange(), case)


def test_more_places_than_a_block_holds_are_all_looked_at() -> None:
    servers = BLOCK + 3
    free = [[[5], [5]] for _ in range(servers)]
    free[-1][1] = [4]
    capacity = [[[9], [9]] for _ in range(servers)]
    assert played(Formula("-free_a"), (free, capacity, (1,), False)) == (servers - 1, 1)
    assert played(Formula("1"), (free, capacity, (1,), False)) == (0, 0)


def test_decisions_without_a_score_are_counted() -> None:
    case = [[[4]], [[2]]], [[[9]], [[9]]], (1,), False
    some, none = Formula("sqrt(free_a - 1.5)"), Formula("0 / 0 + free_a")
    assert played(some, case) == (0, 0)
    assert played(none, case) is None
    assert [agent.numbers[1][-1][LOST] for agent in (some, none)] == [0, 1]


WRITTEN = {
    "a + 1": "def score(free_a):\n    return free_a + 1",
    "if": "def score(free_a, demand_a):\n    x = 2\n    if free_a > demand_a:\n        x += free_a\n    else:\n"
    "        x = -x\n    return x * x",
    "returns": "def score(free_a):\n    if free_a > 2:\n        return 1\n    elif free_a == 1:\n"
    "        return -free_a\n    return 0",
    "chain": "def score(free_a):\n    return (1 < free_a <= 2) and free_a or 0.5",
    "imports": "def score(free_a):\n    import math\n    from math import floor\n    return math.sqrt(floor(free_a))",
}
PLAYED = {
    "while": "def score(free_a):\n    x = 0\n    while x < free_a:\n        x += 1\n    return x",
    "loop": "def score(free_a):\n    x = 0\n    for n in range(1, 4):\n        x = x + free_a / n\n    return x",
    "helper": "K = 0.5\ndef half(x):\n    return K * x\ndef score(free_a):\n    'Words.'\n    return half(free_a)",
    "list": "def score(free_a, server_free_a):\n    return sum([free_a, server_free_a])",
    "imports": "def score(free_a):\n    import math\n    from math import fmod, pi\n"
    "    return math.sqrt(fmod(free_a, 2) + pi)",
    "remainder": "def score(free_a):\n    return free_a % 2 + free_a // 2",
}


@given(case=cases())
@scaled(2)
@pytest.mark.parametrize("name", WRITTEN)
def test_a_function_is_followed_and_means_what_python_means(name: str, case: Case) -> None:
    tree = checked(WRITTEN[name])
    formula, _ = source(tree)
    assert played(Formula.of(formula), case) == played(ScoreFunction(tree), case)


@pytest.mark.parametrize("name", PLAYED)
def test_python_that_is_no_formula_is_played_as_it_is(name: str) -> None:
    tree = checked(PLAYED[name])
    with pytest.raises(NotAFormula):
        source(tree)
    assert played(ScoreFunction(tree), ([[[4]], [[5]]], [[[9]], [[9]]], (1,), False)) == (1, 0)


@pytest.mark.parametrize("feature", ["free_share_a", "least_free_share_a", "share_a", "most_after_a"])
def test_python_that_is_no_formula_sees_the_features_that_formulas_see(feature: str) -> None:
    case = [[[4], [2]], [[5], [1]], [[9], [3]]], [[[9], [3]], [[9], [4]], [[18], [4]]], (1,), False
    tree = checked(f"def score({feature}):\n    while True:\n        return {feature}")
    assert played(ScoreFunction(tree), case) == played(Formula(feature), case)


MISTAKES = {
    "is no expression": "free_a +",
    "cannot be used in a formula: open(free_a)": "open(free_a)",
    "cannot be used in a formula: free_a.real": "free_a.real",
    "is no number": "free_a + 'x'",
    "recursion": "-" * 5000 + "1",
    "more than 2,000 steps": f"max({', '.join(['free_a'] * 1500)})",
}


@pytest.mark.parametrize("said", MISTAKES)
def test_a_wrong_expression_is_one_message(said: str) -> None:
    with pytest.raises(UserError, match=re.escape(said)):
        expression(MISTAKES[said])


def test_an_unknown_feature_is_named_with_the_nearest() -> None:
    with pytest.raises(UserError, match=r"(?s)no such feature .*fre_a.*Did you mean 'free_a'"):
        played(Formula("fre_a"), ([[[4]]], [[[9]]], (1,), False))


REFUSED = [
    *(
        "import os\n", "import math as m\n", "from os import path\n", "from math import __loader__\n",
        "import math, os\n",
    ),
    *("x = ().__class__\n", "x = math.__loader__\n", "y = (1).real\n", "math.pi = 4\n", "math = 3\n", "z = math\n"),
    *("x = __import__\n", "s = 'a'\n", "f = lambda: 0\n", "class A: pass\n", "try:\n  pass\nexcept: pass\n"),
    *(
        "async def f(): pass\n", "with x: pass\n", "global x\n", "@abs\ndef f(): pass\n", "raise x\n", "x = {}\n",
        "del x\n",
    ),
    *("def f(): yield 1\n", "assert 0\n", "x = f'{1}'\n", "x = 1j\n", "x = ...\n", "match 1:\n  case 1: pass\n"),
    *("(x := 1)\n", "def f(*, _x): pass\n", "x = b'a'\n", "def\n", "\0"),
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_source_that_is_more_than_arithmetic_is_refused(text: str) -> None:
    with pytest.raises(UserError):
        checked(text + "def score(free_a):\n    return 1\n")


def test_source_can_call_only_builtin_arithmetic() -> None:
    with pytest.raises(NameError):
        ScoreFunction(checked("x = open\ndef score(free_a):\n    return 1"))


@pytest.mark.parametrize("text", ["def score(x=1): return 1", "def other(): return 1", "def score(*free_a): return 1"])
def test_a_function_names_features_only(text: str) -> None:
    with pytest.raises(UserError, match="score"):
        source(checked(text))
