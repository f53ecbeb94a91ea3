"""From where balls are, and which bins are to be emptied, by names and numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from binwright.agents.solver import problem
from binwright.agents.solver.language.errors import At, SpecError
from binwright.agents.solver.language.tables import from_places
from binwright.agents.solver.model.program import MICRO


def test_where_balls_are() -> None:
    def bins(now: Any, balls: Sequence[str], bins: Sequence[str]) -> list[int]:
        return list(from_places(now, balls, bins, At(1, 1)).values)

    assert bins([0, None, -1, 2], (), ()) == [0, -1, -1, 2]
    assert bins({"0": "1", "1": None}, (), ()) == [1, -1]
    assert bins({"b": "y", "gone": "x"}, ("a", "b"), ("x", "y")) == [-1, 1]
    assert bins({"a": 1}, ("a",), ("x", "y")) == [1]
    for now in ({"1": 0}, {"c": "x"}):
        with pytest.raises(SpecError, match="ball"):
            bins(now, ("a",) if "c" in now else (), ())
    for place in ("--1", "1_0", "9" * 5000, "-", ""):
        with pytest.raises(SpecError, match="is no bin here"):
            bins([place], (), ())


def test_bins_to_be_emptied_are_numbers_or_names() -> None:
    text = "BINS 12 BALLS 1 RESOURCES C => 1 procedure UTILFN(BALL, BIN, ALLOC) UTIL.C += 1 end"
    assert np.flatnonzero(problem(text, drain=["2", 9]).capacity[1:] == 0).tolist() == [2, 9]
    named = text.replace("BINS 12", 'TABLE N FROM "n.csv" COLUMN "n" AS n BINS 3 AS n')
    assert problem(named, tables={"N": ["x", "y", "5-7"]}, drain=["y", 0]).capacity[1:].tolist() == [0, 0, MICRO]
    for part, says in (("x", "drain is not a number"), ("1-2", "drain is not a number"), ("12", "no bin 12")):
        with pytest.raises(SpecError, match=says):
            problem(text, drain=[part])
