"""Places by formulas without compiling them: a stack machine that takes every step for all places at once.

Expressions and functions `score` name the same features of a place.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple, Self, TypeAlias

import numpy as np

from binwright.agents.formulas.parse import Term, constant, expression, term
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


class Feature(NamedTuple):
    """What a name stands for: numbers of a quantity, of a scope and of a resource."""

    quantity: int
    scope: int = PLACE
    resource: int = 0


@cache
def features(resources: tuple[str, ...]) -> dict[str, Feature]:
    """Name all that formulas may speak of on servers with these resources: `free_cpu`, `least_share_mem`, `nodes`."""
    found = {name: Feature(len(QUANTITIES) + number) for number, name in enumerate(PLAIN)}
    for scope, prefix in enumerate(SCOPES):
        for quantity, name in enumerate(QUANTITIES):
            if quantity == DEMAND and scope != PLACE:
                continue  # the request takes what it takes
            for r, resource in enumerate(resources):
                words = (prefix, name, re.sub(r"\W", "_", resource))
                found["_".join(word for word in words if word)] = Feature(quantity, scope, r)
    return found


def feature_named(name: str, resources: tuple[str, ...]) -> Feature:
    """Return what a name stands for; raises an `UnknownName` with what may have been meant."""
    known = features(resources)
    if name not in known:
        raise UnknownName("no such feature of a place", value=name, remedy=suggest(name, known))
    return known[name]


BLOCK = 128
"""Places that are scored together."""
OPS = (
    *("constant", "feature", "negative", "abs", "exp", "log", "sqrt", "floor", "ceil", "not"),
    *("+", "-", "*", "/", "**", "min", "max", "<", "<=", "==", "where"),
)
(CONSTANT, FEATURE, NEGATIVE, ABS, EXP, LOG, SQRT, FLOOR, CEIL, NOT,
 ADD, SUBTRACT, MULTIPLY, DIVIDE, POWER, MIN, MAX, LESS, AT_MOST, EQUAL, WHERE) = range(len(OPS))  # fmt: skip
DECISIONS, LOST = range(2)
"""Places in the last row of a program's stack: at how many decisions places fitted, and nothing was chosen because some
of them scored no number."""


def no_score(lost: int, decisions: int) -> str:
    """Say at how many decisions a policy scored no number wherever the request fitted; empty if there are none."""
    text = f"at {lost:,} of {decisions:,} decisions the score was no number wherever the request fitted"
    return text if lost else ""


class Program(NamedTuple):
    """A formula as the interpreter takes it.

    `steps` float64 [n, 4] are an operation and, for a constant, its value, or, for a feature, its quantity, scope and
    resource. `stack` float64 [depth + 1, BLOCK] is where it reckons, with counts in the last row, and `places` int64
    [2, BLOCK] the servers and nodes that it reckons for: two threads need two programs.
    """

    steps: Floats
    stack: Floats
    places: Ints


BEFORE = {"after": "free", "share": "free_share"}
"""What of a resource is free before a request is placed, by what is free after it."""


def _expanded(formula: Term) -> Term:
    """Write every `lost(x)` of a formula as x before the request is placed, less x."""
    if not formula.of:
        return formula
    parts = map(_expanded, formula.of)
    return term("-", _before(one := next(parts)), one) if formula.op == "lost" else term(formula.op, *parts)


def _before(formula: Term) -> Term:
    """Replace what is free after placing the request by what is free before."""
    if formula.of:
        return term(formula.op, *map(_before, formula.of))
    return formula._replace(name=re.sub("(?<!free_)(after|share)(?=_)", lambda of: BEFORE[of[0]], formula.name))


def program(formula: Term, resources: tuple[str, ...]) -> Program:
    """Write a formula as a program for servers with these resources; refuses names that are no features."""
    steps: list[tuple[float, ...]] = []
    depth = most = 0
    left: list[tuple[Term, bool]] = [(_expanded(formula), False)]
    while left:
        step, ready = left.pop()
        if not ready:
            left += [(step, True), *((part, False) for part in reversed(step.of))]
            continue
        known = feature_named(step.name, resources) if step.op == "feature" else (step.value, 0, 0)
        steps.append((OPS.index(step.op), *known))
        depth += 1 - len(step.of)
        most = max(most, depth)
    stack, places = np.zeros((most + 1, BLOCK)), np.zeros((2, BLOCK), np.int64)
    return Program(np.array(steps, float), stack, places)


Case: TypeAlias = tuple[Ints, Ints, Amounts, bool]
"""What is free and the capacity int64 [servers, nodes, resources], the demand, and whether it is spread."""


@lean_numeric_inlined
def _of_nodes(case: Case, step: Floats, asked: int, nodes: int, places: Ints, found: Floats) -> None:
    """Write what a quantity of a resource is of some nodes of the server of each place into `found`."""
    free, capacity, _, spread = case
    quantity, scope, r = int(step[1]), int(step[2]), int(step[3])
    amounts = capacity if quantity == CAPACITY else free
    takes, relative = quantity in (AFTER, SHARE), quantity in (SHARE, FREE_SHARE)
    part, odd = (asked // nodes, asked % nodes) if spread else (0, 0)
    for i in range(len(found)):
        server, node = places[0, i], places[1, i]
        amount, installed, extreme, any_node = 0, 0, 0.0, False
        for n in range(nodes):
            is_own = spread or n == node
            if (scope == OTHER and is_own) or (scope == PLACE and not is_own):
                continue
            here, room = amounts[server, n, r], capacity[server, n, r]
            if takes:
                here -= part + (n < odd) if spread else asked * (n == node)
            amount += here
            installed += room
            if scope >= LEAST and room > 0:
                value = here / (room if relative else QUANTUM)
                if not any_node or (value < extreme if scope == LEAST else value > extreme):
                    extreme = value
                any_node = True
        if scope >= LEAST:
            found[i] = extreme
        elif relative:
            found[i] = amount / installed if installed > 0 else 0.0
        else:
            found[i] = amount / QUANTUM


@lean_numeric_inlined
def _feature(case: Case, step: Floats, places: Ints, found: Floats) -> None:
    """Write what a feature is at each place into `found` float64 [places]."""
    free, _, demand, spread = case
    quantity, nodes, asked = int(step[1]), free.shape[1], 0
    for each in range(len(demand)):
        asked += demand[each] * (each == int(step[3]))
    if quantity == NODES:
        found[:] = nodes
    elif quantity == SPREAD:
        found[:] = 1.0 * spread
    elif quantity == DEMAND:
        found[:] = asked / QUANTUM
    elif nodes == 2:  # a constant makes it twice as fast
        _of_nodes(case, step, asked, 2, places, found)
    else:
        _of_nodes(case, step, asked, nodes, places, found)


@lean_numeric_inlined
def _score(case: Case, steps: Floats, stack: Floats, places: Ints, count: int) -> None:
    """Write the scores of some places into stack[0]."""
    top = -1
    for step in range(len(steps)):
        op, value = int(steps[step, 0]), steps[step, 1]
        if op == CONSTANT:
            top += 1
            stack[top, :count] = value
        elif op == FEATURE:
            top += 1
            _feature(case, steps[step], places, stack[top, :count])
        elif op < ADD:
            x = stack[top, :count]
            if op == NEGATIVE:
                np.negative(x, x)
            elif op == ABS:
                np.absolute(x, x)
            elif op == EXP:
                np.exp(x, x)
            elif op == LOG:
                np.log(x, x)
            elif op == SQRT:
                np.sqrt(x, x)
            elif op == FLOOR:
                np.floor(x, x)
            elif op == CEIL:
                np.ceil(x, x)
            else:
                for i in range(count):
                    x[i] = 1.0 if x[i] == 0 else 0.0
        elif op == WHERE:
            top -= 2
            x, y, z = stack[top], stack[top + 1], stack[top + 2]
            for i in range(count):
                x[i] = y[i] if x[i] != 0 else z[i]
        else:
            top -= 1
            x, y = stack[top, :count], stack[top + 1, :count]
            if op == ADD:
                np.add(x, y, x)
            elif op == SUBTRACT:
                np.subtract(x, y, x)
            elif op == MULTIPLY:
                np.multiply(x, y, x)
            elif op == DIVIDE:
                np.divide(x, y, x)
            elif op == POWER:
                np.power(x, y, x)
            elif op == MIN:  # of equals, and of what is no number, the first, as in Python
                for i in range(count):
                    x[i] = y[i] if y[i] < x[i] else x[i]
            elif op == MAX:
                for i in range(count):
                    x[i] = y[i] if y[i] > x[i] else x[i]
            elif op == LESS:
                for i in range(count):
                    x[i] = 1.0 if x[i] < y[i] else 0.0
            elif op == AT_MOST:
                for i in range(count):
                    x[i] = 1.0 if x[i] <= y[i] else 0.0
            else:
                for i in range(count):
                    x[i] = 1.0 if x[i] == y[i] else 0.0


@lean_numeric
def best_place(
    free: Ints,
    capacity: Ints,
    demand: Amounts,
    spread: bool,
    steps: Floats,
    stack: Floats,
    places: Ints,
) -> int:
    """Choose, as a `Scan`, the place with the highest score on which the request fits; the first of equals.

    What scores no number, or minus infinity, is nowhere. Changes `stack` and `places`.
    """
    servers, nodes = free.shape[0], free.shape[1]
    sides = 1 if spread else nodes
    best, most, count, fitting, undefined = -1, -np.inf, 0, 0, False
    for server in range(servers):
        for node in range(sides):
            if fits_spread(free, server, demand) if spread else fits_node(free, server, node, demand):
                places[0, count], places[1, count] = server, node
                count += 1
            if count == BLOCK or (count > 0 and server == servers - 1 and node == sides - 1):
                _score((free, capacity, demand, spread), steps, stack, places, count)
                for i in range(count):
                    score = stack[0, i]
                    undefined |= np.isnan(score)
                    if score > most:
                        best, most = places[0, i] * nodes + places[1, i], score
                fitting += count
                count = 0
    counts = stack[len(stack) - 1]
    counts[DECISIONS] += fitting > 0
    counts[LOST] += undefined and best < 0
    return best


class Formula(ScanAgent):
    """The place with the highest `score`, an expression such as `-share_cpu - 2 * least_share_mem`."""

    reference = "yours"
    scan = staticmethod(best_place)
    formula: Term

    def __init__(self, score: str = "0") -> None:
        self.formula = expression(score)
        self.numbers = tuple(program(constant(0.0), ()))

    @classmethod
    def of(cls, formula: Term) -> Self:
        """Make an agent of a formula that has been read already."""
        made = cls()
        made.formula = formula
        return made

    def start(self, view: View, rng: np.random.Generator) -> None:
        self.numbers = tuple(program(self.formula, view.resources))
        self.get_ready(view)
