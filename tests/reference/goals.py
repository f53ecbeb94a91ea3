"""Evaluate goals from their tree, which nothing of what programs and back ends do is used for."""

from collections.abc import Sequence
from math import inf

from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.programs import Constants
from binwright.agents.solver.language.writer import PLACE, QUANTITY, Typed
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.verify import utilisation
from binwright.agents.solver.specification.build import Build
from binwright.agents.solver.specification.spec import Spec


def goals_from_text(problem: Problem, alloc: Sequence[int]) -> list[int]:
    """Evaluate the goals for an allocation of all balls [balls]: raw values, as the text has them."""
    assert isinstance(problem.source, Spec)
    build = Build(problem.source, problem.bins)
    whole = Whole(build, alloc, utilisation(problem, alloc)[0])
    return [whole.number(goal.parts[1]).low for goal in build.goals]


class Whole(Constants):
    """Evaluates expressions that see the bin of every ball, and what is used of every dimension."""

    limit = inf  # the compiler has limited it

    def __init__(self, build: Build, alloc: Sequence[int], used: Sequence[int]) -> None:
        super().__init__(build.scope)
        self._alloc, self._utilisation = alloc, used

    def _placed(self, node: s.Node, ball: s.Node) -> Typed:
        return Typed.of(PLACE, self._alloc[self.within(ball, len(self._alloc), "BALLS", self.scope.means["BALLS"]).low])

    def _used(self, node: s.Node, name: str, nodes: Sequence[s.Node]) -> Typed:
        _, dim, _ = self.dimension(node)
        assert isinstance(dim, int)
        return Typed.of(QUANTITY, self._utilisation[dim])
