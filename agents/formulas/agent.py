"""Places by a formula, without compiling it."""

from __future__ import annotations

from typing import Self

import numpy as np

from binwright.agents.formulas.parse import Term, constant, expression, names_in
from binwright.agents.formulas.program import best_place, program
from binwright.agents.rules.scan import ScanAgent
from binwright.simcore.types import Compiled, Placement, Request, View


class Formula(ScanAgent):
    """The place with the highest `score`, an expression such as `-share_cpu - 2 * least_share_mem`.

    A formula that asks for the `time` is played on SimPy's clock, others in compiled runs.
    """

    reference = "yours"
    scan = staticmethod(best_place)
    formula: Term

    def __init__(self, score: str = "0") -> None:
        self.formula = expression(score)
        self.numbers = tuple(program(constant(0.0), ()))

    @classmethod
    def of(cls, formula: Term) -> Self:
        """Make an agent of a formula that has been read already."""
        made = cls()
        made.formula = formula
        return made

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Write the formula as a program for these resources."""
        self.numbers = tuple(program(self.formula, view.resources))
        self.get_ready(view)

    def decide(self, view: View, request: Request) -> Placement | None:
        """Place the request where the score is highest."""
        self.numbers[1][0] = view.now
        return super().decide(view, request)

    @property
    def compiled(self) -> Compiled | None:
        """The interpreter and the program; `None` for a formula of the time, which compiled runs do not pass on."""
        return None if "time" in names_in(self.formula) else Compiled(self.scan, self.numbers)
