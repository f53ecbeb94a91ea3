"""Types and bounds of UTILFN's expressions, and the code for them.

Every value has a type and an interval that it is proven to stay in. Constant tables are known, so their entries'
intervals are exact. Where an index cannot be proven to stay in its table, or a divisor not to be zero, a test is
emitted that rejects; where it certainly is wrong, and where a number might leave the numbers' range, the program is
refused.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from agents.solver.checker.code import Lowering
from agents.solver.language import syntax as s
from agents.solver.language.constants import BOOL, INT, PLACE, QUANTITY, Value
from agents.solver.language.errors import At, SpecError
from agents.solver.language.tables import LARGEST, Table
from agents.solver.model.program import BALL, BIN, MICRO, NULL, WIDE, Const, Expr, If, Local, Op, Placed, Read, Set
from simcore.errors import suggest


class Typed(NamedTuple):
    """A type, the smallest and the largest value (millionths for quantities), and the code."""

    kind: str
    low: int
    high: int
    code: Expr

    def coded(self, code: Expr) -> Typed:
        """The same, kept elsewhere."""
        return Typed(self.kind, self.low, self.high, code)


class Expressions(Lowering):
    """Expressions into `out`; loops are in agents/solver/checker/loops.py."""

    def __init__(self, balls: int, bins: int, names: dict[str, Value], tables: dict[str, Table]) -> None:
        super().__init__()
        self.balls = balls
        self.names = names
        self.tables = tables
        self.locals = {
            "BALL": Typed(INT, 0, balls - 1, Local(BALL)),
            "BIN": Typed(INT, 0, bins - 1, Local(BIN)),
            "NULL": Typed(PLACE, NULL, NULL, Const(NULL)),
        }
        self.bins = bins
        self.facts: frozenset[s.Expr] = frozenset()
        """Expressions that are not NULL here."""
        self.loops: list[Local | None] = []
        self.reads_alloc = False
        self.bin_reads = 0

    def free_name(self, name: str, at: At) -> None:
        if name in self.locals or name in self.names or name in self.tables:
            raise SpecError(f"{name} has a meaning already", "Choose another name.", at)

    def row(self, table: Table, node: s.Index) -> tuple[Expr, Expr, int]:
        """(start, stop) of a row in the table's values, and the longest that it may be."""
        number = self.row_number(table, node)
        if table.starts is None:
            start = self.op("mul", number, Const(table.sizes[-1]))
            return start, self.op("add", start, Const(table.sizes[-1])), table.longest
        starts = self.offsets(table, node.at)[1]
        return Read(starts, number), Read(starts + 1, number), table.longest

    def row_number(self, table: Table, node: s.Index) -> Expr:
        number: Expr = Const(0)
        rows = table.sizes if table.starts is not None else table.sizes[:-1]
        for size, argument in zip(rows, node.arguments, strict=False):
            index = self.within(argument, size, table.name)
            number = self.op("add", self.op("mul", number, Const(size)), index.code)
        return number if isinstance(number, Const | Local) else self.stored(number)

    def within(self, node: s.Expr, size: int, what: str) -> Typed:
        """An index, proven or tested to be in 0 .. size - 1."""
        index = self.whole(node, "an index")
        if index.low >= 0 and index.high < size:
            return index
        if index.high < 0 or index.low >= size:
            found = str(index.low) if index.low == index.high else f"{index.low} .. {index.high + 1}"
            remedy = f"{what} goes from 0 to {size - 1} here." if size else f"{what} is empty."
            raise SpecError(f"index {found} leaves {what}", remedy, node.at)
        local = index.code if isinstance(index.code, Local) else self.stored(index.code)
        tests = []
        if index.low < 0:
            tests.append(Op("lt", local, Const(0)))
        if index.high >= size:
            tests.append(Op("le", Const(size), local))
        self.guard(tests[0] if len(tests) == 1 else Op("or", *tests), f"an index of {what}", node.at)
        return Typed(INT, max(index.low, 0), min(index.high, size - 1), local)

    # Types

    def value(self, node: s.Expr) -> Typed:
        """Any expression."""
        self.step(node.at)
        result: Typed = getattr(self, f"_{type(node).__name__.lower()}")(node)
        if result.kind == PLACE and result.low < 0 and node in self.facts:
            result = result._replace(low=0)
        if result.kind in (INT, QUANTITY):
            most = max(abs(result.low), abs(result.high))
            if most * (MICRO if result.kind == INT else 1) > WIDE:
                remedy = "Choose a larger unit, or bound it with min(..., ...) and max(..., ...)."
                raise SpecError("this may go beyond 1e12", remedy, node.at)
        return result

    def number(self, node: s.Expr) -> Typed:
        """A whole number or a quantity; a bin counts as a number where it is not NULL."""
        value = self.value(node)
        if value.kind == PLACE:
            if value.low < 0:
                remedy = "Test it first: if ... != NULL ... end, or ... != NULL and ..."
                raise SpecError("this may be NULL", remedy, node.at)
            return value._replace(kind=INT)
        if value.kind == BOOL:
            raise SpecError("this must be a number", "It is a truth value: if ... then 1 else 0 makes it one.", node.at)
        return value

    def whole(self, node: s.Expr, what: str) -> Typed:
        """A whole number."""
        value = self.number(node)
        if value.kind == QUANTITY:
            remedy = "It is a quantity: / and fractions make quantities, // stays whole."
            raise SpecError(f"{what} must be a whole number", remedy, node.at)
        return value

    def truth(self, node: s.Expr) -> Expr:
        """The code of a truth value."""
        value = self.value(node)
        if value.kind != BOOL:
            raise SpecError("this must be true or false", f"It is {value.kind}: compare it with something.", node.at)
        return value.code

    def micro(self, value: Typed) -> Typed:
        """In millionths."""
        if value.kind == QUANTITY:
            return value
        code = self.op("mul", value.code, Const(MICRO))
        return Typed(QUANTITY, value.low * MICRO, value.high * MICRO, code)

    def alike(self, values: list[Typed]) -> tuple[str, list[Typed]]:
        """All quantities if one is."""
        if any(value.kind == QUANTITY for value in values):
            return QUANTITY, [self.micro(value) for value in values]
        return INT, values

    def learn(self, node: s.Expr, truth: bool) -> frozenset[s.Expr]:
        """What is not NULL when a test came out so."""
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
        """Surely not NULL, whatever else it is."""
        if isinstance(node, s.Name) and node.name in self.names:
            return self.names[node.name].raw >= 0
        known = self.locals.get(node.name) if isinstance(node, s.Name) else None
        return isinstance(node, s.Number) or node in self.facts or (known is not None and known.low >= 0)

    # Expressions, by node

    def _number(self, node: s.Number) -> Typed:
        return Typed(INT if node.whole else QUANTITY, node.raw, node.raw, Const(node.raw))

    def _name(self, node: s.Name) -> Typed:
        if node.name in self.locals:
            self.bin_reads += node.name == "BIN"
            return self.locals[node.name]
        if node.name in self.names:
            kind, raw = self.names[node.name]
            return Typed(kind, raw, raw, Const(raw))
        if node.name in self.tables:
            raise SpecError(f"{node.name} is a table", f"Write {node.name}[...].", node.at)
        known = {*self.locals, *self.names, *self.tables}
        raise SpecError(f"unknown name {node.name}", suggest(node.name, known), node.at)

    def _index(self, node: s.Index) -> Typed:
        table = self.tables.get(node.table)
        if table is None:
            raise SpecError(f"unknown table {node.table}", suggest(node.table, self.tables), node.at)
        if len(node.arguments) != table.rank:
            problem = f"{table.name} takes {table.rank} indices, here are {len(node.arguments)}"
            raise SpecError(problem, "Write one per level, with commas between: T[row, column].", node.at)
        kind, values = INT if table.whole else QUANTITY, self.offsets(table, node.at)[0]
        low, high = table.bounds
        last = node.arguments[-1]
        if table.starts is None:
            index = self.within(last, table.sizes[-1], table.name)
            row = self.row_number(table, node)
            place = self.op("add", self.op("mul", row, Const(table.sizes[-1])), index.code)
            if isinstance(index.code, Const) and table.varies is None:  # a column
                column = table.values[index.code.value :: table.sizes[-1]]
                low, high = int(column.min()), int(column.max())
            return Typed(kind, low, high, Read(values, place))
        start, stop, longest = self.row(table, node)
        start = start if isinstance(start, Local) else self.stored(start)
        index = self.within(last, longest, f"a row of {table.name}")
        shortest = int(np.diff(table.starts).min())
        if index.high >= shortest:
            index = index.coded(index.code if isinstance(index.code, Local | Const) else self.stored(index.code))
            length = self.op("sub", stop, start)
            self.guard(Op("le", length, index.code), f"an index of a row of {table.name}", last.at)
        return Typed(kind, low, high, Read(values, self.op("add", start, index.code)))

    def _placed(self, node: s.Placed) -> Typed:
        ball = self.within(node.ball, self.balls, "BALLS")
        self.reads_alloc = True
        return Typed(PLACE, NULL, self.bins - 1, Placed(ball.code))

    def _unary(self, node: s.Unary) -> Typed:
        if node.op == "not":
            return Typed(BOOL, 0, 1, self.op("eq", self.truth(node.operand), Const(0)))
        if node.op == "len":
            return self._len(node)
        value = self.number(node.operand)
        if node.op == "-":
            return Typed(value.kind, -value.high, -value.low, self.op("sub", Const(0), value.code))
        code = value.code if isinstance(value.code, Local | Const) else self.stored(value.code)
        ends = abs(value.low), abs(value.high)
        low = 0 if value.low <= 0 <= value.high else min(ends)
        return Typed(value.kind, low, max(ends), self.op("max", code, self.op("sub", Const(0), code)))

    def _len(self, node: s.Unary) -> Typed:
        inner = node.operand
        if isinstance(inner, s.Name) and inner.name in self.tables:
            size = self.tables[inner.name].sizes[0]
            return Typed(INT, size, size, Const(size))
        table = self.tables.get(inner.table) if isinstance(inner, s.Index) else None
        if not isinstance(inner, s.Index) or table is None or len(inner.arguments) != table.rank - 1:
            raise SpecError("len takes a table or a row of it", "Write len(T), or len(T[row]) if rows differ.", node.at)
        start, stop, longest = self.row(table, inner)
        shortest = longest if table.starts is None else int(np.diff(table.starts).min())
        return Typed(INT, shortest, longest, Const(longest) if shortest == longest else self.op("sub", stop, start))

    def _binary(self, node: s.Binary) -> Typed:
        if node.op in ("and", "or"):
            return self._joined(node)
        if node.op in ("==", "!="):
            left, right = self.value(node.left), self.value(node.right)
            if (left.kind == BOOL) != (right.kind == BOOL):
                raise SpecError("truth values and numbers differ", "Compare like with like.", node.at)
            return Typed(BOOL, 0, 1, self.equal(left, right, node.op == "=="))
        left, right = self.number(node.left), self.number(node.right)
        if node.op in ("<", "<=", ">", ">="):
            _, (left, right) = self.alike([left, right])
            if node.op in (">", ">="):
                left, right = right, left
            return Typed(BOOL, 0, 1, self.op("lt" if node.op in ("<", ">") else "le", left.code, right.code))
        if node.op in ("+", "-"):
            kind, (left, right) = self.alike([left, right])
            low, high = (right.low, right.high) if node.op == "+" else (-right.high, -right.low)
            code = self.op("add" if node.op == "+" else "sub", left.code, right.code)
            return Typed(kind, left.low + low, left.high + high, code)
        if node.op == "*":
            both = left.kind == right.kind == QUANTITY
            ends = [a * b // (MICRO if both else 1) for a in (left.low, left.high) for b in (right.low, right.high)]
            kind = QUANTITY if QUANTITY in (left.kind, right.kind) else INT
            if both and max(abs(end) for end in ends) > WIDE:  # constants would be folded beyond it
                raise SpecError("this may go beyond 1e12", "Choose a larger unit, or bound it with min.", node.at)
            return Typed(kind, min(ends), max(ends), self.op("qmul" if both else "mul", left.code, right.code))
        return self._divided(node, left, right)

    def equal(self, left: Typed, right: Typed, truth: bool) -> Expr:
        """The code of whether two values are equal, or unequal if `truth` is not asked for.

        NULL is kept as -1 and equals NULL only: a number that may be below zero is tested for that first.
        """
        if PLACE in (left.kind, right.kind) and left.kind != right.kind:
            place, number = (left, right) if left.kind == PLACE else (right, left)
            if place.low < 0 and number.low < 0:
                _, (place, number) = self.alike([place, number])
                code = number.code if isinstance(number.code, Local | Const) else self.stored(number.code)
                if truth:
                    return Op("and", self.op("le", Const(0), code), self.op("eq", place.code, code))
                return Op("or", self.op("lt", code, Const(0)), self.op("ne", place.code, code))
        if left.kind != BOOL:
            _, (left, right) = self.alike([left, right])
        return self.op("eq" if truth else "ne", left.code, right.code)

    def _divided(self, node: s.Binary, left: Typed, right: Typed) -> Typed:
        if right.low == right.high == 0:
            raise SpecError("division by zero", "Make the divisor at least one, with max(1, ...) for one.", node.at)
        if node.op == "/":
            left, right = self.micro(left), self.micro(right)
            if max(abs(right.low), abs(right.high)) > LARGEST * MICRO:
                raise SpecError(
                    "this divisor may go beyond 1e9", "Choose a larger unit, or bound it with min.", node.at
                )
        elif QUANTITY in (left.kind, right.kind):
            raise SpecError(f"{node.op} takes whole numbers", "Use / for quantities.", node.at)
        if right.low <= 0 <= right.high:
            right = right.coded(self.stored(right.code))
            self.guard(Op("eq", right.code, Const(0)), "a divisor", node.at)
        divisors = [end for end in {right.low, right.high, -1, 1} if right.low <= end <= right.high and end]
        if node.op == "%":
            low, high = min(0, right.low + 1), max(0, right.high - 1)
            return Typed(INT, low, high, self.op("mod", left.code, right.code))
        times = MICRO if node.op == "/" else 1
        ends = [a * times // b for a in (left.low, left.high) for b in divisors]
        kind, op = (QUANTITY, "qdiv") if node.op == "/" else (INT, "div")
        return Typed(kind, min(ends), max(ends), self.op(op, left.code, right.code))

    def _joined(self, node: s.Binary) -> Typed:
        """and, or: the right side is evaluated only if the left one does not decide."""
        left = self.truth(node.left)
        before, self.facts = self.facts, self.facts | self.learn(node.left, node.op == "and")
        right: list[Expr] = []
        block = self.apart(lambda: right.append(self.truth(node.right)))
        self.facts = before
        if not block:
            if isinstance(left, Const):
                return Typed(BOOL, 0, 1, right[0] if left.value == (node.op == "and") else left)
            return Typed(BOOL, 0, 1, Op(node.op, left, right[0]))
        result = self.stored(left)
        block = (*block, Set(result.slot, right[0]))
        self.out.append(If(result, block) if node.op == "and" else If(result, (), block))
        return Typed(BOOL, 0, 1, result)

    def _extreme(self, node: s.Extreme) -> Typed:
        kind, values = self.alike([self.number(argument) for argument in node.arguments])
        result = values[0]
        choose = min if node.op == "min" else max
        for value in values[1:]:
            low, high = choose(result.low, value.low), choose(result.high, value.high)
            result = Typed(kind, low, high, self.op(node.op, result.code, value.code))
        return result

    def _append(self, values: list[Typed], node: s.Expr) -> None:
        values.append(self.value(node))

    def _choose(self, node: s.Choose) -> Typed:
        test = self.truth(node.test)
        result = Local(self.slots)
        self.slots += 1
        values: list[Typed] = []
        blocks = []
        for truth, side in ((True, node.yes), (False, node.no)):
            before, self.facts = self.facts, self.facts | self.learn(node.test, truth)
            blocks.append(self.apart(partial(self._append, values, side)))
            self.facts = before
        yes, no = values
        if (yes.kind == BOOL) != (no.kind == BOOL):
            raise SpecError("truth values and numbers differ", "Give both branches the same type.", node.at)
        kind = yes.kind
        if yes.kind != no.kind:
            if PLACE in (yes.kind, no.kind) and QUANTITY in (yes.kind, no.kind):
                raise SpecError("bins and quantities differ", "Give both branches the same type.", node.at)
            kind = PLACE if PLACE in (yes.kind, no.kind) else QUANTITY
            if kind == PLACE and min(one.low for one in values if one.kind == INT) < 0:
                remedy = "Write NULL for no bin, or bound the number with max(0, ...)."
                raise SpecError("a number below zero is no bin", remedy, node.at)
            if kind == QUANTITY:
                yes, no = self.micro(yes), self.micro(no)
        sides = [(*block, Set(result.slot, one.code)) for block, one in zip(blocks, (yes, no), strict=True)]
        self.out.append(If(test, *sides))
        return Typed(kind, min(yes.low, no.low), max(yes.high, no.high), result)
