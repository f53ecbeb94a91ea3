"""Computes the network of fabric-rl: what a server looks like to it, how it scores it, and when it rather rejects.

All features are shares or squashed ratios: nothing depends on the size of the cluster, nor on which resource is which.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simcore.jit import kernel, lean
from simcore.vocabulary import Floats, Ints

OWN = (
    *("given", "completes", "least left", "most left", "all left", "least free", "most free", "all free"),
    *("link before", "link after", "usable before", "usable after", "growth of stranded", "needed after"),
    *("bound before", "bound after", "stays", "outlasts", "outlasts what is there", "left for longer"),
)
"""Of a server that might be chosen next: see `describe`."""
SHARED = (
    *("bandwidth", "needed before", "rack over needed", "pod over needed", "uplinks"),
    *("new rack", "new pod", "first", "duration", "in use"),
)
"""The same for all servers of a rack."""
FEATURES = (*OWN, *SHARED)
TERMS = ("volume", "duration", "size", "bandwidth", "links", "servers", "in use", "cost")
"""Of a whole placement, for the decision to reject: see `rejects`."""
HIDDEN, STYLES, DOUBTS = 3, 4, 6
"""Hidden units for servers; ways to pick servers, each of which makes candidates; hidden units of `rejects`."""
COLUMNS = HIDDEN + STYLES + 1


class Weights(NamedTuple):
    """Holds what is learned, all float64. The columns of `server` are the hidden units, the styles, and the cost.

    `server` [features, COLUMNS], `bias` [HIDDEN], `out` [HIDDEN, STYLES + 1]; `links` [2] is what a server's own link
    costs, and any other. `decline` [3] is the rule to reject by: what the cost counts beside the size, and the
    logarithms of the bound and of how much of a free cluster is added to it. `reject` [terms, DOUBTS + 1],
    `reject_bias` [DOUBTS + 1] and `reject_out` [DOUBTS] correct that rule.
    """

    server: Floats
    bias: Floats
    out: Floats
    links: Floats
    decline: Floats
    reject: Floats
    reject_bias: Floats
    reject_out: Floats


SHAPES = {
    "server": (len(FEATURES), COLUMNS),
    "bias": (HIDDEN,),
    "out": (HIDDEN, STYLES + 1),
    "links": (2,),
    "decline": (3,),
    "reject": (len(TERMS), DOUBTS + 1),
    "reject_bias": (DOUBTS + 1,),
    "reject_out": (DOUBTS,),
}
SIZE = sum(int(np.prod(shape)) for shape in SHAPES.values())


def weights_of(flat: Floats) -> Weights:
    """Return the parts of one vector, float64 [SIZE], which they share."""
    parts, place = [], 0
    for shape in SHAPES.values():
        length = int(np.prod(shape))
        parts.append(flat[place : place + length].reshape(shape))
        place += length
    return Weights(*parts)


BEGINNING = {
    "given": (1.0, 1.0, 1.0, 0.5, 0.0),
    "completes": (6.0, 6.0, 3.0, 3.0, 0.0),
    "growth of stranded": (-0.5, -0.5, -0.5, -0.5, 0.5),
    "bound after": (-1.0, -1.0, 0.0, -1.0, 1.0),
    "bound before": (1.0, 1.0, 0.0, 1.0, -1.0),
    "all left": (0.0, 0.0, 0.0, -1.0, 0.0),
    "outlasts what is there": (0.0, -1.2, -0.5, 0.0, 0.6),
    "left for longer": (0.0, 0.0, 0.0, 0.0, -0.2),
}
"""What the styles and the cost begin with. The first style is the tuned best-home's; the cost, too, but that it counts
what a server holds and the request will outlast."""


def beginning(rng: np.random.Generator) -> Floats:
    """Return weights with which it places and declines much as the tuned best-home does."""
    flat = np.zeros(SIZE)
    made = weights_of(flat)
    made.server[:, :HIDDEN] = rng.normal(size=(len(FEATURES), HIDDEN)) * len(FEATURES) ** -0.5
    for name, of_columns in BEGINNING.items():
        made.server[FEATURES.index(name), HIDDEN:] = of_columns
    made.links[:] = 1.0
    made.decline[:] = 0.55, np.log(2.2), np.log(4.5)
    made.reject[:, :DOUBTS] = rng.normal(size=(len(TERMS), DOUBTS)) * len(TERMS) ** -0.5
    return flat


@lean
def squashed(value: float) -> float:
    """Return 0 for nothing, and nears 1 for much."""
    return value / (1.0 + value) if value < np.inf else 1.0


@lean
def score(
    server: Floats, bias: Floats, out: Floats, shared: Floats, x: Floats, count: int, hidden: Floats, y: Floats
) -> None:
    """Write to `y` float64 [any, STYLES + 1] how much each style likes the first `count` servers, and what they cost.

    Their features are `x` float64 [any, OWN] and `shared` float64 [SHARED]; `hidden` [2, COLUMNS] is scratch.
    """
    own = x.shape[1]
    common, mine = hidden[0], hidden[1]
    for column in range(COLUMNS):
        common[column] = 0.0
    for unit in range(HIDDEN):
        common[unit] = bias[unit]
    for f in range(len(shared)):
        for column in range(COLUMNS):
            common[column] += shared[f] * server[own + f, column]
    for n in range(count):
        for column in range(COLUMNS):
            mine[column] = common[column]
        for f in range(0, own, 4):  # four at a time is half as long again as fast
            a, b, c, d = x[n, f], x[n, f + 1], x[n, f + 2], x[n, f + 3]
            for column in range(COLUMNS):
                mine[column] += (
                    a * server[f, column]
                    + b * server[f + 1, column]
                    + c * server[f + 2, column]
                    + d * server[f + 3, column]
                )
        for column in range(STYLES + 1):
            y[n, column] = mine[HIDDEN + column]
        for unit in range(HIDDEN):
            if mine[unit] > 0:
                for column in range(STYLES + 1):
                    y[n, column] += mine[unit] * out[unit, column]


@kernel
def rejects(weights: Weights, terms: Floats) -> bool:
    """Tell whether a placement with these `TERMS` is not worth what it takes from requests to come.

    By rule when its volume is above the bound; a network of one hidden layer moves it.
    """
    bound = np.exp(weights.decline[1]) + np.exp(weights.decline[2]) * (1.0 - terms[6])
    total = terms[0] - np.log(bound) + weights.reject_bias[DOUBTS]
    for term in range(len(terms)):
        total += terms[term] * weights.reject[term, DOUBTS]
    for unit in range(DOUBTS):
        excited = weights.reject_bias[unit]
        for term in range(len(terms)):
            excited += terms[term] * weights.reject[term, unit]
        if excited > 0:
            total += excited * weights.reject_out[unit]
    return bool(total > 0)


@lean
def describe(
    x: Floats,
    n: int,
    need: Ints,
    most: Ints,
    parts: Floats,
    place: int,
    wire: float,
    bandwidth: float,
    first: bool,
    stays: float,
    duration: float,
) -> tuple[bool, float]:
    """Write the `OWN` features of a server to `x[n]`; returns whether it completes the request, and how much it gives.

    `need` int64 [resources] is still missing, `most` int64 [resources + 1] the largest server and link,
    `parts[place]` float64 [resources] what is free, as a share of that; `wire` and `bandwidth` are shares of the link.
    Usable is the least that is free of all resources and the link; bound what is free without bandwidth to use it.
    `stays` is how long what the server holds does so yet, and `duration` how long the request will, relative to the
    mean.
    """
    given, complete, resources = 0.0, True, len(need)
    least_left, most_left, least_free, most_free = np.inf, 0.0, np.inf, 0.0
    all_left, all_free, needed = 0.0, 0.0, 0.0
    for r in range(resources):
        wanted = need[r] / most[r] if most[r] > 0 else 0.0
        free = parts[place, r]
        gives = min(wanted, free)
        complete &= wanted <= free
        given += gives
        least_left, most_left = min(least_left, free - gives), max(most_left, free - gives)
        least_free, most_free = min(least_free, free), max(most_free, free)
        all_left, all_free = all_left + free - gives, all_free + free
        needed = max(needed, wanted - gives)
    after = wire if complete and first else wire - bandwidth
    outlasts = max(0.0, duration - stays) / duration if duration > 0 else 0.0
    x[n, 0], x[n, 1], x[n, 2], x[n, 3], x[n, 4] = given, 1.0 if complete else 0.0, least_left, most_left, all_left
    x[n, 5], x[n, 6], x[n, 7] = least_free, most_free, all_free
    x[n, 8], x[n, 9], x[n, 10], x[n, 11] = wire, after, min(least_free, wire), min(least_left, after)
    x[n, 12], x[n, 13] = (most_left - least_left) - (most_free - least_free), squashed(needed / 2)
    x[n, 14], x[n, 15] = all_free * (1.0 - wire), all_left * (1.0 - after)
    x[n, 16], x[n, 17], x[n, 18], x[n, 19] = (
        squashed(stays),
        outlasts,
        outlasts * (resources - all_free),
        outlasts * all_left,
    )
    return complete, given
