"""Keep what the names mean at the place in UTILFN that is being checked, and what is known there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.code import Code
from binwright.agents.solver.language.constants import Value
from binwright.agents.solver.language.errors import At, SpecError
from binwright.agents.solver.language.tables import Table
from binwright.agents.solver.language.values import INT, PLACE, Typed
from binwright.agents.solver.model.program import BALL, BIN, NULL, Const, Family, Local
from binwright.simcore.types import Ints


class Unknown(Exception):
    """Raised where ALLOC is looked at, and the scope is blind."""


class Scope:
    """What names mean at the current place, which expressions are not NULL there, and the code that is written."""

    def __init__(self, balls: int, bins: int, names: dict[str, Value], tables: dict[str, Table]) -> None:
        self.code = Code()
        self.balls, self.bins, self.names, self.tables = balls, bins, names, tables
        self.locals: dict[str, Typed | None] = {
            "BALL": Typed(INT, 0, balls - 1, Local(BALL)),
            "BIN": Typed(INT, 0, bins - 1, Local(BIN)),
            "NULL": Typed(PLACE, NULL, NULL, Const(NULL)),
        }
        self.facts: frozenset[s.Expr] = frozenset()
        """Expressions that are not NULL here."""
        self.loops: list[Local | None] = []
        """The variables of the loops around; None for a row of a table, whose entries may repeat."""
        self.blind = False
        """What depends on ALLOC is left out."""
        self.reads_alloc = False
        """Some place looks at ALLOC."""
        self.bin_reads = 0
        """How often BIN is mentioned."""
        self.families: Mapping[str, Family] | None = None
        """The resources that may be read: in goals, all."""
        self.reach: dict[str, tuple[int, int]] = {}
        """The least and the most that is used of a dimension of each, where all balls are placed."""

    def read_goals(self, families: Mapping[str, Family], lowest: Mapping[str, int], ceiling: Ints) -> None:
        """Make it the scope of goals: every ball is placed, and no ball or bin is meant."""
        self.families = families
        for name, one in families.items():
            self.reach[name] = lowest[name], int(ceiling[one.offset : one.offset + one.count].max(initial=0))
        del self.locals["BALL"], self.locals["BIN"]
        self.code.strict = True

    @contextmanager
    def inner(self, facts: frozenset[s.Expr] = frozenset()) -> Iterator[None]:
        """Go into a part that knows these facts, too; what it defines and learns ends with it."""
        known, before = self.locals, self.facts
        self.locals, self.facts = dict(known), before | facts
        try:
            yield
        finally:
            self.locals, self.facts = known, before

    @contextmanager
    def looped(self, variable: Local | None, trips: int) -> Iterator[None]:
        """Go into a loop that runs so often, at most."""
        self.loops.append(variable)
        self.code.trips *= trips
        try:
            yield
        finally:
            self.loops.pop()
            self.code.trips //= trips

    def check_free(self, name: str, at: At) -> None:
        """Refuse a name that means something already."""
        if name in self.locals or name in self.names or name in self.tables:
            raise SpecError(f"{name} has a meaning already", "Names are assigned once: choose another one.", at)

    def learn(self, node: s.Expr, truth: bool) -> frozenset[s.Expr]:
        """Find the expressions that are not NULL where a test came out so."""
        if isinstance(node, s.Unary) and node.op == "not":
            return self.learn(node.operand, not truth)
        if not isinstance(node, s.Binary):
            return frozenset()
        if node.op in ("and", "or") and truth == (node.op == "and"):
            return self.learn(node.left, truth) | self.learn(node.right, truth)
        found = set()
        for one, other in ((node.left, node.right), (node.right, node.left)):
            is_null = isinstance(one, s.Name) and one.name == "NULL"
            if (is_null and truth == (node.op == "!=")) or (truth and node.op == "==" and self._solid(one)):
                found.add(other)
        return frozenset(found) if node.op in ("==", "!=") else frozenset()

    def _solid(self, node: s.Expr) -> bool:
        """Tell whether an expression surely is not NULL, whatever else it is."""
        if isinstance(node, s.Name) and node.name in self.names:
            return self.names[node.name].raw >= 0
        known = self.locals.get(node.name) if isinstance(node, s.Name) else None
        return isinstance(node, s.Number) or node in self.facts or (known is not None and known.low >= 0)
