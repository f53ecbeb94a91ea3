"""Whose turn it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple


class Waiting(NamedTuple):
    """A job that waits."""

    id: str
    owner: str
    priority: int


def in_turn(queued: Iterable[Waiting], busy: Mapping[str, int], last: Mapping[str, float]) -> list[str]:
    """Order jobs that wait, which come by falling priority and then by age; returns their ids.

    The highest priority is first. Among equals it is the turn of the owner that has the fewest jobs running (`busy`),
    then of the one whose `last` turn was longest ago, then of the older job. Later jobs of an owner count those before
    them as running, so the order is the one in which they begin if no job ends or comes meanwhile.
    """
    ahead = Counter(busy)
    keys = []
    for age, (name, owner, priority) in enumerate(queued):
        keys.append((-priority, ahead[owner], last.get(owner, 0.0), age, name))
        ahead[owner] += 1
    return [key[-1] for key in sorted(keys)]
