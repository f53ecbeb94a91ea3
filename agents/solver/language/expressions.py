"""Check UTILFN's expressions, with types and bounds, and write the code for them.

Constant tables are known, so that the intervals of their entries are exact. Where an index cannot be proven to stay in
its table, a test is written that rejects; where it certainly leaves it, the program is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.code import op
from binwright.agents.solver.language.errors import At, SpecError, indices_beside
from binwright.agents.solver.language.scope import Scope, Unknown
from binwright.agents.solver.language.tables import LARGEST, Table, quantity_of
from binwright.agents.solver.language.values import (
    BOOL,
    INT,
    PLACE,
    QUANTITY,
    Typed,
    absolute,
    arithmetic,
    equal,
    extreme,
    floored,
    micro,
    negated,
    truth_of,
)  # fmt: skip
from binwright.agents.solver.model.program import (
    MICRO,
    NULL,
    WIDE,
    Const,
    Expr,
    Family,
    For,
    If,
    Local,
    Op,
    Placed,
    Read,
    Set,
    Used,
)
from binwright.simcore.errors import suggest

LOOP_LIMIT = 6
"""Loops and sums in one another."""


def value(scope: Scope, node: s.Expr) -> Typed:
    """Check an expression and write its code."""
    scope.code.step(node.at)
    result = _BY_NODE[type(node)](scope, node)
    if result.kind == PLACE and result.low < 0 and node in scope.facts:
        result = result._replace(low=0)
    if result.kind in (INT, QUANTITY):
        most = max(abs(result.low), abs(result.high))
        if most * (MICRO if result.kind == INT else 1) > WIDE:
            remedy = "Choose a larger unit, or bound it with min(..., ...) and max(..., ...)."
            raise SpecError("this may go beyond 1e12", remedy, node.at)
    return result


def number(scope: Scope, node: s.Expr) -> Typed:
    """Check a whole number or a quantity; a bin counts as a number where it is not NULL."""
    found = value(scope, node)
    if found.kind == PLACE:
        if found.low < 0:
            remedy = "Test it first: if ... != NULL ... end, or ... != NULL and ..."
            raise SpecError("this may be NULL", remedy, node.at)
        return found._replace(kind=INT)
    if found.kind == BOOL:
        raise SpecError("this must be a number", "It is a truth value: if ... then 1 else 0 makes it one.", node.at)
    return found


def whole(scope: Scope, node: s.Expr, what: str) -> Typed:
    """Check a whole number."""
    found = number(scope, node)
    if found.kind == QUANTITY:
        raise SpecError(f"{what} must be a whole number", quantity_of(node, scope.tables), node.at)
    return found


def truth(scope: Scope, node: s.Expr) -> Expr:
    """Check a truth value; returns its code."""
    found = value(scope, node)
    if found.kind != BOOL:
        raise SpecError("this must be true or false", f"It is {found.kind}: compare it with something.", node.at)
    return found.code


# Indices and rows of tables


def within(scope: Scope, node: s.Expr, size: int, what: str) -> Typed:
    """Check an index, which is proven or tested to be in 0 .. size - 1."""
    index = whole(scope, node, "an index")
    if index.low >= 0 and index.high < size:
        return index
    if index.high < 0 or index.low >= size:
        found = str(index.low) if index.low == index.high else f"{index.low} .. {index.high + 1}"
        remedy = f"{what} goes from 0 to {size - 1} here." if size else f"{what} is empty."
        raise SpecError(f"index {found} leaves {what}", remedy, node.at)
    local = index.code if isinstance(index.code, Local) else scope.code.stored(index.code)
    tests = []
    if index.low < 0:
        tests.append(Op("lt", local, Const(0)))
    if index.high >= size:
        tests.append(Op("le", Const(size), local))
    scope.code.guard(tests[0] if len(tests) == 1 else Op("or", *tests), f"an index of {what}", node.at)
    return Typed(INT, max(index.low, 0), min(index.high, size - 1), local)


def _row(scope: Scope, table: Table, node: s.Index) -> tuple[Expr, Expr, int]:
    """Write where a row starts and stops in the table's values; returns the longest that it may be, too."""
    row = _row_number(scope, table, node)
    if table.starts is None:
        start = op("mul", row, Const(table.sizes[-1]))
        return start, op("add", start, Const(table.sizes[-1])), table.longest
    starts = scope.code.offsets(table, node.at)[1]
    return Read(starts, row), Read(starts + 1, row), table.longest


