"""Places by formulas without compiling them: a stack machine.

Expressions and functions `score` name the same features of a place.
"""

import re
from functools import cache
from typing import Any, Self, TypeAlias

import numpy as np

from binwright.agents.formulas.parse import Step, Term, expression
from binwright.agents.rules.scan import ScanAgent
from binwright.fabric.servers import fits_node, fits_spread
from binwright.simcore.errors import UnknownName, suggest
from binwright.simcore.jit import lean_numeric, lean_numeric_inlined
from binwright.simcore.types import QUANTUM, Amounts, Floats, Ints, View

QUANTITIES = ("free", "after", "capacity", "demand", "share", "free_share")
"""Of a resource: what is free, what would be free after placing, what is installed, what the request takes, and which
share of what is installed would be free after placing, and is free before it."""
SCOPES = ("", "server", "other", "least", "most")
"""Of which nodes: the place itself, the whole server, its other nodes together, or the node with least or most."""
PLAIN = ("nodes", "spread")
"""How many nodes a server has, and whether the request is spread over them (1 or 0)."""
FREE, AFTER, CAPACITY, DEMAND, SHARE, FREE_SHARE, NODES, SPREAD = range(8)
PLACE, SERVER, OTHER, LEAST, MOST = range(5)


Feature: TypeAlias = tuple[int, int, int]
"""What a name stands for: numbers of a quantity, of a scope and of a resource."""


@cache
def features(resources: tuple[str, ...]) -> dict[str, Feature]:
    """Name all that formulas may speak of on servers with these resources: `free_cpu`, `least_share_mem`, `nodes`."""
    result = {name: (len(QUANTITIES) + number, PLACE, 0) for number, name in enumerate(PLAIN)}
    for scope, prefix in enumerate(SCOPES):
        for quantity, name in enumerate(QUANTITIES):
            if quantity == DEMAND and scope != PLACE:
                continue  # the request takes what it takes
            for r, resource in enumerate(resources):
                words = (prefix, name, re.sub(r"\W", "_", resource))
                result["_".join(word for word in words if word)] = quantity, scope, r
    return result


def feature_named(name: str, resources: tuple[str, ...]) -> Feature:
    """Return what a name stands for; raises an `UnknownName` with what may have been meant."""
    known = features(resources)
    if name not in known:
        raise UnknownName("no such feature of a place", value=name, remedy=suggest(name, known))
    return known[name]


OPS = (
    *("constant", "feature", "negative", "abs", "exp", "log", "sqrt", "floor", "ceil", "not"),
    *("+", "-", "*", "/", "**", "min", "max", "<", "<=", "==", "where"),
)
(CONSTANT, FEATURE, NEGATIVE, ABS, EXP, LOG, SQRT, FLOOR, CEIL, NOT,
 ADD, SUBTRACT, MULTIPLY, DIVIDE, POWER, MIN, MAX, LESS, AT_MOST, EQUAL, WHERE) = range(len(OPS))  # fmt: skip
DECISIONS, LOST = range(2)
"""Places in a program's counts: at how many decisions places fitted, and nothing was chosen because some
of them scored no number."""


def no_score(lost: int, decisions: int) -> str:
    """Say at how many decisions a policy scored no number wherever the request fitted; empty if there are none."""
    text = f"at {lost:,} of {decisions:,} decisions the score was no number wherever the request fitted"
    return text if lost else ""


def program(formula: Term, resources: tuple[str, ...]) -> tuple[Floats, Floats, Floats]:
    """Write a formula as a program for servers with these resources; refuses names that are no features.

    Its steps float64 [n, 4] are an operation and, for a constant, its value, or, for a feature, its quantity, scope and
    resource. Then come the stack float64 [n], and counts float64 [2]: two threads need two programs.
    """
    steps = [
        (OPS.index(op), *(feature_named(name, resources) if op == "feature" else (value, 0, 0)))
        for op, value, name in formula
    ]
    return np.array(steps, float), np.zeros(len(steps)), np.zeros(2)


Case: TypeAlias = tuple[Ints, Ints, Amounts, bool]
"""What is free and the capacity int64 [servers, nodes, resources], the demand, and whether it is spread."""


