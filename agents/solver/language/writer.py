"""Write code, note what is known where it stands, and count what a call of it evaluates."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.errors import COUNT_LIMIT, At, SpecError, refuse
from binwright.agents.solver.language.tables import Table
from binwright.agents.solver.language.values import Scope
from binwright.agents.solver.model.emit import indented, text
from binwright.agents.solver.model.program import Code, Reject
from binwright.simcore.types import Ints


class Writer:
    """Writes statements: `out` has those so far."""

    limit: float = COUNT_LIMIT
    """Nodes that may be evaluated."""
    too_long = (
        f"one call of UTILFN may take more than {COUNT_LIMIT:,} steps",
        "Loop over fewer, or put what does not depend on ALLOC into a TABLE.",
    )

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.names, self.tables, self.families = dict(scope.names), scope.tables, scope.families
        self.ceiling: Ints | None = None
        """[dims], in goals: every ball is placed, and all is evaluated, as nothing may be there to reject."""
        self.facts: frozenset[s.Node] = frozenset()
        """Expressions that are not NULL here."""
        self.reads_alloc, self.bin_reads = False, 0
        """Whether some place looks at ALLOC, and how often BIN is mentioned."""
        self.out: list[str] = []
        self.slots, self.loops, self.depth = 2, 0, 0
        """Locals, the two arguments included; variables of loops; loops around."""
        self.steps, self.trips = 0, 1
        """Nodes that one call evaluates, and how often this place runs, at most."""
        self.rejects: list[Reject] = []
        self.starts: dict[str, int] = {}
        """Where in `data` the values of a table start; its rows' starts come behind them."""
        self._data: list[Ints] = []

    def check_free(self, name: str, at: At) -> None:
        """Refuse a name that means something already."""
        known = name in self.names or name in self.tables
        refuse(known, f"{name} has a meaning already", "Names are assigned once: choose another one.", at)

    def learn(self, node: s.Node, truth: bool) -> frozenset[s.Node]:
        """Find the expressions that are not NULL where a test came out so."""
        if node.kind == "not_":
            return self.learn(node.parts[0], not truth)
        if node.kind != "binary":
            return frozenset()
        operator, left, right = node.parts
        if operator in ("and", "or") and truth == (operator == "and"):
            return self.learn(left, truth) | self.learn(right, truth)
        solid = set()
        for side, other in ((left, right), (right, left)):
            is_null = side.kind == "name" and side.parts == ("NULL",)
            if (is_null and truth == (operator == "!=")) or (truth and operator == "==" and self._solid(side)):
                solid.add(other)
        return frozenset(solid) if operator in ("==", "!=") else frozenset()

    def _solid(self, node: s.Node) -> bool:
        """Tell whether an expression surely is not NULL, whatever else it is."""
        if node.kind != "name":
            return node.kind in ("number", "text") or node in self.facts
        known = self.names.get(node.parts[0])
        return node in self.facts or (known is not None and known.low >= 0)

    def step(self, at: At, nodes: int = 1) -> None:
        """Count a node, or some `nodes`, which are evaluated as often as this place runs."""
        self.steps += nodes * self.trips
        if self.steps > self.limit:
            raise SpecError(*self.too_long, at)

    def local(self) -> str:
        """Make a new local."""
        self.slots += 1
        return f"v{self.slots - 1}"

    def stored(self, value: Code) -> str:
        """Store a number in a local of its own."""
        local = self.local()
        self.out.append(f"{local} = {text(value)}")
        return local

    def repeatable(self, value: Code) -> Code:
        """Store a number in a local, unless it is one or a constant: it may be written more than once then."""
        return value if isinstance(value, int) or value.isidentifier() else self.stored(value)

    def branch(self, test: Code, then: Sequence[str], other: Sequence[str] = ()) -> None:
        """Write one block or the other."""
        if isinstance(test, int):
            self.out += then if test else other
            return
        self.out += [f"if {test}:", *indented(then)]
        self.out += ["else:", *indented(other)] if other else []

    def written(self) -> list[str]:
        """Return all statements, those before that let every local begin at 0."""
        return [f"v{slot} = 0" for slot in range(2, self.slots)] + self.out

    @contextmanager
    def apart(self, facts: frozenset[s.Node] = frozenset(), trips: int = 1) -> Iterator[list[str]]:
        """Collect what is written meanwhile, where these facts are known, too; what it defines and learns ends.

        It runs so many `trips` where this place runs once, at most.
        """
        before = self.out, self.names, self.facts, self.trips
        self.out, self.names, self.facts = [], dict(self.names), self.facts | facts
        self.trips *= trips
        try:
            yield self.out
        finally:
            self.out, self.names, self.facts, self.trips = before

    def reject(self, at: At, what: str = "REJECT") -> str:
        """Make a statement that ends the call."""
        self.rejects.append(Reject(at.line, what))
        return f"return {-len(self.rejects)}"

    def guard(self, wrong: Code, what: str, at: At) -> None:
        """Write a test that rejects at run time."""
        remedy = "Bound it with min(..., ...), max(..., ...) or %, or run over a range."
        refuse(self.ceiling is not None, f"{what} is not certain to be legal here", remedy, at)
        self.branch(wrong, [self.reject(at, what)])

    def read(self, table: Table, index: Code, at: At, rows: int | None = None) -> Code:
        """Read a value of a table, or where row number `index` starts if `rows` is 0, and stops if it is 1.

        What may become another value is read from `data`, of which the table is a part from then on.
        """
        if isinstance(index, int) and rows is not None and table.starts is not None:
            return int(table.starts[index + rows])
        if isinstance(index, int) and not table.varies:
            return int(table.values[index])
        if table.name not in self.starts:
            self.starts[table.name] = sum(part.size for part in self._data)
            self._data += [table.values] if table.starts is None else [table.values, table.starts]
        first = self.starts[table.name] + (0 if rows is None else table.values.size + rows)
        return f"data[{text(first)} + {text(index)}]"

    def data(self) -> Ints:
        """Join all tables that are read."""
        return np.concatenate(self._data) if self._data else np.zeros(0, np.int64)
