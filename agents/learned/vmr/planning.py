"""Follows the network's preferences, move by move, for a whole plan."""

from __future__ import annotations

import numpy as np

from binwright.agents.learned.vmr.episodes import make
from binwright.agents.learned.vmr.form import DIGITS, Forward, Matrix
from binwright.agents.learned.vmr.observation import look, look_there, sight_of
from binwright.agents.rules.moving import Standing, apply
from binwright.simcore.types import Ints


def follow(forward: Forward, now: Standing, size: int, moves: int, rng: np.random.Generator | None) -> Ints:
    """Return the moves, int64 [any, 2] of requests and places, and make them; `now` is changed by them.

    Without `rng` the most preferred request and place are taken, else they are drawn. The plan ends after the move
    with the fewest fragments, the first of equals.
    """
    sight = sight_of(now)
    plan, gains = np.empty((moves, 2), np.int64), np.zeros(moves + 1, np.int64)
    old = np.empty(moves, np.int64)
    made = 0
    for step in range(moves if len(now.kind) else 0):
        look(now, size, moves - step, sight)
        if not sight.movable.any():
            break
        which = choose(forward.which(sight, now.place), rng)
        look_there(now, size, moves - step, which, sight)
        place = choose(forward.where(sight, which), rng)
        old[step], plan[step] = now.place[which], (which, place)
        gains[step + 1] = gains[step] + make(now, which, place, size)
        made += 1
    best = int(np.argmax(gains[: made + 1]))
    for step in range(made - 1, best - 1, -1):
        apply(now, int(plan[step, 0]), int(old[step]))
    return plan[:best]


def choose(logits: Matrix, rng: np.random.Generator | None) -> int:
    """Return the most preferred, or with `rng` one drawn by how much each is preferred; -inf is forbidden."""
    if rng is None:
        return int(np.argmax(np.round(logits, DIGITS)))
    odds = np.exp((logits - logits.max()).astype(np.float64))
    return int(np.searchsorted(np.cumsum(odds), rng.random() * odds.sum(), side="right").clip(max=len(odds) - 1))