def _row_number(scope: Scope, table: Table, node: s.Index) -> Expr:
    """Write the number of the row that the indices choose: all of them, or all but the last if rows are alike."""
    row: Expr = Const(0)
    rows = table.sizes if table.starts is not None else table.sizes[:-1]
    for size, argument in zip(rows, node.arguments, strict=False):
        index = within(scope, argument, size, table.name)
        row = op("add", op("mul", row, Const(size)), index.code)
    return scope.code.repeatable(row)


def _index(scope: Scope, node: s.Index) -> Typed:
    table = scope.tables.get(node.table)
    if table is None:
        raise SpecError(f"unknown table {node.table}", suggest(node.table, scope.tables), node.at)
    if len(node.arguments) != table.rank:
        problem = f"{table.name} takes {indices_beside(table.rank, len(node.arguments))}"
        raise SpecError(problem, "Write one per level, with commas between: T[row, column].", node.at)
    kind, values = INT if table.whole else QUANTITY, scope.code.offsets(table, node.at)[0]
    low, high = table.bounds
    last = node.arguments[-1]
    if table.starts is None:
        index = within(scope, last, table.sizes[-1], table.name)
        row = _row_number(scope, table, node)
        place = op("add", op("mul", row, Const(table.sizes[-1])), index.code)
        if isinstance(index.code, Const) and not table.varies:  # a column
            column = table.values[index.code.value :: table.sizes[-1]]
            low, high = int(column.min()), int(column.max())
        return Typed(kind, low, high, Read(values, place))
    start, stop, longest = _row(scope, table, node)
    start = start if isinstance(start, Local) else scope.code.stored(start)
    index = within(scope, last, longest, f"a row of {table.name}")
    shortest = int(np.diff(table.starts).min())
    if index.high >= shortest:
        index = index.coded(scope.code.repeatable(index.code))
        scope.code.guard(Op("le", op("sub", stop, start), index.code), f"an index of a row of {table.name}", last.at)
    return Typed(kind, low, high, Read(values, op("add", start, index.code)))


def _len(scope: Scope, node: s.Unary) -> Typed:
    inner = node.operand
    if isinstance(inner, s.Name) and inner.name in scope.tables:
        size = scope.tables[inner.name].sizes[0]
        return Typed(INT, size, size, Const(size))
    table = scope.tables.get(inner.table) if isinstance(inner, s.Index) else None
    if not isinstance(inner, s.Index) or table is None or len(inner.arguments) != table.rank - 1:
        raise SpecError("len takes a table or a row of it", "Write len(T), or len(T[row]) if rows differ.", node.at)
    start, stop, longest = _row(scope, table, inner)
    shortest = longest if table.starts is None else int(np.diff(table.starts).min())
    return Typed(INT, shortest, longest, Const(longest) if shortest == longest else op("sub", stop, start))


# Other expressions


def _number(scope: Scope, node: s.Number) -> Typed:
    return Typed(INT if node.whole else QUANTITY, node.raw, node.raw, Const(node.raw))


def _name(scope: Scope, node: s.Name) -> Typed:
    if node.name in scope.locals:
        scope.bin_reads += node.name == "BIN"
        known = scope.locals[node.name]
        if known is None:
            raise Unknown
        return known
    if node.name in scope.names:
        kind, raw = scope.names[node.name]
        return Typed(kind, raw, raw, Const(raw))
    if node.name in scope.tables:
        raise SpecError(f"{node.name} is a table", f"Write {node.name}[...].", node.at)
    names = {*scope.locals, *scope.names, *scope.tables}
    raise SpecError(f"unknown name {node.name}", suggest(node.name, names), node.at)


def _placed(scope: Scope, node: s.Placed) -> Typed:
    ball = within(scope, node.ball, scope.balls, "BALLS")
    if scope.blind:
        raise Unknown
    scope.reads_alloc = True
    return Typed(PLACE, NULL if scope.families is None else 0, scope.bins - 1, Placed(ball.code))


def _used(scope: Scope, node: s.Used) -> Typed:
    if scope.families is None:
        raise SpecError("UTIL is read in goals only", "UTILFN adds to it: UTIL.CPU[BIN] += ...", node.at)
    family = scope.families.get(node.family)
    if family is None:
        raise SpecError(f"unknown resource {node.family}", suggest(node.family, scope.families), node.at)
    return Typed(QUANTITY, *scope.reach[family.name], Used(dimension(scope, family, node.arguments, node.at)[0]))


