"""Where balls are, and what is to be emptied, as plain data: what commands read from files and clients send."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from binwright.simcore.errors import UserError, suggest

if TYPE_CHECKING:
    from binwright.agents.solver.model.problem import Problem

Place: TypeAlias = int | str | None
"""A bin by number or by name; None or -1 is nowhere."""
Where: TypeAlias = Callable[[Sequence[str], Sequence[str]], list[int]]
"""Gives the bin of every ball, -1 for none, from the names of balls and of bins."""
MOST = 10**7
"""Numbers of bins are below it: there are a million at most."""


def placed(
    make: Callable[[Sequence[int] | None], Problem],
    where: Where | None,
    moves: int | None = None,
    drain: Iterable[int | str] = (),
) -> Problem:
    """Make a problem with its balls where they are, so many moves at most, and bins to be emptied.

    `make` gives the problem with its balls in these bins.
    """
    from binwright.agents.solver import changed

    problem = make(None if where is None else ())  # its goals may want NOW
    if where is not None:
        try:
            now = where(problem.ball_names, problem.bin_names)
        except (ValueError, TypeError) as error:
            remedy = "Give the bin of every ball, or an object from balls to bins."
            raise UserError(f"now does not say where balls are: {error}", remedy=remedy) from None
        problem = make(now)
    return changed(problem, None, moves, list(drained(drain, problem.bin_names)))


def bins(now: Mapping[str, Place] | Sequence[Place], ball_names: Sequence[str], bin_names: Sequence[str]) -> list[int]:
    """Read the bins of all balls, -1 for those that have none; `ValueError` says what is wrong.

    A sequence has the bin of every ball. In a mapping from balls, by name where they have names and else by number,
    those that are not in it are new, and those that are only there are gone.
    """
    numbers = {name: number for number, name in enumerate(bin_names)}
    if isinstance(now, Mapping):
        if ball_names and now and now.keys().isdisjoint(ball_names):
            raise ValueError("none of its balls is here")
        if not ball_names and now.keys() != {str(ball) for ball in range(len(now))}:
            raise ValueError("balls are not 0, 1, 2, ...")
        now = [now.get(name) for name in ball_names or map(str, range(len(now)))]
    if wrong := [place for place in now if not (place is None or isinstance(place, str) or type(place) is int)]:
        raise ValueError(f"{wrong[0]!r} is no bin")
    if unknown := [place for place in now if bin_names and isinstance(place, str) and place not in numbers]:
        raise ValueError(f"{unknown[0]} is no bin here. Leave the bin of its balls empty: they are nowhere then")
    return [-1 if place is None else numbers[place] if place in numbers else int(place) for place in now]


def drained(what: Iterable[int | str], names: Sequence[str]) -> Iterator[int]:
    """Read bins: numbers, ranges like 5-7, or names where bins have names."""
    for part in what:
        text = str(part).strip()
        low, dash, high = text.partition("-")
        ends = low, high if dash else low
        if text in names:
            yield names.index(text)
        elif names and not isinstance(part, int):
            raise UserError("there is no such bin", key="drain", value=text, remedy=suggest(text, names))
        elif all(end.isdecimal() and int(end[:9]) < MOST for end in ends) and int(ends[0]) <= int(ends[1]):
            yield from range(int(ends[0]), int(ends[1]) + 1)
        else:
            raise UserError("is no list of bins", key="drain", value=text, remedy="Write numbers and ranges: 3,5-7.")
