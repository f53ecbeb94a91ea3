"""Run the functions of `backends.attempt` in plain Python, with lists for arrays, where nothing is compiled yet.

They are slow, but there at once. They come from the source that all devices run: what they do is compared with an
attempt that `tests/reference` has.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import inf
from time import monotonic
from types import FunctionType
from typing import Any, cast

from binwright.agents.solver.backends import attempt
from binwright.agents.solver.backends.flat import Flat, Room, lengths
from binwright.agents.solver.backends.numbered_attempts import Found
from binwright.agents.solver.model.emit import utilfn
from binwright.agents.solver.model.evaluate import Added, function_of
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.agents.solver.model.random import below, stream

_PLAIN: dict[str, Any] = vars(attempt) | {"stream_kernel": stream, "below_kernel": below}
_PLAIN |= {name: FunctionType(one.py_func.__code__, _PLAIN) for name, one in _PLAIN.items() if hasattr(one, "py_func")}


class _Clock:
    """Stands for `Room.stop`: its only entry tells whether time is over."""

    def __init__(self, over: Callable[[], bool]) -> None:
        self.over = over

    def __getitem__(self, _: int) -> bool:
        return self.over()


class Plain:
    """A problem and what attempts write, as lists: nothing is placed yet."""

    def __init__(
        self, problem: Problem, trims: bool = False, over: Callable[[], bool] = lambda: False, *, early: bool = True
    ) -> None:
        """Unless it is `early`, UTILFN looks at no ceiling."""
        source, numbers = utilfn(problem.program, spelt=True, early=early)
        self.call: Callable[..., int] = function_of(source, "utilfn")
        flat = (part.tolist() for part in Flat.of_problem(problem, numbers, trims))
        self.flat: Any = Flat(*flat)._replace(data=cast(Any, problem.program.data.data))
        room = {name: [0] * length for name, length in lengths(problem).items()}
        imposed = [int(chance == MICRO) for chance in self.flat.chance]
        nowhere = {"alloc": [NULL] * problem.balls, "after": [NULL] * len(problem.units)}
        self.room: Any = Room(**cast(Any, room | nowhere | {"imposed": imposed, "stop": _Clock(over)}))
        self.friends, self.sets = len(problem.friends), len(problem.friends) + len(problem.foes)

    def attempt(self, seed: int, way: int, number: int) -> int:
        """Make an attempt; returns how many units are left. Those that would be tried when time is over are left."""
        given = self.call, self._scan, self.flat, self.friends, self.sets, self.room
        return cast(int, _PLAIN["attempt"](*given, seed, way, number, len(self.room.left), True))

    def _scan(self, *given: Any) -> int:
        """Do what `attempt.scan` does, until time is over."""
        *arguments, bins, low, high = given
        ball, *arrays = arguments
        for at in range(low, high):
            if self.room.stop[0]:
                break
            if self.call(ball, bins[at], *arrays, 0) >= 0:
                return at
        return -1

    def put(self, unit: int, place: int) -> Added | None:
        """Put all balls of a unit into a bin, and return what they add; None if they do not fit."""
        n = _PLAIN["put"](self.call, self.flat, self.friends, self.room, unit, place)
        return None if n < 0 else list(zip(self.room.dims[:n], self.room.amounts[:n], strict=True))

    def take_back(self, unit: int, added: Added) -> None:
        """Take a unit out, and off what it has added: UTILFN may say something else by now."""
        self.place(unit, NULL, [(dim, -amount) for dim, amount in added])

    def place(self, unit: int, place: int, added: Added) -> None:
        """Let a unit be in a bin, and add what it adds, whatever that is."""
        for dim, amount in added:
            _PLAIN["change"](self.flat, self.room, dim, amount)
        for at in range(self.flat.units[unit], self.flat.units[unit + 1]):
            self.room.alloc[self.flat.unit_balls[at]] = place

    @property
    def over(self) -> bool:
        """Tell whether an elastic dimension is above its ceiling."""
        return bool(self.room.over[-1])


def attempts(
    problem: Problem, seed: int, first: int, count: int, *, trims: bool = False, until: float = inf
) -> Iterator[Found]:
    """Make attempts first, ..., first + count - 1 in every grouping, up to the first success.

    Yields the best after each. When `monotonic()` is `until`, the last one is cut short: what it has placed counts.
    """
    return attempts_until(problem, seed, range(first, first + count), trims, lambda: monotonic() >= until)


def attempts_until(
    problem: Problem, seed: int, numbers: Sequence[int], trims: bool, over: Callable[[], bool]
) -> Iterator[Found]:
    """Do as `attempts` until time is `over`."""
    best, plain = None, Plain(problem, trims, over)
    for checked, (number, group) in enumerate(itertools.product(numbers, range(len(problem.groupings))), 1):
        left = plain.attempt(seed, group, number)
        if best is None or left < best.left:
            best = Found(plain.room.alloc[:], left, number, group, checked)
        yield replace(best, checked=checked)
        if left == 0 or over():
            return
