"""A number for every moment of a run, such as the price of energy."""

from dataclasses import dataclass

import numpy as np

from binwright.simcore.errors import RunError
from binwright.simcore.types import Floats

HOUR = 3600.0


@dataclass(frozen=True, slots=True, eq=False)
class TimeSeries:
    """Gives a value to every moment of a run: `values` float64 [n] one after another, each for `every` seconds.

    The run begins `start` seconds after the first of them. Where they end, they begin again if the course `repeats`;
    otherwise a longer run is a RunError that tells the `source`. One value alone always holds.
    """

    values: Floats
    every: float = HOUR
    start: float = 0.0
    repeats: bool = True
    source: str = ""

    def check(self, finish: float) -> None:
        """Raise RunError where the values end before the run does."""
        length, needed = self.every * len(self.values), self.start + finish
        if not self.repeats and needed > length:
            raise RunError(
                f"{self.source} ends after {length / HOUR:g} hours, and the run needs {needed / HOUR:.4g}: give it "
                "more rows, or write at_end: repeat"
            )

    def at(self, times: Floats) -> Floats:
        """Return the value at each time, float64 of the same shape; the last one at the very end."""
        step, count = ((self.start + times) // self.every).astype(np.int64), len(self.values)
        values: Floats = self.values[step % count if self.repeats else np.minimum(step, count - 1)]
        return values

    def until(self, times: Floats) -> Floats:
        """Integrate the values from `start` before the run's beginning to each time: value x seconds, float64."""
        if len(self.values) == 1:
            return float(self.values[0]) * (self.start + times)
        total = np.append(0.0, self.values.cumsum() * self.every)
        length = self.every * len(self.values)
        rounds = (self.start + times) // length
        rest = self.start + times - rounds * length
        integral: Floats = rounds * total[-1] + np.interp(rest, self.every * np.arange(len(total)), total)
        return integral
