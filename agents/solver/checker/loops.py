"""Loops over axes, as statements and as `sum` and `count`."""

from __future__ import annotations

from collections.abc import Callable

from agents.solver.checker.expressions import Expressions, Typed
from agents.solver.language import syntax as s
from agents.solver.language.constants import INT
from agents.solver.language.errors import SpecError
from agents.solver.language.tables import Table
from agents.solver.model.program import Const, Expr, For, If, Local, Op, Read, Set, Stmt

LOOP_LIMIT = 6
"""Loops and sums in one another."""


class Loops(Expressions):
    """What runs over an axis, on top of expressions."""

    def loop(self, axis: s.Axis, body: Callable[[], None]) -> None:
        """Runs over an axis; a loop that certainly never runs is left out, unchecked."""
        self.free_name(axis.name, axis.at)
        if len(self.loops) == LOOP_LIMIT:
            raise SpecError(f"more than {LOOP_LIMIT} loops in one another", "Join some of them in a table.", axis.at)
        entries: Table | None = None
        node = axis.range
        table = self.tables.get(node.table) if isinstance(node, s.Index) else None
        alone = self.tables.get(node.name) if isinstance(node, s.Name) else None
        if isinstance(node, s.Index) and table is not None and len(node.arguments) == table.rank - 1:
            entries = table
            start, stop, trips = self.row(table, node)
            low, high = table.bounds
        elif alone is not None and alone.rank == 1:
            entries = alone
            start, stop, trips = Const(0), Const(alone.sizes[0]), alone.sizes[0]
            low, high = alone.bounds
        else:
            if isinstance(node, s.Span):
                first, last = self.whole(node.start, "a range"), self.whole(node.stop, "a range")
            else:
                first, last = Typed(INT, 0, 0, Const(0)), self.whole(node, "a range")
            start, stop = first.code, last.code
            low, high = first.low, last.high - 1
            trips = max(0, high - low + 1)
        if entries is not None and not entries.whole:
            raise SpecError(f"{entries.name} has quantities", "Run over 0 .. len(...) instead.", axis.at)
        skip = None if axis.skip is None else self.whole(axis.skip, "this")
        if trips == 0:
            return
        slot = Local(self.slots)
        self.slots += 1
        known, facts = self.locals, self.facts
        self.trips *= trips
        self.loops.append(slot if entries is None else None)

        def whole_body() -> None:
            code: Expr = slot
            if entries is not None:
                code = self.stored(Read(self.offsets(entries, axis.at)[0], slot))
            self.locals = {**known, axis.name: Typed(INT, low, high, code)}
            self.step(axis.at)
            if skip is None:
                body()
            else:
                self.out.append(If(Op("ne", code, skip.code), self.apart(body)))

        block = self.apart(whole_body)
        self.loops.pop()
        self.trips //= trips
        self.locals, self.facts = known, facts
        self.out.append(For(slot.slot, start, stop, block))

    def _reduce(self, node: s.Reduce) -> Typed:
        total = self.stored(Const(0))
        kind, bounds = INT, (0, 0)

        def body() -> None:
            nonlocal kind, bounds
            if node.op == "count":
                more: list[Stmt] = [Set(total.slot, Op("add", total, Const(1)))]
                self.out.append(If(self.truth(node.body), tuple(more)))
                low = high = 1
            else:
                value = self.number(node.body)
                self.out.append(Set(total.slot, Op("add", total, value.code)))
                kind, low, high = value.kind, value.low, value.high
            times = self.trips // before
            bounds = min(0, low * times), max(0, high * times)

        before = self.trips
        self.loop(node.axis, body)
        return Typed(kind, *bounds, total)
