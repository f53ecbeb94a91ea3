"""Windows: which requests of a trace a run meets, where every seed begins, and traces drawn anew from blocks."""

from collections.abc import Mapping
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

from binwright.simcore.errors import WorkloadError
from binwright.simcore.extras import pl
from binwright.simcore.fields import (
    Count,
    Index,
    Model,
    PositiveNumber,
    PositiveTime,
    Quantity,
    Shown,
    Text,
    checked,
    wrong,
)
from binwright.simcore.rng import stream
from binwright.simcore.roles import Roles
from binwright.simcore.types import QUANTUM, Floats, Ints
from binwright.simcore.units import TIME
from binwright.simcore.workload import Workload
from binwright.workloads.arrivals import DAY
from binwright.workloads.csv_files import read_text
from binwright.workloads.traces.cells import DATED, is_date, moment, report, seconds_of_date
from binwright.workloads.traces.check import LABELS, MODELS, PLACED, REQUESTED, check_resources, floats_of, is_text

KEY = "workload.start.path"


def _ordered(rows: tuple[int, ...]) -> tuple[int, ...]:
    if rows[0] > rows[1]:
        raise wrong("is an empty range", "Give the lower row first.", value=list(rows))
    return rows


Rows: TypeAlias = Annotated[tuple[Index, ...], Field(min_length=2, max_length=2), AfterValidator(_ordered)]
_Of: TypeAlias = Annotated[
    Literal["requests", "events"],
    Field(
        description="What the rows are: requests, or `events` (arrivals and ends in order of time); a window then "
        "begins with the first request from that event on."
    ),
]


class RandomStart(Model):
    """A start drawn for every seed."""

    random: Rows = Field(examples=["[50000, 100000]"])
    """First and last row that may be drawn, counted from 0."""
    of: _Of = "requests"


class ApartStart(Model):
    """Starts whose windows do not overlap, so that seeds are nearly independent."""

    apart: Rows = Field(examples=["[0, 100000]"])
    """First and last row, counted from 0, at which a window may start. Windows lie side by side, one for each seed."""

    def count(self, length: int) -> int:
        """Count the windows of this length."""
        return (self.apart[1] - self.apart[0]) // length + 1


class ListedStart(Model):
    """Starts from a file: the first seed takes its first row, seed 1 its second, and so on."""

    path: Text = Field(examples=["starts.csv"])
    """A CSV with a column `start`, counted from 0, and without `workload.requests` a column `requests`."""
    of: _Of = "requests"

    @cached_property
    def listed(self) -> list[tuple[int, int | None]]:
        """For every seed from 0 on the row, and how many requests, if the column `requests` says it."""
        file, columns = Path(self.path), []
        try:
            table = read_text(file, frozenset({"start"}))
        except WorkloadError as error:
            error.key = error.key or (None if error.line else KEY)
            raise
        for name, least in (("start", 0), ("requests", 1)):
            if name in table.columns:
                numbers = table[name].str.strip_chars().cast(pl.Int64, strict=False).fill_null(least - 1)
                if (low := numbers < least).any():
                    problem, value = f"the {name} is not a whole number from {least}", table[name].filter(low)[0]
                    report(table, low, file, KEY, problem, "Write it in digits.", value)
                columns.append(numbers.to_list())
        return list(zip(*columns, strict=True)) if len(columns) > 1 else [(start, None) for start in columns[0]]

    def at(self, seed: int) -> tuple[int, int | None]:
        """Find the row of a seed, and how many requests."""
        starts = self.listed
        if seed >= len(starts):
            remedy = f"Seeds count from 0: take those below {len(starts)} by `seed:` and `replications:`, or list more."
            problem = f"has {len(starts)} starts, and none for seed {seed}"
            raise WorkloadError(problem, file=Path(self.path), key=KEY, remedy=remedy)
        return starts[seed]


def _form_of_start(value: Any) -> str:
    for form, key in (("apart", ApartStart), ("path", ListedStart)):
        if isinstance(value, key) or (isinstance(value, Mapping) and form in value):
            return f"<{form}>"
    return "<row>" if isinstance(value, int | float) else "<time>" if isinstance(value, str | date) else "<random>"


