"""The search for the smallest size that is enough: it says which size to look at next, from what is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

AHEAD, SHARE = 3, 20
"""So many sizes above an answer are looked at, too; a twentieth of it where that is more."""


Size = TypeVar("Size")


@dataclass(frozen=True, slots=True)
class SizeFound(Generic[Size]):
    """The answer of a search: the smallest size from which on all are enough, or None where not even the most is."""

    size: Size | None


def next_size(
    known: Mapping[int, bool], least: int, most: int, begin: int, *, sure: bool = True
) -> int | SizeFound[int]:
    """Say which size to look at next, or the answer, where `known` says of sizes whether they are enough.

    The answer is one more than the largest size that is known not to be enough. Above it, the next `ahead` sizes are
    enough, too; if one is not, the search goes on above that one. So it is the answer of `exhaustive` wherever no more
    than that many sizes in a row are enough between two that are not. Unless `sure`, nothing above it is looked at.
    """
    low = max((size for size, enough in known.items() if not enough), default=least - 1)
    if low >= most:
        return SizeFound(None)
    above = [size for size, enough in known.items() if enough and size > low]
    if not above:
        return max(least, min(most, max(begin, 2 * low, low + 1) if known else begin))
    high = min(above)
    if high - low > 1:
        return (low + high) // 2
    if not sure:
        return SizeFound(high)
    unknown = [size for size in range(high + 1, min(most, high + ahead(high)) + 1) if size not in known]
    return unknown[0] if unknown else SizeFound(high)


def to_come(known: Mapping[int, bool], least: int, most: int, begin: int) -> set[int]:
    """Guess which sizes a search still looks at: the answer is taken to lie in the middle of where it may."""
    known, found = dict(known), set[int]()
    low = max((size for size, enough in known.items() if not enough), default=least - 1)
    high = min((size for size, enough in known.items() if enough and size > low), default=max(2 * low, begin))
    while isinstance(step := next_size(known, least, most, begin), int):
        known[step] = step > (low + high) / 2
        found.add(step)
    return found


def ahead(size: int) -> int:
    """How many sizes above this one are looked at before it is the answer."""
    return max(AHEAD, size // SHARE)
