"""The search for the cheapest mix of kinds of servers that is enough: it says which mix to look at next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TypeAlias

from scenarios.size.search import Found, next_size

Mix: TypeAlias = tuple[int, ...]
"""How many servers of each kind."""


@dataclass(frozen=True, slots=True)
class FoundMix:
    """The answer of a search: the cheapest mix that is enough, or None where there is none."""

    size: Mix | None


@dataclass(frozen=True, slots=True)
class Market:
    """What servers of each kind cost, the `most` there may be of each, and the mix that is looked at first."""

    prices: tuple[Fraction, ...]
    most: Mix
    begin: Mix

    def cost(self, mix: Sequence[int]) -> Fraction:
        """Add up the price of a mix, or of its first kinds."""
        return sum((price * count for price, count in zip(self.prices, mix, strict=False)), Fraction(0))

    def rank(self, mix: Mix) -> tuple[Fraction, int, Mix]:
        """Order mixes: by cost; of equally dear ones those with fewer servers, then with fewer of the first kinds."""
        return self.cost(mix), sum(mix), mix


def next_mix(known: Mapping[Mix, bool], market: Market) -> Mix | FoundMix:
    """Say which mix to look at next, or the answer, where `known` says of mixes whether they are enough.

    A line is all mixes that differ in the last kind only, which is best the cheapest: then there are few lines. On each
    line the answer is that of `next_size`, and the cheapest of these wins. A line has no cheaper one if what costs as
    much there as the best one so far is not enough. The sizes above an answer are looked at on the line that wins: to
    look there can only make a line's answer dearer.
    """
    on_line: dict[Mix, dict[int, bool]] = {}
    for mix, enough in known.items():
        on_line.setdefault(mix[:-1], {})[mix[-1]] = enough
    best: Mix | None = None
    for line in _lines(market):
        if best is not None and market.cost(line) > market.cost(best):
            continue
        step = _on(line, on_line.get(line, {}), market, best)
        if not isinstance(step, FoundMix):
            return step
        if step.size is not None and (best is None or market.rank(step.size) < market.rank(best)):
            best = step.size
    if best is None:
        return FoundMix(None)
    line = best[:-1]
    sure = next_size(on_line[line], int(not any(line)), market.most[-1], market.begin[-1])
    return FoundMix(best) if isinstance(sure, Found) else (*line, sure)


def _on(line: Mix, known: Mapping[int, bool], market: Market, best: Mix | None) -> Mix | FoundMix:
    """Go on with the search on a line, for what costs no more than the best mix so far."""
    least, most, begin = int(not any(line)), market.most[-1], market.begin[-1]
    if best is not None:
        cap = min(most, int((market.cost(best) - market.cost(line)) // market.prices[-1]))
        if cap < least or known.get(cap) is False:
            return FoundMix(None)
        if cap not in known:
            return (*line, cap)
        low = max((size for size, enough in known.items() if not enough), default=least - 1)
        high = min((size for size, enough in known.items() if enough and size > low), default=most)
        if low < least <= high - 1 and high <= cap:  # the answer is near: in steps twice as long each time
            return (*line, max(least, high - max(1, cap - high)))
        begin = cap
    step = next_size(known, least, most, max(least, begin), sure=False)
    if isinstance(step, Found):
        return FoundMix(None if step.size is None else (*line, step.size))
    return (*line, step)


def _lines(market: Market) -> Iterator[Mix]:
    """Go through the numbers of all kinds but the last, from the mix that is looked at first."""
    first = market.begin[:-1]
    yield first
    for line in product(*(range(most + 1) for most in market.most[:-1])):
        if line != first:
            yield line
