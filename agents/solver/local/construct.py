"""Place whole tenants one after another, the largest first, by the rules of attempts in plain Python: uncompiled.

Balls are one tenant if what one of them adds looks at where another one is, such as the workers of a job, or if they
are friends. A tenant goes into bins one after another, from where the last one ended or from some other bin on, so that
it lies near together. One that is not placed whole takes nothing.
"""

from collections.abc import Sequence
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from binwright.agents.solver.backends import attempt
from binwright.agents.solver.backends.cpu import Over
from binwright.agents.solver.backends.flat import Flat, room
from binwright.agents.solver.model.problem import Problem, Sets, joined
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.agents.solver.model.source import Added, evaluator, function_of, utilfn
from binwright.simcore.jit import is_kernel
from binwright.simcore.types import Ints

STARTS = 48
"""Bins from which on a tenant is tried."""


class Tenants(NamedTuple):
    """The tenants of a problem, each with its balls ascending, and what each ball adds while all others are nowhere."""

    sets: Sets
    alone: list[Added | None]
    """[balls]: in the bin that it is pinned to, or else in bin 0; None where it is rejected there"""

    @property
    def several(self) -> bool:
        """Tell whether there are several tenants, some of which have several balls."""
        return 1 < len(self.sets) < len(self.alone)

    def whole(self, alloc: Sequence[int]) -> Ints:
        """Take out of an allocation [balls] the balls of tenants that are not placed whole."""
        order, places = self.sets.members, np.asarray(alloc)
        lowest = np.minimum.reduceat(places[order], self.sets.offsets[:-1])
        result = np.empty_like(places)
        result[order] = np.where(np.repeat(lowest, np.diff(self.sets.offsets)) == NULL, NULL, places[order])
        return result


def tenants(problem: Problem, over: Over) -> Tenants | None:
    """Find the tenants by calling UTILFN for every ball; None if time is `over` before that is done."""
    read: set[int] = set()

    def note(alloc: Sequence[int], other: int, ball: int) -> int:
        read.add(other)
        return NULL

    evaluate, alone, seen = evaluator(problem.program, placed=note), list[Added | None](), list[list[int]]()
    for ball, pin in enumerate(problem.pins.tolist()):
        if over():
            return None
        read.clear()
        alone.append(evaluate(ball, max(pin, 0), ()))
        seen.append([ball, *read])
    friends = [members for members, chance in problem.friends if chance == MICRO]
    return Tenants(joined(problem.balls, [*friends, *seen]), alone)


RULES: dict[str, Any] = dict(vars(attempt))
"""The kernels of attempts as Python runs them, on lists: they call one another, and nothing is compiled."""
for _name, _kernel in vars(attempt).items():
    if is_kernel(_kernel):
        RULES[_name] = FunctionType(_kernel.py_func.__code__, RULES)


