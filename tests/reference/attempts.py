"""Define the attempts of the published search, in plain Python: tests hold `agents.solver.backends.attempt` to it."""

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from binwright.agents.solver.backends.attempt import CHANCES, TURNS
from binwright.agents.solver.backends.cpu import Outcome as Found
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.agents.solver.model.source import Added, Evaluate, evaluator
from tests.reference.random import below, stream


class Rejected(Exception):
    """Raised where UTILFN rejects a ball that is in its bin."""


Unit = list[list[int]]
"""Balls of what is placed together: of one unit, or of several that wishes join."""


class Partial:
    """A partial allocation that balls are put into; `alloc` [balls] and `used` [dims] are written."""

    def __init__(self, problem: Problem, evaluate: Evaluate, *, trims: bool = False) -> None:
        self.problem = problem
        self._evaluate = evaluate
        self._elastic = problem.elastic.tolist() if trims else [0] * problem.dims
        self.alloc = [NULL] * problem.balls
        self.used = [0] * problem.dims
        certain = [[members for members, chance in sets if chance == MICRO] for sets in (problem.friends, problem.foes)]
        self._friends, self._foes = (_by_ball(problem.balls, sets) for sets in certain)
        self._wishes: list[tuple[list[list[list[int]]], list[int]]] = []
        self._capacity = problem.capacity.tolist()
        self._ceiling = problem.ceiling.tolist()
        self._soft_group = problem.soft_group.tolist()
        self._members: dict[int, list[int]] = {}
        """The dimensions of each soft group."""
        for dim in np.flatnonzero(problem.soft_group >= 0).tolist():
            self._members.setdefault(self._soft_group[dim], []).append(dim)
        self._pins = problem.pins.tolist()

    def impose(self, start: int) -> list[list[int]]:
        """Impose sets with a chance below one, by chance; returns those of FRIENDS."""
        friends, number = [], 0
        for sets, by_ball in ((self.problem.friends, self._friends), (self.problem.foes, self._foes)):
            for members, chance in sets:
                drawn = below(start, CHANCES + number, MICRO) < chance < MICRO
                number += 1
                places = {self.alloc[ball] for ball in members}
                broken = len(places - {NULL}) > 1 if by_ball is self._friends else len(places) == 1 and places != {NULL}
                if drawn and not broken:
                    self._wishes.append((by_ball, members))
                    for ball in members:
                        by_ball[ball].append(members)
                    if by_ball is self._friends:
                        friends.append(members)
        return friends

    def lift(self, left: Sequence[Unit]) -> bool:
        """Stop imposing what `impose` imposed on a ball of these units; returns whether there was anything."""
        balls = {ball for unit in left for part in unit for ball in part}
        lifted = [wish for wish in self._wishes if not balls.isdisjoint(wish[1])]
        for by_ball, members in lifted:
            for ball in members:
                by_ball[ball] = [one for one in by_ball[ball] if one is not members]
        return bool(lifted)

    def put(self, unit: Unit, place: int) -> bool:
        """Put all balls of a unit into a bin, or none; returns whether it fits."""
        undo: Added = []
        balls = [ball for part in unit for ball in part]
        for number, ball in enumerate(balls):
            if not self.put_ball(ball, place, undo):
                self.take_back(balls[:number], undo)
                return False
        return True

    def take_back(self, balls: Iterable[int], undo: Added) -> None:
        """Take balls out again, the last ones that were put in, and what they added."""
        for dim, amount in undo:
            self.used[dim] -= amount
        for ball in balls:
            self.alloc[ball] = NULL

    def put_ball(self, ball: int, place: int, undo: Added) -> bool:
        """Put a ball into a bin; returns whether it fits. What is added, if it does not fit either, goes to `undo`."""
        if self._pins[ball] not in (NULL, place):
            return False
        if any(self.alloc[other] not in (NULL, place) for friends in self._friends[ball] for other in friends):
            return False
        if any(all(self.alloc[other] == place for other in foes if other != ball) for foes in self._foes[ball]):
            return False
        added = self._evaluate(ball, place, self.alloc)
        if added is None:
            return False
        for dim, amount in added:
            self.used[dim] += amount
        undo += added
        if not self._within({dim for dim, _ in added}):
            return False
        self.alloc[ball] = place
        return True

    def _within(self, touched: set[int]) -> bool:
        """Tell whether these dimensions, and their soft groups, keep their limits."""
        if any(self.used[dim] > self._ceiling[dim] and not self._elastic[dim] for dim in touched):
            return False
        for group in {self._soft_group[dim] for dim in touched} - {-1}:
            over = sum(self.used[dim] > self._capacity[dim] for dim in self._members[group])
            if over > self.problem.soft_allowed[group]:
                return False
        return True

    def over(self) -> set[int]:
        """Return the elastic dimensions that are above their ceiling."""
        return {dim for dim, used in enumerate(self.used) if self._elastic[dim] and used > self._ceiling[dim]}

    def take(self, unit: Unit, over: set[int]) -> bool:
        """Take all balls of a unit out again, if that changes one of these dimensions. Raises `Rejected`."""
        balls = [ball for part in unit for ball in reversed(part)]
        places = {ball: self.alloc[ball] for ball in balls}
        changed = []
        for ball in balls:
            self.alloc[ball] = NULL
            added = self._evaluate(ball, places[ball], self.alloc)
            if added is None:
                raise Rejected
            changed += added
        if over.isdisjoint(dim for dim, _ in changed):
            for ball, place in places.items():
                self.alloc[ball] = place
            return False
        for dim, amount in changed:
            self.used[dim] -= amount
        return True


