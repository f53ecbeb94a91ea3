"""What servers cost: their power, their prices, and what a kilowatt-hour emits and costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcore.errors import RunError
from simcore.types import Floats, Ints

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
        found: Floats = self.values[step % count if self.repeats else np.minimum(step, count - 1)]
        return found

    def until(self, times: Floats) -> Floats:
        """Integrate the values from `start` before the run's beginning to each time: value x seconds, float64."""
        if len(self.values) == 1:
            return float(self.values[0]) * (self.start + times)
        total = np.append(0.0, self.values.cumsum() * self.every)
        length = self.every * len(self.values)
        rounds = (self.start + times) // length
        rest = self.start + times - rounds * length
        found: Floats = rounds * total[-1] + np.interp(rest, self.every * np.arange(len(total)), total)
        return found


@dataclass(frozen=True, slots=True)
class Tariff:
    """Says what a server of some kind draws and costs.

    `curve` are watts at utilisations spread evenly from 0 to 1, linear in between, or None. `price` is for an hour on
    demand, or None; `reserved` servers are paid at `reserved_price` an hour whether they are used or not.
    """

    curve: tuple[float, ...] | None = None
    price: float | None = None
    reserved: int = 0
    reserved_price: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Costs:
    """Says what the servers of a run cost.

    `kinds` int64 [servers] are places in `tariffs`, `added` is that of servers that are added. Power goes by the share
    of `resource`, a place among the resources, that is allocated, times `activity`. An empty server is switched off
    after `off_after` seconds (inf for never); it then draws `off_power` watts, and to wake it takes `waking`
    watt-hours. `pue` times the energy of the servers is what is paid, at `electricity` for a kWh, and what emits
    `carbon` grams for a kWh. A move costs `move`, if that is known, and `move_gb` for each unit of memory that it
    carries.
    """

    tariffs: tuple[Tariff, ...]
    kinds: Ints
    added: int
    resource: int
    activity: float = 1.0
    off_after: float = np.inf
    off_power: float = 0.0
    waking: float = 0.0
    pue: float = 1.0
    electricity: TimeSeries | None = None
    carbon: TimeSeries | None = None
    move: float | None = None
    move_gb: float = 0.0

    @property
    def has_power(self) -> bool:
        """Whether it is known what servers draw."""
        return all(tariff.curve is not None for tariff in self.tariffs)

    @property
    def has_prices(self) -> bool:
        """Whether it is known what servers cost."""
        return all(tariff.price is not None for tariff in self.tariffs)
