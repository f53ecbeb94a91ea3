"""Numbers over time: prices and emissions of energy, from a CSV file with a row for every hour, or of every day."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from math import inf, isfinite
from pathlib import Path
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from binwright.simcore.errors import ScenarioError, suggest, unread
from binwright.simcore.fields import Model, Number, PositiveTime, Text, Time, wrong
from binwright.simcore.json_schema import Schema, given
from binwright.simcore.time_series import HOUR, TimeSeries
from binwright.simcore.types import Floats
from binwright.simcore.units import TIME

DAY = 86400.0


class OverTime(Model):
    """Numbers over time, from a CSV file with a header: a row for every hour, in order. Or those of every day."""

    path: Text | None = Field(None, description="The file, relative to this one.", examples=["intensity.csv"])
    daily: tuple[Number, ...] | None = Field(
        None,
        description="Instead of a file: numbers equally far apart, from midnight on, every day.",
        examples=["[90, 240, 310, 180]"],
        min_length=1,
    )
    column: Text | None = Field(
        None, description="The column of the numbers; by default the only one.", examples=["g_per_kwh"]
    )
    time: Text | None = Field(
        None,
        description="The column of times (ISO 8601), to check that rows are `every` apart.",
        examples=["datetime_utc"],
    )
    every: PositiveTime = Field(HOUR, description="How long each row holds.", examples=["30 min"])
    start: Time = Field(
        0.0, description="A run begins this long after the first row, or at this time of day.", examples=["8 h"]
    )
    at_end: Literal["fail", "repeat"] = Field(
        "fail", description="A run that is longer than the file fails, or the file begins again."
    )

    forms: ClassVar[Sequence[Schema]] = (
        given("path", without=["daily"]),
        given("daily", without=["path", "column", "time"]),
    )

    @model_validator(mode="after")
    def _either(self) -> Self:
        if (self.path is None) == (self.daily is None):
            raise wrong("needs a file or a day", "Give one of `path: intensity.csv` and `daily: [90, 240, 310, 180]`.")
        for key in ("column", "time") if self.daily else ():
            if getattr(self, key) is not None:
                raise wrong("is for files", "Take it out, or daily.", (key,))
        return self

    def read(self, key: str, *, below_zero: bool) -> TimeSeries:
        """Read the file, which `key` of the scenario names; `below_zero` says whether there may be such numbers."""
        if self.daily:
            return TimeSeries(np.array(self.daily, np.float64), DAY / len(self.daily), self.start)
        assert self.path
        try:
            values = _numbers(self, key, below_zero, Path(self.path).stat().st_mtime_ns)
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            problem, remedy = unread(error, self.path, "Give a CSV file in UTF-8 with a header.")
            raise ScenarioError(problem, file=self.path, key=f"{key}.path", remedy=remedy) from None
        if self.start >= self.every * len(values):
            hours = self.every * len(values) / HOUR
            remedy = f"It has {hours:g} h in {len(values)} row{'s' * (len(values) != 1)}: give a shorter time."
            raise ScenarioError("is after the end of the file", file=self.path, key=f"{key}.start", remedy=remedy)
        source = f"the file {self.path} of {key}"
        return TimeSeries(values, self.every, self.start, self.at_end == "repeat", source)


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
    assert spec.path
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
