"""A generated workload like a trace: its flavours, its mean gap, and the lifetimes of each flavour."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from binwright.simcore.errors import WorkloadError
from binwright.simcore.extras import pl
from binwright.simcore.ordered_sums import dot
from binwright.simcore.types import Floats
from binwright.workloads.arrivals import DAY, HOUR, MONTH, WEEK, Poisson
from binwright.workloads.generators import Flavour, Synthetic
from binwright.workloads.lifetimes import Empirical, kaplan_meier
from binwright.workloads.traces.cells import moment
from binwright.workloads.traces.check import resources_in

CHANCE = 3.0
"""Standard deviations by which a profile or a growth differs at least from a steady rate, to be believed."""


def fit(
    frame: pl.DataFrame,
    flavours: int = 16,
    points: int = 41,
    requests: int | None = None,
    *,
    age: Floats | None = None,
    watched: Floats | None = None,
) -> Synthetic:
    """Fit a `Synthetic` with the trace's most frequent flavours, rounded to what is easy to read in a YAML.

    Arrivals are Poisson with the trace's mean gap, profile of hours and days, and growth (its batches are lost);
    weights are the counts' shares; lifetimes are `points` quantiles per flavour.

    A request that never ends was only watched until the trace ended, so quantiles come from the Kaplan-Meier
    estimate of its flavour; where even that knows no end, from the length of the trace. The last quantile is then
    lowered so that the interpolated quantiles have that estimate's mean: a flavour offers the load that it should.
    It is not raised: nobody saw what stays longer than the trace.

    The first requests may run already when the trace begins: `age` float64 [m] says of the first m for how long. They
    say how long requests stay, as far as they were seen, and nothing of how many come. `watched` float64 [n] says for
    how long those were seen that never end; without it, until the trace ends.
    """
    names = resources_in(frame.columns)
    for key, value, least in (("requests", len(frame), 2), ("flavours", flavours, 1), ("points", points, 3)):
        if value < least:
            raise WorkloadError("too little to fit", key=key, value=value, remedy=f"The least is {least}.")
    begin = float(frame["arrival"][0])
    frame = frame.with_columns(pl.col("arrival") - begin)  # dates count from 1970
    last, running = float(frame["arrival"][-1]), 0 if age is None else len(age)
    if not last:
        remedy = "Fit to requests that come one after another: the gap between them is what new ones keep."
        raise WorkloadError("all requests arrive at one moment", key="arrival", value=moment(begin), remedy=remedy)
    end = max(
        last,
        float(
            frame.select((pl.col("arrival") + pl.col("lifetime")).filter(pl.col("lifetime").is_finite()).max()).item()
            or 0
        ),
    )
    lifetime = frame["lifetime"].to_numpy().copy()
    ended, entered = np.isfinite(lifetime), np.full(len(frame), -np.inf)
    if age is not None:
        lifetime[:running] += age
        entered[:running] = age
    seen = np.where(ended, lifetime, end - frame["arrival"].to_numpy() if watched is None else watched)
    longest = end if watched is None else float(seen.max())
    arriving = frame[running:]
    kinds = arriving.group_by(names).len().sort("len", *names, descending=[True] + [False] * len(names)).head(flavours)
    total = int(kinds["len"].sum())
    made = []
    for *amounts, count in kinds.iter_rows():
        same = [pl.col(name) == amount for name, amount in zip(names, amounts, strict=True)]
        mine = frame.select(pl.all_horizontal(same).alias("mine"))["mine"].to_numpy()
        stays = _quantiles(seen[mine], ended[mine], entered[mine], longest, points)
        demand = {name: _round(amount, 6) for name, amount in zip(names, amounts, strict=True)}
        made.append(Flavour(demand, round(count / total, 4), Empirical(quantiles=stays)))
    return Synthetic(requests or len(arriving), _arrivals(arriving["arrival"].to_numpy()), tuple(made))


def _arrivals(arrival: Floats) -> Poisson:
    """Fit a rate to ascending arrivals float64 [n]: its hours from two days on, its days and growth from two weeks."""
    last = float(arrival[-1])
    weeks = int(last // WEEK)
    whole = weeks * WEEK if weeks > 1 else last // DAY * DAY
    times = arrival[arrival < whole]
    hours = _profile(times // HOUR % 24, 24) if whole >= 2 * DAY else None
    days = _profile(times // DAY % 7, 7) if weeks > 1 else None
    growth = _round(_growth(times // WEEK, weeks) ** (MONTH / WEEK), 3) if weeks > 1 else 1.0
    found = Poisson(every=1.0, hours=hours, days=days, growth=growth)
    most = -MONTH / np.log(growth) * (1 - 1e-12) if growth < 1 else 1e3 * last
    steady = _bisected(lambda time: found.at_rate(np.array([0.0, time]))[1] < last, 0.0, most)
    return found.model_copy(update={"every": _round(steady / (len(arrival) - 1), 3)})


def _profile(of: Floats, parts: int) -> tuple[float, ...] | None:
    """Compute the rates of these parts of a day or a week, 1 on average; None where they may be equal."""
    counts = np.bincount(of.astype(np.int64), minlength=parts)
    mean = counts.mean()
    if ((counts - mean) ** 2).sum() / mean < parts - 1 + CHANCE * (2 * parts - 2) ** 0.5:
        return None
    return tuple((counts / mean).round(2).tolist())


def _growth(of: Floats, weeks: int) -> float:
    """Estimate by what the rate grows from week to week, from the weeks of arrivals; 1 where it may not."""
    excess = float(of.mean()) - (weeks - 1) / 2
    if abs(excess) < CHANCE * ((weeks**2 - 1) / 12 / len(of)) ** 0.5:
        return 1.0
    numbers = np.arange(weeks)

    def is_early(growth: float) -> bool:
        rates = np.exp(growth * (numbers - (weeks - 1) * (growth > 0)))
        return bool(dot(rates, numbers) / rates.sum() < of.mean())

    return float(np.exp(_bisected(is_early, -20.0, 20.0, 60)))  # the mean week of that rate is that of the arrivals


def _bisected(is_below: Callable[[float], bool], low: float, high: float, steps: int = 100) -> float:
    """Find where `is_below` turns from true to false."""
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return high


def _quantiles(
    seen: Floats, ended: npt.NDArray[np.bool_], entered: Floats, longest: float, points: int
) -> tuple[float, ...]:
    """Ascending seconds at shares evenly spaced from 0 to 1; see `fit` and `kaplan_meier`."""
    times, share = kaplan_meier(seen, ended, entered)
    times, share = np.append(times, max([longest, *times[-1:]])), np.append(share, 1.0)
    mean = float(np.sum(times * np.diff(share, prepend=0.0)))
    at = np.searchsorted(share, np.linspace(0, 1, points) - 1e-9)
    quantiles = [_round(value, 3) for value in times[np.minimum(at, len(times) - 1)]]
    quantiles[-1] = _round(_last(quantiles, mean), 3)
    return tuple(quantiles)


def _last(quantiles: list[float], mean: float) -> float:
    """Lower the last quantile so that straight lines between log(1 + lifetime) have this mean, if they can."""

    def excess(last: float) -> float:
        logs = np.log1p([*quantiles[:-1], last])
        low, step = logs[:-1], np.diff(logs)
        # The mean of exp over a straight line from a to b is (exp(b) - exp(a)) / (b - a).
        growth = np.where(step > 1e-12, np.expm1(step) / np.maximum(step, 1e-12), 1.0)
        return float(np.mean(np.exp(low) * growth)) - 1 - mean

    low, high = quantiles[-2:]
    return high if excess(low) >= 0 or excess(high) <= 0 else _bisected(lambda last: excess(last) < 0, low, high)


def _round(value: float, digits: int) -> float:
    """To so many significant digits."""
    return float(f"{value:.{digits}g}")
