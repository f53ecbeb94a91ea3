"""The network of fabric-rl: what a server looks like to it, how it scores it, and when it would rather reject.

All features are shares or squashed ratios: nothing depends on the size of the cluster, nor on which resource is which.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simcore.jit import kernel
from simcore.vocabulary import Floats, Ints

FEATURES = (
    *("given", "completes", "least left", "most left", "least free", "most free"),
    *("link before", "link after", "usable after", "usable before", "growth of stranded", "bandwidth"),
    *(
        "needed before",
        "needed after",
        "rack over needed",
        "pod over needed",
        "uplinks",
        "new rack",
        "new pod",
        "first",
    ),
    *("duration", "in use", "bound after", "bound before"),
)
"""Of a server that might be chosen next: see `describe`."""
TERMS = ("volume", "duration", "size", "bandwidth", "links", "servers", "in use", "cost")
"""Of a whole placement, for the decision to reject: see `rejects`."""
HIDDEN, STYLES, DOUBTS = 8, 2, 6
"""Hidden units for servers; ways to pick servers, each of which makes candidates; hidden units of `rejects`."""


class Weights(NamedTuple):
    """What is learned, all float64. The columns of `server` are the hidden units, the styles, and the cost.

    `server` [features, HIDDEN + STYLES + 1], `bias` [HIDDEN], `out` [HIDDEN, STYLES + 1], `links` [1] is what a link
    costs; `reject` [terms, DOUBTS + 1], `reject_bias` [DOUBTS + 1], `reject_out` [DOUBTS].
    """

    server: Floats
    bias: Floats
    out: Floats
    links: Floats
    reject: Floats
    reject_bias: Floats
    reject_out: Floats


SHAPES = {
    "server": (len(FEATURES), HIDDEN + STYLES + 1),
    "bias": (HIDDEN,),
    "out": (HIDDEN, STYLES + 1),
    "links": (1,),
    "reject": (len(TERMS), DOUBTS + 1),
    "reject_bias": (DOUBTS + 1,),
    "reject_out": (DOUBTS,),
}
SIZE = sum(int(np.prod(shape)) for shape in SHAPES.values())


def weights_of(flat: Floats) -> Weights:
    """The parts of one vector, float64 [SIZE], which they share."""
    parts, place = [], 0
    for shape in SHAPES.values():
        length = int(np.prod(shape))
        parts.append(flat[place : place + length].reshape(shape))
        place += length
    return Weights(*parts)


def beginning(rng: np.random.Generator) -> Floats:
    """Weights that place much as best-home does, and reject the 3 % of requests that ask for most for longest."""
    flat = np.zeros(SIZE)
    made = weights_of(flat)
    made.server[:, :HIDDEN] = rng.normal(size=(len(FEATURES), HIDDEN)) * len(FEATURES) ** -0.5
    picks = {"given": (1.0, 0.3), "completes": (3.0, 3.0), "growth of stranded": (-0.5, -0.5), "usable after": (0, -1)}
    for name, of_styles in picks.items():
        made.server[FEATURES.index(name), HIDDEN : HIDDEN + STYLES] = of_styles
    made.server[FEATURES.index("growth of stranded"), -1] = 0.5
    made.links[0] = 1.0
    made.reject[:, :DOUBTS] = rng.normal(size=(len(TERMS), DOUBTS)) * len(TERMS) ** -0.5
    made.reject[TERMS.index("volume"), -1], made.reject_bias[-1] = 1.0, -1.1
    return flat


@kernel
def squashed(value: float) -> float:
    """0 for nothing, towards 1 for much."""
    return value / (1.0 + value) if value < np.inf else 1.0


@kernel
def score(server: Floats, bias: Floats, out: Floats, x: Floats, count: int, hidden: Floats, y: Floats) -> None:
    """Write to `y` float64 [any, STYLES + 1] how much each style likes the first `count` servers with these features
    `x` float64 [any, features], and what they cost; `hidden` is scratch."""
    columns = HIDDEN + STYLES + 1
    for n in range(count):
        hidden[:] = 0.0
        for f in range(0, server.shape[0], 4):  # four at a time is half as long again as fast
            a, b, c, d = x[n, f], x[n, f + 1], x[n, f + 2], x[n, f + 3]
            for column in range(columns):
                hidden[column] += (
                    a * server[f, column]
                    + b * server[f + 1, column]
                    + c * server[f + 2, column]
                    + d * server[f + 3, column]
                )
        for column in range(STYLES + 1):
            y[n, column] = hidden[HIDDEN + column]
        for unit in range(HIDDEN):
            excited = hidden[unit] + bias[unit]
            if excited > 0:
                for column in range(STYLES + 1):
                    y[n, column] += excited * out[unit, column]


@kernel
def rejects(weights: Weights, terms: Floats) -> bool:
    """Is a placement with these `TERMS` not worth what it takes from those to come?"""
    total = weights.reject_bias[DOUBTS]
    for term in range(len(terms)):
        total += terms[term] * weights.reject[term, DOUBTS]
    for unit in range(DOUBTS):
        excited = weights.reject_bias[unit]
        for term in range(len(terms)):
            excited += terms[term] * weights.reject[term, unit]
        if excited > 0:
            total += excited * weights.reject_out[unit]
    return bool(total > 0)


@kernel
def describe(
    x: Floats, n: int, need: Ints, most: Ints, parts: Floats, place: int, wire: float, bandwidth: float, first: bool
) -> tuple[bool, float]:
    """Write the features of a server itself to `x[n]`, the first fourteen and those that are bound; says whether it
    completes the request, and how much it gives.

    `need` int64 [resources] is still missing, `most` int64 [resources + 1] the largest server and link,
    `parts[place]` float64 [resources] what is free, as a share of that; `wire` and `bandwidth` are shares of the link.
    Usable is the least that is free of all resources and the link. Bound is what is free without bandwidth to use it.
    """
    given, complete = 0.0, True
    least_left, most_left, least_free, most_free = np.inf, 0.0, np.inf, 0.0
    needed, missing = 0.0, 0.0
    for r in range(len(need)):
        wanted = need[r] / most[r] if most[r] > 0 else 0.0
        there = parts[place, r]
        gives = min(wanted, there)
        complete &= wanted <= there
        given += gives
        least_left, most_left = min(least_left, there - gives), max(most_left, there - gives)
        least_free, most_free = min(least_free, there), max(most_free, there)
        needed, missing = max(needed, wanted), max(missing, wanted - gives)
    after = wire if complete and first else wire - bandwidth
    x[n, 0], x[n, 1] = given, 1.0 if complete else 0.0
    x[n, 2], x[n, 3], x[n, 4], x[n, 5] = least_left, most_left, least_free, most_free
    x[n, 6], x[n, 7], x[n, 8], x[n, 9] = wire, after, min(least_left, after), min(least_free, wire)
    x[n, 10], x[n, 11] = (most_left - least_left) - (most_free - least_free), bandwidth
    x[n, 12], x[n, 13] = squashed(needed / 2), squashed(missing / 2)
    x[n, 22], x[n, 23] = most_left * (1.0 - after), most_free * (1.0 - wire)
    return complete, given
