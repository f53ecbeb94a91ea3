"""Races rules in pairs: all play the same futures, and those that fall behind for certain drop out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from binwright.simcore.ordered_sums import dot
from binwright.simcore.types import Floats

ROUND = 8
"""Futures after which the rules are compared again."""
CERTAIN = 2.5
"""Standard errors by which a rule that drops out is behind."""
FORGOTTEN = 0.05
"""The weight below which earlier futures count no more."""


class Race:
    """Holds how far `count` rules came in futures; those of earlier runs of the race count for less.

    `scores` float64 [futures, rules] has NaN for rules that had dropped out, and `weights` float64 [futures] how much
    each future counts: the share `kept` of what it counted in the run before.
    """

    def __init__(self, count: int, kept: float) -> None:
        self.scores: Floats = np.zeros((0, count))
        self.weights: Floats = np.zeros(0)
        self._kept = kept

    def run(
        self, incumbent: int, play: Callable[[int, int], tuple[float, int]], budget: int
    ) -> tuple[list[int], int, int]:
        """Race until it is told which rule is best, or `budget` decisions were made.

        `play(future, rule)` returns a score, higher is better, and how many decisions it took. The incumbent does not
        drop out. A round that was begun is finished. Returns the rules that are left, how many futures they played, and
        the decisions of all.
        """
        self.weights = self.weights * self._kept
        still = self.weights >= FORGOTTEN
        self.scores, self.weights = self.scores[still], self.weights[still]
        count = self.scores.shape[1]
        left, spent, futures = list(range(count)), 0, 0
        while len(left) > 1 and spent < budget:
            rows = np.full((ROUND, count), np.nan)
            for row in rows:
                for rule in left:
                    row[rule], made = play(futures, rule)
                    spent += made
                futures += 1
            self.scores = np.concatenate([self.scores, rows])
            self.weights = np.concatenate([self.weights, np.ones(ROUND)])
            best = self.best(left)
            left = [rule for rule in left if rule in (best, incumbent) or not self._behind(rule, best)]
            if len(left) == 2 and best != incumbent and self._behind(incumbent, best):
                break
        return left, futures, spent

    def best(self, among: Sequence[int]) -> int:
        """Return the rule that is most ahead of the first of these; the first itself if none is."""
        return max(among, key=lambda rule: self.ahead(rule, among[0])[0])

    def _behind(self, rule: int, best: int) -> bool:
        mean, error = self.ahead(rule, best)
        return mean <= -CERTAIN * error

    def different(self, rule: int, other: int) -> int:
        """Count the futures in which two rules came to different scores."""
        both = self.scores[:, rule] - self.scores[:, other]
        return int(np.count_nonzero(both[~np.isnan(both)]))

    def ahead(self, rule: int, other: int) -> tuple[float, float]:
        """Return by how much a rule is ahead of another one, and the standard error of that."""
        both = self.scores[:, rule] - self.scores[:, other]
        known = ~np.isnan(both)
        both, weights = both[known], self.weights[known]
        if not len(both):
            return 0.0, np.inf
        mean = dot(weights, both) / float(weights.sum())
        return mean, float(np.sqrt(dot(weights**2, (both - mean) ** 2)) / weights.sum())
