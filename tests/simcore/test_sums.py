"""Sums that results come from do not depend on how many threads or processors there are."""

import ast
from math import fsum
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.simcore.ordered_sums import dot, rows_dot

ROOT = Path(__file__).parents[2]
NO_PRODUCTS = (
    "simcore", "workloads", "fabric", "agents/environments", "agents/rules", "agents/heuristics", "agents/formulas",
    "scenarios/search", "analysis",
)  # fmt: skip
"""Where no float is a matrix product: there results come from."""
PRODUCTS = {"dot", "matmul", "inner", "vdot", "tensordot"}

numbers = st.floats(0, 1e9)


@given(st.lists(st.tuples(numbers, st.integers(0, 10**9)), max_size=40))
def test_products_add_up(pairs: list[tuple[float, int]]) -> None:
    left = np.array([each for each, _ in pairs])
    right = np.array([other for _, other in pairs], np.int64)
    exact = fsum(each * other for each, other in pairs)
    assert dot(left, right) == pytest.approx(exact, rel=1e-12)
    [result] = rows_dot(right[None], left)
    assert result == pytest.approx(exact, rel=1e-12)


def test_no_result_is_a_matrix_product() -> None:
    faults = []
    for folder in NO_PRODUCTS:
        for file in sorted((ROOT / "binwright" / folder).resolve().rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                match node:
                    case ast.BinOp(op=ast.MatMult()) | ast.AugAssign(op=ast.MatMult()):
                        faults.append(f"{file.relative_to(ROOT)}:{node.lineno}")
                    case ast.Attribute(attr=name) if name in PRODUCTS:
                        faults.append(f"{file.relative_to(ROOT)}:{node.lineno}")
    assert not faults
