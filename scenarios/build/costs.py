"""From a scenario to what its servers cost."""

from __future__ import annotations

import csv
from datetime import datetime
from functools import lru_cache, partial
from math import inf, isfinite
from pathlib import Path

import numpy as np
from pydantic import ValidationError

from analysis.measure.bill import Costs, TimeSeries
from analysis.measure.bill import Tariff as Terms
from scenarios.build.cluster import kinds_of
from scenarios.schema.costs import OverTime, Tariff
from scenarios.schema.explain import explain
from scenarios.schema.scenario import Scenario
from scenarios.schema.yaml_source import Source
from simcore.errors import ScenarioError, suggest, unread
from simcore.fields import together
from simcore.types import Floats
from simcore.units import TIME


def build_costs(scenario: Scenario, seed: int = 0) -> Costs | None:
    """Collect what the servers cost, numbered as with this seed; None where the scenario does not say.

    Raises ScenarioError where a file cannot be read.
    """
    spec = scenario.costs
    if spec is None:
        return None
    kinds, last = kinds_of(scenario, seed) if spec.kinds else ([""], 0)
    try:
        groups = [group.name or "" for group in scenario.cluster.groups or ()]  # of which there may be none now
        together(partial(spec.check_kinds, list(dict.fromkeys([*kinds, *groups]))))
    except ValidationError as error:
        raise explain(error, Source(scenario.file, scenario.dump())) from None
    chosen = [kind if kind in spec.kinds else "" for kind in kinds]
    names = list(dict.fromkeys(chosen))
    off, electricity, resources = spec.switch_off, spec.electricity, scenario.resources
    resource = spec.utilisation or ("cpu" if "cpu" in resources else resources[0])
    places = np.array([names.index(kind) for kind in chosen], np.int64)
    return Costs(
        tariffs=tuple(_terms(spec.at(kind)[1]) for kind in names),
        kinds=places,
        added=int(places[last]),
        resource=resources.index(resource),
        activity=spec.activity,
        off_after=off.after if off else inf,
        off_power=off.power if off else 0.0,
        waking=off.waking if off else 0.0,
        pue=electricity.pue if electricity else 1.0,
        electricity=_course(electricity.price, "price", below_zero=True) if electricity else None,
        carbon=_course(electricity.carbon, "carbon", below_zero=False) if electricity else None,
        move=spec.moves.each if spec.moves else None,
        move_gb=spec.moves.per_gb if spec.moves else 0.0,
    )


def _terms(spec: Tariff) -> Terms:
    reserved = spec.reserved
    return Terms(
        spec.power.points if spec.power else None,
        spec.price,
        reserved.count if reserved else 0,
        reserved.price if reserved else 0.0,
    )


def _course(spec: float | OverTime | None, key: str, *, below_zero: bool) -> TimeSeries | None:
    """Read what holds over time; `below_zero` says whether there may be such numbers."""
    if spec is None:
        return None
    if not isinstance(spec, OverTime):
        return TimeSeries(np.array([spec], np.float64))
    at = f"costs.electricity.{key}"
    try:
        values = _numbers(spec, at, below_zero, Path(spec.path).stat().st_mtime_ns)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        problem, remedy = unread(error, spec.path, "Give a CSV file in UTF-8 with a header.")
        raise ScenarioError(problem, file=spec.path, key=f"{at}.path", remedy=remedy) from None
    if spec.start >= spec.every * len(values):
        hours = spec.every * len(values) / 3600
        remedy = f"It has {hours:g} h in {len(values)} row{'s' * (len(values) != 1)}: give a shorter time."
        raise ScenarioError("is after the end of the file", file=spec.path, key=f"{at}.start", remedy=remedy)
    return TimeSeries(values, spec.every, spec.start, spec.at_end == "repeat", f"the file {spec.path} of {at}")


def _next(before: datetime | None, spec: OverTime, text: str, line: int) -> datetime:
    """Read the time of a row, which has to follow on that of the row `before`."""
    try:
        time = datetime.fromisoformat(text)
        gap = spec.every if before is None else (time - before).total_seconds()
    except (ValueError, TypeError):  # which is of times of which one has a zone
        problem, remedy = "is not such a time", "Write times like 2026-11-23T02:00+00:00, all with a zone or none."
        raise ScenarioError(problem, file=spec.path, line=line, key=spec.time, value=text, remedy=remedy) from None
    if gap != spec.every:
        problem = f"is {TIME.show(abs(gap))} {'before' if gap < 0 else 'after'} the time of the row before it"
        remedy = f"Give a row every {TIME.show(spec.every)}, also where clocks are put forward or back."
        raise ScenarioError(problem, file=spec.path, line=line, key=spec.time, value=text, remedy=remedy)
    return time


@lru_cache(8)
def _numbers(spec: OverTime, key: str, below_zero: bool, changed: int) -> Floats:
    """Read the numbers in a column of a file that was `changed` last at this time."""
    path, key = spec.path, f"{key}.column"
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        columns = list(reader.fieldnames or ())
        others = [column for column in columns if column != spec.time]
        if spec.column is None and len(others) != 1:
            remedy = f"Say which column it is: {', '.join(others)}."
            raise ScenarioError(f"has {len(others)} columns of numbers", file=path, line=1, key=key, remedy=remedy)
        name = others[0] if spec.column is None else spec.column
        for column in (name, *([spec.time] if spec.time else [])):
            if column not in columns:
                remedy = suggest(column, columns)
                raise ScenarioError(f"has no column {column}", file=path, line=1, key=key, remedy=remedy)
        found: list[float] = []
        before: datetime | None = None
        for row in reader:
            text = (row[name] or "").strip()
            try:
                number = float(text)
            except ValueError:
                number = inf
            if not isfinite(number) or (number < 0 and not below_zero):
                remedy = "Give a number in every row" + ("." if below_zero else ", from 0.")
                problem = "is not such a number"
                raise ScenarioError(problem, file=path, line=reader.line_num, key=name, value=text, remedy=remedy)
            found.append(number)
            if spec.time:
                before = _next(before, spec, (row[spec.time] or "").strip(), reader.line_num)
    if not found:
        raise ScenarioError("has no rows", file=path, key=key, remedy="Give a row for every hour.")
    values = np.array(found, np.float64)
    values.flags.writeable = False  # it is kept for other runs
    return values
