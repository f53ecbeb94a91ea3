"""What the metrics mean: how to show them, and which way is better."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import floor, inf, isinf, log10
from typing import TYPE_CHECKING, Literal

from simcore.errors import UnknownName, suggest

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Metric:
    """A column of runs.parquet: its heading, how to write it, which way is better, and what it means."""

    name: str
    heading: str
    form: Literal["share", "number", "seconds"]
    better: Literal["more", "less", "neither"]
    meaning: str

    def scale(self, size: float) -> tuple[float, str]:
        """What to multiply by to show values of this size to people, and the unit to write behind."""
        if self.form == "seconds":
            return _unit_of_time(size)
        return (100.0 if self.form == "share" else 1.0), ""

    def write(self, mean: float, half: float) -> str:
        """The mean, and its interval where there is one, for people: both with the same number of decimals."""
        scale, unit = self.scale(mean)
        decimals = _decimals(scale * mean, scale * half)
        interval = "" if isinf(half) else f" ±{scale * half:,.{decimals}f}"
        return f"{scale * mean:,.{decimals}f}{interval}{unit}"

    def exactly(self, value: float) -> str:
        """A value without any chance in it, for people: to four digits, since all of them count."""
        scale, unit = self.scale(value)
        return f"{scale * value:,.{_decimals(scale * value, abs(scale * value) / 100)}f}{unit}"

    def between(self, mean: float, low: float | None, high: float | None, *, sign: str = "") -> str:
        """The mean and the ends of its interval where there is one; `sign` "+" writes the signs of all."""
        half = 0.0 if low is None or high is None else (high - low) / 2
        scale, unit = self.scale(mean)
        form = f"{sign},.{_decimals(scale * mean, scale * half)}f"
        interval = "" if low is None or high is None else f" [{scale * low:{form}}, {scale * high:{form}}]"
        return f"{scale * mean:{form}}{interval}{unit}"


def _decimals(mean: float, half: float) -> int:
    """As many as tell the interval to two digits, or else the mean to three; at most three."""
    size = half if 0 < half < inf else abs(mean) / 10
    return min(3, max(0, 1 - floor(log10(size)))) if size > 0 else 1


def duration(seconds: float | None) -> str:
    """A time for people: 90 s, 2.5 h, never; `-` for none."""
    if seconds is None:
        return "-"
    if isinf(seconds):
        return "never"
    scale, unit = _unit_of_time(seconds)
    return f"{seconds * scale:.3g}{unit}"


def _unit_of_time(seconds: float) -> tuple[float, str]:
    for size, unit in ((86400.0, " d"), (3600.0, " h"), (60.0, " min")):
        if abs(seconds) >= 2 * size:
            return 1 / size, unit
    return 1.0, " s"


def metrics(resources: list[str], tiers: list[str]) -> list[Metric]:
    """Every metric that a table may show, in its order."""
    return [
        Metric("scheduled", "scheduled", "number", "more", "requests that got a place"),
        Metric("acceptance", "accepted %", "share", "more", "share of the offered requests that got a place"),
        Metric("wait_mean", "mean wait", "seconds", "less", "time from arrival to placement"),
        Metric("wait_p95", "p95 wait", "seconds", "less", "95 % of the placed requests waited no longer"),
        Metric("makespan", "makespan", "seconds", "less", "from the first arrival to the end of the last lifetime"),
        *(
            Metric(f"allocation_{name}", f"{name} %", "share", "more", "share allocated, weighted by time")
            for name in resources
        ),
        *(
            Metric(f"utilisation_{name}", f"{name} % in all", "share", "more", "share allocated over the makespan")
            for name in resources
        ),
        *(
            Metric(f"allocation_{name}", f"{name} %", "share", "neither", "share of the links reserved")
            for name in tiers
        ),
        Metric(
            "servers_per_request", "servers/request", "number", "less", "servers that a placed request is spread over"
        ),
        Metric("span", "span", "number", "less", "0 one server, 1 one rack, 2 neighbouring racks, 3 beyond; mean"),
        Metric("income", "income", "number", "more", "prices x amounts x hours held while the run lasted"),
        Metric("income_booked", "income booked", "number", "more", "the same to the end of all holding periods"),
        Metric("interrupted", "interrupted", "number", "less", "holding periods that a failure cut short"),
        Metric("lost", "lost", "number", "less", "of those, the ones that got no new place"),
        *(
            Metric(f"fragmentation_{name}", "fragmentation %", "share", "less", f"free {name} that no flavour can use")
            for name in resources[:1]
        ),
        Metric("servers", "servers", "number", "less", "at the end, with all expansion"),
        Metric("servers_used", "servers used", "number", "less", "holding something, mean over the run"),
        Metric("decision_us", "µs/decision", "number", "less", "the agent's own time for one decision"),
    ]


def worth_showing(done: pl.DataFrame, resources: list[str], tiers: list[str]) -> list[Metric]:
    """The metrics that say something about these finished runs: others are the same for every run, or say it twice."""
    if not len(done):
        return []
    numbers = [name for name, kind in done.schema.items() if kind.is_numeric() and done[name].is_not_null().any()]
    there = [metric for metric in metrics(resources, tiers) if metric.name in numbers]
    hidden = {"acceptance"} if _any(done, "stopped") else {"scheduled"}
    if _any(done, "wait_max") and "acceptance" in done.columns and done["acceptance"].min() == 1:
        hidden.add("acceptance")  # all get a place in the end: waiting is what differs
    for metric in there:
        if metric.name in ("wait_mean", "wait_p95", "interrupted", "lost", "servers"):
            hidden |= {metric.name} if done[metric.name].n_unique() == 1 else set()
        elif metric.name.startswith("utilisation_"):
            hidden.add(metric.name)  # nearly what is allocated until the last decision
        elif metric.name == "makespan":
            hidden |= set() if _any(done, "wait_max") else {metric.name}
        elif metric.name.startswith("fragmentation_"):
            hidden |= set() if _any(done, metric.name) else {metric.name}
    return [metric for metric in there if metric.name not in hidden]


def chosen(name: str, done: pl.DataFrame, resources: list[str], tiers: list[str]) -> Metric:
    """The metric of a name: one of a table, or any other column of numbers in runs.parquet."""
    for metric in metrics(resources, tiers):
        if name == metric.name and name in done.columns:
            return metric
        if name in (f"{metric.name}_decisions", f"{metric.name}_end") and name in done.columns:
            return replace(metric, name=name, heading=f"{metric.heading} ({name.rpartition('_')[2]})")
    numbers = [column for column, kind in done.schema.items() if kind.is_numeric() and column != "seed"]
    if name in numbers:
        return Metric(name, name, "number", "neither", "a column of runs.parquet")
    raise UnknownName("there is no such metric", key="metric", value=name, remedy=suggest(name, numbers))


def _any(done: pl.DataFrame, name: str) -> bool:
    """Is any of it there, and not 0?"""
    return name in done.columns and bool((done[name].fill_null(0) != 0).any())
