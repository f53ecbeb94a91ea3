"""Generates what requests use: a hash of request and time gives normal noise, its ranks, and from these shares."""

from functools import lru_cache
from math import sqrt
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from binwright.simcore.jit import inlined, kernel
from binwright.simcore.splitmix import GAMMA, mixed
from binwright.simcore.types import Floats, Ints

LEVELS = 4096
"""Levels of the noise, and ranks of a process that are told apart."""
WIDEST = 6.0
"""Standard deviations up to which ranks of a process are told apart."""
NORMAL: Floats = ndtri((np.arange(LEVELS) + 0.5) / LEVELS)
"""The levels of the noise, in ascending order."""


@lru_cache(maxsize=64)
def ranks_of(daily: float) -> Floats:
    """Return the ranks of a process at `LEVELS` values of it from -WIDEST to WIDEST, float64.

    A wave has the share `daily` of its variance, and normal noise the rest.
    """
    values = np.linspace(-WIDEST, WIDEST, LEVELS)
    wave = sqrt(2 * daily) * np.cos(np.linspace(0, np.pi, 256, endpoint=False) + np.pi / 512)
    ranks: Floats = ndtr((values[:, None] - wave) / sqrt(1 - daily)).mean(axis=1)
    return ranks


@inlined
def noise(name: np.uint64, step: int, weights: Floats, normal: Floats) -> float:
    """Return normal noise that goes on in time: between two knots it is a mean of both, of variance 1.

    `weights` float64 [steps between knots, 2] are those of the knots before and after.
    """
    persists = len(weights)
    moved = step + int(name >> np.uint64(40)) % persists
    knot = moved // persists
    phase = moved - knot * persists
    result: float = weights[phase, 0] * normal[int(mixed(name + np.uint64(knot) * GAMMA) >> np.uint64(52))]
    if phase:
        result += weights[phase, 1] * normal[int(mixed(name + np.uint64(knot + 1) * GAMMA) >> np.uint64(52))]
    return result


@kernel
def generate(
    requests: Ints, first: int, shape: Floats, cases: tuple[Any, ...], of: Ints, names: Ints, seeds: Ints, out: Floats
) -> None:
    """Write what requests [n] use in steps from `first` on into `out` float64 [n, steps, resources].

    `cases` is what `_tables` of `workloads.use.GeneratedUse` has, with the wave float64 [cases, steps]; the others are
    its fields.
    """
    normal, own, weights, ranks, waves = cases
    for place in range(len(requests)):
        row = requests[place]
        for r in range(len(seeds)):
            s, kind = of[row, r, 0], of[row, r, 1]
            cut, knee, body, top, tail = shape[s, 0], shape[s, 1], shape[s, 2], shape[s, 3], shape[s, 4]
            if cut == 1.0 and body == 0.0:
                out[place, :, r] = knee
                continue
            mine = mixed(np.uint64(names[row]) * GAMMA + np.uint64(seeds[r]))
            for k in range(out.shape[1]):
                z = waves[kind, k] + own[kind] * noise(mine, first + k, weights, normal)
                at = min(max((z + WIDEST) * ((LEVELS - 1) / (2 * WIDEST)), 0.0), LEVELS - 1.000001)
                below = int(at)
                u = ranks[kind, below] + (at - below) * (ranks[kind, below + 1] - ranks[kind, below])
                if u <= cut:
                    out[place, k, r] = knee * (u / cut) ** body
                else:
                    out[place, k, r] = knee + (top - knee) * ((u - cut) / (1 - cut)) ** tail
