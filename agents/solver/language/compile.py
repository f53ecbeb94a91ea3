"""Compile expressions: every value has a type, an interval that it is proven to stay in, and code.

Constant tables are known, so that the intervals of their entries are exact. Where an index cannot be proven to stay in
its table, or a divisor not to be zero, a test is written that rejects; where it certainly is wrong, the program is
refused. A constant is a value whose code is a number: `programs.Constants` evaluates by the same rules.
"""

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import TypeAlias

from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.errors import LARGEST, NEST_LIMIT, At, SpecError, check_indices, look_up, refuse
from binwright.agents.solver.language.tables import Table
from binwright.agents.solver.language.writer import BOOL, INT, PLACE, QUANTITY, Typed, Writer, alike, computed, op
from binwright.agents.solver.model.program import BALL, MICRO, NULL, WIDE, Code, Family
from binwright.agents.solver.model.source import indented, text
from binwright.simcore.errors import suggest

LoopRange: TypeAlias = tuple[Table | None, Code, Code, int, int, int]
"""What a loop runs over: the numbers from start to stop, or the entries of a table that these are numbers of; what the
variable may be, at least and at most; and the rounds, at most."""


class Compiler(Writer):
    """Checks expressions and writes their code, a kind of node by the method of its name."""

    # Values of a type

    def value(self, node: s.Node, of: str | None = None) -> Typed:
        """Check an expression and write its code; a text is the name of an `of`."""
        self.step(node.at)
        if node.kind == "text":
            return Typed.of(INT, self.scope.number(node, of))
        result: Typed = getattr(self, f"_{node.kind}")(node, *node.parts)
        if result.kind == PLACE and result.low < 0 and node in self.facts:
            code = result.code if self.ceiling is None else op("max", result.code, 0)  # goals evaluate both sides
            result = result._replace(low=0, code=code)
        most = WIDE if result.kind == QUANTITY else WIDE // MICRO
        remedy = "Choose a larger unit, or bound it with min(..., ...) and max(..., ...)."
        refuse(result.low < -most or result.high > most, "this may go beyond 1e12", remedy, node.at)
        return result

    def number(self, node: s.Node, of: str | None = None) -> Typed:
        """Check a whole number or a quantity; a bin counts as a number where it is not NULL."""
        result = self.value(node, of)
        if result.kind == PLACE:
            remedy = "Test it first: if ... != NULL ... end, or ... != NULL and ... In a table, write -1 for no bin."
            refuse(result.low < 0, "this may be NULL, and must be a number", remedy, node.at)
            return result._replace(kind=INT)
        remedy = "It is a truth value: if ... then 1 else 0 makes it one."
        refuse(result.kind == BOOL, "this must be a number", remedy, node.at)
        return result

    def whole(self, node: s.Node, what: str = "this", of: str | None = None) -> Typed:
        """Check a whole number."""
        result = self.number(node, of)
        remedy = "It is a quantity, as / and any entry of a table with a point make; // and floor(...) stay whole."
        refuse(result.kind == QUANTITY, f"{what} must be a whole number", remedy, node.at)
        return result

    def truth(self, node: s.Node) -> Code:
        """Check a truth value; returns its code."""
        result = self.value(node)
        remedy = f"It is {result.kind}: compare it with something."
        refuse(result.kind != BOOL, "this must be true or false", remedy, node.at)
        return result.code

    # Indices and rows of tables

    def within(self, node: s.Node, size: int, what: str, of: str | None = None) -> Typed:
        """Check an index, which is proven or tested to be in 0 .. size - 1."""
        index = self.whole(node, "an index", of)
        if index.low >= 0 and index.high < size:
            return index
        interval = str(index.low) if index.low == index.high else f"{index.low} .. {index.high + 1}"
        remedy = f"{what} goes from 0 to {size - 1} here." if size else f"{what} is empty."
        refuse(index.high < 0 or index.low >= size, f"index {interval} leaves {what}", remedy, node.at)
        local = self.repeatable(index.code)
        tests = [op("<", local, 0)] if index.low < 0 else []
        tests += [op("<=", size, local)] if index.high >= size else []
        self.guard(reduce(partial(op, "or"), tests), f"an index of {what}", node.at)
        return Typed(INT, max(index.low, 0), min(index.high, size - 1), local)

    def place(self, name: str, sizes: Sequence[int], nodes: Sequence[s.Node], what: str) -> tuple[Code, list[Code]]:
        """Write which entry of a table or a resource its indices choose, the last running fastest; and the indices."""
        place: Code = 0
        indices = []
        for number, (size, node) in enumerate(zip(sizes, nodes, strict=True)):
            indices.append(self.within(node, size, what, self.scope.indices.get((name, number))).code)
            place = op("+", op("*", place, size), indices[-1])
        return place, indices

    def row_of(self, node: s.Node) -> tuple[Table, Sequence[s.Node]] | None:
        """Return the table of which an expression is a row, or of one index all, and the indices, if it is one."""
        name, indices = (*node.parts, ())[:2] if node.kind in ("index", "name") else ("", ())
        table = self.tables.get(name)
        return (table, indices) if table is not None and len(indices) == table.rank - 1 else None

    def _row(self, table: Table, indices: Sequence[s.Node], at: At) -> tuple[Code, Code, int, int]:
        """Write where a row starts and stops in the table's values; returns the shortest and longest possible, too."""
        row, _ = self.place(table.name, table.sizes[: table.rank - 1], indices, table.name)
        row = self.repeatable(row)
        if table.starts is None:
            start = op("*", row, table.sizes[-1])
            return start, op("+", start, table.sizes[-1]), *table.lengths
        start, stop = (self.read(table, row, at, end) for end in (0, 1))
        if isinstance(start, int) and isinstance(stop, int):
            return start, stop, stop - start, stop - start
        return start, stop, *table.lengths

    def _index(self, node: s.Node, name: str, arguments: Sequence[s.Node]) -> Typed:
        table = look_up("table", name, self.tables, node.at)
        check_indices(name, table.rank, len(arguments), node.at)
        *before, last = arguments
        if last.kind == "text" and name in self.scope.numbers:  # zone["west"]
            return self.value(last, name)
        start, stop, shortest, longest = self._row(table, before, node.at)
        row = "" if table.starts is None else "the row of " if shortest == longest else "a row of "
        index = self.within(last, longest, row + name, self.scope.indices.get((name, len(before))))
        code, (low, high) = index.code, table.bounds
        if index.high >= shortest:
            start, code = self.repeatable(start), self.repeatable(code)
            self.guard(op("<=", op("-", stop, start), code), f"an index of {row}{name}", last.at)
        if isinstance(code, int) and table.starts is None and not table.varies:
            column = table.values[code :: table.sizes[-1]]
            low, high = int(column.min()), int(column.max())
        read, kind = self.read(table, op("+", start, code), node.at), INT if table.whole else QUANTITY
        return Typed.of(kind, read) if isinstance(read, int) else Typed(kind, low, high, read)

    def _length(self, node: s.Node, rows: s.Node) -> Typed:
        if rows.kind == "name" and rows.parts[0] in self.tables:
            return Typed.of(INT, self.tables[rows.parts[0]].sizes[0])
        row = self.row_of(rows)
        if row is None:
            raise SpecError("len takes a table or a row of it", "Write len(T), or len(T[row]) if rows differ.", rows.at)
        start, stop, shortest, longest = self._row(*row, rows.at)
        return Typed(INT, shortest, longest, longest if shortest == longest else op("-", stop, start))

    # Other expressions

    def _number(self, node: s.Node, raw: int, whole: bool) -> Typed:
        return Typed.of(INT if whole else QUANTITY, raw)

    def _name(self, node: s.Node, name: str) -> Typed:
        if name in self.names:
            self.bin_reads += name == "BIN"
            return self.names[name]
        refuse(name in self.tables, f"{name} is a table", f"Write {name}[...].", node.at)
        raise SpecError(f"unknown name {name}", suggest(name, {*self.names, *self.tables}), node.at)

    def _placed(self, node: s.Node, ball: s.Node) -> Typed:
        number = self.within(ball, self.scope.balls, "BALLS", self.scope.means["BALLS"])
        self.reads_alloc = True
        placed = f"placed(alloc, {text(number.code)}, {BALL})"
        return Typed(PLACE, NULL if self.ceiling is None else 0, self.scope.bins - 1, placed)

    def _used(self, node: s.Node, name: str, nodes: Sequence[s.Node]) -> Typed:
        if self.ceiling is None:
            remedy = "Move this into a goal. UTILFN adds to it: UTIL.CPU[BIN] += ..."
            raise SpecError("UTIL is known in goals only", remedy, node.at)
        family, dim, _ = self.dimension(node)
        most = int(self.ceiling[family.offset : family.offset + family.count].max(initial=0))
        lowest = -WIDE // 10  # what UTILFN subtracts from may be anything
        return Typed(QUANTITY, lowest if family.falls else 0, most, f"used[{text(dim)}]")

    def resource(self, node: s.Node, indices: Sequence[object] | None) -> Family:
        """Return the resource that a node names; it takes as many indices, or all if these are None."""
        family = look_up("resource", node.parts[0], self.families, node.at)
        check_indices(family.name, len(family.sizes), len(family.sizes if indices is None else indices), node.at)
        return family

    def dimension(self, node: s.Node) -> tuple[Family, Code, list[Code]]:
        """Write the number of a dimension, and its indices; returns its family, too."""
        name, nodes = node.parts[:2]
        family = self.resource(node, nodes)
        place, indices = self.place(name, family.sizes, nodes, f"{name} of RESOURCES")
        return family, op("+", family.offset, place), indices

    def _not_(self, node: s.Node, operand: s.Node) -> Typed:
        return Typed.truth(op("==", self.truth(operand), 0))

    def _negative(self, node: s.Node, operand: s.Node) -> Typed:
        return self.number(operand).negated()

    def _floor(self, node: s.Node, operand: s.Node) -> Typed:
        return self.number(operand).floored()

    def _ceil(self, node: s.Node, operand: s.Node) -> Typed:
        return self.number(operand).negated().floored().negated()

    def _absolute(self, node: s.Node, operand: s.Node) -> Typed:
        value = self.number(operand)
        once, ends = self.repeatable(value.code), (abs(value.low), abs(value.high))
        low = 0 if value.low <= 0 <= value.high else min(ends)
        return Typed(value.kind, low, max(ends), op("max", once, op("-", 0, once)))

    def _binary(self, node: s.Node, operator: str, left: s.Node, right: s.Node) -> Typed:
        if operator in ("and", "or"):
            return self._joined(operator == "and", left, right)
        if operator in ("==", "!="):
            first, second = self.value(left, self.scope.meant(right)), self.value(right, self.scope.meant(left))
            _check_alike(first, second, node.at)
            return Typed.truth(self._equal(first, second, operator == "=="))
        operand = self.whole if operator in ("//", "%") else self.number
        return self._arithmetic(operator, operand(left), operand(right), node.at)

    def _equal(self, left: Typed, right: Typed, truth: bool) -> Code:
        """Write whether two values are equal, or unequal if `truth` is not asked for.

        NULL is kept as -1 and equals NULL only: a number that may be below zero is tested for that first.
        """
        if PLACE in (left.kind, right.kind) and left.kind != right.kind:
            place, number = (left, right) if left.kind == PLACE else (right, left)
            if place.low < 0 and number.low < 0:
                _, (place, number) = alike(place, number)
                once = self.repeatable(number.code)
                same = op("&", op("<=", 0, once), op("==", place.code, once))
                return same if truth else op("==", same, 0)
        if left.kind != BOOL:
            _, (left, right) = alike(left, right)
        return op("==" if truth else "!=", left.code, right.code)

    def _arithmetic(self, operator: str, left: Typed, right: Typed, at: At) -> Typed:
        """Compare two numbers, or compute with them, with a test of a divisor that may be zero."""
        divides, compares = operator in ("/", "//", "%"), operator in ("<", "<=", ">", ">=")
        quantities = (left.kind == QUANTITY) + (right.kind == QUANTITY)
        zero = divides and right.low == right.high == 0
        refuse(zero, "division by zero", "Make the divisor at least one, with max(1, ...) for one.", at)
        symbol = {"/": "qdiv", ">": "<", ">=": "<="}.get(operator, operator)
        if operator == "*":
            symbol = "qmul" if quantities == 2 else "*"
        elif quantities or operator == "/":
            left, right = left.micro(), right.micro()
        kind = BOOL if compares else QUANTITY if quantities or operator == "/" else INT
        left, right = (right, left) if operator in (">", ">=") else (left, right)
        constant = isinstance(left.code, int) and isinstance(right.code, int)
        large = operator == "/" and not constant and max(abs(right.low), abs(right.high)) > LARGEST * MICRO
        refuse(large, "this divisor may go beyond 1e9", "Choose a larger unit, or bound it with min.", at)
        if divides and right.low <= 0 <= right.high:
            right = right._replace(code=self.stored(right.code))
            self.guard(op("==", right.code, 0), "a divisor", at)
        return computed(symbol, left, right, kind)

    def _joined(self, both: bool, low: s.Node, high: s.Node) -> Typed:
        """Write and, or: the other one is evaluated only if the first does not decide, except in goals."""
        left = self.truth(low)
        if isinstance(left, int):
            return Typed.truth(self.truth(high) if left == both else left)
        with self.apart(self.learn(low, both)) as block:
            right = self.truth(high)
        if self.ceiling is not None:
            self.out += block
            return Typed.truth(op("&" if both else "|", left, right))
        if not block:
            return Typed.truth(op("and" if both else "or", left, right))
        result = self.local()
        first, second = ([f"{result} = {text(code)}"] for code in (left, right))
        self.out += first
        self.branch(result if both else op("==", result, 0), [*block, *second])
        return Typed.truth(result)

    def _extreme(self, node: s.Node, choice: str, *arguments: s.Node) -> Typed:
        return extreme(choice, [self.number(argument) for argument in arguments])

    def _choose(self, node: s.Node, if_: s.Node, then_: s.Node, else_: s.Node) -> Typed:
        test = self.truth(if_)
        if isinstance(test, int):
            return self.value(then_ if test else else_)
        with self.apart(self.learn(if_, True)) as then:
            yes = self.value(then_)
        with self.apart(self.learn(if_, False)) as other:
            no = self.value(else_)
        _check_alike(yes, no, node.at)
        kind = yes.kind
        if yes.kind != no.kind:
            bins = PLACE in (yes.kind, no.kind)
            kind = PLACE if bins else QUANTITY
            remedy = "Write NULL for no bin, a whole number for a bin, and bound it with max(0, ...)."
            wrong = bins and any(side.kind == QUANTITY or (side.kind == INT and side.low < 0) for side in (yes, no))
            refuse(wrong, "a quantity, or a number below zero, is not a bin", remedy, node.at)
            if kind == QUANTITY:
                yes, no = yes.micro(), no.micro()
        if self.ceiling is not None:
            self.out += then + other
            otherwise = self.repeatable(no.code)
            result = op("+", otherwise, op("*", test, op("-", yes.code, otherwise)))
        else:
            result = self.local()
            sides = ([*block, f"{result} = {text(side.code)}"] for block, side in ((then, yes), (other, no)))
            self.branch(test, *sides)
        return Typed(kind, min(yes.low, no.low), max(yes.high, no.high), result)

    # Loops, as statements and as `sum` and `count`

    def over(self, node: s.Node) -> LoopRange:
        """Write what the variable of a loop runs over."""
        if (row := self.row_of(node)) is not None:
            table, indices = row
            refuse(not table.whole, f"{table.name} has quantities", "Run over 0 .. len(...) instead.", node.at)
            start, stop, _, trips = self._row(table, indices, node.at)
            return table, start, stop, *table.bounds, trips
        first = self.whole(node.parts[0], "a range") if node.kind == "span" else Typed.of(INT, 0)
        last = self.whole(node.parts[1] if node.kind == "span" else node, "a range")
        return None, first.code, last.code, first.low, last.high - 1, max(0, last.high - first.low)

    def loop(self, axis: s.Node, body: Callable[[], None]) -> bool:
        """Write a loop around what `body` writes; one that certainly never runs is left out, unchecked.

        Return whether it is certain that it runs.
        """
        name, range_, left_out = axis.parts
        self.check_free(name, axis.at)
        deep = self.depth == NEST_LIMIT
        refuse(deep, f"more than {NEST_LIMIT} loops in one another", "Join some of them in a table.", axis.at)
        entries, start, stop, low, high, trips = self.over(range_)
        skip = None if left_out is None else self.whole(left_out)
        if trips == 0:
            return False
        variable = f"i{self.loops}"
        self.loops, self.depth = self.loops + 1, self.depth + 1
        with self.apart(trips=trips) as block:
            number = variable if entries is None else self.stored(self.read(entries, variable, axis.at))
            self.names[name] = Typed(INT, low, high, number)
            self.step(axis.at)
            with self.apart() as inner:
                body()
            self.branch(1 if skip is None else op("!=", number, skip.code), inner)
        self.depth -= 1
        self.out += [f"for {variable} in range({text(start)}, {text(stop)}):", *indented(block)]
        return skip is None and isinstance(start, int) and isinstance(stop, int)

    def _reduction(self, node: s.Node, kind: str, axis: s.Node, term: s.Node) -> Typed:
        """Write a sum, a count, or in goals the least or most over a range of constants, which is not empty."""
        extremes = kind in ("min", "max")
        symbol = kind if extremes else "+"
        remedy = "Put it into a TABLE, if it is constant."
        refuse(extremes and self.ceiling is None, f"{kind} over a range is for goals", remedy, node.at)
        before, total = self.trips, self.stored({"min": WIDE, "max": -WIDE}.get(kind, 0))
        result = Typed(INT, 0, 0, total)

        def body() -> None:
            nonlocal result
            value = Typed.truth(self.truth(term)) if kind == "count" else self.number(term)
            self.out.append(f"{total} = {text(op(symbol, total, value.code))}")
            times = self.trips // before
            sums = min(0, value.low * times), max(0, value.high * times)
            low, high = (value.low, value.high) if extremes else sums
            result = Typed(INT if kind == "count" else value.kind, low, high, total)

        certain = self.loop(axis, body)
        remedy = "Give it a range of constants, without except."
        refuse(extremes and not certain, f"{kind} may be of nothing", remedy, node.at)
        return result


def extreme(choice: str, values: Sequence[Typed]) -> Typed:
    """Return the smallest ("min") or the largest ("max") of some numbers."""
    kind, values = alike(*values)
    half = len(values) // 2  # parsers allow some two hundred brackets in one another
    return computed(choice, extreme(choice, values[:half]), extreme(choice, values[half:]), kind) if half else values[0]


def _check_alike(first: Typed, second: Typed, at: At) -> None:
    differ = (first.kind == BOOL) != (second.kind == BOOL)
    refuse(differ, "truth values and numbers differ", "Both are truth values, or both numbers.", at)
