"""Check UTILFN: its tree becomes a `Program`, and what is proven about it on the way is noted there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from agents.solver.checker.code import op
from agents.solver.checker.expressions import dimension, loop, number, truth, value
from agents.solver.checker.proofs import Added, bin_axis, distinct
from agents.solver.checker.scope import Scope
from agents.solver.checker.values import micro
from agents.solver.language import syntax as s
from agents.solver.language.constants import Value
from agents.solver.language.errors import SpecError
from agents.solver.language.moves import MOVES
from agents.solver.language.tables import Table
from agents.solver.model.program import WIDE, Add, Block, Const, Family, If, Program, Reject
from simcore.errors import suggest


def check(
    body: s.Block,
    balls: int,
    bins: int,
    names: dict[str, Value],
    tables: dict[str, Table],
    families: tuple[Family, ...],
) -> tuple[Program, tuple[Family, ...]]:
    """Make the program, and the families with what is proven of them; raises `SpecError` if UTILFN is refused."""
    scope = Scope(balls, bins, names, tables)
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
        bin_blind=scope.bin_reads == mentions,
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
                if isinstance(statement, s.Let):
                    self._let(statement)
                elif isinstance(statement, s.Branch):
                    self._branch(statement)
                elif isinstance(statement, s.Loop):
                    loop(scope, statement.axis, partial(self.block, statement.body))
                elif isinstance(statement, s.AddTo):
                    self._add(statement)
                else:
                    scope.code.out.append(Reject(statement.at.line))

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