def _time_text(value: Any) -> str:
    """Write a time on the trace's clock, or a date as it is: one without a zone is in UTC."""
    text = value.isoformat() if isinstance(value, date) else value
    return text if isinstance(text, str) and is_date(text) else TIME.show(checked(TIME.parse)(text))


Start: TypeAlias = Annotated[
    Annotated[Index, Tag("<row>")]
    | Annotated[str, BeforeValidator(_time_text), Tag("<time>")]
    | Annotated[RandomStart, Tag("<random>")]
    | Annotated[ApartStart, Tag("<apart>")]
    | Annotated[ListedStart, Tag("<path>")],
    Discriminator(_form_of_start),
    Shown(
        "row from 0, time with a unit or date on the trace's clock, [RandomStart](#randomstart), "
        "[ApartStart](#apartstart) or [ListedStart](#listedstart)"
    ),
]


class Resample(Model):
    """A trace that every seed draws anew: blocks of the old one, with replacement.

    Requests keep how long they stay, and those that never end are among them as they were.
    """

    block: Annotated[float, Quantity("time from 1 d", TIME, least="1 d")] = Field(default=DAY, examples=["1 d"])
    """The length of a block."""
    length: PositiveTime | None = Field(default=None, examples=["31 d"])
    """The length of the new trace; by default that of the old one."""


class Window(Model):
    """Which requests of a trace a run meets, from which on, and how often they come."""

    start: Start = Field(
        default=0, examples=[0, "3 d", "2026-11-03T08:00Z", "{random: [50000, 100000]}", "{apart: [0, 100000]}"]
    )
    """The first request."""
    requests: Count | None = Field(default=None, examples=[2000])
    """How many requests; by default all to the end."""
    superpose: Count = Field(default=1, examples=[2])
    """How many windows of the trace run at once, each with a start of its own if starts are random or apart; else one
    after another in the trace."""
    time_scale: PositiveNumber = Field(default=1.0, examples=[0.5])
    """Multiplies the time between arrivals: 2 halves the load."""
    running: Literal["keep", "drop"] = "keep"
    """Requests that run already at the start: `keep` places them first, unmeasured; `drop` leaves them out."""
    ends: Literal["keep", "drop"] = Field(default="keep", description="With `drop` no request ends.")
    resample: Resample | None = Field(default=None, examples=["{block: 1 d}"])
    """A new trace for every seed, from blocks of this one; `start` counts its rows."""

    @model_validator(mode="after")
    def _length(self) -> Self:
        if isinstance(self.start, ApartStart) and self.requests is None:
            raise wrong("is missing", "Windows side by side need a length: give `requests:`.", ("requests",))
        if self.superpose > 1 and self.requests is None and not isinstance(self.start, RandomStart):
            remedy = "Windows that follow one another need a length: give `requests:`, or a random start."
            raise wrong("is missing", remedy, ("requests",))
        return self

    @property
    def moves(self) -> bool:
        """Whether seeds may meet different requests."""
        start = self.start
        if self.resample or isinstance(start, ApartStart | ListedStart):
            return True
        return isinstance(start, RandomStart) and start.random[0] < start.random[1]

    def length(self, seed: int) -> int | None:
        """Return how many requests each window of a seed has; None for all to the end."""
        return self.requests or (self.start.at(seed)[1] if isinstance(self.start, ListedStart) else None)

    def bounds(self, trace: pl.DataFrame, file: Path | None = None) -> tuple[int, int]:
        """Find the first and the last row that a seed's first window may begin at."""
        start = self.start
        if isinstance(start, int):
            return start, start
        if isinstance(start, str):
            row = _row_at(floats_of(trace, "arrival"), start, file)
            return row, row
        if isinstance(start, ApartStart):
            return start.apart[0], start.apart[1]
        rows = [row for row, _ in start.listed] or [0] if isinstance(start, ListedStart) else start.random
        first, last = _requests_at(start.of, [min(rows), max(rows)], trace)
        return first, last

    def firsts(self, seed: int, trace: pl.DataFrame, file: Path | None = None) -> list[int]:
        """Find the row that each window of a seed begins at."""
        start, numbers, length = self.start, range(self.superpose), self.length(seed) or 0
        if isinstance(start, RandomStart):
            low, high = start.random
            rows = [int(stream(seed, "workload", "start", number).integers(low, high + 1)) for number in numbers]
            return _requests_at(start.of, rows, trace)
        if isinstance(start, ApartStart):
            count = start.count(length)
            order = stream(0, "workload", "apart").permutation(count)
            places = [int(order[(seed * self.superpose + number) % count]) for number in numbers]
            return [start.apart[0] + place * length for place in places]
        if isinstance(start, ListedStart):
            [first] = _requests_at(start.of, [start.at(seed)[0]], trace)
        else:
            first = self.bounds(trace, file)[0]
        return [first + number * length for number in numbers]

    def spans(self, trace: pl.DataFrame, seed: int, file: Path | None = None) -> list[tuple[int, int]]:
        """Find the first row, and the row after the last, of each window of a seed; refuses one past the trace."""
        length, rows = self.length(seed), len(trace)
        firsts = self.firsts(seed, trace, file)
        # The highest start that may be drawn is checked, not the one drawn, so that no seed alone finds out.
        last, key, value = firsts[-1], "workload.start", self.start if isinstance(self.start, int | str) else firsts[0]
        if isinstance(self.start, RandomStart | ApartStart):
            last, (form, value) = self.bounds(trace)[1], next(iter(self.start))
            key = f"{key}.{form}"
        if not 0 <= last < rows or last + (length or 0) > rows:
            wanted = f"{length} requests from row {last}" if length else f"row {last}"
            problem = f"the window leaves the trace: it wants {wanted}"
            remedy = f"The trace has the rows 0 to {rows - 1}."
            raise WorkloadError(problem, file=file, key=key, value=value, remedy=remedy)
        return [(first, rows if length is None else first + length) for first in firsts]


