"""Prove with CP-SAT what is best, or that nothing is possible: of small problems without ALLOC and wishes.

What a ball adds to each bin is a number then, so that an allocation is a choice of one bin for each unit, and a rule of
the problem is a linear one. Goals become constraints by running their program, on expressions of the model with their
least and largest values. All is in the whole numbers of the problem itself, and no sum leaves 62 bits.
"""

import ast
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from itertools import takewhile
from math import ceil
from threading import Event
from typing import Any, NamedTuple, TypeAlias, cast

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
    """An expression of the model, and between what it lies."""

    value: Any
    low: int
    high: int


Number: TypeAlias = int | Bounded


def _bounded(number: Number) -> Bounded:
    return number if isinstance(number, Bounded) else Bounded(number, number, number)


def _known(number: Number) -> int:
    """Return a number that does not depend on the allocation."""
    if isinstance(number, Bounded):
        raise _Unstated
    return number


class _Symbolic(ast.NodeTransformer):
    """Rewrites the source of goals for numbers of a model: operators and reads become calls, and so do branches."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Call what is read."""
        self.generic_visit(node)
        return node if isinstance(node.ctx, ast.Store) else ast.Call(node.value, [node.slice], [])

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        """Take a test as the number that it is: programs have no choices but `1 if test else 0`."""
        return cast(ast.expr, self.visit(node.test))

    def visit_operation(self, node: ast.UnaryOp | ast.BinOp | ast.Compare | ast.BoolOp) -> ast.expr:
        """Call `operation` with the symbol and both sides."""
        self.generic_visit(node)
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=number):
                symbol, sides = "-", [ast.Constant(0), number]
            case ast.UnaryOp(operand=test):
                symbol, sides = "==", [test, ast.Constant(0)]
            case ast.Compare(ops=[operator], left=left, comparators=[right]) | ast.BinOp(left, operator, right):
                symbol, sides = SYMBOLS[type(operator)], [left, right]
            case ast.BoolOp(op=operator, values=sides):
                symbol = {"and": "min", "or": "max"}[SYMBOLS[type(operator)]]
        return ast.Call(ast.Name("operation", ast.Load()), [ast.Constant(symbol), *sides], [])

    visit_UnaryOp = visit_BinOp = visit_Compare = visit_BoolOp = visit_operation

    def visit_If(self, node: ast.If) -> list[ast.stmt]:
        """Make functions of both branches: from all that one of them assigns to what it is afterwards."""
        self.generic_visit(node)
        assigned = {ast.unparse(part.targets[0]) for part in ast.walk(node) if isinstance(part, ast.Assign)}
        names = ", ".join(sorted({p.BALL} | assigned)) + ","
        functions = "".join(f"def {branch}({names}): return {names}\n" for branch in ("then", "other"))
        chosen = f"{names} = choose({ast.unparse(node.test)}, then, other, ({names}))"
        then, other, choice = ast.parse(functions + chosen).body
        cast(ast.FunctionDef, then).body[:0], cast(ast.FunctionDef, other).body[:0] = node.body, node.orelse
        return [then, other, choice]


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
        self.places: dict[int, Number] = {}
        """By ball, those whose bins goals read."""
        self.operations = 0
        """Operations of the goals so far."""

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
            total = self.sat.LinearExpr.weighted_sum(*zip(*pairs, strict=True))
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
        stated = list[Bounded]()
        if objective is not None:
            values = list[Number]([0] * len(objective.goals))
            tree = ast.fix_missing_locations(_Symbolic().visit(ast.parse(goals(objective, spelt=True)[0])))
            names: dict[str, Any] = {name: partial(self._operation, name) for name in ("min", "max", "qmul", "qdiv")}
            names |= {"operation": self._operation, "choose": self._choose, "placed": self._place}
            names["range"] = lambda *ends: range(*map(_known, ends))
            exec(compile(tree, "<goals>", "exec"), names)
            try:
                names["goals"](None, self._read, None, self._use, values)
                every = [_bounded(self._fix(value)) for value in values]
            except _Unstated:
                return [_bounded(0)]
            stated = [*takewhile(lambda goal: max(-goal.low, goal.high) <= 2**53, every)]  # bounds are floats
            if len(stated) < len(every):
                return [*stated, _bounded(0)]
        units = zip(self.units, self.there, strict=True)
        stays = [places[now[ball]] for members, places in units for ball in members if now[ball] in places]
        return [*stated, Bounded(-sum(stays), -len(stays), 0)]

    def _variable(self, low: int, high: int) -> Number:
        _checked(Bounded(None, low, high))
        return low if low == high else Bounded(self.model.new_int_var(low, high, ""), low, high)

    def _fix(self, number: Number) -> Number:
        """Return a variable of the same value, or a number."""
        if isinstance(number, int) or isinstance(number.value, self.sat.IntVar):
            return number
        variable = self._variable(number.low, number.high)
        self.model.add(_bounded(variable).value == number.value)
        return variable

    def _choose(
        self, test: Number, then: Callable[..., Any], other: Callable[..., Any], before: tuple[Number, ...]
    ) -> tuple[Number, ...]:
        """Run both branches, and let what they assign depend on the test; or one of them where the test is a number."""
        if isinstance(test, int):
            return cast(tuple[Number, ...], (then if test else other)(*before))
        otherwise, chosen = _bounded(self._operation("==", test, 0)), list[Number]()
        for yes, no in zip(then(*before), other(*before), strict=True):
            if not (yes is no or (isinstance(yes, int) and yes == no)):
                mine, theirs = _bounded(yes), _bounded(no)
                yes = self._variable(min(mine.low, theirs.low), max(mine.high, theirs.high))
                self.model.add(_bounded(yes).value == mine.value).only_enforce_if(~otherwise.value)
                self.model.add(_bounded(yes).value == theirs.value).only_enforce_if(otherwise.value)
            chosen.append(yes)
        return tuple(chosen)

    def _place(self, _: None, ball: Number, __: int) -> Number:
        """Return the bin of a ball."""
        ball = _known(ball)
        if ball not in self.places:
            places = self.there[int(self.problem.unit_of[ball])]
            total = self.sat.LinearExpr.weighted_sum([*places.values()], [*places])
            self.places[ball] = self._fix(Bounded(total, min(places), max(places)))
        return self.places[ball]

    def _read(self, index: Number) -> Number:
        """Read the tables; an index outside of them is one that is not used."""
        assert self.problem.objective is not None
        data, (_, low, high) = self.problem.objective.data, _bounded(index)
        first, last = max(0, low), min(len(data) - 1, high)
        if last - first >= CHOICES or last < first:
            raise _Unstated
        entries = data[first : last + 1].tolist()
        if isinstance(index, int) or len(set(entries)) == 1:
            return int(entries[0])
        inside = self._operation("min", self._operation("max", index, first), last)
        entry = _bounded(self._variable(min(entries), max(entries)))
        self.model.add_element(_bounded(inside).value - first, entries, entry.value)
        return entry

    def _use(self, dim: Number) -> Number:
        """Return what is used of a dimension, a variable from then on."""
        dim = _known(dim)
        used = self.used.get(dim, 0)
        if isinstance(used, Bounded):
            high = min(used.high, int(self.problem.ceiling[dim]))
            used = self.used[dim] = self._fix(used._replace(high=max(high, used.low)))
        return used

    def _operation(self, symbol: str, left: Number, right: Number) -> Number:
        """Return what two values come to: a number, or an expression that is constrained to be that."""
        self.operations += 1
        divides = symbol in ("//", "%", "qdiv")
        if self.operations > OPERATIONS_STATED or (divides and not _known(right)):
            raise _Unstated
        if isinstance(left, int) and isinstance(right, int):
            return int(OPERATIONS[symbol](left, right))
        x, y = _bounded(left), _bounded(right)
        match symbol:
            case "qmul":
                return self._operation("//", self._operation("*", left, right), p.MICRO)
            case "qdiv":
                return self._operation("//", self._operation("*", left, p.MICRO), right)
            case "%":
                whole = _bounded(self._operation("*", self._operation("//", left, right), right))
                return Bounded(x.value - whole.value, min(0, y.low + 1), max(0, y.low - 1))
            case "!=":
                return self._operation("-", 1, self._operation("==", left, right))
            case "<":
                return self._operation("<=", left, self._operation("-", right, 1))
            case "<=" | "==":
                value, low, high = _bounded(self._operation("-", left, right))
                if low > 0 or high < 0 or low == high:
                    return int(OPERATIONS[symbol](high, 0))
                test = self.model.new_bool_var("")
                self.model.add(value <= 0 if symbol == "<=" else value == 0).only_enforce_if(test)
                self.model.add(value > 0 if symbol == "<=" else value != 0).only_enforce_if(~test)
                return Bounded(test, 0, 1)
            case "min" | "max":
                least, most = (left, right) if symbol == "min" else (right, left)
                if x.high <= y.low:  # whatever the allocation is
                    return least
                if x.low >= y.high:
                    return most
        corners = [OPERATIONS[symbol](a, b) for a in x[1:] for b in y[1:]]
        low, high = min(corners), max(corners)
        if symbol in ("+", "-") or (symbol == "*" and (isinstance(left, int) or isinstance(right, int))):
            return low if low == high else _checked(Bounded(OPERATIONS[symbol](x.value, y.value), low, high))
        result = self._variable(low, high)
        value = _bounded(result).value
        if symbol == "//":
            rest = x.value - y.low * value
            self.model.add(rest >= min(0, y.low + 1))
            self.model.add(rest <= max(0, y.low - 1))
        else:
            name = {"*": "multiplication", "min": "min", "max": "max"}[symbol]
            sides = [_bounded(self._fix(side)).value for side in (left, right)]
            getattr(self.model, f"add_{name}_equality")(value, sides)
        return result


def _checked(value: Bounded) -> Bounded:
    """Return a value that is not too large."""
    if max(-value.low, value.high) >= p.WIDE:
        raise _Unstated
    return value
