"""How a metric is defined: a function of a finished run, with what people need to know of its values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, update_wrapper
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from pydantic import Field

from binwright.analysis.measure import BUILT_IN, FOREMOST, METRICS, ON_DEMAND
from binwright.analysis.measure.metric import Better, Metric, Table
from binwright.simcore.errors import RunError, UserError, place_in, short
from binwright.simcore.fields import Model, Share, Text, Where, wrong

if TYPE_CHECKING:
    from binwright.analysis.measure.finished_run import FinishedRun

Per = Literal["resource", "tier"]
_CHOICES = {"better": get_args(Better), "table": get_args(Table), "per": (None, *get_args(Per))}
_REMEDY = "Write a name, {name: {last: 20 %}} for the last part, or {name: {by: {tenant: [a, b]}}} by class."


class MetricSpec(Model):
    """A metric beside those that every run has. Short forms: `mine.py:longest_queue`, `{acceptance: {last: 20 %}}`."""

    name: Text = Field(examples=["acceptance"])
    """A registered name, `package.module:name`, or `file.py:name` relative to this file."""
    last: Share | None = Field(None, examples=["20 %"])
    """Measure the last share of the offered requests; by default all."""

    by: Where = Field(default_factory=dict, examples=["{queue: [short, long]}"])
    """Of waits, turnarounds and slowdowns: a column for the requests of each of these values of a label, of `priority`,
    `group`, or of `queue`."""

    @classmethod
    def prepare(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"name": data}
        if not isinstance(data, Mapping):
            raise wrong("is not a metric", _REMEDY)
        if "name" in data or len(data) != 1:
            return data
        [(name, options)] = data.items()
        if options is not None and not isinstance(options, Mapping):
            raise wrong("does not say which part of the requests", _REMEDY, (name,), options)
        return {"name": name, **(options or {})}


@dataclass(eq=False)
class Definition:
    """Computes one metric of a run and describes its columns: one, or one for each resource, tier or class.

    In the texts of `described`, `{}` stands for the resource or the tier. `key` is what scenarios ask for. The metric
    may be of the `last` part of a run, and of `classes`: labels with a value.
    """

    function: Callable[..., Any]
    described: Metric
    key: str
    per: Per | None = None
    in_parts: bool = False
    needs: Callable[[FinishedRun], Any] | None = None
    last: float | None = None
    classes: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        update_wrapper(self, self.function)  # so that it counts as code of the function's module

    def __call__(self, run: FinishedRun) -> Any:
        """Compute the value, or a value for each part; None where the run does not have what it needs."""
        if self.needs is None:
            return self.function(run)
        data = self.needs(run)
        return None if data is None else self.function(run, data)

    def columns(self, resources: tuple[str, ...], tiers: tuple[str, ...]) -> list[Metric]:
        """Describe its columns, for a cluster with these resources and tiers."""
        metric = self.described
        if self.last is not None:
            percent = f"{100 * self.last:.10g}"
            meaning = f"over the last {percent} % of the requests"
            metric = _narrowed(metric, f"last_{percent}", f"last {percent} %", meaning)
        if self.classes:
            return [
                _narrowed(metric, f"{label}_{value}", value, f"of those whose {label} is {value}")
                for label, value in self.classes
            ]
        if self.per is None:
            return [metric]
        parts = resources if self.per == "resource" else tiers
        return [metric.of(part, is_first=number == 0) for number, part in enumerate(parts)]

    def measured(self, run: FinishedRun) -> dict[str, Any]:
        """Compute the metric: its value by column, without those that the run does not have."""
        columns = self.columns(run.resources, run.tiers)
        run = run if self.last is None else run.last_part(self.last)
        if self.classes:
            parts = [run.among(*each) for each in self.classes]
            values = [self(part) if len(part.placed) else None for part in parts]
        elif self.per is None:
            values = [self(run)]
        else:
            value = self(run) if columns else None
            values = [None] * len(columns) if value is None or len(value) == 0 else value
        return {column.name: each for column, each in zip(columns, values, strict=True) if each is not None}


def _narrowed(metric: Metric, suffix: str, what: str, meaning: str) -> Metric:
    """Describe a metric of some of the requests, which tables always show."""
    heading, meaning = f"{metric.heading}, {what}", f"{metric.meaning}; {meaning}"
    return replace(metric, name=f"{metric.name}_{suffix}", heading=heading, meaning=meaning, table="always")


def metric(
    *,
    name: str = "",
    key: str = "",
    per: Per | None = None,
    in_parts: bool = False,
    needs: Callable[[FinishedRun], Any] | None = None,
    **described: Any,
) -> Callable[[Callable[..., Any]], Definition]:
    """Make a metric of a function that takes a finished run and returns a number, or None where there is no value.

    `per` "resource" or "tier" makes a column for each; the function then returns as many numbers, in their order, and
    `name`, `heading` and `meaning` have `{}` where the resource or the tier stands. With `in_parts` there may be a
    metric of the last part of a run, too: the function keeps to the measured time of the run that it gets, and to its
    rows from `first` on. `needs` returns what the metric is computed from, which the function takes as its second
    argument; where that is None, the metric is empty. `name` is the function's by default. The other arguments are
    those of `binwright.analysis.measure.metric.Metric`: `heading`, which has to be there, `meaning`, `unit`, `better`,
    `table`, `timed` and `beyond`.
    """
    for choice, value in {"per": per, **described}.items():
        if value not in (known := _CHOICES.get(choice, (value,))):
            raise ValueError(f"{choice} is {' or '.join(map(str, known))}, not {value}")
    if described.get("unit") == "%" and "%" not in described["heading"]:
        described["heading"] += " %"

    def make(function: Callable[..., Any]) -> Definition:
        own = name or function.__name__
        if (per is not None) != ("{}" in own):
            raise ValueError("a metric per resource or tier, and no other one, has {} in its name")
        return Definition(function, Metric(own, **described), key or own, per, in_parts, needs)

    return make


def define(
    key: str, heading: str, meaning: str, function: Callable[..., Any], *, name: str = "", **how: Any
) -> Definition:
    """Make a metric as a row of a table says it: as `metric` does, with the `key` that scenarios ask for."""
    return metric(heading=heading, meaning=meaning, name=name or key, key=key, **how)(function)


def table(definitions: Iterable[Definition]) -> dict[str, Definition]:
    """Return metrics by their keys."""
    return {each.key: each for each in definitions}


def definition_of(name: str) -> Any:
    """Load what is registered as this metric, or what `package.module:name` or `file.py:name` names."""
    result = METRICS.load(name)
    return result[name] if name in BUILT_IN or name in ON_DEMAND else result


NO_RESULTS = ("details", "resources", "tiers")
"""Of a journal's row, what tells whether it still holds and what it is of, and is not a result."""
NO_METRICS = (
    *("run", "agent", "seed", "version", "status", "error", "seconds"),
    *("windows", "missing_models", "unscored", "reasons", "random"),
    *("compiled", "check"),
)
"""What other columns of runs.parquet, and of the journal, are called."""
OF_CLASSES = tuple(name for name in (*BUILT_IN, *ON_DEMAND) if name.startswith(("wait_", "turnaround_", "slowdown_")))
"""Those that may be asked for by class."""
DEFINE = 'Write `@metric(heading="...", meaning="...")` above it, with `from binwright import metric`.'


