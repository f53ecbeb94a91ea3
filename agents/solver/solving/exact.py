"""Prove with CP-SAT what is best, or that nothing is possible: of small problems without ALLOC and wishes.

What a ball adds to each bin is a number then, so that an allocation is a choice of one bin for each unit, and a rule of
the problem is a linear one. Goals become constraints by running their program, on expressions of the model with their
least and largest values. All is in the whole numbers of the problem itself, and no sum leaves 62 bits.
"""

import ast
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from math import ceil
from typing import Any, NamedTuple, cast

from binwright.agents.solver.backends.cpu import LOOK, Over
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
OPERATIONS_STATED = 25_000
"""Operations of the goals' program, at most."""


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
    nodes = problem.balls * problem.bins * problem.program.steps
    # Without goals local search answers larger ones sooner. So many nodes take half a second to state.
    most = CHOICES // 10 if problem.objective is None else CHOICES
    return problem.program.alloc_free and not problem.wishes and choices <= most and nodes <= 3_000_000


def prove(problem: Problem, over: Over, begin: list[int] | None = None) -> Proof:
    """Look for the best allocation until it is proven, or time is `over`.

    It looks near `begin` [balls] first. Goals are left out if one of them cannot be stated.
    """
    stated = _Model(problem)
    with ThreadPoolExecutor(1) as pool:
        task = pool.submit(stated.solve, begin, over)
        while wait([task], LOOK).not_done:
            if over():
                stated.solver.stop_search()
        return task.result()


class _Unstated(Exception):
    """Raised for what is not linear, or too large."""


class Number(NamedTuple):
    """A number, or an expression of the model that has several values."""

    value: Any
    low: int
    high: int

    @property
    def known(self) -> int:
        """Return what it is whatever the allocation is."""
        if self.low != self.high:
            raise _Unstated
        return self.low


def _between(value: Any, low: int, high: int) -> Number:
    """Return what lies between these, which must not be too large."""
    if max(-low, high) >= p.WIDE:
        raise _Unstated
    return Number(low if low == high else value, low, high)


def _of(number: int) -> Number:
    return Number(number, number, number)


