"""The cheapest mix by looking at every one: the definition that `binwright.scenarios.size.mixes` is held to."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from binwright.scenarios.size.mixes import Market, Mix


def every(market: Market) -> list[Mix]:
    """List all mixes, the cheapest first."""
    mixes = product(*(range(most + 1) for most in market.most))
    return sorted((mix for mix in mixes if any(mix)), key=market.rank)


def cheapest(enough: Callable[[Mix], bool], market: Market) -> Mix | None:
    """Return the cheapest mix that is enough, and stays so with more servers of one of the kinds."""
    return next((mix for mix in every(market) if any(_stays(enough, market, mix))), None)


def safest(enough: Callable[[Mix], bool], market: Market) -> Mix | None:
    """Return the cheapest mix that is enough as all are that have as many servers of every kind, or more."""
    for mix in every(market):
        larger = product(*(range(count, most + 1) for count, most in zip(mix, market.most, strict=True)))
        if all(map(enough, larger)):
            return mix
    return None


def _stays(enough: Callable[[Mix], bool], market: Market, mix: Mix) -> list[bool]:
    """Tell of each kind whether the mix is enough with so many servers of it and all larger numbers."""
    return [
        all(enough((*mix[:kind], size, *mix[kind + 1 :])) for size in range(mix[kind], market.most[kind] + 1))
        for kind in range(len(mix))
    ]