def measure(run: FinishedRun, added: Sequence[MetricSpec] = ()) -> dict[str, Any]:
    """Compute every metric of a finished run: those that all runs have, and those `added`.

    Raises RunError where there is nothing to measure, and where an added metric raises or returns no number.
    """
    result: dict[str, Any] = {}
    for definition in built_in():
        result |= definition.measured(run)
        run.forget()
    for spec in added:
        result |= _guarded(added_metric(spec), run)
        run.forget()
    return result


def describe(
    resources: Sequence[str], tiers: Sequence[str], added: Sequence[MetricSpec] = (), currency: str = ""
) -> list[Metric]:
    """Describe the columns of all these metrics, in the order in which tables show them.

    What somebody asked for stands in front, where no table is too narrow for it.
    """
    place = 1 + list(BUILT_IN).index(FOREMOST)
    definitions = [*built_in()[:place], *map(added_metric, added), *built_in()[place:]]
    parts = tuple(resources), tuple(tiers)
    return [column.paid_in(currency) for definition in definitions for column in definition.columns(*parts)]


@cache
def built_in() -> tuple[Definition, ...]:
    """Return the metrics that every run has."""
    return tuple(map(definition_of, BUILT_IN))


def added_metric(spec: MetricSpec) -> Definition:
    """Return the metric that a scenario asks for by its registered name, `package.module:name` or `file.py:name`."""
    result = definition_of(spec.name)
    if not isinstance(result, Definition):
        raise UserError("is not a metric", value=spec.name, remedy=DEFINE)
    if spec.by and spec.name not in OF_CLASSES:
        remedy = f"By class there are {', '.join(OF_CLASSES)}."
        raise UserError("is no metric of waits", value=spec.name, remedy=remedy)
    if spec.last is not None and not result.in_parts:
        remedy = "Take `last` out; it is of metrics that a part of the run can have, such as acceptance."
        raise UserError("is a metric of whole runs only", value=spec.name, remedy=remedy)
    classes = tuple((label, value) for label, values in spec.by.items() for value in values)
    return replace(result, last=spec.last, classes=classes)


def check_added(
    added: Sequence[MetricSpec], resources: Sequence[str], tiers: Sequence[str], swept: Iterable[str]
) -> None:
    """Refuse metrics whose columns runs have already, with these `swept` keys; the error's key is the place in them."""
    if not added:
        return  # and nothing is imported that only a run needs
    taken = {*NO_METRICS, *NO_RESULTS, *swept, "scenario", *(each.name for each in describe(resources, tiers))}
    for number, spec in enumerate(added):
        try:
            columns = {each.name for each in added_metric(spec).columns(tuple(resources), tuple(tiers))}
            if shared := sorted(columns & taken):
                remedy = 'Take it out, or give your metric another name: @metric(name="...", ...).'
                raise UserError(f"there is a column {shared[0]} already", value=spec.name, remedy=remedy)
        except UserError as error:
            error.key = str(number)
            raise
        taken |= columns


def _guarded(definition: Definition, run: FinishedRun) -> dict[str, Any]:
    """Compute a metric that is not ours: what it raises, and what is not a number, becomes a RunError that says so."""
    name = definition.described.name
    try:
        result = definition.measured(run)
    except Exception as error:
        at = place_in(definition.__module__, error)
        raise RunError(f"metric {name} raised {error!r} at {at}") from error
    for column, value in result.items():
        if not isinstance(value, Real | np.bool_):
            what = f"returned {short(repr(value))} for the column {column}, which is not a number"
            raise RunError(f"metric {name} {what}")
        result[column] = int(value) if isinstance(value, Integral | np.bool_) else float(value)
    return result
