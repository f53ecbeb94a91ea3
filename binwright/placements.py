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

DIGITS = 7
"""Of a bin's number: there are a million at most."""


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

    given = make(None if where is None else ())  # its goals may want NOW
    if where is not None:
        given = make(where(given.ball_names, given.bin_names))
    return changed(given, None, moves, list(drained(drain, given.bin_names)))


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
    return [_bin(place, numbers) for place in now]


def _bin(place: Place, numbers: Mapping[str, int]) -> int:
    if place is None:
        return -1
    if place in numbers:
        return numbers[str(place)]
    if numbers and isinstance(place, str):
        raise ValueError(f"{place} is no bin here. Leave the bin of its balls empty: they are nowhere then")
    return int(place)


def drained(what: Iterable[int | str], names: Sequence[str]) -> Iterator[int]:
    """Read bins: numbers, ranges like 5-7, or names where bins have names."""
    for part in what:
        text = str(part).strip()
        low, dash, high = text.partition("-")
        if text in names:
            yield names.index(text)
        elif names and not isinstance(part, int):
            raise UserError("there is no such bin", key="drain", value=text, remedy=suggest(text, names))
        elif _number(low) and (not dash or _number(high)) and int(low) <= int(high or low):
            yield from range(int(low), int(high or low) + 1)
        else:
            raise UserError("is no list of bins", key="drain", value=text, remedy="Write numbers and ranges: 3,5-7.")


def _number(text: str) -> bool:
    """Tell whether a text is a number that a bin may have."""
    return text.isdecimal() and len(text) <= DIGITS
