"""What the metrics mean: how to show them, and which way is better."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, inf, isinf, log10
from typing import Literal


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
    first = resources[0]
    return [
        Metric("scheduled", "scheduled", "number", "more", "requests that got a place"),
        Metric("acceptance", "accepted %", "share", "more", "share of the offered requests that got a place"),
        Metric("wait_mean", "mean wait", "seconds", "less", "time from arrival to placement"),
        Metric("wait_p95", "p95 wait", "seconds", "less", "95 % of the placed requests waited no longer"),
        *(
            Metric(f"allocation_{name}", f"{name} %", "share", "more", "share allocated, weighted by time")
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
        Metric("interrupted", "interrupted", "number", "less", "holding periods that a failure cut short"),
        Metric("lost", "lost", "number", "less", "of those, the ones that got no new place"),
        Metric(
            f"fragmentation_{first}",
            "fragmentation %",
            "share",
            "less",
            f"share of the free {first} that no flavour can use",
        ),
        Metric("servers", "servers", "number", "less", "at the end, with all expansion"),
        Metric("servers_used", "servers used", "number", "less", "holding something, mean over the run"),
        Metric("decision_us", "µs/decision", "number", "less", "the agent's own time for one decision"),
    ]
