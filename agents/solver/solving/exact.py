"""Prove with CP-SAT what is best, or that nothing is possible: of small problems without ALLOC and wishes.

What a ball adds to each bin is a number then, so that an allocation is a choice of one bin for each unit, and a rule of
the problem is a linear one. Goals become constraints by their program: every expression is followed together with its
least and largest value. All is in the whole numbers of the problem itself, and no sum leaves 62 bits.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import takewhile
from math import ceil
from threading import Event
from typing import Any, NamedTuple

from binwright.agents.solver.model import program as p
from binwright.agents.solver.model.arithmetic import OPERATIONS, SYMBOLS
from binwright.agents.solver.model.emit import goals
from binwright.agents.solver.model.evaluate import evaluator
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.verify import goals_of
from binwright.simcore.cores import usable_threads

try:  # here, since what is imported takes nothing of the time of a search
    from ortools.sat.python import cp_model
except ModuleNotFoundError:
    cp_model = None  # type: ignore[assignment]  # proves nothing then

CHOICES = 20_000
"""Units times bins, at most; entries of tables that goals read at an index that depends on the allocation, too."""
FOLLOWED = 60_000
"""Nodes of the goals' program that are followed, at most."""


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
    # Without goals local search answers larger ones sooner. So many nodes take half a second to state.
    most = CHOICES // 10 if problem.objective is None else CHOICES
    return problem.program.alloc_free and not problem.wishes and choices <= most and nodes <= 3_000_000


def prove(problem: Problem, over: Callable[[], bool], begin: list[int] | None = None) -> Proof:
    """Look for the best allocation until it is proven, or time is `over`.

    It looks near `begin` [balls] first. Goals that cannot be stated are left out, with all that follow.
    """
    stated, stop = _Model(problem), Event()
    with ThreadPoolExecutor(1) as pool:  # so that Ctrl-C is heard
        task = pool.submit(stated.solve, begin, stop)
        try:
            while wait([task], 0.02).not_done and not over():
                pass
        finally:
            stop.set()
            while wait([task], 0.02).not_done:
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
        """Return a number."""
        return cls(number, number, number)

    @property
    def fixed(self) -> bool:
        """Tell whether it is a number."""
        return self.low == self.high


ZERO, ONE, MILLION = Bounded.of(0), Bounded.of(1), Bounded.of(p.MICRO)


