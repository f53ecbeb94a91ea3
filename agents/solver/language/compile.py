"""Check UTILFN: its tree becomes a `Program`, and what is proven about it on the way is noted there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.code import op
from binwright.agents.solver.language.constants import Value
from binwright.agents.solver.language.declared import MOVES
from binwright.agents.solver.language.errors import SpecError
from binwright.agents.solver.language.expressions import dimension, loop, number, truth, value
from binwright.agents.solver.language.scope import Scope, Unknown
from binwright.agents.solver.language.tables import Table
from binwright.agents.solver.language.values import QUANTITY, micro
from binwright.agents.solver.model.objective import Goal, Objective
from binwright.agents.solver.model.program import BIN, WIDE, Add, Block, Const, Expr, Family, If, Local, Program, Reject
from binwright.simcore.errors import suggest
from binwright.simcore.types import Ints


@dataclass(frozen=True)
class Added:
    """One `UTIL... += ...` of a program."""

    family: str
    lowest: int
    """No amount is less."""
    arguments: tuple[Expr, ...]
    """The indices of the resource."""
    loops: tuple[Local | None, ...]
    """The variables of the loops around it; None for a row of a table, whose entries may repeat."""
    branches: tuple[tuple[int, bool], ...]
    """The branches around it: (number, whether it is the side that runs if the test is true)."""


def bin_axis(added: Sequence[Added], family: str, axes: int) -> int | None:
    """Find the index of a family that is BIN wherever something is added to it; None if there is none."""
    places = [one.arguments for one in added if one.family == family]
    every = (axis for axis in range(axes) if places and all(place[axis] == Local(BIN) for place in places))
    return next(every, None)


def distinct(added: Sequence[Added]) -> bool:
    """Tell whether no call can touch a dimension twice.

    It cannot if each loop around an addition is an index of it, and no two additions can meet.
    """
    for at, one in enumerate(added):
        if not all(loop is not None and loop in one.arguments for loop in one.loops):
            return False
        if any(_may_meet(one, other) for other in added[:at]):
            return False
    return True


def _may_meet(one: Added, other: Added) -> bool:
    """Tell whether two additions of one call might touch the same dimension."""
    if one.family != other.family:
        return False
    if any((number, not side) in other.branches for number, side in one.branches) and not (one.loops or other.loops):
        return False
    pairs = zip(one.arguments, other.arguments, strict=True)
    return not any(isinstance(a, Const) and isinstance(b, Const) and a != b for a, b in pairs)


def check(
    body: s.Block,
    balls: int,
    bins: int,
    names: dict[str, Value],
    tables: dict[str, Table],
    families: tuple[Family, ...],
    *,
    blind: bool = False,
) -> tuple[Program, tuple[Family, ...]]:
    """Make the program, and the families with what is proven of them; raises `SpecError` if UTILFN is refused.

    If it is `blind`, statements that depend on ALLOC are left out.
    """
    scope = Scope(balls, bins, names, tables)
    scope.blind = blind
    checker = _Checker(scope, {family.name: family for family in families})
    checker.block(body)
    added, code = checker.added, scope.code
    axes = {family.name: bin_axis(added, family.name, len(family.sizes)) for family in families}
    mentions = sum(axes[one.family] is not None for one in added)  # of BIN that only say whose dimension it is
    program = Program(
        body=tuple(code.out),
        slots=code.slots,
        steps=code.steps,
        adds=checker.adds,
        alloc_free=not scope.reads_alloc,
        non_negative=min((one.lowest for one in added), default=0) >= 0,
        bin_local=all(axes[one.family] is not None for one in added),
        bin_blind=scope.bin_reads == mentions and not blind,
        distinct=distinct(added),
        notes=(*_unused(families, added), *dict.fromkeys(code.notes)),
        guards=tuple(dict.fromkeys(code.guards)),
        tables=code.places(),
        parts=code.parts(),
        data=code.data(),
    )
    falling = {one.family for one in added if one.lowest < 0}
    return program, tuple(replace(one, bin_axis=axes[one.name], falls=one.name in falling) for one in families)


def _unused(families: Sequence[Family], added: Sequence[Added]) -> Iterator[str]:
    """Name the resources that nothing is added to, but for what counts moves."""
    used = {MOVES, *(one.family for one in added)}
    yield from (f"UTILFN adds nothing to {one.name}: it limits nothing" for one in families if one.name not in used)


class _Checker:
    """The statements of UTILFN: writes their code into the scope's, and notes what they add."""

    def __init__(self, scope: Scope, families: dict[str, Family]) -> None:
        self._scope, self._families = scope, families
        self.added: list[Added] = []
        self.adds = 0
        """Additions of one call, at most."""
        self._reach = 0
        """What they may come to, at most."""
        self._branches: list[tuple[int, bool]] = []
        self._branch_count = 0

    def block(self, body: s.Block, facts: frozenset[s.Expr] = frozenset()) -> None:
        """Check statements in order, where these facts are known; their lets and what they prove end with the block."""
        scope = self._scope
        with scope.inner(facts):
            for statement in body:
                scope.code.step(statement.at)
                before = len(scope.code.out)
                try:
                    self._statement(statement)
                except Unknown:
                    del scope.code.out[before:]
                    if isinstance(statement, s.Let):
                        scope.locals[statement.name] = None

    def _statement(self, node: s.Stmt) -> None:
        if isinstance(node, s.Let):
            self._let(node)
        elif isinstance(node, s.Branch):
            self._branch(node)
        elif isinstance(node, s.Loop):
            loop(self._scope, node.axis, partial(self.block, node.body))
        elif isinstance(node, s.AddTo):
            self._add(node)
        else:
            self._scope.code.out.append(Reject(node.at.line))

    def _let(self, node: s.Let) -> None:
        scope = self._scope
        scope.check_free(node.name, node.at)
        known = value(scope, node.value)
        scope.locals[node.name] = known if isinstance(known.code, Const) else known.coded(scope.code.stored(known.code))

    def _branch(self, node: s.Branch) -> None:
        scope = self._scope
        test = truth(scope, node.test)
        yes, no = scope.learn(node.test, True), scope.learn(node.test, False)
        if isinstance(test, Const):
            self.block(*((node.then, yes) if test.value else (node.other, no)))
            return
        number = self._branch_count = self._branch_count + 1
        sides: list[Block] = []
        for side, body, facts in ((True, node.then, yes), (False, node.other, no)):
            self._branches.append((number, side))
            with scope.code.apart() as block:
                self.block(body, facts)
            sides.append(tuple(block))
            self._branches.pop()
        scope.code.out.append(If(test, *sides))
        for written, facts in zip(sides, (no, yes), strict=True):
            if written and isinstance(written[-1], Reject):  # what follows runs in the other case only
                scope.facts = scope.facts | facts

    def _add(self, node: s.AddTo) -> None:
        scope, family = self._scope, self._families.get(node.family)
        if family is None:
            raise SpecError(f"unknown resource {node.family}", suggest(node.family, self._families), node.at)
        place, arguments = dimension(scope, family, node.arguments, node.at)
        amount = micro(number(scope, node.amount))
        low, high = (amount.low, amount.high) if node.sign == 1 else (-amount.high, -amount.low)
        signed = amount.code if node.sign == 1 else op("sub", Const(0), amount.code)
        scope.code.out.append(Add(place, signed))
        self.added.append(Added(family.name, low, arguments, tuple(scope.loops), tuple(self._branches)))
        self.adds += scope.code.trips
        self._reach += max(abs(low), abs(high)) * scope.code.trips
        if self._reach * scope.balls > WIDE:
            problem = "the utilisation may go beyond 1e12"
            raise SpecError(problem, "Choose a larger unit, or bound the amount with min(..., ...).", node.at)


LOWEST = -(10**17)
"""What is used of a dimension where UTILFN may subtract: nothing is known but that utilisation stays above 1e12."""


def check_goals(
    nodes: Sequence[s.Goal],
    text: str,
    balls: int,
    bins: int,
    names: dict[str, Value],
    tables: dict[str, Table],
    families: Mapping[str, Family],
    ceiling: Ints,
) -> Objective | None:
    """Make the program of all goals, None if there are none; raises `SpecError` where one is refused."""
    if not nodes:
        return None
    scope = Scope(balls, bins, names, tables)
    scope.read_goals(families, {name: (LOWEST if one.falls else 0) for name, one in families.items()}, ceiling)
    found = [number(scope, node.value) for node in nodes]
    goals = tuple(
        Goal(
            node.aim,
            node.said or " ".join(text[slice(*node.span)].split()),
            value.kind == QUANTITY,
            value.low,
            value.high,
        )
        for node, value in zip(nodes, found, strict=True)
    )
    code = scope.code
    return Objective(goals, tuple(code.out), tuple(value.code for value in found), code.slots, code.data())
