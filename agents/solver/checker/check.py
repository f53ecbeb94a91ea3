"""The checker: types and bounds of UTILFN, lowered to a `Program`, and what is proven about it on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from agents.solver.checker.loops import Loops
from agents.solver.language import syntax as s
from agents.solver.language.constants import Value
from agents.solver.language.errors import SpecError
from agents.solver.language.tables import Table
from agents.solver.model.program import BIN, WIDE, Add, Block, Const, Expr, Family, If, Local, Program, Reject
from simcore.errors import suggest


@dataclass(frozen=True)
class _Added:
    """One `UTIL... += ...` of the program, for the proofs."""

    family: str
    lowest: int
    """No amount is less."""
    arguments: tuple[Expr, ...]
    loops: tuple[Local | None, ...]
    """The variables of the loops around it; None for a row of a table, whose entries may repeat."""
    branches: tuple[tuple[int, bool], ...]


def check(
    tree: s.Tree, balls: int, bins: int, names: dict[str, Value], tables: dict[str, Table], families: tuple[Family, ...]
) -> tuple[Program, tuple[Family, ...]]:
    """The program, and the families with their bin axes; a `SpecError` if it is refused."""
    checker = _Checker(balls, bins, names, tables, {family.name: family for family in families})
    checker.block(tree.body)
    axes = {name: checker.bin_axis(name) for name in checker.families}
    program = Program(
        body=tuple(checker.out),
        slots=checker.slots,
        steps=checker.steps,
        adds=checker.adds,
        alloc_free=not checker.reads_alloc,
        non_negative=checker.lowest >= 0,
        bin_local=all(axes[one.family] is not None for one in checker.added),
        bin_blind=checker.bin_reads == checker.bin_axes(axes),
        distinct=checker.distinct(),
        guards=tuple(dict.fromkeys(checker.guards)),
        tables=checker.places(),
        data=checker.data(),
    )
    falling = {one.family for one in checker.added if one.lowest < 0}
    proven = (replace(one, bin_axis=axes[one.name], falls=one.name in falling) for one in families)
    return program, tuple(proven)


class _Checker(Loops):
    """Statements, on top of loops and expressions."""

    def __init__(
        self, balls: int, bins: int, names: dict[str, Value], tables: dict[str, Table], families: dict[str, Family]
    ) -> None:
        super().__init__(balls, bins, names, tables)
        self.families = families
        self.added: list[_Added] = []
        self.adds = 0
        self.lowest = 0
        self.reach = 0
        self._branches: list[tuple[int, bool]] = []
        self._branch_count = 0

    def block(self, body: s.Block) -> None:
        """Statements in order; their lets and what they prove end with the block."""
        known, facts = dict(self.locals), self.facts
        for statement in body:
            self.step(statement.at)
            if isinstance(statement, s.Let):
                self.let(statement)
            elif isinstance(statement, s.Branch):
                self.branch(statement)
            elif isinstance(statement, s.Loop):
                self.loop(statement.axis, partial(self.block, statement.body))
            elif isinstance(statement, s.AddTo):
                self.add(statement)
            else:
                self.out.append(Reject())
        self.locals, self.facts = known, facts

    def let(self, node: s.Let) -> None:
        self.free_name(node.name, node.at)
        value = self.value(node.value)
        self.locals[node.name] = value if isinstance(value.code, Const) else value.coded(self.stored(value.code))

    def branch(self, node: s.Branch) -> None:
        test = self.truth(node.test)
        yes, no = self.learn(node.test, True), self.learn(node.test, False)
        if isinstance(test, Const):
            facts, body = (yes, node.then) if test.value else (no, node.other)
            self.under(facts, partial(self.block, body))
            return
        number = self._branch_count = self._branch_count + 1
        sides: list[Block] = []
        for side, body, facts in ((True, node.then, yes), (False, node.other, no)):
            self._branches.append((number, side))
            sides.append(self.apart(partial(self.under, facts, partial(self.block, body))))
            self._branches.pop()
        self.out.append(If(test, *sides))
        for block, facts in zip(sides, (no, yes), strict=True):
            if block and isinstance(block[-1], Reject):  # what follows runs in the other case only
                self.facts = self.facts | facts

    def under(self, facts: frozenset[s.Expr], run: Callable[[], None]) -> None:
        """With what a test has shown."""
        before, self.facts = self.facts, self.facts | facts
        run()
        self.facts = before

    def add(self, node: s.AddTo) -> None:
        family = self.families.get(node.family)
        if family is None:
            raise SpecError(f"unknown resource {node.family}", suggest(node.family, self.families), node.at)
        if len(node.arguments) != len(family.sizes):
            problem = f"{family.name} has {len(family.sizes)} indices, here are {len(node.arguments)}"
            raise SpecError(problem, "Write one for each in RESOURCES, with commas between.", node.at)
        place: Expr = Const(0)
        arguments = []
        for size, argument in zip(family.sizes, node.arguments, strict=True):
            index = self.within(argument, size, f"{family.name} of RESOURCES")
            arguments.append(index.code)
            place = self.op("add", self.op("mul", place, Const(size)), index.code)
        amount = self.micro(self.number(node.amount))
        low, high = (amount.low, amount.high) if node.sign == 1 else (-amount.high, -amount.low)
        code = amount.code if node.sign == 1 else self.op("sub", Const(0), amount.code)
        self.out.append(Add(self.op("add", Const(family.offset), place), code))
        self.added.append(_Added(family.name, low, tuple(arguments), tuple(self.loops), tuple(self._branches)))
        self.adds += self.trips
        self.lowest = min(self.lowest, low)
        self.reach += max(abs(low), abs(high)) * self.trips
        if self.reach * self.balls > WIDE:
            problem = "the utilisation may go beyond 1e12"
            raise SpecError(problem, "Choose a larger unit, or bound the amount with min(..., ...).", node.at)

    def bin_axis(self, name: str) -> int | None:
        """The index of a family that is BIN wherever it is added to."""
        added = [one.arguments for one in self.added if one.family == name]
        axes = range(len(self.families[name].sizes))
        return next((axis for axis in axes if added and all(one[axis] == Local(BIN) for one in added)), None)

    def bin_axes(self, axes: dict[str, int | None]) -> int:
        """How many mentions of BIN only say whose dimension it is."""
        return sum(axes[one.family] is not None for one in self.added)

    def distinct(self) -> bool:
        """No dimension twice: each loop around an addition is an index of it, and no two additions can meet."""
        for number, one in enumerate(self.added):
            if not all(loop is not None and loop in one.arguments for loop in one.loops):
                return False
            if any(_may_meet(one, other) for other in self.added[:number]):
                return False
        return True


def _may_meet(one: _Added, other: _Added) -> bool:
    """Might two additions of one call touch the same dimension?"""
    if one.family != other.family:
        return False
    if any((number, not side) in other.branches for number, side in one.branches) and not (one.loops or other.loops):
        return False
    pairs = zip(one.arguments, other.arguments, strict=True)
    return not any(isinstance(a, Const) and isinstance(b, Const) and a != b for a, b in pairs)
