"""Write UTILFN and goals as source text in Python, which numba compiles and devices get as C; or run it as it is.

The function is given a ball, a bin, ALLOC, the tables, and `used` and `ceiling` [dims]. It writes the dimensions and
millionths of its additions from entry n on, and returns where they end. Below zero it is rejected: by statement number
-1, -2, ... of those that reject, in the order of the text, or with -1 because it is beyond a ceiling already.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import takewhile
from operator import index
from typing import Any, TypeAlias

import numpy as np

from binwright.agents.solver.model.program import BALL, BIN, OPERATIONS, Code, Objective, Program, Reject, placed
from binwright.simcore.types import Ints

EARLY = "if used[dims[n]] + amounts[n] > ceiling[dims[n]]: return -1"
"""Nothing is ever taken off: an addition beyond the ceiling decides at once."""
RANGE = re.compile(r"for (i\d+) in range\({(-?\d+)}, {(-?\d+)}\):")
ADDED = re.compile(r"    (v\d+) = \(\1 \+ (.+)\)")
Added: TypeAlias = list[tuple[Any, Any]]
"""The dimension and the millionths of each addition."""
Evaluate: TypeAlias = Callable[[Any, int, Sequence[int]], Added | None]
"""(ball, bin, ALLOC [balls]) -> what the ball adds; None if it is rejected."""


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
    arrays = ", ".join(f"{name}: Ints" for name in ("alloc", "data", "numbers", "used", "ceiling", "dims", "amounts"))
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


def evaluator(program: Program, **functions: Callable[..., Any]) -> Evaluate:
    """Return a function that runs a program; `functions` take the place of built-in ones.

    A program without branches can be called for an array of balls [n] at once, with functions that take arrays: each
    part of an addition is an array then, or a number that is the same for all. Others raise `ValueError` or
    `TypeError`.
    """
    source, numbers = utilfn(program, spelt=True, early=False)
    run = function_of(source, "utilfn", **functions)
    one_by_one = program.data.data  # numpy would return numbers of 64 bits, five times as slowly

    def evaluate(ball: Any, place: int, alloc: Sequence[int]) -> Added | None:
        dims: dict[int, Any] = {}
        amounts: dict[int, Any] = {}
        data = one_by_one if isinstance(ball, int) else program.data
        rejected = run(ball, place, alloc, data, numbers, None, None, dims, amounts, 0) < 0
        return None if rejected else list(zip(dims.values(), amounts.values(), strict=True))

    return evaluate


def demands(program: Program, balls: int, dims: Ints) -> Ints | None:
    """Compute what each ball adds to these dimensions [d] of bin 0, int64 [balls, d]; None if a ball is rejected."""
    every, column = np.arange(balls), np.zeros(int(dims.max(initial=0)) + 1, np.int64)
    column[dims] = np.arange(len(dims))
    rows: Iterable[tuple[Any, Added | None]]
    try:  # all at once, if nothing depends on a test
        rows = [(every, evaluator(program, min=np.minimum, max=np.maximum)(every, 0, ()))]
    except (TypeError, ValueError):
        evaluate = evaluator(program)
        rows = ((ball, evaluate(ball, 0, ())) for ball in range(balls))
    demand = np.zeros((balls, len(dims)), np.int64)
    for ball, added in rows:
        if added is None:
            return None
        for dim, amount in added:
            demand[ball, column[dim]] += amount
    return demand


def rejection(program: Program, ball: int, place: int, alloc: Sequence[int]) -> Reject | None:
    """Return the statement that rejects a ball in a bin, None if nothing does."""
    source, numbers = utilfn(program, spelt=True, early=False)
    end = function_of(source, "utilfn")(ball, place, alloc, program.data.data, numbers, None, None, {}, {}, 0)
    return None if end >= 0 else program.rejects[-1 - end]


class UnstatedError(Exception):
    """What a program computes cannot be stated without an allocation: a test, an index, what is not linear or large."""


class Unknown:
    """Stands for a number that depends on the allocation, as all does that is computed from it; it is no test."""

    __array_ufunc__ = None  # numpy leaves operations to it

    def computed(self, symbol: str, left: Any, right: Any) -> Any:
        """Return what an operation comes to, one side of which this is."""
        return self

    def __bool__(self) -> bool:
        raise UnstatedError

    def __index__(self) -> int:
        raise UnstatedError


def _operation(symbol: str, left: Any, right: Any) -> Any:
    """Return what an operation comes to, with unknown numbers too."""
    unknown = next((side for side in (left, right) if isinstance(side, Unknown)), None)
    return OPERATIONS[symbol](left, right) if unknown is None else unknown.computed(symbol, left, right)


def _method(symbol: str, *, reflected: bool) -> Callable[[Any, Any], Any]:
    return lambda x, y: _operation(symbol, *((y, x) if reflected else (x, y)))


REFLECTED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge"}
"""Methods of operators whose left side is a number; those of others begin with r."""
WITH_UNKNOWN = {symbol: partial(_operation, symbol) for symbol in ("min", "max", "qmul", "qdiv")}
"""What programs call, for `function_of`."""
for _symbol, _of_numbers in OPERATIONS.items():
    _name = _of_numbers.__name__.strip("_")
    setattr(Unknown, f"__{REFLECTED.get(_name, 'r' + _name)}__", _method(_symbol, reflected=True))
    setattr(Unknown, f"__{_name}__", _method(_symbol, reflected=False))


class Entries:
    """Stands for an array: collects which entries are `read`, where nothing is known of their `values`."""

    def __init__(self, values: Any = None) -> None:
        self.read, self._values = set[int](), values

    def __getitem__(self, place: Any) -> Any:
        if self._values is None:
            self.read.add(index(place))
        return Unknown() if self._values is None or isinstance(place, Unknown) else self._values[place]


def term_reads(
    source: str, data: Ints, numbers: Sequence[int], ranges: Sequence[range], dims: int
) -> Iterator[tuple[int, int]]:
    """List what the terms of goals that are taken apart read: (dimension, or `dims` + ball; term).

    Raises `UnstatedError` where that depends on the allocation.
    """
    run = function_of(source, "goals", **WITH_UNKNOWN, placed=lambda alloc, ball, _: alloc[ball])
    for term, (which, at) in enumerate((which, at) for which, each in enumerate(ranges) for at in each):
        alloc, used = Entries(), Entries()
        run(alloc, Entries(data.data), numbers, used, None, None, which, at)
        yield from ((dim, term) for dim in used.read)
        yield from ((dims + ball, term) for ball in alloc.read)


def function_of(source: str, name: str, **functions: Any) -> Callable[..., int]:
    """Make a function of its source; `functions` take the place of built-in ones."""
    names: dict[str, Any] = {"Ints": Ints, "placed": placed, **OPERATIONS, **functions}
    exec(compile(source, f"<{name}>", "exec"), names)
    made: Callable[..., int] = names[name]
    return made
