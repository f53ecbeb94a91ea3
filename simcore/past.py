"""Says what has been seen of requests up to now, and nothing of what is still to come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, eq=False)
class Past:
    """Holds the requests that have had their answers, and those that run now.

    Of the last n requests, in order of arrival: `gaps` float64 [n], seconds since the arrival before; `demand` int64
    [n, resources]; `stayed` float64 [n], seconds that each is known to have stayed, and `ended` bool [n], whether that
    was all. Those that were refused have stayed for 0 s. `answered` counts all answers.

    Of the m that run now: `ages` float64 [m], `held` int64 [m, resources], `spread` bool [m], and where they are:
    `server` int64 [m] and `node` int64 [m], which is -1 for a part of every node.

    `overflow` says what becomes now of a request that fits nowhere; `spreads` and `possible` tell of demands [k,
    resources], bool [k], whether they take a part of every node, and whether an empty server could hold them.
    """

    gaps: npt.NDArray[np.float64]
    demand: npt.NDArray[np.int64]
    stayed: npt.NDArray[np.float64]
    ended: npt.NDArray[np.bool_]
    answered: int
    ages: npt.NDArray[np.float64]
    held: npt.NDArray[np.int64]
    spread: npt.NDArray[np.bool_]
    server: npt.NDArray[np.int64]
    node: npt.NDArray[np.int64]
    overflow: str
    spreads: Callable[[npt.NDArray[np.int64]], npt.NDArray[np.bool_]]
    possible: Callable[[npt.NDArray[np.int64]], npt.NDArray[np.bool_]]
