"""What a trace holds, as plain data for a command line to print; and its conversion to Parquet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from binwright.simcore.extras import pl
from binwright.simcore.ordered_sums import rows_dot
from binwright.simcore.types import Floats, Ints
from binwright.workloads import TRACES
from binwright.workloads.lifetimes import kaplan_meier
from binwright.workloads.traces.check import resources_in
from binwright.workloads.traces.library import detect, read
from binwright.workloads.windows import last_moment

POINTS = 48
QUANTILES = {"p10": 0.1, "p50": 0.5, "p90": 0.9, "p99": 0.99}
GROWN, ROWS = 1.25, 100_000
"""See `growing`."""
EVEN = (
    "Begin with load (`warm_start: {until: 50 %, with: self}`, or a later `start` of a trace), or measure the end "
    "(`metrics: [{acceptance: {last: 20 %}}]`): all of it together says less than its end needs."
)
"""What to do where the load grows."""


@dataclass(frozen=True, slots=True)
class Description:
    """What a trace holds.

    `resources`: a row per resource: resource, unit, total, mean, max (units).
    `flavours`: a row per distinct demand, the most frequent first: the resources, count, share, never_ending, and
    p10, p50, p90, p99, mean of its lifetimes in seconds. Requests that never end were seen until the trace's last
    moment: quantiles are those of Kaplan and Meier, inf where so many have not ended; the mean is over those that end.
    `lifetimes`: the same columns over all requests, one row.
    `load`: a row per point in time: time (s), running (requests), and the demand of each resource running (units).
    `peak`: the largest running demand of each resource, and of `running`, at any time.
    """

    format: str
    path: Path
    requests: int
    first: float
    last: float
    never_ending: int
    resources: pl.DataFrame
    flavours: pl.DataFrame
    lifetimes: pl.DataFrame
    load: pl.DataFrame
    peak: dict[str, float]


def describe(path: str | Path) -> Description:
    """Describe what the trace in a file of any known format holds."""
    name = detect(path)
    return describe_frame(name, Path(path), read(name, path), TRACES.load(name).units)


def describe_frame(name: str, path: Path, frame: pl.DataFrame, units: Mapping[str, str]) -> Description:
    """Describe requests in the common columns, which are in these units."""
    names = resources_in(frame.columns)
    load, peak = _load(frame, names)
    last = last_moment(frame["arrival"].to_numpy(), frame["lifetime"].to_numpy())
    return Description(
        format=name,
        path=path,
        requests=len(frame),
        first=frame["arrival"][0],
        last=frame["arrival"][-1],
        never_ending=int(frame["lifetime"].is_infinite().sum()),
        resources=pl.DataFrame(
            {
                "resource": names,
                "unit": [units.get(resource, "") for resource in names],
                "total": [frame[resource].sum() for resource in names],
                "mean": [frame[resource].mean() for resource in names],
                "max": [frame[resource].max() for resource in names],
            }
        ),
        flavours=frame.group_by(names)
        .agg(*_summary(len(frame), last))
        .sort("count", *names, descending=[True] + [False] * len(names)),
        lifetimes=frame.select(*_summary(len(frame), last)),
        load=load,
        peak=peak,
    )


def peaks(frame: pl.DataFrame, names: list[str]) -> dict[str, float]:
    """Find the largest running demand of each of these resources at any time."""
    return _load(frame, names)[1]


def growing(
    arrival: Floats, lifetime: Floats, amounts: Floats | Ints, begin: float
) -> tuple[int, float, float, float] | None:
    """Tell whether more runs in the last fifth of the arrivals than from `begin` on: `GROWN` times as much, at least.

    `amounts` float64 [n, k]. Returns the column that grows most, its mean over time from `begin` on, that over the last
    fifth, and when that begins. None where nothing grows, and where no request ends: then nothing else can be.
    """
    last = float(arrival[-1])
    late = last - (last - begin) / 5
    if late <= begin or not np.isfinite(lifetime).any():
        return None
    step = max(1, len(arrival) // ROWS)  # evenly chosen, where there are many
    arrival, end = arrival[::step], np.minimum(arrival[::step] + lifetime[::step], last)

    def mean(since: float) -> Floats:
        lasts: Floats = np.maximum(0.0, end - np.maximum(arrival, since))
        return rows_dot(amounts[::step].T, lasts) * step / (last - since)

    whole, later = mean(begin), mean(late)
    column = int(np.argmax(later / np.maximum(whole, 1e-9)))
    grows = later[column] >= GROWN * whole[column] > 0
    return (column, float(whole[column]), float(later[column]), late) if grows else None


def _summary(requests: int, last: float) -> list[pl.Expr]:
    """Return what is said of lifetimes, of so many requests in all, in a trace whose last moment is `last`."""
    lifetime = pl.col("lifetime")

    def quantile(columns: Sequence[pl.Series], share: float) -> float:
        lasts, arrival = (column.to_numpy() for column in columns)
        ended = np.isfinite(lasts)
        if ended.all():
            return float(columns[0].quantile(share, "nearest") or 0.0)
        times, gone = kaplan_meier(np.where(ended, lasts, last - arrival), ended)
        at = int(np.searchsorted(gone, share - 1e-9))
        return float(times[at]) if at < len(times) else np.inf

    return [
        pl.len().alias("count"),
        (pl.len() / requests).alias("share"),
        lifetime.is_infinite().sum().alias("never_ending"),
        *(
            pl.map_groups(
                ["lifetime", "arrival"], partial(quantile, share=share), return_dtype=pl.Float64, returns_scalar=True
            ).alias(name)
            for name, share in QUANTILES.items()
        ),
        lifetime.filter(lifetime.is_finite()).mean().alias("mean"),
    ]


def loads(arrival: Floats, lifetime: Floats, amounts: Mapping[str, Floats]) -> dict[str, tuple[float, float]]:
    """Find the peak, and the 99th percentile over the time of arrivals, of the running amounts float64 [n] of each."""
    times, running = _running(arrival, lifetime, amounts)
    lasts = np.diff(times, append=times[-1])
    lasts[times > arrival[-1]] = 0
    found = {}
    for name, amount in running.items():
        rising = np.argsort(amount)
        share = np.cumsum(lasts[rising])
        found[name] = float(amount.max()), float(amount[rising[np.searchsorted(share, 0.99 * share[-1])]])
    return found


def _running(arrival: Floats, lifetime: Floats, amounts: Mapping[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
    """Return the times of all ends and arrivals, ascending, and of each of the amounts what runs from then on.

    At one instant, releases come before arrivals, as in the engine.
    """
    ends = np.isfinite(lifetime)
    times = np.concatenate([(arrival + lifetime)[ends], arrival])
    order = np.argsort(times, kind="stable")
    # Rounded to a quantum: sums that return to nothing leave 1e-11 behind.
    running = {
        name: np.cumsum(np.concatenate([-amount[ends], amount])[order]).round(6) for name, amount in amounts.items()
    }
    return times[order], running


def _load(frame: pl.DataFrame, names: list[str]) -> tuple[pl.DataFrame, dict[str, float]]:
    """Compute the running demand at `POINTS` times evenly spaced over the arrivals, and its peaks."""
    arrival = frame["arrival"].to_numpy()
    amounts = {"running": np.ones(len(frame)), **{name: frame[name].to_numpy() for name in names}}
    times, running = _running(arrival, frame["lifetime"].to_numpy(), amounts)
    points = np.unique(np.linspace(arrival[0], arrival[-1], POINTS))
    last_event = np.searchsorted(times, points, side="right") - 1
    load = pl.DataFrame({"time": points, **{name: amount[last_event] for name, amount in running.items()}})
    return load, {name: float(amount.max()) for name, amount in running.items()}