def _requests_at(of: str, rows: list[int], trace: pl.DataFrame) -> list[int]:
    """Turn rows that count events into those of the first requests that arrive with them or after them."""
    if of == "requests":
        return rows
    arrival = floats_of(trace, "arrival")
    ends = arrival + floats_of(trace, "lifetime")
    ends = ends[np.isfinite(ends)]
    arrives = np.argsort(np.concatenate([ends, arrival]), kind="stable") >= len(ends)
    before = np.concatenate([[0], np.cumsum(arrives)])  # arrivals before each event
    result: list[int] = before[np.minimum(rows, len(arrives))].tolist()
    return result


def _row_at(arrival: Floats, start: str, file: Path | None) -> int:
    """Find the first row that arrives at a time or later; refuses one after all, and no date on a clock of dates."""
    seconds = seconds_of_date(start) if is_date(start) else TIME.parse(start)
    first = int(np.searchsorted(arrival, seconds))
    undated = seconds < DATED <= arrival[0]
    if first == len(arrival) or undated:
        problem = "is a time before all dates of this trace" if undated else "nothing arrives at that time or later"
        remedy = "Write a date. " if undated else ""
        remedy += f"Its {len(arrival)} requests arrive from {moment(arrival[0])} to {moment(arrival[-1])}."
        raise WorkloadError(problem, file=file, key="workload.start", value=moment(seconds), remedy=remedy)
    return first


def resampled(trace: pl.DataFrame, blocks: Resample, seed: int) -> tuple[pl.DataFrame, Ints]:
    """Draw the trace of a seed; returns its rows, in order of arrival, and the block of each, int64 [rows].

    Requests keep the time since their block began, and how long they stay, beyond the block's end, too.
    """
    size, arrival = blocks.block, floats_of(trace, "arrival")
    of = np.floor((arrival - np.floor(arrival[0] / size) * size) / size).astype(np.int64)
    count = int(of[-1]) + 1
    wanted = count if blocks.length is None else int(np.ceil(blocks.length / size))
    rng, edges = stream(seed, "workload", "resample"), np.searchsorted(of, np.arange(count + 1))
    drawn = np.array([rng.integers(count) for _ in range(wanted)])
    rows = [np.arange(edges[block], edges[block + 1]) for block in drawn]
    numbers = np.repeat(np.arange(wanted), [len(some) for some in rows])
    moved = (numbers - drawn[numbers]) * size
    return trace[np.concatenate(rows)].with_columns(pl.col("arrival").cast(pl.Float64) + pl.Series(moved)), numbers


