"""The cheapest mix by looking at every one: the definition that `scenarios.size.mixes` is held to."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from scenarios.size.mixes import Market, Mix
from scenarios.size.search import exhaustive


def cheapest(enough: Callable[[Mix], bool], market: Market) -> Mix | None:
    """Of every line's smallest number from which on all are enough, take the cheapest."""
    answers = []
    for line in product(*(range(most + 1) for most in market.most[:-1])):
        least = 0 if any(line) else 1
        number = exhaustive((enough((*line, one)) for one in range(least, market.most[-1] + 1)), least)
        if number is not None:
            answers.append((*line, number))
    return min(answers, key=market.rank) if answers else None
