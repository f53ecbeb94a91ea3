"""Computes all metrics of a finished run, and describes their columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cache
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from binwright.analysis.measure import ASKED, BUILT_IN, FOREMOST, METRICS
from binwright.analysis.measure.definition import Asked, Definition
from binwright.analysis.measure.metric import Metric
from binwright.simcore.errors import RunError, UserError, place_in, short

if TYPE_CHECKING:
    from binwright.analysis.measure.finished_run import FinishedRun

KEPT_APART = ("family", "asked", "spec", "details", "resources", "tiers")
"""Of a journal's row, what tells whether it still holds and what it is of, and is not a result."""
NO_METRICS = (
    *("run", "agent", "seed", "version", "status", "error", "seconds"),
    *("windows", "outside", "missing_models", "missing_groups", "unscored", "too_late", "growing", "reasons", "random"),
    *("compiled", "check", "sites"),
    *("refused_by", "refused_sizes", "refused_times"),
)
"""What other columns of runs.parquet, and of the journal, are called."""
OF_CLASSES = tuple(name for name in (*BUILT_IN, *ASKED) if name.startswith(("wait_", "turnaround_", "slowdown_")))
"""Those that may be asked for by class."""
DEFINE = 'Write `@metric(heading="...", meaning="...")` above it, with `from binwright import metric`.'


def measure(run: FinishedRun, added: Sequence[Asked] = ()) -> dict[str, Any]:
    """Compute every metric of a finished run: those that all runs have, and those `added`.

    Raises RunError where there is nothing to measure, and where an added metric raises or returns no number.
    """
    found: dict[str, Any] = {}
    for definition in built_in():
        found |= definition.measured(run)
        run.forget()
    for asked in added:
        found |= _guarded(added_metric(asked), run)
        run.forget()
    return found


def describe(
    resources: Sequence[str], tiers: Sequence[str], added: Sequence[Asked] = (), currency: str = ""
) -> list[Metric]:
    """Describe the columns of all these metrics, in the order in which tables show them.

    What somebody asked for stands in front, where no table is too narrow for it.
    """
    place = 1 + list(BUILT_IN).index(FOREMOST)
    definitions = [*built_in()[:place], *map(added_metric, added), *built_in()[place:]]
    columns = (column for definition in definitions for column in definition.columns(resources, tiers))
    return [column.paid_in(currency) for column in columns]


@cache
def built_in() -> tuple[Definition, ...]:
    """Return the metrics that every run has."""
    return tuple(METRICS.load(name) for name in BUILT_IN)


def added_metric(asked: Asked) -> Definition:
    """Return the metric that a scenario asks for by its registered name, `package.module:name` or `file.py:name`."""
    found = METRICS.load(asked.name)
    if not isinstance(found, Definition):
        raise UserError("is not a metric", value=asked.name, remedy=DEFINE)
    if asked.by:
        if asked.name not in OF_CLASSES:
            problem, remedy = "is no metric of waits", f"By class there are {', '.join(OF_CLASSES)}."
            raise UserError(problem, value=asked.name, remedy=remedy)
        found = found if asked.last is None else found.of_the_last(asked.last)
        return found.of_classes(asked.by)
    if asked.last is None:
        return found
    if not found.in_parts:
        known = ", ".join(name for name in (*BUILT_IN, *ASKED) if METRICS.load(name).in_parts)
        problem, remedy = "is a metric of whole runs only", f"Of the last part of the requests there are {known}."
        raise UserError(problem, value=asked.name, remedy=remedy)
    return found.of_the_last(asked.last)


def check_added(added: Sequence[Asked], resources: Sequence[str], tiers: Sequence[str], swept: Iterable[str]) -> None:
    """Refuse metrics whose columns runs have already, with these `swept` keys; the error's key is the place in them."""
    if not added:
        return  # and nothing is imported that only a run needs
    taken = {*NO_METRICS, *KEPT_APART, *swept, "scenario", *(one.name for one in describe(resources, tiers))}
    for number, asked in enumerate(added):
        try:
            columns = _columns_of(asked, taken, resources, tiers)
        except UserError as error:
            error.key = str(number)
            raise
        taken |= columns


def _columns_of(asked: Asked, taken: Collection[str], resources: Sequence[str], tiers: Sequence[str]) -> set[str]:
    """Return the columns of a metric that is asked for; refuses one that is there, or that has one of those `taken`."""
    if asked.name in BUILT_IN and asked.last is None and not asked.by:
        raise UserError("every run has this metric", value=asked.name, remedy="Take it out of the list.")
    columns = added_metric(asked).names(resources, tiers)
    for column in columns:
        if column in taken:
            remedy = 'Give the metric another name: rename the function, or write @metric(name="...", ...).'
            raise UserError(f"there is a column {column} already", value=asked.name, remedy=remedy)
    return set(columns)


def _guarded(definition: Definition, run: FinishedRun) -> dict[str, Any]:
    """Compute a metric that is not ours: what it raises, and what is not a number, becomes a RunError that says so."""
    name = definition.name
    try:
        found = definition.measured(run)
    except Exception as error:
        at = place_in(definition.__module__, error)
        raise RunError(f"metric {name} raised {error!r} at {at}") from error
    for column, value in found.items():
        if not isinstance(value, Real | np.bool_):
            raise RunError(
                f"metric {name} returned {short(repr(value))} for the column {column}, which is not a number"
            )
        found[column] = int(value) if isinstance(value, Integral | np.bool_) else float(value)
    return found
