"""Numbers over time: prices and emissions of energy, from a CSV file with a row for every hour, or of every day."""

from __future__ import annotations

import csv
from datetime import datetime
from functools import lru_cache
from math import inf, isfinite
from pathlib import Path
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from binwright.simcore.errors import ScenarioError, unread
from binwright.simcore.fields import Model, Number, PositiveTime, Text, Time, wrong
from binwright.simcore.time_series import HOUR, TimeSeries
from binwright.simcore.types import Floats
from binwright.simcore.units import TIME, many_of

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
            remedy = f"It has {hours:g} h in {many_of(len(values), 'row')}: give a shorter time."
            raise ScenarioError("is after the end of the file", file=self.path, key=f"{key}.start", remedy=remedy)
        source = f"the file {self.path} of {key}"
        return TimeSeries(values, self.every, self.start, self.at_end == "repeat", source)


@lru_cache(8)
def _numbers(spec: OverTime, key: str, below_zero: bool, changed: int) -> Floats:
    """Read the numbers in a column of a file that was `changed` last at this time; times must be `every` apart."""
    assert spec.path
    with Path(spec.path).open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        columns = list(reader.fieldnames or ())
        others = [column for column in columns if column != spec.time]
        name = spec.column or (others[0] if len(others) == 1 else "")
        for column in (name, spec.time or name):
            if column not in columns:
                problem = f"has no column {column}" if column else f"has {len(others)} columns of numbers"
                remedy = f"Name one of {', '.join(columns)}."
                raise ScenarioError(problem, file=spec.path, line=1, key=f"{key}.column", remedy=remedy)
        found: list[float] = []
        before: datetime | None = None
        for row in reader:
            try:
                number = float((row[name] or "").strip())
            except ValueError:
                number = inf
            if not isfinite(number) or (number < 0 and not below_zero):
                remedy = f"Give a number in every row{', from 0' * (not below_zero)}."
                raise _wrong(spec, reader.line_num, name, row, remedy)
            found.append(number)
            if spec.time:
                try:
                    time = datetime.fromisoformat((row[spec.time] or "").strip())
                    is_next = before is None or (time - before).total_seconds() == spec.every
                except (ValueError, TypeError):  # which is of times of which one has a zone
                    is_next = False
                if not is_next:
                    remedy = f"Give a row every {TIME.show(spec.every)}, with times like 2026-11-23T02:00+00:00."
                    raise _wrong(spec, reader.line_num, spec.time, row, remedy)
                before = time
    if not found:
        raise ScenarioError("has no rows", file=spec.path, key=f"{key}.column", remedy="Give a row for every hour.")
    values = np.array(found, np.float64)
    values.flags.writeable = False  # it is kept for other runs
    return values


def _wrong(spec: OverTime, line: int, column: str, row: dict[str, str], remedy: str) -> ScenarioError:
    """Make the error of a cell of the file."""
    problem, text = "is not what belongs here", row[column] or ""
    return ScenarioError(problem, file=spec.path, line=line, key=column, value=text, remedy=remedy)
