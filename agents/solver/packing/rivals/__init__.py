"""Run exact solvers of others, for comparison; the extra `rivals` installs them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from binwright.agents.solver.model.fleet import Fleet
from binwright.agents.solver.packing.bin_selection import Bought
from binwright.simcore.errors import ExtraNeeded
from binwright.simcore.extras import install
from binwright.simcore.types import Ints

Tell = Callable[[int], None]
"""Is told what a placement costs that was just found."""
LARGEST = 2_000_000
"""Choices of a ball and a bin that a model may have; building more takes minutes and gigabytes."""


def module(name: str, method: str) -> Any:
    """Import a rival's Python module, or raise a `UserError` that names the extra."""
    try:
        return import_module(name)
    except ImportError:
        problem = f"{method} needs {name.partition('.')[0]}, which is not installed"
        raise ExtraNeeded(problem, remedy=install("rivals")) from None


class Places(NamedTuple):
    """The bins of a model, those of a kind one after another, and a placement that is known, if there is one."""

    capacity: Ints
    """[bins, d]"""
    price: Ints
    """[bins]"""
    kind: Ints
    """[bins]"""
    known: Ints | None
    """[balls]: the bin; of each kind, it uses the first ones"""

    @classmethod
    def of(cls, fleet: Fleet, balls: int, known: Bought | None) -> Places:
        """Make as many bins of each kind as a placement has that costs no more than the known one."""
        many = np.minimum(fleet.count, balls)
        if known is None:
            kind = np.repeat(np.arange(len(many)), many)
            return cls(fleet.capacity[kind], fleet.price[kind], kind, None)
        used = np.bincount(known.which, minlength=len(many))
        many = np.maximum(used, np.minimum(many, fleet.cost(known.which) // np.maximum(fleet.price, 1)))
        kind = np.repeat(np.arange(len(many)), many)
        order = np.argsort(known.which, kind="stable")  # of the known bins, kind by kind
        of_kind = known.which[order]
        place = np.empty_like(order)
        place[order] = np.arange(len(order)) + (np.cumsum(many) - many - np.cumsum(used) + used)[of_kind]
        return cls(fleet.capacity[kind], fleet.price[kind], kind, place[known.where])
