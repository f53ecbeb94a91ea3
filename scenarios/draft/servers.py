"""Servers that are about enough for a trace: a place to begin, which its owner replaces."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import NamedTuple

from simcore.units import LARGEST

SIZES = (1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)
"""Units that a server may have of a resource; beyond them, thousands."""
MOST = 40
"""Servers, so that a first run is quick to look at; larger ones are taken instead, as far as there are any."""


class DraftServers(NamedTuple):
    """How many equal servers, and the units of each resource that each has."""

    number: int
    node: dict[str, float]


def servers_for(peak: Mapping[str, float], largest: Mapping[str, float]) -> DraftServers:
    """Choose servers that together have about what runs at the peak, and each of them room for every request.

    Of the first resource a server has the smallest size that takes four of the largest requests, or the peak on `MOST`
    servers; of others as much as goes with that at the peak.
    """
    first = next(name for name in peak if peak[name] > 0)
    wanted = max(4 * largest[first], peak[first] / MOST)
    node = {first: _size(min(wanted, max(largest[first], 256)) if largest[first] <= 256 else wanted)}
    for name in peak:
        if name != first:
            node[name] = _size(max(largest[name], peak[name] / peak[first] * node[first])) if peak[name] else 0.0
    node = {name: min(node[name], LARGEST) for name in peak}
    number = max(ceil(peak[name] / node[name]) for name in peak if node[name])
    return DraftServers(max(number, 2), node)


def _size(units: float) -> float:
    for size in SIZES:
        if size >= units:
            return float(size)
    return float(ceil(units / 1000) * 1000)
