"""Conditions on metrics as people write them: `acceptance >= 99 %`, `wait_p95 <= 10 min`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import isfinite
from typing import Literal

from binwright.analysis.measure.metric import Metric
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.units import TIME, Measure

_FORM = re.compile(r"\s*([^\s<>=≤≥]+)\s*(>=|<=|≥|≤)\s*(.*?)\s*")
_PERCENT = Measure("share", "", {"%": Decimal("0.01")})


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


def target_of(until: str, metrics: Sequence[Metric]) -> Target:
    """Read `acceptance >= 99 %`, of one of these metrics, or several of them with ` and ` between."""
    remedy = 'Write a metric, >= or <=, and a number: "acceptance >= 99 %", "wait_p95 <= 10 min".'
    problem, result = "does not say when a cluster is large enough", list[Target]()
    known = {metric.name: metric for metric in metrics}
    for each in until.split(" and "):
        if (parts := _FORM.fullmatch(each)) is None:
            raise UserError(problem, key="until", value=each, remedy=remedy)
        name, sign, text = parts.groups()
        if name not in known:
            missing = f"runs of this scenario have no metric {name}"
            raise UserError(missing, key="until", value=each, remedy=suggest(name, known))
        metric = known[name]
        target = Target(metric, ">=" if sign in (">=", "≥") else "<=", _value(metric, text, each))
        if metric.unit == "%" and not metric.beyond and not any(map(target.met, (0.0, 1.0))):
            problem = f"no share is so: {metric.name} lies between 0 and 100 %"
            raise UserError(problem, key="until", value=each, remedy=remedy)
        result.append(target)
    return replace(result[0], others=tuple(result[1:]))


def _value(metric: Metric, text: str, condition: str) -> float:
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
        problem, remedy = "is not a number", "Write a plain number."
    raise UserError(
        f"{text or 'nothing'}, behind {metric.name}, {problem}", key="until", value=condition, remedy=remedy
    )
