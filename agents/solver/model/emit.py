"""Write UTILFN and goals as source text in Python: numba compiles it, devices get it as C (see `backends.kernel_c`).

The function is given a ball, a bin, ALLOC, the tables, and `used` and `ceiling` [dims]. It writes the dimensions and
millionths of its additions from entry n on, and returns where they end. Below zero it is rejected: by statement number
-1, -2, ... of those that reject, in the order of the text, or with -1 because it is beyond a ceiling already.
"""

import re
from collections.abc import Sequence
from itertools import takewhile

from binwright.agents.solver.model.program import BALL, BIN, Code, Objective, Program

ARRAYS = "alloc", "data", "numbers", "used", "ceiling", "dims", "amounts"
"""The arrays that UTILFN takes."""
EARLY = "if used[dims[n]] + amounts[n] > ceiling[dims[n]]: return -1"
"""Nothing is ever taken off: an addition beyond the ceiling decides at once."""
RANGE = re.compile(r"for (i\d+) in range\({(-?\d+)}, {(-?\d+)}\):")
ADDED = re.compile(r"    (v\d+) = \(\1 \+ (.+)\)")


def text(code: Code) -> str:
    """Return an expression as text, in which constants stand in braces."""
    return f"{{{code}}}" if isinstance(code, int) else code


def operation(symbol: str, left: Code, right: Code) -> str:
    """Write an operation, in brackets."""
    if symbol.isidentifier() and symbol not in ("and", "or"):
        return f"{symbol}({text(left)}, {text(right)})"
    return f"({text(left)} {symbol} {text(right)})"


def indented(block: Sequence[str]) -> list[str]:
    """Return the lines of a block behind `if`, `else` or `for`."""
    return [f"    {line}" for line in block] or ["    pass"]


def utilfn(program: Program, *, spelt: bool = False, early: bool = True) -> tuple[str, list[int]]:
    """Write the source of the function `utilfn`, and list its argument `numbers`: the constants, if not `spelt` out.

    Without those, the source for the next number of bins, or for tables of other sizes, is the same, and compiled
    already. Unless it is `early`, no ceiling is looked at.
    """
    early = early and program.non_negative
    body = [line for line in program.body if early or line.strip() != EARLY]
    arrays = ", ".join(f"{name}: Ints" for name in ARRAYS)
    return _function(f"def utilfn({BALL}: int, {BIN}: int, {arrays}, n: int) -> int:", [*body, "return n"], spelt)


def goals(objective: Objective, *, apart: bool = False) -> tuple[str, list[int], list[range]]:
    """Write the source of the function `goals` in Python; lists its argument `numbers`, as for `utilfn`.

    It writes into `values` what each goal comes to; goals that are to be made large count with a minus. Sums over
    ranges of constants may be taken `apart`: for sum number `which`, not -1, it returns the term in which the variable
    of its loop is `at`, and otherwise the terms of each sum come to `totals` [sums]. Lists the ranges of these, too.
    """
    terms, body, ranges, lines = list[str](), list[str](), list[range](), objective.body
    while lines:
        block = [*takewhile(lambda line: line.startswith(" "), lines[1:])]
        loop, last, within = RANGE.fullmatch(lines[0]), ADDED.fullmatch(block[-1] if block else ""), "\n".join(block)
        read = re.findall(r"v\d+", within)
        outer = {*read} - {*re.findall(r"^ +(v\d+) = ", within, re.MULTILINE)}
        if apart and loop and last and outer <= {BALL} and read.count(last[1]) == 2:
            term = [f"{loop[1]} = at", *(line[4:] for line in block[:-1]), f"return {last[2]}"]
            terms += [f"if which == {len(ranges)}:", *indented(term)]
            body.append(f"{last[1]} = {last[1]} + totals[{len(ranges)}]")
            ranges.append(range(int(loop[2]), int(loop[3])))
        else:
            body += [lines[0], *block]
        lines = lines[1 + len(block) :]
    head = "def goals(alloc, data, numbers, used, values, totals, which, at):"
    return *_function(head, [f"{BALL} = -1", *terms, *body, "return 0"], spelt=False), ranges


def _function(head: str, body: Sequence[str], spelt: bool) -> tuple[str, list[int]]:
    numbers: list[int] = []

    def constant(match: re.Match[str]) -> str:
        if spelt:
            return f"({match[1]})"
        numbers.append(int(match[1]))
        return f"numbers[{len(numbers) - 1}]"

    source = re.sub(r"{(-?\d+)}", constant, "\n".join([head, *indented(body), ""]))
    return source, numbers