def dimension(scope: Scope, family: Family, nodes: tuple[s.Expr, ...], at: At) -> tuple[Expr, tuple[Expr, ...]]:
    """Write the number of a dimension, and its indices."""
    if len(nodes) != len(family.sizes):
        problem = f"{family.name} has {indices_beside(len(family.sizes), len(nodes))}"
        raise SpecError(problem, "Write one for each in RESOURCES, with commas between.", at)
    place: Expr = Const(0)
    arguments = []
    for size, argument in zip(family.sizes, nodes, strict=True):
        if argument == s.Name(at, "BALL") and size < scope.balls:
            noted = f"line {at.line}: BALL is an index of {family.name}, and goes beyond it"
            scope.code.notes.append(f"{noted}: is BIN meant?" if size == scope.bins else noted)
        index = within(scope, argument, size, f"{family.name} of RESOURCES")
        arguments.append(index.code)
        place = op("add", op("mul", place, Const(size)), index.code)
    return op("add", Const(family.offset), place), tuple(arguments)


def _unary(scope: Scope, node: s.Unary) -> Typed:
    if node.op == "not":
        return truth_of(op("eq", truth(scope, node.operand), Const(0)))
    if node.op == "len":
        return _len(scope, node)
    operand = number(scope, node.operand)
    if node.op == "ceil":
        return negated(floored(negated(operand)))
    if node.op == "floor":
        return floored(operand)
    return negated(operand) if node.op == "-" else absolute(scope.code, operand)


def _binary(scope: Scope, node: s.Binary) -> Typed:
    if node.op in ("and", "or"):
        return _joined(scope, node)
    if node.op in ("==", "!="):
        left, right = value(scope, node.left), value(scope, node.right)
        if (left.kind == BOOL) != (right.kind == BOOL):
            raise SpecError("truth values and numbers differ", "Compare like with like.", node.at)
        return truth_of(equal(scope.code, left, right, node.op == "=="))
    left, right = number(scope, node.left), number(scope, node.right)
    if node.op == "/" and any(abs(end) > LARGEST * MICRO for end in (micro(right).low, micro(right).high)):
        raise SpecError("this divisor may go beyond 1e9", "Choose a larger unit, or bound it with min.", node.at)
    return arithmetic(scope.code, node.op, left, right, node.at)


def _joined(scope: Scope, node: s.Binary) -> Typed:
    """Write and, or: the right side is evaluated only if the left one does not decide."""
    left = truth(scope, node.left)
    with scope.inner(scope.learn(node.left, node.op == "and")), scope.code.apart() as block:
        right = truth(scope, node.right)
    if not block:
        if isinstance(left, Const):
            return truth_of(right if left.value == (node.op == "and") else left)
        return truth_of(Op(node.op, left, right))
    result = scope.code.stored(left)
    block.append(Set(result.slot, right))
    scope.code.out.append(If(result, tuple(block)) if node.op == "and" else If(result, (), tuple(block)))
    return truth_of(result)


def _extreme(scope: Scope, node: s.Extreme) -> Typed:
    return extreme(node.op, [number(scope, argument) for argument in node.arguments])


def _choose(scope: Scope, node: s.Choose) -> Typed:
    test = truth(scope, node.test)
    result = scope.code.local()
    with scope.inner(scope.learn(node.test, True)), scope.code.apart() as then:
        yes = value(scope, node.yes)
    with scope.inner(scope.learn(node.test, False)), scope.code.apart() as other:
        no = value(scope, node.no)
    if (yes.kind == BOOL) != (no.kind == BOOL):
        raise SpecError("truth values and numbers differ", "Give both branches the same type.", node.at)
    kind = yes.kind
    if yes.kind != no.kind:
        if PLACE in (yes.kind, no.kind) and QUANTITY in (yes.kind, no.kind):
            raise SpecError("bins and quantities differ", "Give both branches the same type.", node.at)
        kind = PLACE if PLACE in (yes.kind, no.kind) else QUANTITY
        if kind == PLACE and min(one.low for one in (yes, no) if one.kind == INT) < 0:
            remedy = "Write NULL for no bin, or bound the number with max(0, ...)."
            raise SpecError("a number below zero is not a bin", remedy, node.at)
        if kind == QUANTITY:
            yes, no = micro(yes), micro(no)
    sides = (*then, Set(result.slot, yes.code)), (*other, Set(result.slot, no.code))
    scope.code.out.append(If(test, *sides))
    return Typed(kind, min(yes.low, no.low), max(yes.high, no.high), result)


# Loops, as statements and as `sum` and `count`