class Construction:
    """An allocation of whole tenants, and no others, that grows until time is `over`."""

    def __init__(self, problem: Problem, tenants: Tenants | None, over: Over) -> None:
        """Begin with nothing placed; without `tenants` each unit is one."""
        self._tenants = tenants or Tenants(problem.units, [None] * problem.balls)
        self.problem, self._late = problem, over
        self._balls = [balls for balls, _ in self._tenants.sets]
        self._units = [list(dict.fromkeys(problem.unit_of[balls].tolist())) for balls in self._balls]
        source, numbers = utilfn(problem.program)
        self._call, flat = function_of(source, "utilfn"), Flat.of_problem(problem, numbers, elastic=True)
        lists: list[Any] = [type(arrays)(*(part.tolist() for part in arrays)) for arrays in (flat, room(problem))]
        self._flat, self._room = lists
        self._room.imposed[:] = ((flat.chance == MICRO) & (flat.friends == 0)).tolist()  # certain friends are one unit
        self.where, self.used = self._room.alloc, self._room.used
        """[balls]: the bins; [dims]: what is used."""
        self._owner = problem.owner.tolist()
        self._foes = {ball for foes, _ in problem.foes for ball in foes}
        self._pin = [int(problem.pins[balls].max()) for balls in self._balls]
        self._last = 0
        """Where the last tenant ended."""

    def construct(self, rng: np.random.Generator | None = None) -> None:
        """Place the tenants that fit: those that can stay now, pinned ones, then the largest first.

        With `rng` sizes are bent by chance.
        """
        alone, tenants, now = self._tenants.alone, range(len(self._balls)), self.problem.unit_now.tolist()
        ceiling = self._flat.ceiling
        share = [sum(max(0, by) / max(1, ceiling[dim]) for dim, by in added or ()) for added in alone]
        bent = np.ones(len(self._balls)) if rng is None else rng.uniform(1, 3, len(self._balls))
        size = [by * sum(share[ball] for ball in balls) for by, balls in zip(bent.tolist(), self._balls, strict=True)]
        order = sorted(tenants, key=lambda tenant: (self._pin[tenant] == NULL, -size[tenant]))
        for tenant in order if max(now) != NULL else ():
            homes = ((unit, now[unit]) for unit in self._units[tenant] if now[unit] != NULL)
            self._keep(
                tenant, [(unit, added) for unit, place in homes if (added := self.put_unit(unit, place)) is not None]
            )
        failed = set[tuple[object, ...]]()
        for tenant in order:
            balls = self._balls[tenant]
            kind = tuple(tuple(alone[ball] or ()) for ball in balls)
            if self.where[balls[0]] == NULL and kind not in failed and not self.insert(tenant):
                # Where one finds no room, another one does not either, unless pins, foes or REJECT tell them apart.
                special = self._pin[tenant] != NULL or not self._foes.isdisjoint(balls) or () in kind
                failed |= set() if special or self.problem.program.rejects else {kind}
            if self._late():
                return

    def insert(self, tenant: int) -> bool:
        """Place a tenant whole; tells whether it fits anywhere that is looked at.

        It fills one bin after another. When a bin is left, its last units go out again until nothing of its own is
        over: they go into the next one.
        """
        bins, units = self.problem.bins, self._units[tenant]
        most = min(bins, 64 + 4 * len(units))  # that are filled before it is tried elsewhere
        for number in range(min(bins, STARTS)):
            begin = self._last + number * max(1, bins // STARTS)
            if number == 0 and self._pin[tenant] != NULL:
                begin = self._pin[tenant]
            waiting, put = units[::-1], list[tuple[int, Added]]()
            for offset in range(most):
                first, place = len(put), (begin + offset) % bins
                while waiting and (added := self.put_unit(waiting[-1], place)) is not None:
                    put.append((waiting.pop(), added))
                while len(put) > first and self._is_over(put[first:], place):
                    waiting.append(put[-1][0])
                    self.take_out(*put.pop())
                if not waiting or self._late():
                    break
            if self._keep(tenant, put):
                self._last = place
                return True
            if self._late():
                return False
        return False

    def _keep(self, tenant: int, put: list[tuple[int, Added]]) -> bool:
        """Keep a tenant of which these units are in, unless one is missing, or something is over; tells which."""
        whole = len(put) == len(self._units[tenant]) and self._room.over[-1] == 0
        for part in () if whole else put:
            self.take_out(*part)
        return whole

    def _is_over(self, put: list[tuple[int, Added]], place: int) -> bool:
        """Tell whether something is over that is a bin's own, into which these units were put."""
        own = (dim for _, added in put for dim, _ in added if self._owner[dim] == place)
        return self._room.over[-1] > 0 and any(self.used[dim] > self._flat.ceiling[dim] for dim in own)

    def put_unit(self, unit: int, place: int) -> Added | None:
        """Put a unit into a bin, elastic dimensions aside; returns what it adds, None if it does not fit."""
        count = RULES["put"](self._call, self._flat, self._room, unit, place, self._flat.ceiling, False)
        return None if count < 0 else list(zip(self._room.dims[:count], self._room.amounts[:count], strict=True))

    def take_out(self, unit: int, added: Added) -> None:
        """Take a unit out with what it has added: UTILFN may say something else now."""
        for dim, amount in added:
            RULES["change"](self._flat, self._room, dim, -amount)
        RULES["put_back"](self._flat, self._room, unit, NULL)