class _Model:
    """A problem in CP-SAT: a variable for each unit and bin, whether it is there; and goals, by their program."""

    def __init__(self, problem: Problem) -> None:
        sat: Any = cp_model
        self.problem, self.sat, self.model, self.solver = problem, sat, sat.CpModel(), sat.CpSolver()
        self.solver.parameters.num_workers = usable_threads()
        self.units = [members for members, _ in problem.units]
        self.there: list[dict[int, Any]] = []
        """[units]: by bin; bins that it cannot be in are left out"""
        self.used: dict[int, Bounded] = {}
        """By dimension, those that something is added to"""
        self.local: dict[str, Bounded] = {}
        """The numbers of the program of the goals."""
        self.goals: list[Bounded] = []
        """What they come to, less being better."""
        self.places: dict[int, Bounded] = {}
        """By ball, those that goals ask for."""
        self.followed = 0
        """Nodes of the program so far."""

    def solve(self, alloc: list[int] | None, stop: Event) -> Proof:
        """Solve for one goal after another, last for the balls that stay, from an allocation if there is one."""
        try:
            if not self._state():
                return Proof(None, True, ())
            goals = self._goals()
        except _Unstated:
            return Proof(None, False, ())
        bounds, sat = list[int](), self.sat
        for goal in goals:
            self.model.clear_hints()
            if alloc is not None:
                for members, places in zip(self.units, self.there, strict=True):
                    for place, variable in places.items():
                        self.model.add_hint(variable, alloc[members[0]] == place)
            self.model.minimize(goal.value)
            status = sat.UNKNOWN if stop.is_set() else self.solver.solve(self.model)
            if status == sat.INFEASIBLE:
                return Proof(None, True, ())
            if status not in (sat.OPTIMAL, sat.FEASIBLE):
                break
            # There may have been no time to come back to the allocation before.
            alloc = min([self._allocation(), *([] if alloc is None else [alloc])], key=self._rank)
            if status == sat.OPTIMAL:
                bounds.append(round(self.solver.objective_value))
                self.model.add(goal.value == bounds[-1])
            else:
                bounds.append(ceil(self.solver.best_objective_bound - 1e-3))
                break
        return Proof(alloc, False, tuple(bounds[: len(goals) - 1]))

    def _rank(self, alloc: list[int]) -> tuple[tuple[int, ...], int]:
        return goals_of(self.problem, alloc), len(self.problem.moved(alloc))

    def _allocation(self) -> list[int]:
        chosen = [next(at for at, where in places.items() if self.solver.boolean_value(where)) for places in self.there]
        return [chosen[unit] for unit in self.problem.unit_of.tolist()]

    def _state(self) -> bool:
        """State everything but goals; False if a unit fits nowhere. Units are friends as it is."""
        problem, model, evaluate = self.problem, self.model, evaluator(self.problem.program)
        ceiling, capacity = problem.ceiling.tolist(), problem.capacity.tolist()
        terms: dict[int, list[tuple[Any, int]]] = {}
        for members in self.units:
            places, pins = {}, {p.NULL, *problem.pins[members].tolist()}
            for place in range(problem.bins):
                additions = [evaluate(ball, place, ()) if pins <= {p.NULL, place} else None for ball in members]
                sums: dict[int, int] = {}
                for dim, amount in (each for added in additions for each in added or ()):
                    sums[dim] = sums.get(dim, 0) + amount
                beyond = problem.program.non_negative and any(by > ceiling[dim] for dim, by in sums.items())
                if None in additions or beyond:
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
            total = self.sat.LinearExpr.weighted_sum([variable for variable, _ in pairs], [by for _, by in pairs])
            self.used[dim] = _checked(Bounded(total, low, high))
            if high > ceiling[dim]:
                model.add(total <= ceiling[dim])
            if problem.soft_group[dim] >= 0 and high > capacity[dim]:
                above = model.new_bool_var("")
                model.add(total <= capacity[dim]).only_enforce_if(~above)
                over.setdefault(int(problem.soft_group[dim]), []).append(above)
        for group, those in over.items():
            model.add(sum(those) <= int(problem.soft_allowed[group]))
        for foes, chance in problem.foes:
            some = [self.there[unit] for unit in {int(problem.unit_of[ball]) for ball in foes}]
            for at in set(some[0]).intersection(*some[1:]) if chance == p.MICRO else ():
                model.add(sum(places[at] for places in some) <= len(some) - 1)
        return all(ceiling[dim] >= 0 or dim in terms for dim in range(problem.dims))

    def _goals(self) -> list[Bounded]:
        """Return what each goal comes to, less being better; then how many balls stay, with a minus.

        Goals are left out from the first one that cannot be stated on, and a number comes last instead.
        """
        objective, now = self.problem.objective, self.problem.now.tolist()
        if objective is not None:
            [function] = ast.parse(goals(objective, spelt=True)[0]).body
            assert isinstance(function, ast.FunctionDef)
            try:
                self._follow(function.body)
            except _Unstated:
                return [ZERO]
            stated = [*takewhile(lambda goal: max(-goal.low, goal.high) <= 2**53, self.goals)]  # bounds are floats
            if len(stated) < len(objective.goals):
                return [*stated, ZERO]
        units = zip(self.units, self.there, strict=True)
        stays = [places[now[ball]] for members, places in units for ball in members if now[ball] in places]
        return [*self.goals, Bounded(-sum(stays), -len(stays), 0)]

    def _variable(self, low: int, high: int) -> Bounded:
        _checked(Bounded(None, low, high))
        return Bounded.of(low) if low == high else Bounded(self.model.new_int_var(low, high, ""), low, high)

    def _fix(self, bounded: Bounded) -> Bounded:
        """Return a variable of the same value, or a number."""
        variable = self._variable(bounded.low, bounded.high)
        if not bounded.fixed:
            self.model.add(variable.value == bounded.value)
        return variable

    def _follow(self, body: list[ast.stmt]) -> None:
        """Follow statements, with expressions for numbers; writes `local` and `goals`."""
        for statement in body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.local[name] = self._value(value)
                case ast.Assign(value=ast.UnaryOp(op=ast.USub(), operand=value)):
                    self.goals.append(self._operation("-", ZERO, self._fix(self._value(value))))
                case ast.Assign(value=value):
                    self.goals.append(self._fix(self._value(value)))
                case ast.For(target=ast.Name(id=name), iter=ast.Call(args=[start, stop]), body=inner):
                    for number in range(self._number(start), self._number(stop)):
                        self.local[name] = Bounded.of(number)
                        self._follow(inner)
                case ast.If():
                    self._choose(self._value(statement.test), statement)

    def _choose(self, test: Bounded, node: ast.If) -> None:
        """Run both branches, and let what they assign depend on the test."""
        if test.fixed:
            return self._follow(node.body if test.low else node.orelse)
        otherwise, before = self._operation("==", test, ZERO), self.local.copy()
        self._follow(node.body)
        yes, self.local = self.local, before.copy()
        self._follow(node.orelse)
        no, self.local = self.local, before
        for name in yes.keys() | no.keys():
            then, other = yes.get(name, ZERO), no.get(name, ZERO)
            if then is not other and not (then.fixed and then[1:] == other[1:]):
                chosen = self._variable(min(then.low, other.low), max(then.high, other.high))
                self.model.add(chosen.value == then.value).only_enforce_if(~otherwise.value)
                self.model.add(chosen.value == other.value).only_enforce_if(otherwise.value)
                then = chosen
            self.local[name] = then
        return None

    def _number(self, node: ast.expr) -> int:
        """Return a number that does not depend on the allocation."""
        value = self._value(node)
        if not value.fixed:
            raise _Unstated
        return value.low

    def _value(self, node: ast.expr) -> Bounded:
        self.followed += 1
        if self.followed > FOLLOWED:
            raise _Unstated
        match node:
            case ast.Constant(value=int(number)):
                return Bounded.of(number)
            case ast.Name(id=name):
                return self.local[name]
            case ast.IfExp(test=test):  # 1 or 0
                return self._value(test)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
                return Bounded.of(-number)
            case ast.UnaryOp(operand=test):
                return self._operation("==", self._value(test), ZERO)
            case ast.Subscript(value=ast.Name(id="used"), slice=dim):
                return self._used(self._number(dim))
            case ast.Subscript(slice=ast.BinOp(left=first, right=index)):
                return self._read(self._number(first), self._value(index))
            case ast.Call(func=ast.Name(id="placed"), args=[_, ball, _]):
                return self._place(self._number(ball))
            case ast.Call(func=ast.Name(id=symbol), args=[left, right]):
                return self._operation(symbol, self._value(left), self._value(right))
            case ast.Compare(ops=[operator], left=left, comparators=[right]):
                return self._operation(SYMBOLS[type(operator)], self._value(left), self._value(right))
            case ast.BoolOp(op=operator, values=[left, right]) | ast.BinOp(left=left, op=operator, right=right):
                return self._operation(SYMBOLS[type(operator)], self._value(left), self._value(right))
        raise AssertionError(f"programs have no {ast.unparse(node)}")

    def _place(self, ball: int) -> Bounded:
        """Return the bin of a ball."""
        if ball not in self.places:
            places = self.there[int(self.problem.unit_of[ball])]
            total = self.sat.LinearExpr.weighted_sum([*places.values()], [*places])
            self.places[ball] = self._fix(Bounded(total, min(places), max(places)))
        return self.places[ball]

    def _read(self, offset: int, index: Bounded) -> Bounded:
        """Read the table; an index outside of it is one that is not used."""
        assert self.problem.objective is not None
        data = self.problem.objective.data
        first, last = max(0, offset + index.low), min(len(data) - 1, offset + index.high)
        if last - first >= CHOICES or last < first:
            raise _Unstated
        row = data[first : last + 1].tolist()
        if index.fixed or len(set(row)) == 1:
            return Bounded.of(row[0])
        index = self._operation("max", index, Bounded.of(first - offset))
        index = self._operation("min", index, Bounded.of(last - offset))
        entry = self._variable(min(row), max(row))
        self.model.add_element(index.value - (first - offset), row, entry.value)
        return entry

    def _used(self, dim: int) -> Bounded:
        """Return what is used of a dimension, a variable from then on."""
        used = self.used.get(dim, ZERO)
        if not isinstance(used.value, int | self.sat.IntVar):
            high = min(used.high, int(self.problem.ceiling[dim]))
            used = self.used[dim] = self._fix(used._replace(high=max(high, used.low)))
        return used

    def _operation(self, symbol: str, left: Bounded, right: Bounded) -> Bounded:
        """Return what two values come to: a linear expression, or a variable that is constrained to be that."""
        if symbol in ("//", "%", "qdiv") and (not right.fixed or right.low == 0):
            raise _Unstated
        if left.fixed and right.fixed and symbol in OPERATIONS:
            return Bounded.of(int(OPERATIONS[symbol](left.low, right.low)))
        match symbol:
            case "and" | "or":
                return self._operation("min" if symbol == "and" else "max", left, right)
            case "qmul":
                return self._operation("//", self._operation("*", left, right), MILLION)
            case "qdiv":
                return self._operation("//", self._operation("*", left, MILLION), right)
            case "%":
                whole = self._operation("*", self._operation("//", left, right), right)
                return Bounded(left.value - whole.value, min(0, right.low + 1), max(0, right.low - 1))
            case "!=":
                equal = self._operation("==", left, right)
                return Bounded(1 - equal.value, 1 - equal.high, 1 - equal.low)
            case "<":
                return self._operation("<=", left, self._operation("-", right, ONE))
            case "<=" | "==":
                return self._compared(symbol, self._operation("-", left, right))
            case "min" | "max":
                for mine, theirs in ((left, right), (right, left)):  # the same one, whatever the allocation is
                    if (mine.high <= theirs.low) if symbol == "min" else (mine.low >= theirs.high):
                        return mine
        corners = [OPERATIONS[symbol](a, b) for a in left[1:] for b in right[1:]]
        low, high = min(corners), max(corners)
        if symbol in ("+", "-") or (symbol == "*" and (left.fixed or right.fixed)):
            value = low if low == high else OPERATIONS[symbol](left.value, right.value)
            return _checked(Bounded(value, low, high))
        result = self._variable(low, high)
        if symbol == "//":
            rest = left.value - right.low * result.value
            self.model.add(rest >= min(0, right.low + 1))
            self.model.add(rest <= max(0, right.low - 1))
            return result
        state = {
            "*": self.model.add_multiplication_equality,
            "min": self.model.add_min_equality,
            "max": self.model.add_max_equality,
        }[symbol]
        state(result.value, [self._fix(left).value, self._fix(right).value])
        return result

    def _compared(self, symbol: str, less: Bounded) -> Bounded:
        """Return whether a value is at most, or equal to, 0."""
        if less.low > 0 or less.high < 0 or less.fixed or (less.high == 0 and symbol == "<="):
            return Bounded.of(int(OPERATIONS[symbol](less.high, 0)))
        test = self.model.new_bool_var("")
        self.model.add(less.value <= 0 if symbol == "<=" else less.value == 0).only_enforce_if(test)
        self.model.add(less.value >= 1 if symbol == "<=" else less.value != 0).only_enforce_if(~test)
        return Bounded(test, 0, 1)


def _checked(value: Bounded) -> Bounded:
    """Return a value that is not too large."""
    if max(-value.low, value.high) >= p.WIDE:
        raise _Unstated
    return value
