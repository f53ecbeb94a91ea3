"""Numbers over time: prices and emissions of energy, from a CSV file with a row for every hour, or of every day."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from binwright.simcore.errors import ScenarioError, unread
from binwright.simcore.fields import Model, Number, PositiveTime, Text, Time, wrong
from binwright.simcore.time_series import HOUR, TimeSeries
from binwright.simcore.types import Floats
from binwright.simcore.units import TIME, many_of
from binwright.workloads.traces.cells import moments, number, report
from binwright.workloads.traces.text import read_text

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
            changed = Path(self.path).stat().st_mtime_ns
        except OSError as error:
            problem, remedy = unread(error, self.path, "Give a CSV file in UTF-8 with a header.")
            raise ScenarioError(problem, file=self.path, key=f"{key}.path", remedy=remedy) from None
        values = _numbers(self, key, below_zero, changed)
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
    path = Path(spec.path)
    frame = read_text(path)
    columns = frame.columns[1:]  # behind the number of the line
    others = [column for column in columns if column != spec.time]
    name = spec.column or (others[0] if len(others) == 1 else "")
    for column in (name, spec.time or name):
        if column not in columns:
            problem = f"has no column {column}" if column else f"has {len(others)} columns of numbers"
            remedy = f"Name one of {', '.join(columns)}."
            raise ScenarioError(problem, file=path, line=1, key=f"{key}.column", remedy=remedy)
    if frame.is_empty():
        raise ScenarioError("has no rows", file=path, key=f"{key}.column", remedy="Give a row for every hour.")
    result, remedy = number(frame, name, path), f"Give a number in every row{', from 0' * (not below_zero)}."
    odd = {name: (~(result.is_finite() & ((result >= 0) | below_zero)).fill_null(False), remedy)}
    if spec.time:
        times = moments(frame, spec.time, path, 1.0)
        remedy = f"Give a row every {TIME.show(spec.every)}, with times like 2026-11-23T02:00+00:00."
        odd[spec.time] = times.is_null() | (times.diff() != spec.every).fill_null(False), remedy
    for column, (rows, remedy) in odd.items():
        if rows.any():
            report(frame, rows, path, column, "is not what belongs here", remedy, frame[column].filter(rows)[0])
    values = result.to_numpy().copy()
    values.flags.writeable = False  # it is kept for other runs
    return values
