"""Conditions on metrics as people write them: `acceptance >= 99 %`, `wait_p95 <= 10 min`, `acceptance < -1 %`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import isfinite
from typing import Any, Literal

from binwright.analysis.measure.metric import Metric
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.units import TIME, Measure

_FORM = re.compile(r"\s*([^\s<>=≤≥]+)\s*(>=|<=|≥|≤|<|>)\s*(.*?)\s*")
_PERCENT = Measure("share", "", {"%": Decimal("0.01")})


_SHARE = Metric("difference", "difference", "%")


@dataclass(frozen=True, slots=True)
class Target:
    """When a mean is enough: `metric` is at least, or at most, `value`, in the unit of runs.parquet.

    All of `others` must be met, too.
    """

    metric: Metric
    relation: Literal[">=", "<="]
    value: float
    others: tuple[Target, ...] = ()

    @property
    def sign(self) -> int:
        """1 where more of the metric is nearer to the target, -1 where less is."""
        return 1 if self.relation == ">=" else -1

    def met(self, mean: float) -> bool:
        """Whether a mean meets it, but for what floats round."""
        return self.sign * (mean - self.value) >= -1e-12 * max(1.0, abs(self.value))


@dataclass(frozen=True, slots=True)
class Limit:
    """What must not be: the mean of `metric`, or its difference to a baseline, is below or above `value`.

    `of` says what is compared: the "mean" or the "difference", both in the unit of runs.parquet, or the "relative"
    difference, in percent of the baseline's mean. `text` is how it was written.
    """

    metric: Metric
    relation: Literal["<", ">"]
    of: Literal["mean", "difference", "relative"]
    value: float
    text: str

    def broken(self, value: float) -> bool:
        """Whether a value is beyond the limit by more than what floats round."""
        beyond = value - self.value if self.relation == ">" else self.value - value
        return beyond > 1e-12 * max(1.0, abs(self.value))


def target_of(until: str, metrics: Sequence[Metric]) -> Target:
    """Read `acceptance >= 99 %`, of one of these metrics, or several of them with ` and ` between."""
    remedy = 'Write a metric, >= or <=, and a number: "acceptance >= 99 %", "wait_p95 <= 10 min".'
    problem, found = "does not say when a cluster is large enough", []
    for each in until.split(" and "):
        metric, sign, text = _parts(each, "until", metrics, (">=", "≥", "<=", "≤"), problem, remedy)
        target = Target(metric, ">=" if sign in (">=", "≥") else "<=", _value(metric, text, each, "until"))
        if metric.unit == "%" and not metric.beyond and not any(map(target.met, (0.0, 1.0))):
            problem = f"no share is so: {metric.name} lies between 0 and 100 %"
            raise UserError(problem, key="until", value=each, remedy=remedy)
        found.append(target)
    return replace(found[0], others=tuple(found[1:]))


def limit_of(limit: str, metrics: Sequence[Metric]) -> Limit:
    """Read `acceptance < -1 %` or `wait_p95 > 10 min`: a number with a sign is about the difference to a baseline."""
    remedy = 'Write a metric, < or >, and a number: "acceptance < -1 %" of the baseline, "wait_p95 > 10 min" by itself.'
    metric, sign, text = _parts(limit, "--fail-if", metrics, ("<", ">"), "does not say what must not be", remedy)
    by = {"-": -1.0, "+": 1.0}.get(text[:1])
    size = text if by is None else text[1:].strip()
    is_relative = by is not None and "%" in size
    value = (by or 1.0) * _value(_SHARE if is_relative else metric, size, limit, "--fail-if")
    of: Any = "mean" if by is None else "relative" if is_relative else "difference"
    return Limit(metric, "<" if sign == "<" else ">", of, 100 * value if is_relative else value, limit)


def _parts(
    said: str, key: str, metrics: Sequence[Metric], signs: Sequence[str], problem: str, remedy: str
) -> tuple[Metric, str, str]:
    """Divide what was said into a metric, one of the `signs`, and what is behind it."""
    found = _FORM.fullmatch(said)
    if found is None or found[2] not in signs:
        raise UserError(problem, key=key, value=said, remedy=remedy)
    name, sign, text = found.groups()
    known = {metric.name: metric for metric in metrics}
    if name not in known:
        problem = f"runs of this scenario have no metric {name}"
        raise UserError(problem, key=key, value=said, remedy=suggest(name, known))
    return known[name], sign, text


def _value(metric: Metric, text: str, said: str, key: str) -> float:
    """Read the number behind the sign, in the metric's unit."""
    try:
        if metric.unit == "s":
            return TIME.parse(text)
        if metric.unit == "%":
            share = _PERCENT.parse(text)
            if share > 1 and "%" not in text:
                raise UserError("is more than 100 %", remedy=f"Did you mean '{text} %'?")
            return share
        if isfinite(number := float(text.removesuffix(metric.unit))):
            return number
        problem, remedy = "is not finite", "Write a plain number."
    except UserError as error:
        problem, remedy = error.problem, error.remedy
    except ValueError:
        problem, remedy = "is not a number", "Write a plain number; with a sign, % is of the baseline."
    raise UserError(f"{text or 'nothing'}, behind {metric.name}, {problem}", key=key, value=said, remedy=remedy)
