"""The search for the cheapest mix of kinds of servers that is enough: it says which mix to look at next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, product
from math import ceil
from typing import TypeAlias

from binwright.scenarios.size.evaluate import SizeFound, ahead

Mix: TypeAlias = tuple[int, ...]
"""How many servers of each kind."""
MANY = 200
"""So many mixes to come are counted, at most."""


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


def next_mix(known: Mapping[Mix, bool], market: Market, near: Mix | None = None) -> Mix | SizeFound[Mix]:
    """Say which mix to look at next, or the answer, where `known` says of mixes whether they are enough.

    A mix is an answer if it is enough and stays so with more servers of one of the kinds. What is not enough is taken
    not to be so either with fewer servers of every kind; the next `ahead` sizes above the answer are looked at, though.
    So it is the answer of an exhaustive search wherever more servers are never too few. `near` is a mix that is almost
    enough, if one is known: the first that is enough is looked for from there on.
    """
    return _Search(known, market).next(near)


def to_come(known: Mapping[Mix, bool], market: Market) -> int:
    """Guess how many mixes a search looks at yet: one for every number of the first kinds that is not ruled out."""
    return _Search(known, market).left


class _Search:
    """What is known, and what follows from it."""

    def __init__(self, known: Mapping[Mix, bool], market: Market) -> None:
        self._known, self._market = known, market
        self._enough = sorted((mix for mix, enough in known.items() if enough), key=market.rank)
        self._short = [mix for mix, enough in known.items() if not enough]
        self._best = next((mix for mix in self._enough if any(self._open(mix))), None)

    @property
    def left(self) -> int:
        """Guess how many mixes are looked at yet, up to MANY."""
        if self._best is None:
            return MANY
        last = len(self._market.most) - 1
        lines = self._open_lines((0,) * last, tuple(self._most_of(kind) for kind in range(last)))
        return sum(1 for _ in islice(lines, MANY)) + ahead(self._best[-1])

    def _open_lines(self, low: Mix, high: Mix) -> Iterator[Mix]:
        """Go through the numbers of the first kinds with which there may be a better mix than the best so far."""
        room = self._room(low)
        if room < int(not any(high)) or self._too_few((*high, room)):
            return
        if low == high:
            yield low
            return
        for lower, upper in self._halves(low, high):
            yield from self._open_lines(lower, upper)

    def _halves(self, low: Mix, high: Mix) -> list[tuple[Mix, Mix]]:
        """Divide what lies between, where the cost differs most: that with more servers first."""
        widths = [price * (b - a) for price, a, b in zip(self._market.prices, low, high, strict=False)]
        kind = widths.index(max(widths))
        middle = (low[kind] + high[kind]) // 2
        upper = (*low[:kind], middle + 1, *low[kind + 1 :]), high
        return [upper, (low, (*high[:kind], middle, *high[kind + 1 :]))]

    def next(self, near: Mix | None) -> Mix | SizeFound[Mix]:
        """Say which mix to look at next, or the answer."""
        if self._best is None:
            unknown = (mix for mix in self._growing(near or self._market.begin) if mix not in self._known)
            return next(unknown, SizeFound(None))
        last = len(self._market.most) - 1
        whole = (0,) * last, tuple(self._most_of(kind) for kind in range(last))
        return self._beside(self._best) or self._within(*whole) or self._above(self._best) or SizeFound(self._best)

    def _beside(self, best: Mix) -> Mix | None:
        """Look for a better mix with fewer servers of the last kind, or with more or fewer of one of the others.

        Steps are long at first. Where the cost rises on both sides of the cheapest, it is found so in few looks.
        """
        *line, last = best
        if found := self._on(tuple(line), last):
            return found
        steps = [2**power for power in reversed(range(max(map(self._most_of, range(len(line)))).bit_length()))]
        for step, kind, sign in product(steps, range(len(line)), (-1, 1)):
            count = line[kind] + sign * step
            if 0 <= count <= self._market.most[kind]:
                other = (*line[:kind], count, *line[kind + 1 :])
                mix = (*other, self._room(other))
                if mix[-1] < int(not any(other)) or self._too_few(mix):
                    continue
                if found := self._on(other, mix[-1]) if self._plenty(mix) else mix:
                    return found
        return None

    def _growing(self, mix: Mix) -> Iterator[Mix]:
        """Go up from a mix to the largest, twice as far each time; from one that is near, in small steps at first."""
        by = Fraction(1, 1 if mix == self._market.begin else 20)
        while True:
            if not self._too_few(mix):
                yield mix
            if mix == self._market.most:
                return
            grown = (ceil(max(1, count) * (1 + by)) for count in mix)
            mix = tuple(map(min, zip(grown, self._market.most, strict=True)))
            by = min(Fraction(1), 2 * by)

    def _most_of(self, kind: int) -> int:
        """How many servers of a kind there may be in a mix that costs no more than the best so far."""
        assert self._best is not None
        return min(self._market.most[kind], int(self._market.cost(self._best) // self._market.prices[kind]))

    def _within(self, low: Mix, high: Mix) -> Mix | None:
        """Look for a better mix with that many servers of the first kinds, at least and at most; None if there is none.

        The one with the most servers that could be there is looked at first: if it is not enough, none of them is.
        """
        room = self._room(low)
        if room < int(not any(high)) or self._too_few((*high, room)):
            return None
        if not self._plenty((*high, room)):
            return (*high, room)
        if low == high:
            return self._on(low, room)
        upper, lower = self._halves(low, high)
        return self._within(*upper) or self._within(*lower)

    def _on(self, line: Mix, room: int) -> Mix | None:
        """Halve the gap on a line, between what is not enough and what is, for a mix better than the best so far."""
        least = int(not any(line))
        low = max((size for *rest, size in self._short if _covers(rest, line)), default=-1)
        low = max(low, least - 1)
        plenty = [size for *rest, size in self._enough if _covers(line, rest) and size > low]
        high = max(least, min([room, *plenty]))
        if high - low > 1:
            return (*line, (low + high) // 2)
        found = (*line, high)
        return None if found in self._known else found

    def _room(self, line: Mix) -> int:
        """How many servers of the last kind make, with these, a mix no worse than the best so far."""
        assert self._best is not None
        left = self._market.cost(self._best) - self._market.cost(line)
        room = min(self._market.most[-1], int(left // self._market.prices[-1])) if left >= 0 else -1
        return room if room < 0 or self._market.rank((*line, room)) <= self._market.rank(self._best) else room - 1

    def _above(self, mix: Mix) -> Mix | None:
        """Look at more servers of the kind of which that costs least: None if all is known, and enough."""
        most = self._market.most
        found = []
        for kind, is_open in enumerate(self._open(mix)):
            if is_open:
                sizes = range(mix[kind] + 1, min(most[kind], mix[kind] + ahead(mix[kind])) + 1)
                larger = [(*mix[:kind], size, *mix[kind + 1 :]) for size in sizes]
                found.append([one for one in larger if one not in self._known])
        fewest = min(reversed(found), key=len)
        return fewest[0] if fewest else None

    def _open(self, mix: Mix) -> list[bool]:
        """Tell of each kind whether a mix is not known to be too few with more servers of it."""
        return [
            not any(
                one[kind] > mix[kind] and one[:kind] == mix[:kind] and one[kind + 1 :] == mix[kind + 1 :]
                for one in self._short
            )
            for kind in range(len(mix))
        ]

    def _too_few(self, mix: Mix) -> bool:
        """Tell whether a mix is not enough, or another one with as many servers of every kind or more."""
        return self._known.get(mix) is False or any(_covers(one, mix) for one in self._short)

    def _plenty(self, mix: Mix) -> bool:
        """Tell whether a mix is enough, or another one with as many servers of every kind or fewer."""
        return any(_covers(mix, one) for one in self._enough)


def _covers(larger: Sequence[int], smaller: Sequence[int]) -> bool:
    return all(a >= b for a, b in zip(larger, smaller, strict=True))
