"""Write UTILFN and goals as source text in Python: numba compiles it, devices get it as C (see `backends.kernel_c`).

The function is given a ball, a bin, ALLOC, the tables, and `used` and `ceiling` [dims]. It writes the dimensions and
millionths of its additions from entry n on, and returns where they end. Below zero it is rejected: by statement number
-1, -2, ... of those that reject, in the order of the text, or with -1 because it is beyond a ceiling already.
Operands are parenthesised only where they must be, for parsers allow some two hundred brackets in one another.
"""

from __future__ import annotations

from collections.abc import Iterator

from binwright.agents.solver.model.objective import Objective
from binwright.agents.solver.model.program import (
    BALL,
    BIN,
    Add,
    Block,
    Const,
    Expr,
    For,
    If,
    Local,
    Op,
    Placed,
    Program,
    Read,
    Reject,
    Set,
    Used,
)

LOOSE, SUM, PRODUCT = range(3)
"""How tightly an expression's outermost operator binds."""
_SYMBOLS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<="}
_BINARY = {"add": ("+", SUM), "sub": ("-", SUM), "mul": ("*", PRODUCT), "div": ("//", PRODUCT), "mod": ("%", PRODUCT)}
ARRAYS = "alloc", "data", "numbers", "used", "ceiling", "dims", "amounts"
"""The arrays that UTILFN takes."""


def utilfn(program: Program, *, spelt: bool = False, early: bool = True) -> tuple[str, list[int]]:
    """Write the source of the function `utilfn`, and list its argument `numbers`: the constants, if not `spelt` out.

    Without those, the source for the next number of bins, or for tables of other sizes, is the same, and compiled
    already. Unless it is `early`, no ceiling is looked at.
    """
    lines = _Lines(early=early and program.non_negative, spelt=spelt)
    body = list(lines.block(program.body))
    arrays = ", ".join(f"{name}: Ints" for name in ARRAYS)
    head = f"def utilfn(v{BALL}: int, v{BIN}: int, {arrays}, n: int) -> int:"
    start = [f"    v{slot} = 0" for slot in range(2, program.slots) if slot not in lines.loops]
    return "\n".join([head, *start, *body, "    return n", ""]), lines.numbers


def goals(objective: Objective) -> tuple[str, list[int]]:
    """Write the source of the function `goals` in Python, and list its argument `numbers`, all constants.

    It writes into `values` what each goal comes to; goals that are to be made large count with a minus.
    """
    lines = _Lines(early=False, spelt=False)
    text = ["def goals(alloc, data, numbers, used, values):", f"    v{BALL} = -1"]
    text += [f"    v{slot} = 0" for slot in range(BALL + 1, objective.slots)]
    text += lines.block(objective.body) if objective.body else ()
    for number, (goal, value) in enumerate(zip(objective.goals, objective.values, strict=True)):
        sign = "-" if goal.aim == "MAXIMISE" else ""
        text.append(f"    values[{number}] = {sign}({lines.value(value)})")
    return "\n".join([*text, "    return 0", ""]), lines.numbers


class _Lines:
    """Writes the lines of statements."""

    def __init__(self, *, early: bool, spelt: bool) -> None:
        self.early = early
        """Nothing is ever taken off: an addition beyond the ceiling decides at once."""
        self.spelt = spelt
        """Constants are literals."""
        self.numbers: list[int] = []
        self.loops: set[int] = set()
        """The slots of loops."""
        self.rejects = 0
        """Statements that reject, so far."""

    def number(self, value: int) -> str:
        """Write a constant of 64 bits."""
        if not self.spelt:
            self.numbers.append(value)
            return f"numbers[{len(self.numbers) - 1}]"
        return f"{value}" if value >= 0 else f"({value})"

    def block(self, body: Block, depth: int = 1) -> Iterator[str]:
        """Write statements, indented."""
        indent = "    " * depth
        if not body:
            yield f"{indent}pass"
        for one in body:
            if isinstance(one, Set):
                yield f"{indent}v{one.slot} = {self.value(one.value)}"
            elif isinstance(one, If):
                yield f"{indent}if {self.truth(one.test)}:"
                yield from self.block(one.then, depth + 1)
                if one.other:
                    yield f"{indent}else:"
                    yield from self.block(one.other, depth + 1)
            elif isinstance(one, For):
                self.loops.add(one.slot)
                yield f"{indent}for v{one.slot} in range({self.value(one.start)}, {self.value(one.stop)}):"
                yield from self.block(one.body, depth + 1)
            elif isinstance(one, Add):
                yield f"{indent}dims[n] = {self.value(one.dim)}"
                yield f"{indent}amounts[n] = {self.value(one.amount)}"
                if self.early:
                    yield f"{indent}if used[dims[n]] + amounts[n] > ceiling[dims[n]]: return -1"
                yield f"{indent}n += 1"
            else:
                assert isinstance(one, Reject)
                self.rejects += 1
                yield f"{indent}return {-self.rejects}"

    def value(self, node: Expr, least: int = LOOSE) -> str:
        """Write an expression, in brackets unless it binds at least this tightly."""
        if isinstance(node, Const):
            return self.number(node.value)
        if isinstance(node, Local):
            return f"v{node.slot}"
        if isinstance(node, Read):
            return f"data[{self.number(node.offset)} + {self.value(node.index, SUM)}]"
        if isinstance(node, Placed):
            return f"placed(alloc, {self.value(node.ball)}, v{BALL})"
        if isinstance(node, Used):
            return f"used[{self.value(node.dim)}]"
        if node.kind in ("and", "or", *_SYMBOLS):
            return f"(1 if {self.truth(node)} else 0)"
        if node.kind not in _BINARY:
            return f"{node.kind}({self.value(node.left)}, {self.value(node.right)})"
        # The right operand is parenthesised if it binds as tightly, so that nothing is regrouped.
        symbol, tight = _BINARY[node.kind]
        text = f"{self.value(node.left, tight)} {symbol} {self.value(node.right, tight + 1)}"
        return f"({text})" if tight < least else text

    def truth(self, node: Expr) -> str:
        """Write an expression as a test."""
        if not isinstance(node, Op) or node.kind not in ("and", "or", *_SYMBOLS):
            return f"{self.value(node, SUM)} != 0"
        if node.kind in _SYMBOLS:
            return f"{self.value(node.left, SUM)} {_SYMBOLS[node.kind]} {self.value(node.right, SUM)}"
        return f"({self.truth(node.left)}) {node.kind} ({self.truth(node.right)})"
