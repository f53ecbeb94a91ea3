"""Names what a formula may speak of. Expressions and functions `score` use the same names."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from binwright.simcore.errors import UnknownName, suggest

QUANTITIES = ("free", "after", "capacity", "demand", "share", "free_share")
"""Of a resource: what is free, what would be free after placing, what is installed, what the request takes, and which
share of what is installed would be free after placing, and is free before it."""
SCOPES = ("", "server", "other", "least", "most")
"""Of which nodes: the place itself, the whole server, its other nodes together, or the node with least or most."""
PLAIN = ("nodes", "spread", "time")
"""How many nodes a server has, whether the request is spread over them (1 or 0), and the seconds since the start."""
FREE, AFTER, CAPACITY, DEMAND, SHARE, FREE_SHARE, NODES, SPREAD, TIME = range(9)
PLACE, SERVER, OTHER, LEAST, MOST = range(5)


class Feature(NamedTuple):
    """What a name stands for: numbers of a quantity, of a scope and of a resource."""

    quantity: int
    scope: int = PLACE
    resource: int = 0


@cache
def features(resources: tuple[str, ...]) -> dict[str, Feature]:
    """Name all that formulas may speak of on servers with these resources: `free_cpu`, `least_share_mem`, `nodes`."""
    found = {name: Feature(len(QUANTITIES) + number) for number, name in enumerate(PLAIN)}
    for scope, prefix in enumerate(SCOPES):
        for quantity, name in enumerate(QUANTITIES):
            if quantity == DEMAND and scope != PLACE:
                continue  # the request takes what it takes
            for r, resource in enumerate(resources):
                words = (prefix, name, re.sub(r"\W", "_", resource))
                found["_".join(word for word in words if word)] = Feature(quantity, scope, r)
    return found


def feature_named(name: str, resources: tuple[str, ...]) -> Feature:
    """Return what a name stands for; raises an `UnknownName` with what may have been meant."""
    known = features(resources)
    if name not in known:
        raise UnknownName("no such feature of a place", value=name, remedy=suggest(name, known))
    return known[name]
