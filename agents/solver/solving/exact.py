"""Prove with CP-SAT what is best, or that nothing is possible: of small problems without ALLOC and wishes.

What a ball adds to each bin is a number then, so that an allocation is a choice of one bin for each unit, and a rule of
the problem is a linear one. Goals become constraints by running their program, on expressions of the model with their
least and largest values. All is in the whole numbers of the problem itself, and no sum leaves 62 bits.
"""

from concurrent.futures import ThreadPoolExecutor, wait
from math import ceil
from operator import index
from typing import Any, NamedTuple

from binwright.agents.solver.backends.cpu import LOOK, Over
from binwright.agents.solver.model import program as p
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.source import WITH_UNKNOWN, Unknown, UnstatedError, evaluator, function_of, goals
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


class Number(Unknown):
    """An expression of the model that has several values: goals' programs compute with it as with a number."""

    def __init__(self, stated: "_Model", value: Any, low: int, high: int) -> None:
        self.stated, self.value, self.low, self.high = stated, value, low, high

    def computed(self, symbol: str, left: Any, right: Any) -> Any:
        """Return what an operation comes to, one side of which this is: a number, or what is constrained to be that."""
        stated, model = self.stated, self.stated.model
        stated.operations += 1
        if stated.operations > OPERATIONS_STATED or (symbol in ("//", "%", "qdiv") and isinstance(right, Number)):
            raise UnstatedError
        (x, *of_x), (y, *of_y) = _ends(left), _ends(right)
        match symbol:
            case "qmul":
                return left * right // p.MICRO
            case "qdiv":
                return left * p.MICRO // right
            case "%":
                whole = _ends(left // right * right)[0]
                return stated.between(x - whole, min(0, right + 1), max(0, right - 1))
            case "!=":
                return 1 - (left == right)
            case "<":
                return left <= right - 1
            case "<=" | "==":
                value, low, high = _ends(left - right)
                if low > 0 or high < 0 or low == high:
                    return int(p.OPERATIONS[symbol](high, 0))
                test = model.new_bool_var("")
                model.add(value <= 0 if symbol == "<=" else value == 0).only_enforce_if(test)
                model.add(value > 0 if symbol == "<=" else value != 0).only_enforce_if(~test)
                return Number(stated, test, 0, 1)
            case "min" | "max" | "&" | "|":
                symbol = {"&": "min", "|": "max"}.get(symbol, symbol)
                if max(of_x) <= min(of_y) or max(of_y) <= min(of_x):  # whatever the allocation is
                    return left if (max(of_x) <= min(of_y)) == (symbol == "min") else right
        corners = [p.OPERATIONS[symbol](a, b) for a in of_x for b in of_y]
        low, high = min(corners), max(corners)
        if symbol in ("+", "-") or (symbol == "*" and not (isinstance(left, Number) and isinstance(right, Number))):
            return stated.between(p.OPERATIONS[symbol](x, y), low, high)
        result = stated.variable(low, high)
        if symbol == "//":
            rest = x - right * _ends(result)[0]
            model.add(rest >= min(0, right + 1))
            model.add(rest <= max(0, right - 1))
        else:
            name = {"*": "multiplication", "min": "min", "max": "max"}[symbol]
            getattr(model, f"add_{name}_equality")(_ends(result)[0], [stated.fix(left), stated.fix(right)])
        return result


def _ends(number: Any) -> tuple[Any, int, int]:
    """Return the value of a number or an expression, and the least and the most that it may be."""
    return (number.value, number.low, number.high) if isinstance(number, Number) else (number,) * 3


class _Model:
    """A problem in CP-SAT: a variable for each unit and bin, whether it is there; and goals, by their program."""

    def __init__(self, problem: Problem) -> None:
        sat: Any = cp_model
        self.problem, self.sat, self.model, self.solver = problem, sat, sat.CpModel(), sat.CpSolver()
        self.solver.parameters.num_workers = usable_threads()
        self.units = [members for members, _ in problem.units]
        self.in_bin: list[dict[int, Any]] = []
        """[units]: by bin; bins that it cannot be in are left out"""
        self.used: list[Any] = [0] * problem.dims
        """What is used of every dimension, at most its ceiling."""
        self.operations = 0
        """Operations of the goals so far."""

    def solve(self, alloc: list[int] | None, over: Over) -> Proof:
        """Solve for one goal after another, last for the balls that stay, from an allocation if there is one."""
        bounds, sat, problem, status = list[int](), self.sat, self.problem, None
        try:
            self._state()
            if not all(self.in_bin):
                return Proof(None, True, ())
            goals = self._goals()
        except UnstatedError:
            return Proof(None, False, ())
        for goal in goals:
            self.model.clear_hints()
            if alloc is not None:
                for members, places in zip(self.units, self.in_bin, strict=True):
                    for place, variable in places.items():
                        self.model.add_hint(variable, alloc[members[0]] == place)
            self.model.minimize(goal)
            status = sat.UNKNOWN if over() else self.solver.solve(self.model)
            if status in (sat.OPTIMAL, sat.FEASIBLE):
                at = [next(place for place in places if self.solver.value(places[place])) for places in self.in_bin]
                better = [at[unit] for unit in problem.unit_of.tolist()]
                # There may have been no time to come back to the allocation before.
                alloc = min(
                    better, alloc or better, key=lambda each: (goals_of(problem, each), len(problem.moved(each)))
                )
                proven = self.solver.best_objective_bound - 1e-3
                bounds.append(round(self.solver.objective_value) if status == sat.OPTIMAL else ceil(proven))
            if status != sat.OPTIMAL:
                break
            self.model.add(goal == bounds[-1])
        impossible = status == sat.INFEASIBLE
        return Proof(None if impossible else alloc, impossible, tuple(bounds[: len(goals) - 1]))

    def _state(self) -> None:
        """State everything but goals. Units are friends as it is."""
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
            self.in_bin.append(places)
        for dim, pairs in terms.items():
            low, high = (sum(sign * max(0, sign * amount) for _, amount in pairs) for sign in (-1, 1))
            total = self.sat.LinearExpr.weighted_sum(*zip(*pairs, strict=True))
            self.between(total, low, high)
            ceiling = int(problem.ceiling[dim])
            if high > ceiling:
                model.add(total <= ceiling)
            self.used[dim] = self.between(total, low, max(low, min(high, ceiling)))
            if problem.soft_group[dim] >= 0 and high > problem.capacity[dim]:
                above = model.new_bool_var("")
                model.add(total <= int(problem.capacity[dim])).only_enforce_if(~above)
                over.setdefault(int(problem.soft_group[dim]), []).append(above)
        for group, above_it in over.items():
            model.add(sum(above_it) <= int(problem.soft_allowed[group]))
        for foes, chance in problem.foes:
            some = [self.in_bin[unit] for unit in {int(problem.unit_of[ball]) for ball in foes}]
            for at in set(some[0]).intersection(*some[1:]) if chance == p.MICRO else ():
                model.add(sum(places[at] for places in some) <= len(some) - 1)

    def _goals(self) -> list[Any]:
        """Return what each goal comes to, less being better; then how many balls stay, with a minus.

        If one of them cannot be stated, there is a number alone.
        """
        objective, now = self.problem.objective, self.problem.now.tolist()
        stated: list[Any] = []
        if objective is not None:
            (source, numbers, _), stated = goals(objective), [0] * len(objective.goals)
            run = function_of(source, "goals", **WITH_UNKNOWN, placed=self._place)
            try:
                run((), self, numbers, self.used, stated, (), -1, 0)
                if any(max(-low, high) > 2**53 for _, low, high in map(_ends, stated)):  # bounds are floats
                    raise UnstatedError
                stated = [self.fix(goal) for goal in stated]
            except UnstatedError:
                return [0]
        units = zip(self.units, self.in_bin, strict=True)
        stays = [places[now[ball]] for members, places in units for ball in members if now[ball] in places]
        return [*stated, -sum(stays)]

    def between(self, value: Any, low: int, high: int) -> Any:
        """Return what lies between these, which must not be too large: the number itself if there is one only."""
        if max(-low, high) >= p.WIDE:
            raise UnstatedError
        return low if low == high else Number(self, value, low, high)

    def variable(self, low: int, high: int) -> Any:
        """Make a variable, unless it can have one value only."""
        return self.between(low if low == high else self.model.new_int_var(low, high, ""), low, high)

    def fix(self, number: Any) -> Any:
        """Return a variable of the same value, or a number."""
        value, low, high = _ends(number)
        if isinstance(value, int | self.sat.IntVar):
            return value
        variable = self.model.new_int_var(low, high, "")
        self.model.add(variable == value)
        return variable

    # What goals read, and compute

    def _place(self, _: Any, ball: Any, __: int) -> Any:
        """Return the bin of a ball."""
        places = self.in_bin[int(self.problem.unit_of[index(ball)])]
        total = self.sat.LinearExpr.weighted_sum([*places.values()], [*places])
        return self.between(total, min(places), max(places))

    def __getitem__(self, at: Any) -> Any:
        """Read the tables; an index outside of them is one that is not used."""
        assert self.problem.objective is not None
        data, (_, low, high) = self.problem.objective.data, _ends(at)
        first, last = max(0, low), min(len(data) - 1, high)
        if last - first >= CHOICES or last < first:
            raise UnstatedError
        entries = data[first : last + 1].tolist()
        entry = self.variable(min(entries), max(entries))
        if isinstance(entry, Number):
            inside = WITH_UNKNOWN["min"](WITH_UNKNOWN["max"](at, first), last)
            self.model.add_element(_ends(inside)[0] - first, entries, entry.value)
        return entry