def loop(scope: Scope, axis: s.Axis, body: Callable[[], None]) -> None:
    """Write a loop over an axis around what `body` writes; one that certainly never runs is left out, unchecked."""
    scope.check_free(axis.name, axis.at)
    if len(scope.loops) == LOOP_LIMIT:
        raise SpecError(f"more than {LOOP_LIMIT} loops in one another", "Join some of them in a table.", axis.at)
    entries: Table | None = None
    node, code = axis.range, scope.code
    table = scope.tables.get(node.table) if isinstance(node, s.Index) else None
    alone = scope.tables.get(node.name) if isinstance(node, s.Name) else None
    if isinstance(node, s.Index) and table is not None and len(node.arguments) == table.rank - 1:
        entries = table
        start, stop, trips = _row(scope, table, node)
        low, high = table.bounds
    elif alone is not None and alone.rank == 1:
        entries = alone
        start, stop, trips = Const(0), Const(alone.sizes[0]), alone.sizes[0]
        low, high = alone.bounds
    else:
        if isinstance(node, s.Span):
            first, last = whole(scope, node.start, "a range"), whole(scope, node.stop, "a range")
        else:
            first, last = Typed(INT, 0, 0, Const(0)), whole(scope, node, "a range")
        start, stop = first.code, last.code
        low, high = first.low, last.high - 1
        trips = max(0, high - low + 1)
    if entries is not None and not entries.whole:
        raise SpecError(f"{entries.name} has quantities", "Run over 0 .. len(...) instead.", axis.at)
    skip = None if axis.skip is None else whole(scope, axis.skip, "this")
    if trips == 0:
        return
    slot = code.local()
    with scope.inner(), code.apart() as block, scope.looped(slot if entries is None else None, trips):
        one: Expr = slot
        if entries is not None:
            one = code.stored(Read(code.offsets(entries, axis.at)[0], slot))
        scope.locals[axis.name] = Typed(INT, low, high, one)
        code.step(axis.at)
        if skip is None:
            body()
        else:
            with code.apart() as inner:
                body()
            code.out.append(If(Op("ne", one, skip.code), tuple(inner)))
    code.out.append(For(slot.slot, start, stop, tuple(block)))


def _reduce(scope: Scope, node: s.Reduce) -> Typed:
    code = scope.code
    if node.op in ("min", "max"):
        return _extreme_over(scope, node)
    total, before = code.stored(Const(0)), code.trips
    kind, bounds = INT, (0, 0)

    def body() -> None:
        nonlocal kind, bounds
        if node.op == "count":
            code.out.append(If(truth(scope, node.body), (Set(total.slot, Op("add", total, Const(1))),)))
            low = high = 1
        else:
            added = number(scope, node.body)
            code.out.append(Set(total.slot, Op("add", total, added.code)))
            kind, low, high = added.kind, added.low, added.high
        times = code.trips // before
        bounds = min(0, low * times), max(0, high * times)

    loop(scope, node.axis, body)
    return Typed(kind, *bounds, total)


def _extreme_over(scope: Scope, node: s.Reduce) -> Typed:
    """Write min or max over a range of constants, which is not empty."""
    if scope.families is None:
        raise SpecError(f"{node.op} over a range is for goals", "Put it into a TABLE, if it is constant.", node.at)
    code = scope.code
    best, none = code.stored(Const(0)), code.stored(Const(1))
    runs, kind, bounds = False, INT, (0, 0)

    def body() -> None:
        nonlocal runs, kind, bounds
        runs = True
        one = number(scope, node.body)
        kind, bounds = one.kind, (one.low, one.high)
        value = code.repeatable(one.code)
        test = Op("lt", value, best) if node.op == "min" else Op("lt", best, value)
        code.out.append(If(Op("or", none, test), (Set(best.slot, value), Set(none.slot, Const(0)))))

    loop(scope, node.axis, body)
    made = code.out[-1] if runs else None
    certain = isinstance(made, For) and isinstance(made.start, Const) and isinstance(made.stop, Const)
    if not certain or node.axis.skip is not None:
        raise SpecError(f"{node.op} may be of nothing", "Give it a range of constants, without except.", node.at)
    return Typed(kind, *bounds, best)


_BY_NODE: dict[type[s.Node], Callable[[Scope, Any], Typed]] = {
    s.Number: _number,
    s.Name: _name,
    s.Index: _index,
    s.Placed: _placed,
    s.Used: _used,
    s.Unary: _unary,
    s.Binary: _binary,
    s.Extreme: _extreme,
    s.Choose: _choose,
    s.Reduce: _reduce,
}
