"""Prove with CP-SAT what is best, or that nothing is possible: of small problems whose UTILFN looks at no other ball.

What a ball adds to each bin is a number then, so that an allocation is a choice of one bin for each unit, and a rule of
the problem is a linear one. Goals become constraints by their program: every expression is followed together with its
least and largest value. All is in the whole numbers of the problem itself, and no sum leaves 62 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from math import ceil, gcd
from threading import Event
from typing import Any, NamedTuple

from binwright.agents.solver.model.arithmetic import OPERATIONS
from binwright.agents.solver.model.evaluate import evaluator
from binwright.agents.solver.model.objective import Objective
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import (
    MICRO,
    NULL,
    Block,
    Const,
    Expr,
    For,
    If,
    Local,
    Op,
    Placed,
    Read,
    Set,
    Used,
)
from binwright.simcore.cores import usable_threads

try:  # here, since what is imported takes nothing of the time of a search
    from ortools.sat.python import cp_model
except ModuleNotFoundError:
    cp_model = None  # type: ignore[assignment]

CHOICES, WITHOUT_GOALS, NODES = 20_000, 2_000, 3_000_000
"""Units times bins, the same without goals, where larger ones are answered sooner by local search, and evaluated nodes
of UTILFN, at most: half a second to state it."""
WIDE = 1 << 61
"""No sum is beyond."""
EXACT, ROUNDED = 1 << 53, 1e-3
"""CP-SAT tells values of goals as floats: up to here they are exact; what a bound may be off."""
PAUSE = 0.02
"""Seconds between two looks whether it is to end."""


class Proof(NamedTuple):
    """What is known of a problem."""

    alloc: list[int] | None
    """[balls]: the best allocation of all balls, if there is one"""
    impossible: bool
    bounds: tuple[int, ...]
    """Of the first goals, less being better: what no allocation is better in that is as good in those before"""


def installed() -> bool:
    """Tell whether OR-Tools is there."""
    return cp_model is not None


def suits(problem: Problem) -> bool:
    """Tell whether a problem can be stated, leaving its goals aside, and is small enough."""
    choices = len(problem.units) * problem.bins
    nodes = problem.balls * problem.bins * max(1, problem.program.steps)
    most = WITHOUT_GOALS if problem.objective is None else CHOICES
    return problem.program.alloc_free and choices <= most and nodes <= NODES


def prove(problem: Problem, over: Callable[[], bool], begin: list[int] | None = None) -> Proof:
    """Look for the best allocation until it is proven, or time is `over`.

    It looks near `begin` [balls] first. Goals that cannot be stated are left out, with all that follow.
    """
    stated, stop = _Model(problem, begin), Event()
    with ThreadPoolExecutor(1) as pool:  # so that Ctrl-C is heard
        task = pool.submit(stated.run, stop)
        try:
            while wait([task], PAUSE).not_done and not over():
                pass
        finally:
            stop.set()
            while wait([task], PAUSE).not_done:
                stated.solver.stop_search()
        return task.result()


class _Unstated(Exception):
    """Raised for what is not linear, or too large."""


class Bounded(NamedTuple):
    """An expression of the model, or a number, and between what it lies."""

    value: Any
    low: int
    high: int

    @classmethod
    def of(cls, number: int) -> Bounded:
        return cls(number, number, number)

    @property
    def fixed(self) -> bool:
        return self.low == self.high

    def negated(self) -> Bounded:
        return Bounded(-self.value, -self.high, -self.low)


class _Model:
    """A problem in CP-SAT: a variable for each unit and bin, whether it is there."""

    def __init__(self, problem: Problem, begin: list[int] | None) -> None:
        sat: Any = cp_model
        self.problem, self.sat, self.model, self.solver = problem, sat, sat.CpModel(), sat.CpSolver()
        self.solver.parameters.num_workers = usable_threads()
        self.units = [members for members, _ in problem.units]
        self.begin = begin
        self.there: list[dict[int, Any]] = []
        """[units]: by bin; bins that it cannot be in are left out"""
        self.used: dict[int, Bounded] = {}
        """By dimension, those that something is added to"""

    def run(self, stop: Event) -> Proof:
        """Solve for one goal after another."""
        bounds: list[int] = []
        try:
            if not self._state():
                return Proof(None, True, ())
            goals = self._goals()
        except _Unstated:
            return Proof(None, False, ())
        alloc = self.begin
        for goal in goals:
            if goal is not None and goal.fixed:
                bounds.append(goal.low)
                continue
            if goal is not None:
                self.model.minimize(goal.value)
            if alloc is not None:
                self._hint(alloc)
            status = self.sat.UNKNOWN if stop.is_set() else self.solver.solve(self.model)
            if status == self.sat.INFEASIBLE:
                return Proof(None, True, ())
            if status not in (self.sat.OPTIMAL, self.sat.FEASIBLE):
                break
            alloc = self._better(alloc, self._allocation())
            if goal is None:
                continue
            if status != self.sat.OPTIMAL:
                bounds.append(ceil(self.solver.best_objective_bound - ROUNDED))
                break
            bounds.append(round(self.solver.objective_value))
            self.model.clear_objective()
            self.model.add(goal.value == bounds[-1])
        objective = self.problem.objective
        return Proof(alloc, False, tuple(bounds[: 0 if objective is None else len(objective.goals)]))

    def _better(self, before: list[int] | None, now: list[int]) -> list[int]:
        """Return the allocation that is better by the goals: it may have had no time to come back to the one before."""
        if before is None or self.problem.objective is None:
            return now
        goals, bins = self.problem.objective.goals, self.problem.bins
        values = [
            [goal.signed(one.raw) for goal, one in zip(goals, self.problem.source.goals(bins, alloc), strict=True)]
            + [len(self.problem.moved(alloc))]
            for alloc in (before, now)
        ]
        return now if values[1] <= values[0] else before

    def _hint(self, alloc: list[int]) -> None:
        self.model.clear_hints()
        for members, places in zip(self.units, self.there, strict=True):
            for place, variable in places.items():
                self.model.add_hint(variable, alloc[members[0]] == place)

    def _allocation(self) -> list[int]:
        alloc = [NULL] * self.problem.balls
        for members, places in zip(self.units, self.there, strict=True):
            place = next(place for place, variable in places.items() if self.solver.boolean_value(variable))
            for ball in members:
                alloc[ball] = place
        return alloc

    def _state(self) -> bool:
        """State everything but goals; False if a unit fits nowhere."""
        problem, model = self.problem, self.model
        evaluate, ceiling = evaluator(problem.program), problem.ceiling.tolist()
        terms: dict[int, list[tuple[Any, int]]] = {}
        for members in self.units:
            places: dict[int, Any] = {}
            for place in range(problem.bins):
                sums: dict[int, int] = {}
                for ball in members:
                    added = None if problem.pins[ball] not in (NULL, place) else evaluate(ball, place, ())
                    if added is None:
                        break
                    for dim, amount in added:
                        sums[dim] = sums.get(dim, 0) + amount
                else:
                    if problem.program.non_negative and any(amount > ceiling[dim] for dim, amount in sums.items()):
                        continue
                    places[place] = model.new_bool_var("")
                    for dim, amount in sums.items():
                        terms.setdefault(dim, []).append((places[place], amount))
            if not places:
                return False
            model.add_exactly_one(places.values())
            self.there.append(places)
        over: dict[int, list[Any]] = {}
        for dim, pairs in terms.items():
            low, high = (sum(sign * max(0, sign * amount) for _, amount in pairs) for sign in (-1, 1))
            if max(-low, high) >= WIDE:
                raise _Unstated
            scale = gcd(*(amount for _, amount in pairs)) or 1
            total = self.sat.LinearExpr.weighted_sum([one for one, _ in pairs], [by // scale for _, by in pairs])
            self.used[dim] = Bounded(total * scale, low, high)
            if high > ceiling[dim]:
                model.add(total <= ceiling[dim] // scale)
            if problem.soft_group[dim] >= 0 and high > problem.capacity[dim]:
                above = model.new_bool_var("")
                model.add(total <= int(problem.capacity[dim]) // scale).only_enforce_if(~above)
                over.setdefault(int(problem.soft_group[dim]), []).append(above)
        for group, those in over.items():
            model.add(sum(those) <= int(problem.soft_allowed[group]))
        for dim in set(range(problem.dims)) - terms.keys():
            if problem.ceiling[dim] < 0:
                return False
        for sets, together in ((problem.friends, True), (problem.foes, False)):
            for balls, chance in sets:
                if chance == MICRO:
                    self._keep(balls, together, None)
        for wish in problem.wishes:
            held = []
            for wished in wish.sets:
                held.append(model.new_bool_var(""))
                self._keep(list(wished), wish.kind == "FRIENDS", held[-1])
            model.add(sum(held) >= wish.asked)
        return True

    def _keep(self, balls: list[int], together: bool, if_held: Any) -> None:
        """Keep balls in one bin, or not all in one; only if a variable is true, if there is one."""
        some = [self.there[unit] for unit in sorted({int(self.problem.unit_of[ball]) for ball in balls})]
        rules: list[Any] = []
        if together:
            for first, second in pairwise(some):
                rules += [first.get(at, 0) == second.get(at, 0) for at in first.keys() | second.keys()]
        else:
            common = set(some[0]).intersection(*some[1:])
            rules = [sum(places[at] for places in some) <= len(some) - 1 for at in sorted(common)]
        for rule in rules:
            if if_held is None:
                self.model.add(rule)
            else:
                self.model.add(rule).only_enforce_if(if_held)

    def _goals(self) -> Iterator[Bounded | None]:
        """Yield what each goal comes to, less being better, and last the balls that stay, with a minus.

        None comes first, for any allocation, if that is to be found.
        """
        objective, stay = self.problem.objective, self._stay()
        if objective is None:
            yield None if stay.fixed else stay.negated()
            return
        if self.begin is None:
            yield None
        try:
            values = _Goals(self, objective).values()
        except _Unstated:
            return
        for goal, value in zip(objective.goals, values, strict=True):
            if max(-value.low, value.high) > EXACT:
                return
            yield value if goal.aim == "MINIMISE" else value.negated()
        yield stay.negated()

    def _stay(self) -> Bounded:
        """Count the balls that stay where they are now."""
        now = self.problem.now.tolist()
        some = [
            places[now[ball]]
            for members, places in zip(self.units, self.there, strict=True)
            for ball in members
            if now[ball] in places
        ]
        return Bounded(sum(some), 0, len(some))


class _Goals:
    """Follows the program of goals, with expressions for numbers."""

    def __init__(self, model: _Model, objective: Objective) -> None:
        self.model, self.objective = model, objective
        self.local: dict[int, Bounded] = {}
        self.places: dict[int, Bounded] = {}
        """By ball."""
        self.left = NODES // 50

    def values(self) -> list[Bounded]:
        """Return what each goal comes to."""
        self._run(self.objective.body)
        return [self._fix(self._value(node)) for node in self.objective.values]

    def _variable(self, low: int, high: int) -> Bounded:
        if max(-low, high) >= WIDE:
            raise _Unstated
        return Bounded.of(low) if low == high else Bounded(self.model.model.new_int_var(low, high, ""), low, high)

    def _fix(self, one: Bounded) -> Bounded:
        """Return a variable of the same value."""
        if one.fixed:
            return Bounded.of(one.low)
        variable = self._variable(one.low, one.high)
        self.model.model.add(variable.value == one.value)
        return variable

    def _run(self, body: Block) -> None:
        for one in body:
            if isinstance(one, Set):
                self.local[one.slot] = self._value(one.value)
            elif isinstance(one, For):
                start, stop = self._value(one.start), self._value(one.stop)
                if not (start.fixed and stop.fixed):
                    raise _Unstated
                for number in range(start.low, stop.low):
                    self.local[one.slot] = Bounded.of(number)
                    self._run(one.body)
            elif isinstance(one, If):
                self._choose(self._value(one.test), one)

    def _choose(self, test: Bounded, one: If) -> None:
        """Run both branches, and let what they assign depend on the test."""
        if test.fixed:
            return self._run(one.then if test.low else one.other)
        if not isinstance(test.value, self.model.sat.IntVar) or (test.low, test.high) != (0, 1):
            test = self._test("ne", test, Bounded.of(0))
        before = self.local.copy()
        self._run(one.then)
        yes, self.local = self.local, before.copy()
        self._run(one.other)
        no, self.local = self.local, before
        for slot in yes.keys() | no.keys():
            then, other = yes.get(slot, Bounded.of(0)), no.get(slot, Bounded.of(0))
            if then is not other and (then.low, then.high) != (other.low, other.low):
                chosen = self._variable(min(then.low, other.low), max(then.high, other.high))
                self.model.model.add(chosen.value == then.value).only_enforce_if(test.value)
                self.model.model.add(chosen.value == other.value).only_enforce_if(~test.value)
                then = chosen
            self.local[slot] = then
        return None

    def _value(self, node: Expr) -> Bounded:
        self.left -= 1
        if self.left < 0:
            raise _Unstated
        if isinstance(node, Const):
            return Bounded.of(node.value)
        if isinstance(node, Local):
            return self.local.get(node.slot, Bounded.of(0))
        if isinstance(node, Read):
            return self._read(node.offset, self._value(node.index))
        if isinstance(node, Placed | Used):
            index = self._value(node.ball if isinstance(node, Placed) else node.dim)
            if not index.fixed:
                raise _Unstated
            return self._place(index.low) if isinstance(node, Placed) else self._used(index.low)
        return self._operation(node)

    def _read(self, offset: int, index: Bounded) -> Bounded:
        """Read the table; an index outside of it is one that is not used."""
        data = self.objective.data
        first, last = max(0, offset + index.low), min(len(data) - 1, offset + index.high)
        if last - first >= CHOICES or last < first:
            raise _Unstated
        row = data[first : last + 1].tolist()
        if index.fixed or len(set(row)) == 1:
            return Bounded.of(row[0])
        at, found = self._clipped(index, first - offset, last - offset), self._variable(min(row), max(row))
        self.model.model.add_element(at.value - (first - offset), row, found.value)
        return found

    def _clipped(self, one: Bounded, low: int, high: int) -> Bounded:
        if one.low < low:
            one = self._extreme("max", one, Bounded.of(low))
        return self._extreme("min", one, Bounded.of(high)) if one.high > high else one

    def _place(self, ball: int) -> Bounded:
        """Return the bin of a ball."""
        if ball not in self.places:
            places = self.model.there[int(self.model.problem.unit_of[ball])]
            total = self.model.sat.LinearExpr.weighted_sum([*places.values()], [*places])
            self.places[ball] = self._fix(Bounded(total, min(places), max(places)))
        return self.places[ball]

    def _used(self, dim: int) -> Bounded:
        """Return what is used of a dimension, a variable from then on."""
        used = self.model.used.get(dim, Bounded.of(0))
        if not isinstance(used.value, int | self.model.sat.IntVar):
            high = used.high if self.model.problem.ceiling[dim] > used.high else int(self.model.problem.ceiling[dim])
            used = self.model.used[dim] = self._fix(used._replace(high=max(high, used.low)))
        return used

    def _operation(self, node: Op) -> Bounded:
        left, right, kind = self._value(node.left), self._value(node.right), node.kind
        if left.fixed and right.fixed and not (kind in ("div", "mod", "qdiv") and right.low == 0):
            return Bounded.of(OPERATIONS[kind](left.low, right.low))
        if kind == "add":
            return Bounded(left.value + right.value, left.low + right.low, left.high + right.high)
        if kind == "sub":
            return Bounded(left.value - right.value, left.low - right.high, left.high - right.low)
        if kind == "mul":
            return self._product(left, right)
        if kind in ("lt", "le", "eq", "ne"):
            return self._test(kind, left, right)
        if kind in ("min", "max"):
            return self._extreme(kind, left, right)
        if kind in ("and", "or"):  # of booleans
            return self._extreme("min" if kind == "and" else "max", left, right)
        if kind == "qmul":
            return self._quotient(self._product(left, right), MICRO)
        if not right.fixed or right.low == 0:
            raise _Unstated
        if kind == "qdiv":
            return self._quotient(self._product(left, Bounded.of(MICRO)), right.low)
        whole = self._quotient(left, right.low)
        if kind == "div":
            return whole
        rest = Bounded(left.value - right.low * whole.value, min(0, right.low + 1), max(0, right.low - 1))
        return self._fix(rest)

    def _product(self, left: Bounded, right: Bounded) -> Bounded:
        corners = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
        if left.fixed or right.fixed:
            if max(map(abs, corners)) >= WIDE:
                raise _Unstated
            return Bounded(left.value * right.value, min(corners), max(corners))
        found = self._variable(min(corners), max(corners))
        self.model.model.add_multiplication_equality(found.value, [self._fix(left).value, self._fix(right).value])
        return found

    def _quotient(self, one: Bounded, by: int) -> Bounded:
        """Divide by a number, rounded down."""
        if by < 0:
            one, by = one.negated(), -by
        if one.fixed:
            return Bounded.of(one.low // by)
        found = self._variable(one.low // by, one.high // by)
        self.model.model.add(found.value * by <= one.value)
        self.model.model.add(found.value * by >= one.value - (by - 1))
        return found

    def _test(self, kind: str, left: Bounded, right: Bounded) -> Bounded:
        low, high = left.low - right.high, left.high - right.low
        always = {"lt": high < 0, "le": high <= 0, "eq": False, "ne": low > 0 or high < 0}[kind]
        never = {"lt": low >= 0, "le": low > 0, "eq": low > 0 or high < 0, "ne": False}[kind]
        if always or never:
            return Bounded.of(int(always))
        if max(-low, high) >= WIDE:
            raise _Unstated
        less, test = left.value - right.value, self.model.model.new_bool_var("")
        rules: Mapping[str, tuple[Any, Any]] = {
            "lt": (less <= -1, less >= 0), "le": (less <= 0, less >= 1), "eq": (less == 0, less != 0),
            "ne": (less != 0, less == 0),
        }  # fmt: skip
        yes, no = rules[kind]
        self.model.model.add(yes).only_enforce_if(test)
        self.model.model.add(no).only_enforce_if(~test)
        return Bounded(test, 0, 1)

    def _extreme(self, kind: str, left: Bounded, right: Bounded) -> Bounded:
        take = min if kind == "min" else max
        low, high = take(left.low, right.low), take(left.high, right.high)
        for one, other in ((left, right), (right, left)):  # the same one, whatever the allocation is
            if (one.high <= other.low) if kind == "min" else (one.low >= other.high):
                return one
        found, both = self._variable(low, high), [self._fix(left).value, self._fix(right).value]
        if kind == "min":
            self.model.model.add_min_equality(found.value, both)
        else:
            self.model.model.add_max_equality(found.value, both)
        return found
