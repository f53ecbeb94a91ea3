"""The keys of `costs:`: what servers draw and cost, and what their energy costs and emits, also over time."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal, Self, TypeAlias

import numpy as np
from pydantic import Field, model_validator

from binwright.analysis.measure.costs.time_series import HOUR, TimeSeries
from binwright.simcore.errors import ScenarioError, suggest
from binwright.simcore.fields import (
    FromOne,
    Model,
    Number,
    PositiveTime,
    Share,
    Shown,
    Text,
    Time,
    WattHours,
    Watts,
    wrong,
)
from binwright.simcore.unions import PlainOrMapping
from binwright.simcore.units import POWER, TIME, many_of
from binwright.workloads.csv_files import read_text
from binwright.workloads.traces.cells import number, report

DAY = 86400.0


class OverTime(Model):
    """Numbers over time, from a CSV file with a header: a row for every hour, in order. Or those of every day."""

    path: Text | None = Field(None, description="The file, relative to this one.", examples=["intensity.csv"])
    daily: tuple[Number, ...] | None = Field(None, examples=["[90, 240, 310, 180]"], min_length=1)
    """Instead of a file: numbers equally far apart, from midnight on, every day."""
    column: Text | None = Field(None, examples=["g_per_kwh"])
    """The column of the numbers; by default the only one."""
    every: PositiveTime = Field(HOUR, description="How long each row holds.", examples=["30 min"])
    start: Time = Field(0.0, examples=["8 h"])
    """A run begins this long after the first row, or at this time of day."""
    at_end: Literal["fail", "repeat"] = "fail"
    """A run that is longer than the file fails, or the file begins again."""

    @model_validator(mode="after")
    def _either(self) -> Self:
        if (self.path is None) == (self.daily is None):
            raise wrong("needs a file or a day", "Give one of `path: intensity.csv` and `daily: [90, 240, 310, 180]`.")
        if self.daily and self.column:
            raise wrong("has a column, which is for files", "Take out `column`, or `daily`.")
        return self

    def read(self, key: str, *, below_zero: bool) -> TimeSeries:
        """Read the file, which `key` of the scenario names; `below_zero` says whether there may be such numbers."""
        if self.daily:
            return TimeSeries(np.array(self.daily, np.float64), DAY / len(self.daily), self.start)
        path = Path(str(self.path))
        frame = read_text(path)
        columns = frame.columns[1:]  # behind the number of the line
        name = self.column or (columns[0] if len(columns) == 1 else "")
        if name not in columns:
            problem = f"has no column {name}" if name else f"has {len(columns)} columns"
            remedy = f"Name one of {', '.join(columns)}."
            raise ScenarioError(problem, file=path, line=1, key=f"{key}.column", remedy=remedy)
        if frame.is_empty():
            raise ScenarioError("has no rows", file=path, key=f"{key}.column", remedy="Give a row for every hour.")
        result = number(frame, name, path)
        odd = ~(result.is_finite() & ((result >= 0) | below_zero)).fill_null(False)
        if odd.any():
            remedy = f"Give a row every {TIME.show(self.every)}, with a number{', from 0' * (not below_zero)}."
            report(frame, odd, path, name, "is not what belongs here", remedy, frame[name].filter(odd)[0])
        if self.start >= (lasts := self.every * len(result)):
            remedy = f"It has {lasts / HOUR:g} h in {many_of(len(result), 'row')}: give a shorter time."
            raise ScenarioError("is after the end of the file", file=path, key=f"{key}.start", remedy=remedy)
        source = f"the file {self.path} of {key}"
        return TimeSeries(result.to_numpy(), self.every, self.start, self.at_end == "repeat", source)


class Power(Model):
    """What a server draws that is switched on: `idle` and `peak`, or a `curve`."""

    idle: Watts | None = Field(None, description="With nothing on it.", examples=["100 W"])
    peak: Watts | None = Field(None, description="Fully used; linear in between.", examples=["300 W"])
    curve: Annotated[tuple[Watts, ...], Shown("list of power")] | None = Field(
        None, min_length=2, examples=["[49, 81, 97, 112, 127, 145, 167, 196, 231, 266, 302]"]
    )
    """At equally spaced loads from 0 to 100 %, linear in between: the eleven numbers of SPECpower, from active idle on.
    """

    @model_validator(mode="after")
    def _either(self) -> Self:
        ends = (self.idle is not None) + (self.peak is not None)
        if ends != (0 if self.curve else 2):
            raise wrong("needs idle and peak, or a curve", "Give the one or the other.")
        if self.idle is not None and self.peak is not None and self.idle > self.peak:
            raise wrong(f"is more than its peak, {POWER.show(self.peak)}", "Give less, or a curve.", ("idle",))
        return self

    @property
    def points(self) -> tuple[float, ...]:
        """Watts at utilisations spread evenly from 0 to 1."""
        return self.curve if self.curve is not None else (self.idle or 0.0, self.peak or 0.0)


class Tariff(Model):
    """What servers of a kind draw and cost."""

    power: Power | None = Field(default=None, examples=["{idle: 100 W, peak: 300 W}"])
    """What each draws; gives `energy`."""
    price: Number | None = Field(default=None, examples=[0.5])
    """Of an hour in which a server is in service and on; gives `cost`."""


class SwitchOff(Model):
    """Servers that are empty are switched off. Requests do not wait for one to wake."""

    after: Time = Field(description="Once a server has been empty for longer than this.", examples=["10 min"])
    power: Watts = Field(0.0, description="What it draws when it is off.", examples=["5 W"])
    waking: WattHours = Field(0.0, examples=["15 Wh"])
    """The additional energy each time that it is needed again."""


Rate: TypeAlias = Annotated[Number | OverTime, PlainOrMapping(), Shown("number from 0, or [OverTime](#overtime)")]


class Electricity(Model):
    """What a kWh costs and emits."""

    pue: FromOne = Field(1.0, examples=[1.4])
    """Energy in all, cooling included, for each kWh of the servers."""
    price: Rate | None = Field(None, description="Of a kWh.", examples=[0.2])
    carbon: Rate | None = Field(None, examples=[380, "{path: intensity.csv, at_end: repeat}"])
    """Grams of CO2 equivalent for a kWh; gives `carbon`."""


class MoveCosts(Model):
    """What it costs to move requests while they run."""

    each: Number = Field(0.0, description="For each move that arrives.", examples=[0.01])
    per_gb: Number = Field(0.0, description="For each GB of memory that a move carries.", examples=[0.002])


class CostsSpec(Model):
    """What the servers draw and cost. With nothing in it (`costs: {}`) hours are counted."""

    servers: Tariff = Field(Tariff(), examples=["{power: {idle: 100 W, peak: 300 W}, price: 0.5}"])
    """All servers but those of a kind below."""
    kinds: dict[str, Tariff] = Field(
        default_factory=dict, examples=["{large: {power: {idle: 200 W, peak: 700 W}, price: 1.4}}"]
    )
    """Tariffs by a group's `name`, or the model of a trace's devices."""
    utilisation: Text | None = Field(None, examples=["gpu"])
    """The resource whose allocated share decides a server's power; by default cpu, else the first one."""
    activity: Share = Field(1.0, examples=["60 %"])
    """How much of what is allocated is really in use."""
    switch_off: SwitchOff | None = Field(None, examples=["{after: 10 min, power: 5 W, waking: 15 Wh}"])
    """Empty servers are switched off."""
    electricity: Electricity | None = Field(None, examples=["{pue: 1.4, price: 0.2, carbon: 380}"])
    """What energy costs and emits."""

    currency: Text = Field("", description="What prices are in; tables and figures say so.", examples=["EUR", "$"])
    moves: MoveCosts | None = Field(None, examples=["{each: 0.01, per_gb: 0.002}"])
    """What moves cost, where requests are moved."""

    def check_kinds(self, kinds: Sequence[str]) -> None:
        """Refuse kinds that are not among those of the servers, and tariffs that say less than others do."""
        for kind in self.kinds:
            if kind not in kinds:
                remedy = suggest(kind, set(kinds) - {""}) if any(kinds) else "Give the groups names."
                raise wrong("there are no servers of this kind", remedy, ("costs", "kinds", kind))
        tariffs = [self.at(kind) for kind in dict.fromkeys(kinds)]
        for key in ("power", "price"):
            without = [at for at, tariff in tariffs if getattr(tariff, key) is None]
            if 0 < len(without) < len(tariffs):
                raise wrong(f"says no {key}, and other servers have one", f"Give all a {key}; 0 is one.", without[0])
        if self.electricity and tariffs[0][1].power is None:
            remedy = "Say what servers draw: servers: {power: {idle: 100 W, peak: 300 W}}."
            raise wrong("there is no power to pay", remedy, ("costs", "electricity"))

    @property
    def has_power(self) -> bool:
        """Whether it is said what servers draw."""
        return any(tariff.power is not None for tariff in (self.servers, *self.kinds.values()))

    def at(self, kind: str) -> tuple[Iterable[str], Tariff]:
        """Find the tariff of servers of some kind, and where it is written."""
        if kind in self.kinds:
            return ("costs", "kinds", kind), self.kinds[kind]
        return ("costs", "servers"), self.servers
