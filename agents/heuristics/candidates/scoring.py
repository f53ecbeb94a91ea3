"""Says how well each style of picking likes a server, and what taking it costs.

All features are shares or relative: nothing depends on the size of the cluster, nor on which resource is which.
"""

from __future__ import annotations

import numpy as np

from binwright.simcore.jit import lean
from binwright.simcore.types import Floats, Ints

LIKES = {
    "given": (1.0, 1.0, 1.0, 0.5, 0.0),
    "completes": (6.0, 6.0, 3.0, 3.0, 0.0),
    "growth of stranded": (-0.5, -0.5, -0.5, -0.5, 0.5),
    "bound before": (1.0, 1.0, 0.0, 1.0, -1.0),
    "bound after": (-1.0, -1.0, 0.0, -1.0, 1.0),
    "all left": (0.0, 0.0, 0.0, -1.0, 0.0),
    "outlasts what is there": (0.0, -1.2, -0.5, 0.0, 0.6),
    "left for longer": (0.0, 0.0, 0.0, 0.0, -0.2),
}
"""How much each feature of a server counts in the four styles, and in what it costs. The first style is the tuned
best-home's; the cost, too, but that it counts what a server holds and the request will outlast."""
FEATURES = tuple(LIKES)
STYLES = 4


def likes() -> Floats:
    """Return `LIKES` as float64 [features, STYLES + 1]."""
    return np.array([LIKES[name] for name in FEATURES])


@lean
def score(likes: Floats, x: Floats, count: int, y: Floats) -> None:
    """Write to `y` float64 [any, STYLES + 1] how much each style likes the first `count` servers, and what they cost.

    Their features are `x` float64 [any, features].
    """
    for n in range(count):
        for column in range(likes.shape[1]):
            total = 0.0
            for f in range(likes.shape[0]):
                total += x[n, f] * likes[f, column]
            y[n, column] = total


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
    """Write the features of a server to `x[n]`; returns whether it completes the request, and how much it gives.

    `need` int64 [resources] is still missing, `most` int64 [resources + 1] the largest server and link,
    `parts[place]` float64 [resources] what is free, as a share of that; `wire` and `bandwidth` are shares of the link.
    Bound is what is free without bandwidth to use it; stranded the difference between the resource with most and with
    least left. `stays` is how long what the server holds does so yet, and `duration` how long the request will,
    relative to the mean.
    """
    given, complete, resources = 0.0, True, len(need)
    least_left, most_left, least_free, most_free = np.inf, 0.0, np.inf, 0.0
    all_left, all_free = 0.0, 0.0
    for r in range(resources):
        wanted = need[r] / most[r] if most[r] > 0 else 0.0
        free = parts[place, r]
        gives = min(wanted, free)
        complete &= wanted <= free
        given += gives
        least_left, most_left = min(least_left, free - gives), max(most_left, free - gives)
        least_free, most_free = min(least_free, free), max(most_free, free)
        all_left, all_free = all_left + free - gives, all_free + free
    after = wire if complete and first else wire - bandwidth
    outlasts = max(0.0, duration - stays) / duration if duration > 0 else 0.0
    x[n, 0], x[n, 1], x[n, 2] = given, 1.0 if complete else 0.0, (most_left - least_left) - (most_free - least_free)
    x[n, 3], x[n, 4], x[n, 5] = all_free * (1.0 - wire), all_left * (1.0 - after), all_left
    x[n, 6], x[n, 7] = outlasts * (resources - all_free), outlasts * all_left
    return complete, given
