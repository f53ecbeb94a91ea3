"""Evaluate constants by the rules that compile UTILFN, every value a number at once."""

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.compile import Compiler, extreme
from binwright.agents.solver.language.errors import COUNT_LIMIT, LARGEST, NEST_LIMIT, At, SpecError, refuse
from binwright.agents.solver.language.tables import Table
from binwright.agents.solver.language.writer import INT, Scope, Typed, alike
from binwright.agents.solver.model.program import MICRO, Code


class Constants(Compiler):
    """Evaluates expressions over names and tables; whatever is wrong raises `SpecError`."""

    too_long = (
        f"the constants take more than {COUNT_LIMIT:,} steps",
        "Compute large tables in Python and read them from a file.",
    )

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.names = scope.names

    def read(self, table: Table, index: Code, at: At, rows: int | None = None) -> Code:
        """Return the entry of a table that stays as it is, or where a row starts or stops."""
        return super().read(table.constant(at), index, at, rows)

    def int_of(self, node: s.Node, what: str = "this", of: str | None = None) -> int:
        """Evaluate a whole number, or a bin; a text is the name of an `of`."""
        return self.whole(node, what, of).low

    def numbers(self, node: s.Node) -> Iterator[int]:
        """Iterate over what the variable of a loop runs over."""
        entries, start, stop, *_ = self.over(node)
        assert isinstance(start, int)
        assert isinstance(stop, int)
        values = None if entries is None else entries.constant(node.at).values
        for number in range(start, stop):
            yield number if values is None else int(values[number])

    def each(self, axis: s.Node) -> Iterator[int]:
        """Iterate over the numbers of an axis; its name is set meanwhile."""
        name, range_, left_out = axis.parts
        self.check_free(name, axis.at)
        skip = None if left_out is None else self.int_of(left_out)
        try:
            for number in self.numbers(range_):
                self.step(axis.at)
                if number != skip:
                    self.names[name] = Typed.of(INT, number)
                    yield number
        finally:
            self.names.pop(name, None)

    def combinations(self, axes: Sequence[s.Node]) -> Iterator[None]:
        """Set the names of the axes to every combination of their numbers in turn, the last running fastest."""
        if axes:
            for _ in self.each(axes[0]):
                yield from self.combinations(axes[1:])
        else:
            yield

    def count(self, node: s.Node, what: str) -> int:
        """Evaluate a number of things."""
        number = self.int_of(node, f"the number of {what}")
        wrong = not (0 if what == "moves" else 1) <= number <= COUNT_LIMIT
        refuse(wrong, f"{number} is not a number of {what}", f"There can be {COUNT_LIMIT:,} at most.", node.at)
        return number

    def amount(self, node: s.Node, what: str, most: int = LARGEST * MICRO) -> int:
        """Evaluate a quantity that is not below zero, in millionths."""
        amount = self.number(node).micro().low
        refuse(not 0 <= amount <= most, f"{what} is out of range", f"It is 0 to {most // MICRO:,}.", node.at)
        return amount

    def sizes(self, axes: Sequence[s.Node], limit: int, at: At) -> tuple[int, ...]:
        """Return how far indices go: each to a number, from 0, that does not depend on the others."""
        remedy = "Join some of them: a * n + b."
        refuse(len(axes) > NEST_LIMIT, f"more than {NEST_LIMIT} indices", remedy, at)
        sizes = []
        for axis in axes:
            name, range_, _ = axis.parts
            span = range_.kind == "span"
            sizes.append(-1 if span else self.int_of(range_, f"the range of {name}"))
            remedy = "Indices start at 0: write NAME in COUNT."
            refuse(sizes[-1] < 0, f"the range of {name} has two ends, or is below zero", remedy, axis.at)
        refuse(prod(sizes) > limit, f"{prod(sizes):,} entries are too many", f"There can be {limit:,}.", at)
        return tuple(sizes)

    def entries(self, literal: s.Node) -> list[Any]:
        """Evaluate the entries of a table, in rows of rows."""
        return [self.entries(each) if each.kind == "literal" else self.entry(each) for each in literal.parts]

    def entry(self, node: s.Node) -> float:
        """Evaluate an entry of a table."""
        value = self.number(node)
        return value.low if value.kind == INT else value.low / MICRO

    def _placed(self, node: s.Node, ball: s.Node) -> Typed:
        raise SpecError("ALLOC is known in UTILFN only", "Move this into UTILFN, or into a goal.", node.at)

    def _reduction(self, node: s.Node, kind: str, axis: s.Node, term: s.Node) -> Typed:
        counts, extremes = kind == "count", kind in ("min", "max")
        values = [Typed.truth(self.truth(term)) if counts else self.number(term) for _ in self.each(axis)]
        refuse(extremes and not values, f"{kind} of nothing", "Give it a range that is not empty.", node.at)
        if extremes:
            return extreme(kind, values)
        kind, values = alike(*values)
        return Typed.of(kind, sum(value.low for value in values))
