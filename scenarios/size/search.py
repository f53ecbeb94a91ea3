"""The search for the smallest size from which on all are enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

AHEAD, SHARE = 3, 20
"""So many sizes above an answer are looked at, too; a twentieth of it where that is more."""


@dataclass(frozen=True, slots=True)
class SizeFound:
    """The answer of a search: the smallest size from which on all are enough, or None where not even the most is."""

    size: int | None


def next_size(known: Mapping[int, bool], least: int, most: int, begin: int) -> int | SizeFound:
    """Say which size to look at next, or the answer, where `known` says of sizes whether they are enough.

    The answer is one more than the largest size that is known not to be enough. Above it, the next `ahead` sizes are
    enough, too; if one is not, the search goes on above that one. So it is the exhaustive answer wherever no more than
    that many sizes in a row are enough between two that are not.
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
    unknown = [size for size in range(high + 1, min(most, high + ahead(high)) + 1) if size not in known]
    return unknown[0] if unknown else SizeFound(high)


def ahead(size: int) -> int:
    """How many sizes above this one are looked at before it is the answer."""
    return max(AHEAD, size // SHARE)
