"""Protects the room for large spread requests, and else does as Best-Fit: Internal."""

from __future__ import annotations

from binwright.agents.rules.candidates import SIZE, room_lost
from binwright.agents.rules.cheapest_place import cheapest, left
from binwright.agents.rules.scan import ScanAgent
from binwright.simcore.types import Amounts, Ints


@cheapest
def internal(free: Ints, capacity: Ints, demand: Amounts, spread: bool, node: int) -> tuple[int, int, int]:
    """Take where it costs least room; then the server with least CPU free; then its emptier node.

    A server has room for a size, 80, 40 or 20 %, while all its nodes have that much of every resource free. Losing a
    size costs more than losing all smaller ones.
    """
    lost = room_lost(free, capacity, demand, node, len(free), spread)
    return left(free), lost * SIZE + left(free), -free[node, 0]


class Internal(ScanAgent):
    """Best-Fit into the emptier node, where it costs least of the room that large spread requests need."""

    reference = "ours: the page 'Agents' has the rule and the measurements"
    scan = staticmethod(internal)