def select(
    trace: pl.DataFrame,
    window: Window,
    resources: tuple[str, ...],
    seed: int,
    *,
    scale: Mapping[str, float] | None = None,
    file: Path | None = None,
    watched: bool = False,
) -> Workload:
    """Select the requests of a window over a trace, which has the common columns.

    Ids are the trace's; of superposed windows they are strings, `w1:` and the trace's id for the first window, and of
    a resampled trace `b1:` and the id for the first block. Requests of one instant stay in the order of windows, and
    within a window of the trace; those that run already come before all others. `scale` says how many units of a
    resource a 1 in the trace is, where that is not one unit. `file` is named in errors. `watched` asks for how long
    those were seen to run that never end.
    """
    units = dict.fromkeys(resources, 1.0) | dict(scale or {})
    check_resources(trace, units, file)
    blocks = None
    if window.resample:
        trace, blocks = resampled(trace, window.resample, seed)
    arrival, lifetime = floats_of(trace, "arrival"), floats_of(trace, "lifetime")
    spans = window.spans(trace, seed, file)
    parts = []
    for number, (first, end) in enumerate(spans, 1):
        inside, ran = np.arange(first, end), (arrival[first] - arrival[:first]) * window.time_scale
        # What ends at that moment has ended.
        before = np.flatnonzero(lifetime[:first] > ran) if window.running == "keep" else np.zeros(0, np.int64)
        since = (arrival[inside] - arrival[first]) * window.time_scale
        moments = np.concatenate([np.zeros(len(before)), since])
        ages = np.concatenate([ran[before], np.full(len(inside), np.nan)])
        parts.append((np.concatenate([before, inside]), moments, ages, np.full(len(ages), number)))
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.lexsort((columns[1], np.isnan(columns[2])))
    rows, moments, age, numbers = (column[order] for column in columns)
    age = age[~np.isnan(age)]
    met = trace[rows]
    names = met["id"].to_numpy() if met["id"].dtype.is_integer() else _texts(met["id"])
    if blocks is not None:
        names = _prefixed("b", blocks[rows] + 1, names)
    if window.superpose > 1:
        names = _prefixed("w", numbers, names)
    duration = lifetime[rows]
    duration[: len(age)] -= age
    if window.ends == "drop":
        duration[:] = np.inf
    demand = np.stack([floats_of(met, name) * units[name] for name in resources], axis=1)
    texts = {name: _texts(met[name]) for name in met.columns if is_text(name)}
    placed = {name: text for name, text in texts.items() if name in PLACED}
    seen = (last_moment(arrival, lifetime) - arrival[rows]) * window.time_scale
    return Workload(
        resources,
        moments,
        duration,
        np.rint(demand * QUANTUM).astype(np.int64),
        names,
        models=texts.get(MODELS),
        roles=Roles.of_texts(len(rows), **placed) if placed else None,
        labels={name.removeprefix(LABELS): text for name, text in texts.items() if name.startswith(LABELS)},
        age=age if len(age) else None,
        watched=np.where(np.isinf(duration), seen, np.nan) if watched else None,
        requested=floats_of(met, REQUESTED) if REQUESTED in met.columns else None,
        origin=float(arrival[spans[0][0]]),
    )


def _texts(column: pl.Series) -> npt.NDArray[np.str_]:
    return np.array(column.to_list(), np.str_)


def _prefixed(letter: str, numbers: Ints, names: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Put a letter and a number before each name: `w1:`."""
    prefixes = np.array([f"{letter}{number}:" for number in range(numbers.max(initial=0) + 1)])
    return np.char.add(prefixes[numbers], names.astype(str))


def last_moment(arrival: Floats, lifetime: Floats) -> float:
    """Find the last moment of which a trace says something: an arrival or an end."""
    ends = arrival + lifetime
    return max(float(arrival[-1]), float(ends[np.isfinite(ends)].max(initial=-np.inf)))
