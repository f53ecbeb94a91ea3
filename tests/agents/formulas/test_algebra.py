"""Algebra of formulas: what is simplified, ranked and written says what it said; a rule as Python places the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given

from binwright.agents import AGENTS
from binwright.agents.formulas.agent import Formula
from binwright.agents.formulas.algebra import (
    COMPUTED,
    constants,
    expanded,
    ranking,
    simplified,
    with_constants,
    written,
)
from binwright.agents.formulas.as_python import python_of
from binwright.agents.formulas.parse import Term, expression
from tests.reference import formulas
from tests.reference.agents import feasible
from tests.support.formulas import expressions, in_units, played
from tests.support.properties import scaled
from tests.support.rooms import Case, cases

OPERATIONS = COMPUTED | {"min": np.minimum, "max": np.maximum, "where": lambda test, x, y: np.where(test != 0, x, y)}


def values(formula: Term, case: Case) -> list[np.ndarray]:
    """What a formula, and then its parts, are at every place on which the request of a case fits."""
    free, capacity, demand, spread = in_units(case)
    where = feasible(free, demand, spread)
    known = [formulas.features(free, capacity, demand, spread, one) for one in where]
    found: list[np.ndarray] = []

    def of(one: Term) -> np.ndarray:
        at = len(found)
        found.append(np.array([]))
        parts = [of(part) for part in one.of]
        if one.op in ("constant", "feature"):
            found[at] = np.array([one.value if one.op == "constant" else each[one.name] for each in known])
        else:
            found[at] = np.asarray(OPERATIONS[one.op](*parts), float)
        return found[at]

    with np.errstate(all="ignore"):
        of(expanded(formula))
    return found


@given(text=expressions(), case=cases())
@scaled(8)
def test_what_is_simplified_has_the_same_value_and_is_read_as_it_is_written(text: str, case: Case) -> None:
    formula = expression(text)
    shorter = simplified(formula)
    assert expression(written(shorter)) == shorter == simplified(shorter)
    assert shorter.size <= formula.size
    parts = values(formula, case)
    assume(all(np.isfinite(one).all() and (abs(one) < 1e6).all() for one in parts))
    assert np.allclose(values(shorter, case)[0], parts[0], rtol=1e-9, atol=1e-9)


@given(text=expressions(3), case=cases())
@scaled(8)
def test_a_ranking_ranks_as_the_formula_does(text: str, case: Case) -> None:
    formula = expression(text)
    shorter = ranking(formula)
    parts, after = values(formula, case), values(shorter, case)[0]
    before = parts[0]
    assume(all(np.isfinite(one).all() and (abs(one) < 50).all() for one in parts))
    clear = before[:, None] > before + 1e-6
    assert (after[:, None] > after)[clear].all()


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("free_cpu + 0", "free_cpu"),
        ("1 * (free_cpu - -2)", "free_cpu + 2"),
        ("0 * free_cpu + -(-free_mem)", "free_mem"),
        ("-(free_cpu - free_mem)", "free_mem - free_cpu"),
        ("free_mem * 2 * 3", "6 * free_mem"),
        ("min(free_cpu, free_cpu) / free_cpu", "1"),
        ("where(1 < 2, free_cpu, free_mem)", "free_cpu"),
        ("free_mem + free_cpu + free_cpu", "free_cpu + (free_cpu + free_mem)"),
        ("lost(-(share_cpu + 2 * demand_cpu)) + lost(capacity_cpu)", "-lost(share_cpu)"),
        ("lost(2 - after_cpu)", "-lost(after_cpu)"),
    ],
)
def test_what_simplifying_does(text: str, short: str) -> None:
    assert written(simplified(expression(text))) == short


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("demand_cpu - 3 * free_cpu", "-free_cpu"),
        ("exp(2 * free_cpu + nodes)", "free_cpu"),
        ("demand_cpu * spread", "0"),
        ("where(spread, 2 * free_cpu, free_mem - 1)", "where(spread, free_cpu, free_mem)"),
        ("-(demand_mem - free_cpu / 4)", "free_cpu"),
    ],
)
def test_what_ranking_leaves_out(text: str, short: str) -> None:
    assert written(ranking(expression(text))) == short


def test_constants_are_found_and_put_back() -> None:
    formula = expression("2 * free_cpu - where(free_mem < 0.5, 3, 4)")
    assert constants(formula) == [2, 0.5, 3, 4]
    assert written(with_constants(formula, [1, 2, 3, 5])) == "1 * free_cpu - where(free_mem < 2, 3, 5)"


def test_a_formula_as_python_places_as_it_does(tmp_path: Path) -> None:
    """Whatever it calls, in one file: so that one rule is compiled, and not hundreds."""
    text = (
        "where(least_free_a <= 0.5 * spread, min(share_a, other_after_a) / (most_free_a - 1), -(max(server_share_a, "
        "0.25) ** 2)) - abs(least_share_a - demand_a) + sqrt(capacity_a) * (not other_share_a) + log(after_a) / nodes "
        "+ lost(least_share_a * server_after_a)"
    )
    formula = expression(text)
    file = tmp_path / "found.py"
    file.write_text(python_of(formula, ("a", "b"), "A rule."))
    kind = AGENTS.load(f"{file}:Found")

    @given(case=cases().filter(lambda case: len(case[2]) < 3))
    @scaled(8)
    def holds(case: Case) -> None:
        assert played(kind(), case) == played(Formula.of(formula), case)

    holds()
