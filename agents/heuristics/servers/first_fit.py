"""Takes the first place that has room: First-Fit."""

from __future__ import annotations

from binwright.agents.rules.cheapest_place import cheapest
from binwright.agents.rules.scan import ScanAgent
from binwright.simcore.jit.cost_functions import ANY
from binwright.simcore.types import Amounts, Ints


def _first_fit(free: Ints, capacity: Ints, demand: Amounts, spread: bool, node: int) -> int:
    """Take the first place on which the request fits, as nothing costs less."""
    return ANY


first_fit = cheapest(_first_fit, worth_it=2048)  # it rarely looks at all servers


class FirstFit(ScanAgent):
    """The server with the lowest number that fits, and its first node that does."""

    reference = "Johnson 1973, Near-optimal bin packing algorithms"
    scan = staticmethod(first_fit)