def _by_ball(balls: int, sets: list[list[int]]) -> list[list[list[int]]]:
    """List, for each ball, the sets that it is in."""
    found: list[list[list[int]]] = [[] for _ in range(balls)]
    for members in sets:
        for ball in members:
            found[ball].append(members)
    return found


def _joined(problem: Problem, units: list[int], friends: list[list[int]]) -> list[Unit]:
    """Join those of these units that friends join."""
    every = [members for members, _ in problem.units]
    joined = {unit: [unit] for unit in units}
    for members in friends:
        known = [unit for unit in problem.unit_of[members].tolist() if unit in joined]
        for one, other in itertools.pairwise(known):
            if joined[one] is not joined[other]:
                first, second = sorted((joined[one], joined[other]), key=min)
                first += second
                for unit in second:
                    joined[unit] = first
    return [[every[one] for one in joined[unit]] for unit in units if min(joined[unit]) == unit]


def attempt(
    problem: Problem,
    seed: int,
    group: int,
    number: int,
    turning: bool = True,
    evaluate: Evaluate | None = None,
) -> tuple[list[int], int]:
    """Make an attempt; returns the allocation [balls] that it ends with, and how many units are left.

    The allocation is NULL for balls that are left. Without `turning` all begin at the first bin. What balls add says
    `evaluate`, by default the program's source.
    """
    partial, start = Partial(problem, evaluate or evaluator(problem.program)), stream(seed, group, number)
    pins = problem.pins.tolist()
    free: list[int] = []
    lost = draws = 0
    for unit, (members, _) in enumerate(problem.units):
        pin = max(pins[ball] for ball in members)
        if pin == NULL:
            free.append(unit)
        elif not partial.put([members], pin):
            lost += 1
    left = _joined(problem, free, partial.impose(start))
    for again in (False, True):
        if again:
            if not left or not partial.lift(left):
                break
            left = [[part] for unit in left for part in unit]
        for at, (bins, _) in enumerate(problem.groupings[group]):
            still: list[Unit] = []
            for i in range(len(left)):
                chosen = i + below(start, draws, len(left) - i)
                turn = below(start, TURNS + (draws if number % 2 == 0 else at), len(bins)) if turning else 0
                draws += 1
                one, left[chosen] = left[chosen], left[i]
                around = (bins[turn - n] for n in range(len(bins), 0, -1))
                if not any(partial.put(one, place) for place in around):
                    still.append(one)
            left = still
    return partial.alloc, sum(map(len, left)) + lost


def attempts(problem: Problem, seed: int, first: int, count: int) -> Iterator[Found]:
    """Make attempts first, ..., first + count - 1 in every grouping, up to the first success; yields the best."""
    best: Found | None = None
    numbers = itertools.product(range(first, first + count), range(len(problem.groupings)))
    for checked, (number, group) in enumerate(numbers, 1):
        alloc, left = attempt(problem, seed, group, number)
        if best is None or left < best.left:
            best = Found(left, np.array(alloc), number, checked)
        yield best._replace(checked=checked)
        if left == 0:
            return
