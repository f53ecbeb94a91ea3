"""What is known of a metric: its heading, its unit, what it means, how people read it; and conditions on metrics."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import floor, inf, isfinite, isinf, log10
from typing import Any, ClassVar, Literal

import numpy as np

from binwright.simcore.errors import UserError, suggest
from binwright.simcore.units import TIME, Measure

Better = Literal["higher", "lower", "neither"]
Table = Literal["always", "differs", "harm", "first", "never"]


MOST = 10_000
"""Larger numbers than that are better read in a larger unit of time."""
MONEY = "money"
"""The unit of metrics whose unit is the currency that a scenario says."""


@dataclass(frozen=True, slots=True)
class Metric:
    """Describes a column of runs.parquet.

    `unit` is written behind values. "s" is for seconds, which are shown as minutes, hours or days where these read
    better; "%" is for shares from 0 to 1, which are shown in percent, with the sign in the heading; "money" becomes the
    scenario's currency, if it says one; "" is for plain numbers.
    `table` says when tables show it unasked: where "always", where it "differs" between runs, where it is "harm" and
    not 0, which comes first where room is short, "first" for the first resource alone where it is not 0, or
    "never". `timed` metrics are times that a clock measured: no two runs agree on them, whatever their seeds. `beyond`
    says that values may be below 0, as a profit may, or shares above 1, as of what is overcommitted.
    """

    name: str
    heading: str
    unit: str = ""
    better: Better = "neither"
    meaning: str = ""
    table: Table = "always"
    timed: bool = False
    beyond: bool = False
    __pydantic_config__: ClassVar = {"extra": "forbid"}

    def of(self, part: str, *, is_first: bool) -> Metric:
        """Describe the column of one resource or tier, whose name takes the place of `{}`."""
        table = "never" if self.table == "first" and not is_first else self.table
        texts = {name: getattr(self, name).replace("{}", part) for name in ("name", "heading", "meaning")}
        return replace(self, table=table, **texts)

    def paid_in(self, currency: str) -> Metric:
        """Describe the column of a scenario with this currency, empty for none."""
        return replace(self, unit=currency) if self.unit == MONEY else self

    def shared_size(self, values: Iterable[float | None]) -> float | None:
        """Find the size in whose unit all times of a column are shown, the smallest of these values.

        None where each keeps a unit of its own: times too far apart for one unit, and what is no time.
        """
        sizes = [abs(value) for value in values if value]
        is_shared = self.unit == "s" and sizes and max(sizes) * self.scale(min(sizes))[0] < MOST
        return min(sizes) if is_shared else None

    def scale(self, size: float) -> tuple[float, str]:
        """Return what to multiply values of this size by to show them to people, and the unit to write behind."""
        if self.unit == "s":
            return unit_of_time(size)
        return (100.0, "") if self.unit == "%" else (1.0, self.unit and f" {self.unit}")

    def axis(self, size: float) -> tuple[float, str]:
        """Return what to multiply values of this size by to draw them, and what to write beside their axis."""
        scale, unit = self.scale(size)
        return scale, self.heading + (unit and f",{unit}")

    def escaped(self, escape: Callable[[str], str]) -> Metric:
        """Describe it with heading and unit as they stand in what is written; units with a meaning stay themselves."""
        unit = self.unit if self.unit in ("", "s", "%") else escape(self.unit)
        return replace(self, heading=escape(self.heading), unit=unit)

    def ends(self, mean: Any, half: Any) -> tuple[Any, Any]:
        """Return the ends of an interval: not below 0, and of shares not above 1, unless values go `beyond` these.

        That of one seed has no ends: it stays infinite. The mean may be of another kind.
        """
        is_share, none = self.unit == "%", np.isinf(half)
        least = np.where(none | (self.beyond and not is_share), -inf, np.minimum(mean, 0.0))
        most = np.where(none | self.beyond | (not is_share), inf, np.maximum(mean, 1.0))
        return np.maximum(mean - half, least), np.minimum(mean + half, most)

    def write(self, mean: float, half: float = inf, size: float | None = None, *, exact: bool = False) -> str:
        """Write the mean, and its interval where there is one, both with as many decimals; in the unit of a `size`.

        A value without any chance in it is `exact`: it has four digits, since all of them count, and no interval.
        """
        scale, unit = self.scale(mean if size is None else size)
        decimals = _decimals(scale * mean, abs(scale * mean) / 100 if exact else scale * half)
        interval = "" if exact or isinf(half) else f" ±{scale * half:,.{decimals}f}"
        return f"{scale * mean:,.{decimals}f}{interval}{unit}"

    def between(
        self, mean: float, low: float | None, high: float | None, *, sign: str = "", size: float | None = None
    ) -> str:
        """Write the mean, and the ends of its interval where there is one, in the unit of a `size`.

        `sign` "+" writes the sign of each.
        """
        half = 0.0 if low is None or high is None else (high - low) / 2
        scale, unit = self.scale(mean if size is None else size)
        form = f"{sign},.{_decimals(scale * mean, scale * half)}f"
        interval = "" if low is None or high is None else f" [{scale * low:{form}}, {scale * high:{form}}]"
        return f"{scale * mean:{form}}{interval}{unit}"


def _decimals(mean: float, half: float) -> int:
    """Count the decimals that tell the interval to two digits, or else the mean to three; at most three."""
    size = half if 0 < half < inf else abs(mean) / 10
    return min(3, max(0, 1 - floor(log10(size)))) if size > 0 else 1


def duration(seconds: float | None) -> str:
    """Write a time for people: 90 s, 2.5 h, never; `-` for none."""
    if seconds is None:
        return "-"
    if isinf(seconds):
        return "never"
    scale, unit = unit_of_time(seconds)
    return f"{seconds * scale:.3g}{unit}"


def unit_of_time(seconds: float) -> tuple[float, str]:
    """Return the factor to, and the name of, the largest unit that this time has at least two of."""
    for size, unit in ((86400.0, " d"), (3600.0, " h"), (60.0, " min")):
        if abs(seconds) >= 2 * size:
            return 1 / size, unit
    return 1.0, " s"


_FORM = re.compile(r"\s*([^\s<>=≤≥]+)\s*(>=|<=|≥|≤)\s*(.*?)\s*")
REMEDY = 'Write a metric, >= or <=, and a number: "acceptance >= 99 %", "wait_p95 <= 10 min".'
_PERCENT = Measure("share", "", {"%": Decimal("0.01")})


@dataclass(frozen=True, slots=True)
class Target:
    """When a mean is enough: `metric` is at least, or at most, `value`, in the unit of runs.parquet."""

    metric: Metric
    relation: Literal[">=", "<="]
    value: float

    @property
    def sign(self) -> int:
        """1 where more of the metric is nearer to the target, -1 where less is."""
        return 1 if self.relation == ">=" else -1

    def met(self, mean: float) -> bool:
        """Whether a mean meets it, but for what floats round."""
        return self.sign * (mean - self.value) >= -1e-12 * max(1.0, abs(self.value))


def targets_of(until: str, metrics: Sequence[Metric]) -> tuple[Target, ...]:
    """Read `acceptance >= 99 %`, of one of these metrics, or several of them with ` and ` between."""
    result, known = list[Target](), {metric.name: metric for metric in metrics}
    for each in until.split(" and "):
        if (parts := _FORM.fullmatch(each)) is None:
            problem = "does not say when a cluster is large enough"
            raise UserError(problem, key="until", value=each, remedy=REMEDY)
        name, sign, text = parts.groups()
        if name not in known:
            missing = f"runs of this scenario have no metric {name}"
            raise UserError(missing, key="until", value=each, remedy=suggest(name, known))
        try:
            value = _value(known[name], text)
        except (UserError, ValueError) as error:
            problem = error.problem if isinstance(error, UserError) else "is not a finite number"
            problem = f"{text or 'nothing'}, behind {name}, {problem}"
            raise UserError(problem, key="until", value=each, remedy=REMEDY) from None
        result.append(Target(known[name], ">=" if sign in (">=", "≥") else "<=", value))
    return tuple(result)


def _value(metric: Metric, text: str) -> float:
    """Read the number behind the sign, in the metric's unit."""
    if metric.unit == "s":
        return TIME.parse(text)
    if metric.unit == "%":
        share = _PERCENT.parse(text)
        if share > 1 and not (metric.beyond and "%" in text):
            raise UserError("is more than 100 %")
        return share
    if isfinite(number := float(text.removesuffix(metric.unit))):
        return number
    raise ValueError(text)
