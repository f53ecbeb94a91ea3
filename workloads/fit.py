"""Fits a generated workload to a trace."""

from __future__ import annotations

from typing import Any

import numpy as np

from binwright.simcore.errors import WorkloadError
from binwright.simcore.extras import pl
from binwright.simcore.types import Flags, Floats
from binwright.workloads.arrivals import DAY, HOUR, WEEK, Poisson
from binwright.workloads.describe import readable
from binwright.workloads.lifetimes import kaplan_meier
from binwright.workloads.traces.cells import moment
from binwright.workloads.traces.check import resources_in
from binwright.workloads.windows import last_moment

CHANCE = 3.0
"""Standard deviations by which a profile differs at least from a steady rate, to be believed."""


def fit(frame: pl.DataFrame, flavours: int = 16, points: int = 41) -> dict[str, Any]:
    """Fit the keys of `workload:` to the trace's most frequent flavours, rounded to what is easy to read in a YAML.

    Arrivals are Poisson with the trace's mean gap and profile of hours and days (its batches and growth are lost);
    weights are the counts' shares; lifetimes are `points` values per flavour, whose mean is that of the flavour.

    A request that never ends was only watched until the trace ended, so values come from the Kaplan-Meier estimate of
    its flavour; where even that knows no end, from the length of the trace: nobody saw what stays longer.
    """
    names = resources_in(frame.columns)
    if len(frame) < 2:
        raise WorkloadError("too little to fit", key="requests", value=len(frame), remedy="The least is 2.")
    begin = float(frame["arrival"][0])
    arrival, lifetime = frame["arrival"].to_numpy() - begin, frame["lifetime"].to_numpy()  # dates are of 1970
    if not arrival[-1]:
        remedy = "Fit to requests that come one after another: the gap between them is what new ones keep."
        raise WorkloadError("all requests arrive at one moment", key="arrival", value=moment(begin), remedy=remedy)
    end = last_moment(arrival, lifetime)
    ended = np.isfinite(lifetime)
    seen = np.where(ended, lifetime, end - arrival)
    kinds = frame.group_by(names).len().sort("len", *names, descending=[True] + [False] * len(names)).head(flavours)
    made = []
    for *amounts, count in kinds.iter_rows():
        same = [pl.col(name) == amount for name, amount in zip(names, amounts, strict=True)]
        mine = frame.select(pl.all_horizontal(same).alias("mine"))["mine"].to_numpy()
        stays = _values(seen[mine], ended[mine], end, points)
        demand = readable({name: _round(amount, 6) for name, amount in zip(names, amounts, strict=True) if amount})
        weight, lifetimes = _round(count / kinds["len"].sum(), 4), {"empirical": {"values": stays}}
        made.append({"weight": weight, **demand, "lifetimes": lifetimes})
    arrivals = _arrivals(arrival).model_dump(mode="json", exclude_defaults=True)
    return {"requests": len(frame), "arrivals": {"poisson": arrivals}, "flavours": made}


def _arrivals(arrival: Floats) -> Poisson:
    """Fit a rate to ascending arrivals float64 [n]: its hours from two days on, its days from two weeks."""
    last = float(arrival[-1])
    weeks = int(last // WEEK)
    whole = weeks * WEEK if weeks > 1 else last // DAY * DAY
    times = arrival[arrival < whole]
    hours = _profile(times // HOUR % 24, 24) if whole >= 2 * DAY else None
    days = _profile(times // DAY % 7, 7) if weeks > 1 else None
    result = Poisson(every=1.0, hours=hours, days=days)
    rates, rest = result.rates, last % (HOUR * len(result.rates))
    hour = int(rest // HOUR)
    steady = last - rest + HOUR * rates[:hour].sum() + rest % HOUR * rates[hour]
    return result.model_copy(update={"every": _round(steady / (len(arrival) - 1), 3)})


def _profile(of: Floats, parts: int) -> tuple[float, ...] | None:
    """Compute the rates of these parts of a day or a week, 1 on average; None where they may be equal."""
    counts = np.bincount(of.astype(np.int64), minlength=parts)
    mean = counts.mean()
    if ((counts - mean) ** 2).sum() / mean < parts - 1 + CHANCE * (2 * parts - 2) ** 0.5:
        return None
    return tuple((counts / mean).round(2).tolist())


def _values(seen: Floats, ended: Flags, longest: float, points: int) -> list[float]:
    """Return the mean seconds of each of so many equal parts of the requests, from those that end first; see `fit`."""
    times, share = kaplan_meier(seen, ended)
    times, share = np.append(times, max([longest, *times[-1:]])), np.append(share, 1.0)
    sums = np.cumsum(times * np.diff(share, prepend=0.0))
    borders = np.interp(np.linspace(0, 1, points + 1), np.append(0.0, share), np.append(0.0, sums))
    return [_round(value, 3) for value in points * np.diff(borders)]


def _round(value: float, digits: int) -> float:
    """To so many significant digits."""
    return float(f"{value:.{digits}g}")
