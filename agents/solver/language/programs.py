"""Compile UTILFN and goals, and note what is proven of them; or evaluate constants by the same rules."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any

from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.compile import Compiler, extreme
from binwright.agents.solver.language.errors import COUNT_LIMIT, LARGEST, NEST_LIMIT, At, SpecError, refuse
from binwright.agents.solver.language.tables import Table
from binwright.agents.solver.language.writer import INT, QUANTITY, Scope, Typed, alike
from binwright.agents.solver.model.program import BALL, BIN, MICRO, WIDE, Code, Family, Goal, Objective, Program
from binwright.agents.solver.model.source import EARLY, text
from binwright.simcore.types import Ints


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


class Statements(Compiler):
    """Writes the code of UTILFN, and notes what its statements add."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.names["BALL"] = Typed(INT, 0, scope.balls - 1, BALL)
        self.names["BIN"] = Typed(INT, 0, scope.bins - 1, BIN)
        self.added: list[tuple[str, int, list[Code]]] = []
        """Of every `UTIL... += ...` the resource, the lowest amount, and the indices."""
        self.adds = self._reach = 0
        """Additions of one call, and what they may come to, at most."""

    def block(self, body: s.Block) -> None:
        """Check statements in order."""
        for statement in body:
            self.step(statement.at)
            getattr(self, f"_{statement.kind}")(statement, *statement.parts)

    def _let(self, node: s.Node, name: str, value: s.Node) -> None:
        self.check_free(name, node.at)
        typed = self.value(value)
        if isinstance(typed.code, str):
            typed = typed._replace(code=self.stored(typed.code))
        self.names[name] = typed

    def _for_(self, node: s.Node, axis: s.Node, body: s.Block) -> None:
        self.loop(axis, partial(self.block, body))

    def _reject(self, node: s.Node) -> None:
        self.out.append(self.reject(node.at))

    def _if_(self, node: s.Node, if_: s.Node, *bodies: s.Block) -> None:
        test, facts = self.truth(if_), (self.learn(if_, True), self.learn(if_, False))
        sides: list[list[str]] = []
        for body, known, never in zip(bodies, facts, (0, 1), strict=True):
            with self.apart(known) as block:
                self.block(() if test == never else body)  # what never runs is not checked
            sides.append(block)
        self.branch(test, *sides)
        for written, known in zip(sides, reversed(facts), strict=True):
            if written and written[-1].startswith("return"):  # what follows runs in the other case only
                self.facts = self.facts | known

    def _add(self, node: s.Node, name: str, places: Sequence[s.Node], sign: str, added: s.Node) -> None:
        family, place, arguments = self.dimension(node)
        amount = self.number(added).micro()
        amount = amount if sign == "+=" else amount.negated()
        self.out += [f"dims[n] = {text(place)}", f"amounts[n] = {text(amount.code)}", EARLY, "n += 1"]
        self.added.append((family.name, amount.low, arguments))
        self.adds += self.trips
        self._reach += max(abs(amount.low), abs(amount.high)) * self.trips
        remedy = "Choose a larger unit, or bound the amount with min(..., ...)."
        refuse(self._reach * self.scope.balls > WIDE, "the utilisation may go beyond 1e12", remedy, node.at)

    def bin_axis(self, family: Family) -> int | None:
        """Find the index of a family that is BIN wherever something is added to it; None if there is none."""
        places = [arguments for name, _, arguments in self.added if name == family.name]
        every = range(len(family.sizes)) if places else ()
        return next((axis for axis in every if all(place[axis] == BIN for place in places)), None)


def compile_utilfn(body: s.Block, scope: Scope) -> tuple[Program, tuple[Family, ...]]:
    """Make the program, and the families with what is proven of them; raises `SpecError` if UTILFN is refused."""
    code = Statements(scope)
    code.block(body)
    axes = {name: code.bin_axis(family) for name, family in scope.families.items()}
    by_bin = [axes[name] is not None for name, *_ in code.added]
    lowest = {name: min((low for of, low, _ in code.added if of == name), default=0) for name in axes}
    program = Program(
        body=tuple(code.written()),
        rejects=tuple(code.rejects),
        steps=max(1, code.steps),
        adds=code.adds,
        alloc_free=not code.reads_alloc,
        non_negative=min(lowest.values(), default=0) >= 0,
        bin_local=all(by_bin),
        bin_blind=code.bin_reads == sum(by_bin),  # it is mentioned only to say whose dimension it is
        tables=code.starts,
        data=code.data(),
    )
    return program, tuple(
        replace(family, bin_axis=axes[name], falls=lowest[name] < 0) for name, family in scope.families.items()
    )


def compile_goals(nodes: Sequence[s.Node], scope: Scope, ceiling: Ints) -> Objective | None:
    """Make the program of all goals, None if there are none; raises `SpecError` where one is refused."""
    if not nodes:
        return None
    code = Compiler(scope)
    code.ceiling = ceiling
    goals, values = list[Goal](), list[str]()
    for number, (aim, node, written) in enumerate(node.parts for node in nodes):
        value = code.number(node)
        value = value.negated() if aim == "MAXIMISE" else value
        goals.append(Goal(aim, written, value.kind == QUANTITY, value.low))
        values.append(f"values[{number}] = {text(value.code)}")
    return Objective(tuple(goals), (*code.written(), *values), code.data())