class _Model:
    """A problem in CP-SAT: a variable for each unit and bin, whether it is there; and goals, by their program."""

    def __init__(self, problem: Problem) -> None:
        sat: Any = cp_model
        self.problem, self.sat, self.model, self.solver = problem, sat, sat.CpModel(), sat.CpSolver()
        self.solver.parameters.num_workers = usable_threads()
        self.units = [members for members, _ in problem.units]
        self.there: list[dict[int, Any]] = []
        """[units]: by bin; bins that it cannot be in are left out"""
        self.used: dict[int, Number] = {}
        """By dimension, those that something is added to."""
        self.operations = 0
        """Operations of the goals so far."""

    def solve(self, alloc: list[int] | None, over: Over) -> Proof:
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
            status = sat.UNKNOWN if over() else self.solver.solve(self.model)
            if status == sat.INFEASIBLE:
                return Proof(None, True, ())
            if status not in (sat.OPTIMAL, sat.FEASIBLE):
                break
            chosen = [
                next(at for at, is_there in places.items() if self.solver.boolean_value(is_there))
                for places in self.there
            ]
            better = [chosen[unit] for unit in self.problem.unit_of.tolist()]
            # There may have been no time to come back to the allocation before.
            known = better if alloc is None else alloc
            alloc = min(better, known, key=lambda each: (goals_of(self.problem, each), len(self.problem.moved(each))))
            if status == sat.OPTIMAL:
                bounds.append(round(self.solver.objective_value))
                self.model.add(goal.value == bounds[-1])
            else:
                bounds.append(ceil(self.solver.best_objective_bound - 1e-3))
                break
        return Proof(alloc, False, tuple(bounds[: len(goals) - 1]))

    def _state(self) -> bool:
        """State everything but goals; False if a unit fits nowhere. Units are friends as it is."""
        problem, model, evaluate = self.problem, self.model, evaluator(self.problem.program)
        over: dict[int, list[Any]] = {}
        """By soft group, of each dimension whether it is above its capacity."""
        terms: dict[int, list[tuple[Any, int]]] = {}
        for members in self.units:
            places, pins = {}, {p.NULL, *problem.pins[members].tolist()}
            for place in range(problem.bins):
                additions = [evaluate(ball, place, ()) if pins <= {p.NULL, place} else None for ball in members]
                if None not in additions:
                    places[place] = model.new_bool_var("")
                    for dim, amount in (each for added in additions for each in added or ()):
                        terms.setdefault(dim, []).append((places[place], amount))
            model.add_exactly_one(places.values())
            self.there.append(places)
        for dim, pairs in terms.items():
            low, high = (sum(sign * max(0, sign * amount) for _, amount in pairs) for sign in (-1, 1))
            total = self.sat.LinearExpr.weighted_sum(*zip(*pairs, strict=True))
            self.used[dim] = _between(total, low, high)
            if high > problem.ceiling[dim]:
                model.add(total <= int(problem.ceiling[dim]))
            if problem.soft_group[dim] >= 0 and high > problem.capacity[dim]:
                above = model.new_bool_var("")
                model.add(total <= int(problem.capacity[dim])).only_enforce_if(~above)
                over.setdefault(int(problem.soft_group[dim]), []).append(above)
        for group, above_it in over.items():
            model.add(sum(above_it) <= int(problem.soft_allowed[group]))
        for foes, chance in problem.foes:
            some = [self.there[unit] for unit in {int(problem.unit_of[ball]) for ball in foes}]
            for at in set(some[0]).intersection(*some[1:]) if chance == p.MICRO else ():
                model.add(sum(places[at] for places in some) <= len(some) - 1)
        return all(self.there)

    def _goals(self) -> list[Number]:
        """Return what each goal comes to, less being better; then how many balls stay, with a minus.

        If one of them cannot be stated, there is a number alone.
        """
        objective, now = self.problem.objective, self.problem.now.tolist()
        stated: list[Number] = []
        if objective is not None:
            [function] = ast.parse(goals(objective, spelt=True)[0]).body
            names: dict[str, Number] = {}
            try:
                self._run(cast(ast.FunctionDef, function).body, names)
                stated = [self._fix(names[f"values[{number}]"]) for number in range(len(objective.goals))]
                if any(max(-goal.low, goal.high) > 2**53 for goal in stated):  # bounds are floats
                    raise _Unstated
            except _Unstated:
                return [_of(0)]
        units = zip(self.units, self.there, strict=True)
        stays = [places[now[ball]] for members, places in units for ball in members if now[ball] in places]
        return [*stated, Number(-sum(stays), -len(stays), 0)]

    def _variable(self, low: int, high: int) -> Number:
        """Make a variable, unless it can have one value only."""
        return _between(low if low == high else self.model.new_int_var(low, high, ""), low, high)

    def _fix(self, number: Number) -> Number:
        """Return a variable of the same value, or a number."""
        if isinstance(number.value, int | self.sat.IntVar):
            return number
        variable = self._variable(number.low, number.high)
        self.model.add(variable.value == number.value)
        return variable

    # Goals, by their program

    def _run(self, block: Sequence[ast.stmt], names: dict[str, Number]) -> None:
        """Run statements; changes `names`, by what stands on the left side of assignments."""
        for statement in block:
            match statement:
                case ast.Assign([target], value):
                    names[ast.unparse(target)] = self._value(value, names)
                case ast.For(ast.Name(variable), ast.Call(args=ends), body):
                    for number in range(*(self._value(end, names).known for end in ends)):
                        names[variable] = _of(number)
                        self._run(body, names)
                case ast.If(test, then):  # of what a loop leaves out
                    self._run(then if self._value(test, names).known else (), names)

    def _value(self, node: ast.expr, names: Mapping[str, Number]) -> Number:
        """Return what an expression comes to, a test 1 or 0."""
        match node:
            case ast.Constant(value=int(number)):
                return _of(number)
            case ast.Name(name):
                return names[name]
            case ast.Subscript(ast.Name(array), index):
                inner = self._value(index, names)
                return self._use(inner.known) if array == "used" else self._read(inner)
            case ast.Call(ast.Name("placed"), [_, ball, _]):
                return self._place(self._value(ball, names).known)
            case ast.Call(ast.Name(symbol), sides):
                pass
            case ast.UnaryOp(ast.USub(), operand):
                symbol, sides = "-", [ast.Constant(0), operand]
            case ast.Compare(left, [operator], [right]) | ast.BinOp(left, operator, right):
                symbol, sides = SYMBOLS[type(operator)], [left, right]
        return self._operation(symbol, *(self._value(side, names) for side in sides))

    def _place(self, ball: int) -> Number:
        """Return the bin of a ball."""
        places = self.there[int(self.problem.unit_of[ball])]
        total = self.sat.LinearExpr.weighted_sum([*places.values()], [*places])
        return _between(total, min(places), max(places))

    def _read(self, index: Number) -> Number:
        """Read the tables; an index outside of them is one that is not used."""
        assert self.problem.objective is not None
        data = self.problem.objective.data
        first, last = max(0, index.low), min(len(data) - 1, index.high)
        if last - first >= CHOICES or last < first:
            raise _Unstated
        entries = data[first : last + 1].tolist()
        entry = self._variable(min(entries), max(entries))
        if entry.low < entry.high:
            inside = self._operation("min", self._operation("max", index, _of(first)), _of(last))
            self.model.add_element(inside.value - first, entries, entry.value)
        return entry

    def _use(self, dim: int) -> Number:
        """Return what is used of a dimension, at most its ceiling."""
        used = self.used.get(dim, _of(0))
        return _between(used.value, used.low, max(used.low, min(used.high, int(self.problem.ceiling[dim]))))

    def _operation(self, symbol: str, x: Number, y: Number) -> Number:
        """Return what two values come to: a number, or an expression that is constrained to be that."""
        self.operations += 1
        divides = symbol in ("//", "%", "qdiv")
        if self.operations > OPERATIONS_STATED or (divides and not y.known):
            raise _Unstated
        if x.low == x.high and y.low == y.high:
            return _of(int(OPERATIONS[symbol](x.low, y.low)))
        match symbol:
            case "qmul":
                return self._operation("//", self._operation("*", x, y), _of(p.MICRO))
            case "qdiv":
                return self._operation("//", self._operation("*", x, _of(p.MICRO)), y)
            case "%":
                whole = self._operation("*", self._operation("//", x, y), y)
                return Number(x.value - whole.value, min(0, y.low + 1), max(0, y.low - 1))
            case "!=":
                return self._operation("-", _of(1), self._operation("==", x, y))
            case "<":
                return self._operation("<=", x, self._operation("-", y, _of(1)))
            case "<=" | "==":
                value, low, high = self._operation("-", x, y)
                if low > 0 or high < 0 or low == high:
                    return _of(int(OPERATIONS[symbol](high, 0)))
                test = self.model.new_bool_var("")
                self.model.add(value <= 0 if symbol == "<=" else value == 0).only_enforce_if(test)
                self.model.add(value > 0 if symbol == "<=" else value != 0).only_enforce_if(~test)
                return Number(test, 0, 1)
            case "min" | "max" | "&" | "|":
                symbol = {"&": "min", "|": "max"}.get(symbol, symbol)
                least, most = (x, y) if symbol == "min" else (y, x)
                if x.high <= y.low:  # whatever the allocation is
                    return least
                if x.low >= y.high:
                    return most
        corners = [OPERATIONS[symbol](a, b) for a in x[1:] for b in y[1:]]
        low, high = min(corners), max(corners)
        if symbol in ("+", "-") or (symbol == "*" and (x.low == x.high or y.low == y.high)):
            return _between(OPERATIONS[symbol](x.value, y.value), low, high)
        result = self._variable(low, high)
        if symbol == "//":
            rest = x.value - y.low * result.value
            self.model.add(rest >= min(0, y.low + 1))
            self.model.add(rest <= max(0, y.low - 1))
        else:
            name = {"*": "multiplication", "min": "min", "max": "max"}[symbol]
            getattr(self.model, f"add_{name}_equality")(result.value, [self._fix(side).value for side in (x, y)])
        return result
