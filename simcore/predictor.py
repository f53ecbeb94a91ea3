"""What predicts how long requests stay."""

from typing import ClassVar

import numpy as np

from binwright.simcore.types import Floats, Workload


class Predictor:
    """Predicts how long requests stay. Subclasses override `predict`; constructor arguments are options of the YAML."""

    reference: ClassVar[str] = "-"
    sees_truth: ClassVar[bool] = False
    """Are its predictions made of how long requests do stay, as those of an oracle that errs?"""
    drawn: ClassVar[bool] = True
    """Do its predictions depend on the seed, beside what the requests are?"""

    def fit(self, training: Workload) -> None:
        """Learn from other requests, of which all is known. Called once, before any prediction."""

    def predict(self, requests: Workload, rng: np.random.Generator) -> Floats:
        """Return how long each request is expected to stay, seconds float64 [n].

        Their `duration` is NaN, unless `sees_truth`; `rng` is the same for all agents of a seed.
        """
        raise NotImplementedError

    def again(self, requests: Workload, row: int, first: float, elapsed: float) -> float:
        """Return how long a request is expected to stay in all, seconds, now that it still runs after `elapsed`.

        `first` is what was predicted when it arrived. By default that is said until it has passed, and then twice as
        long as it has run.
        """
        return first if first > elapsed else 2 * elapsed