@lean_numeric_inlined
def _of_nodes(case: Case, step: Floats, wanted: int, nodes: int, server: int, node: int) -> float:
    """Return what a quantity of a resource is of some nodes of the server of a place."""
    free, capacity, _, spread = case
    quantity, scope, r = int(step[1]), int(step[2]), int(step[3])
    takes, relative = quantity in (AFTER, SHARE), quantity in (SHARE, FREE_SHARE)
    amount, installed, extreme, any_node = 0, 0, 0.0, False
    for n in range(nodes):
        is_own = spread or n == node
        if (scope == OTHER and is_own) or (scope == PLACE and not is_own):
            continue
        room = capacity[server, n, r]
        amount_left = room if quantity == CAPACITY else free[server, n, r]
        if takes:
            amount_left -= wanted // nodes + (n < wanted % nodes) if spread else wanted * (n == node)
        amount += amount_left
        installed += room
        if scope >= LEAST and room > 0:
            value = amount_left / (room if relative else QUANTUM)
            if not any_node or (value < extreme if scope == LEAST else value > extreme):
                extreme = value
            any_node = True
    if scope >= LEAST:
        return extreme
    if relative:
        return amount / installed if installed > 0 else 0.0
    return amount / QUANTUM


@lean_numeric_inlined
def _feature(case: Case, step: Floats, server: int, node: int) -> float:
    """Return what a feature is at a place."""
    free, _, demand, spread = case
    quantity, nodes, wanted = int(step[1]), free.shape[1], 0
    for resource in range(len(demand)):
        wanted += demand[resource] * (resource == int(step[3]))
    if quantity == NODES:
        return float(nodes)
    if quantity == SPREAD:
        return 1.0 * spread
    if quantity == DEMAND:
        return wanted / QUANTUM
    if nodes == 2:  # a constant makes it twice as fast
        return _of_nodes(case, step, wanted, 2, server, node)
    return _of_nodes(case, step, wanted, nodes, server, node)


@lean_numeric_inlined
def _unary(op: int, x: Any) -> Any:
    """Return an operation on one number."""
    if op == NEGATIVE:
        return -x
    if op == ABS:
        return abs(x)
    if op == EXP:
        return np.exp(x)
    if op == LOG:
        return np.log(x)
    if op == SQRT:
        return np.sqrt(x)
    if op == FLOOR:
        return np.floor(x)
    if op == CEIL:
        return np.ceil(x)
    return 1.0 * (x == 0)


@lean_numeric_inlined
def _binary(op: int, x: float, y: float) -> Any:
    """Return an operation on two numbers; min and max of equals, or with NaN, are the first, as in Python."""
    if op == ADD:
        return x + y
    if op == SUBTRACT:
        return x - y
    if op == MULTIPLY:
        return x * y
    if op == DIVIDE:
        return x / y
    if op == POWER:
        return np.power(x, y)
    if op == MIN:
        return y if y < x else x
    if op == MAX:
        return y if y > x else x
    if op == LESS:
        return 1.0 * (x < y)
    return 1.0 * (x <= y if op == AT_MOST else x == y)


@lean_numeric_inlined
def _score(case: Case, steps: Floats, stack: Floats, server: int, node: int) -> Any:
    """Return the score of a place; changes `stack`."""
    top = -1
    for step in range(len(steps)):
        op = int(steps[step, 0])
        if op <= FEATURE:
            top += 1
            stack[top] = steps[step, 1] if op == CONSTANT else _feature(case, steps[step], server, node)
        elif op < ADD:
            stack[top] = _unary(op, stack[top])
        elif op < WHERE:
            top -= 1
            stack[top] = _binary(op, stack[top], stack[top + 1])
        else:
            top -= 2
            stack[top] = stack[top + 1] if stack[top] != 0 else stack[top + 2]
    return stack[0]


@lean_numeric
def best_place(
    free: Ints, capacity: Ints, demand: Amounts, spread: bool, steps: Floats, stack: Floats, counts: Floats
) -> int:
    """Choose, as a `Scan`, the place with the highest score on which the request fits; the first of equals.

    What scores no number, or minus infinity, is nowhere. Changes `stack` and `counts`.
    """
    nodes: int = free.shape[1]
    best, most, fitting, undefined = -1, -np.inf, False, False
    for server in range(len(free)):
        for node in range(1 if spread else nodes):
            if fits_spread(free, server, demand) if spread else fits_node(free, server, node, demand):
                score = _score((free, capacity, demand, spread), steps, stack, server, node)
                fitting, undefined = True, undefined or np.isnan(score)
                if score > most:
                    best, most = server * nodes + node, score
    counts[DECISIONS] += fitting
    counts[LOST] += undefined and best < 0
    return best


class Formula(ScanAgent):
    """The place with the highest `score`, an expression such as `-share_cpu - 2 * least_share_mem`."""

    reference = "yours"
    scan = staticmethod(best_place)
    formula: Term

    def __init__(self, score: str = "0") -> None:
        self.formula = expression(score)
        self.numbers = program((Step("constant"),), ())

    @classmethod
    def of(cls, formula: Term) -> Self:
        """Make an agent of a formula that has been read already."""
        made = cls()
        made.formula = formula
        return made

    def start(self, view: View, rng: np.random.Generator) -> None:
        self.numbers = program(self.formula, view.resources)
        self.get_ready(view)
