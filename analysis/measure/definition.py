"""How a metric is defined: a function of a finished run, with what people need to know of its values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import replace
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from binwright.analysis.measure.metric import Better, Metric, Table

if TYPE_CHECKING:
    from binwright.analysis.measure.finished_run import FinishedRun

Per = Literal["resource", "tier"]
_CHOICES = {"better": Better, "table": Table, "per": Per}


class Asked(NamedTuple):
    """Names a metric that a scenario asks for, which last part of the requests it is of, all where it is None.

    `by` are labels and values: there is a column for the requests of each value.
    """

    name: str
    last: float | None = None
    by: Sequence[tuple[str, Sequence[str]]] = ()


class NoData(Exception):
    """Says that a run does not have what a metric reads: the metric is empty then."""


class Definition:
    """Computes one metric of a run and describes its columns: one, or one for each resource, tier or class.

    In `name`, `heading` and `meaning`, `{}` stands for the resource or the tier. `key` is what scenarios ask for, and
    `classes` are labels with a value.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        described: Metric,
        per: Per | None,
        in_parts: bool = False,
        needs: Callable[[FinishedRun], Any] | None = None,
    ) -> None:
        update_wrapper(self, function)  # so that it counts as code of the function's module
        self._function, self._described, self._per, self._needs = function, described, per, needs
        self.in_parts, self.key = in_parts, described.name
        self.classes: Sequence[tuple[str, str]] = ()

    @property
    def name(self) -> str:
        """The name of its column, with `{}` where it has several."""
        return self._described.name

    def __call__(self, run: FinishedRun) -> Any:
        """Compute the value, or a value for each part; None where the run does not have what it needs."""
        try:
            if self._needs is None:
                return self._function(run)
            found = self._needs(run)
            return None if found is None else self._function(run, found)
        except NoData:
            return None

    def names(self, resources: Sequence[str], tiers: Sequence[str]) -> list[str]:
        """List the names of its columns, for a cluster with these resources and tiers."""
        if self.classes:
            return [f"{self.name}_{label}_{value}" for label, value in self.classes]
        if self._per is None:
            return [self.name]
        return [self.name.replace("{}", part) for part in (resources if self._per == "resource" else tiers)]

    def columns(self, resources: Sequence[str], tiers: Sequence[str]) -> list[Metric]:
        """Describe its columns, for a cluster with these resources and tiers."""
        one = self._described
        if self.classes:
            names = self.names(resources, tiers)
            return [
                _narrowed(one, name, value, f"of those whose {label} is {value}")
                for name, (label, value) in zip(names, self.classes, strict=True)
            ]
        if self._per is None:
            return [one]
        parts = resources if self._per == "resource" else tiers
        return [one.of(part, is_first=number == 0) for number, part in enumerate(parts)]

    def of_the_last(self, share: float) -> Definition:
        """Make the metric of the last part of a run: a share of the requests that were offered."""
        percent = f"{100 * share:.10g}"
        window, found = f"last {percent} %", copy(self)
        found._function, found._needs = lambda run: self(run.last_part(share)), None
        name = f"{self.name}_last_{percent}"
        found._described = _narrowed(self._described, name, window, f"over the {window} of the requests")
        return found

    def of_classes(self, by: Sequence[tuple[str, Sequence[str]]]) -> Definition:
        """Make the metric of the requests with each of these values of labels."""
        found = copy(self)
        found.classes = [(label, value) for label, some in by for value in some]
        return found

    def measured(self, run: FinishedRun) -> dict[str, Any]:
        """Compute the metric: its value by column, without those that the run does not have."""
        names, values = self.names(run.resources, run.tiers), []
        if self.classes:
            parts = [run.among(*each) for each in self.classes]
            values = [self(some) if len(some.placed) else None for some in parts]
        elif names and (value := self(run)) is not None:
            values = [value] if self._per is None else value
        return {name: value for name, value in zip(names, values, strict=len(values) > 0) if value is not None}


def _narrowed(metric: Metric, name: str, what: str, meaning: str) -> Metric:
    """Describe a metric of some of the requests, which tables always show."""
    heading, meaning = f"{metric.heading}, {what}", f"{metric.meaning}; {meaning}"
    return replace(metric, name=name, heading=heading, meaning=meaning, table="always")


def metric(
    *,
    heading: str,
    meaning: str,
    unit: str = "",
    better: Better = "neither",
    name: str = "",
    per: Per | None = None,
    table: Table = "always",
    timed: bool = False,
    beyond: bool = False,
    in_parts: bool = False,
    needs: Callable[[FinishedRun], Any] | None = None,
) -> Callable[[Callable[..., Any]], Definition]:
    """Make a metric of a function that takes a finished run and returns a number, or None where there is no value.

    `per` "resource" or "tier" makes a column for each; the function then returns as many numbers, in their order, and
    `name`, `heading` and `meaning` have `{}` where the resource or the tier stands. With `in_parts` there may be a
    metric of the last part of a run, too: the function keeps to the measured time of the run that it gets, and to its
    rows from `first` on. `needs` returns what the metric is computed from, which the function takes as its second
    argument; where that is None, the metric is empty. The other arguments are those of `Metric`; `name` is the
    function's by default.
    """
    if better not in get_args(Better) or table not in get_args(Table) or per not in (None, *get_args(Per)):
        kinds = ", ".join(f"{key} {' or '.join(get_args(kind))}" for key, kind in _CHOICES.items())
        raise ValueError(f"a metric's choices are {kinds}")

    def make(function: Callable[..., Any]) -> Definition:
        if (per is not None) != ("{}" in (name or function.__name__)):
            raise ValueError("a metric per resource or tier, and no other one, has {} in its name")
        described = Metric(name or function.__name__, heading, unit, better, meaning, table, timed, beyond)
        return Definition(function, described, per, in_parts, needs)

    return make


def define(
    key: str, heading: str, meaning: str, function: Callable[..., Any], *, name: str = "", **how: Any
) -> Definition:
    """Make a metric as a row of a table says it: as `metric` does, with the `key` that scenarios ask for."""
    found = metric(heading=heading, meaning=meaning, name=name or key, **how)(function)
    found.key = key
    return found


def table(definitions: Iterable[Definition]) -> dict[str, Definition]:
    """Return metrics by their keys."""
    return {one.key: one for one in definitions}
