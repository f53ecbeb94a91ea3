"""Windows: which requests of a trace a run meets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from binwright.simcore.errors import WorkloadError
from binwright.simcore.extras import pl
from binwright.simcore.rng import stream
from binwright.simcore.roles import Roles
from binwright.simcore.types import QUANTUM, Floats, Ints, Workload
from binwright.simcore.units import LARGEST, measure_of
from binwright.workloads.resampling import Resample, resampled
from binwright.workloads.starts import ApartStart, RandomStart
from binwright.workloads.traces.cells import DATED, moment
from binwright.workloads.traces.check import LABELS, MODELS, PLACED, REQUESTED, is_text, resources_in
from binwright.workloads.traces.mapped import Columns, structured


@dataclass(frozen=True, slots=True)
class TimeStart:
    """The first request that arrives at this second of the trace's own clock, or later."""

    seconds: float


Start: TypeAlias = int | RandomStart | ApartStart | TimeStart


@dataclass(frozen=True, slots=True)
class Window:
    """`requests` rows of the trace from `start` (a row number from 0), or all to the end.

    `superpose` overlays that many windows, each moved so that its first request arrives at 0. A random start is
    drawn for each window, and one apart dealt to each; from a fixed start they follow one another in the trace, so
    `requests` must be given, as for windows apart.
    `time_scale` multiplies the time between arrivals, and only that: 2 halves the load, lifetimes stay as they are.
    With `running`, the requests from before the window that still run at its start come first, in addition.
    With `resample` the rows are those of a trace that every seed draws anew. If they are `endless`, no request ends; if
    they are `cut`, each ends at the latest when the time is over that was requested for it.
    """

    start: Start = 0
    requests: int | None = None
    superpose: int = 1
    time_scale: float = 1.0
    running: bool = False
    resample: Resample | None = None
    endless: bool = False
    cut: bool = False


def select(
    trace: pl.DataFrame | Columns,
    window: Window,
    resources: tuple[str, ...],
    seed: int,
    *,
    scale: Mapping[str, float] | None = None,
    file: Path | None = None,
    watched: bool = False,
) -> Workload:
    """Select the requests of a window over a trace (the common columns, as a frame or one array).

    Ids are the trace's; of superposed windows they are strings, `w1:` and the trace's id for the first window, and of
    a resampled trace `b1:` and the id for the first block. Requests of one instant stay in the order of windows, and
    within a window of the trace; those that run already come before all others. `scale` says how many units of a
    resource a 1 in the trace is, where that is not one unit. `file` is named in errors. `watched` asks for how long
    those were seen to run that never end.
    """
    table = trace if isinstance(trace, np.ndarray) else structured(trace)
    units = dict.fromkeys(resources, 1.0) | dict(scale or {})
    _check_resources(table, units, file)
    asked = REQUESTED in (table.dtype.names or ())
    if window.cut:
        if not asked:
            remedy = "Take `ends: keep`, or a trace in the Standard Workload Format."
            raise WorkloadError("the trace has no requested times", file=file, key="workload.ends", remedy=remedy)
        table = table.copy()
        table["lifetime"] = np.fmin(table["lifetime"], table[REQUESTED])
    blocks = None
    if window.resample:
        table, blocks = resampled(table, window.resample, seed, file)
    spans = spans_of(table, window, seed, file)
    before = [running_at(table, first, window.time_scale) if window.running else NOBODY for first, _ in spans]
    rows = np.concatenate([*(of for of, _ in before), *(np.arange(first, end) for first, end in spans)])
    age = np.concatenate([ran for _, ran in before])
    times = np.concatenate([table["arrival"][first:end] - table["arrival"][first] for first, end in spans])
    times = np.concatenate([np.zeros(len(age)), times * window.time_scale])
    names = _names(table, rows)
    if blocks is not None:
        names = np.char.add(np.char.add(np.char.add("b", (blocks[rows] + 1).astype(str)), ":"), names.astype(str))
    if window.superpose > 1:
        counts = [*(len(of) for of, _ in before), *(end - first for first, end in spans)]
        prefixes = [f"w{number}:" for number in range(1, len(spans) + 1)] * 2
        names = np.char.add(np.repeat(prefixes, counts), names.astype(str))
        order = np.argsort(times[len(age) :], kind="stable") + len(age)
        order = np.concatenate([np.arange(len(age)), order])
        rows, times, names = rows[order], times[order], names[order]
    duration = table["lifetime"][rows]
    duration[: len(age)] -= age
    if window.endless:
        duration[:] = np.inf
    demand = np.stack([table[name][rows] * units[name] for name in resources], axis=1)
    quanta = np.rint(demand * QUANTUM).astype(np.int64)
    seen = (last_moment(table["arrival"], table["lifetime"]) - table["arrival"][rows]) * window.time_scale
    texts = {name: np.char.decode(table[name][rows], "utf-8") for name in table.dtype.names or () if is_text(name)}
    models = texts.get(MODELS)
    placed = {name: text for name, text in texts.items() if name in PLACED}
    roles = Roles.of_texts(len(rows), **placed) if placed else None
    labels = {name.removeprefix(LABELS): text for name, text in texts.items() if name.startswith(LABELS)}
    return Workload(
        resources,
        times,
        duration,
        quanta,
        names,
        models=models,
        roles=roles,
        labels=labels,
        age=age if len(age) else None,
        watched=np.where(np.isinf(duration), seen, np.nan) if watched else None,
        requested=table[REQUESTED][rows] if asked else None,
        origin=float(table["arrival"][spans[0][0]]),
    )


def last_moment(arrival: Floats, lifetime: Floats) -> float:
    """Find the last moment of which a trace says something: an arrival or an end."""
    ends = arrival + lifetime
    return max(float(arrival[-1]), float(ends[np.isfinite(ends)].max(initial=-np.inf)))


NOBODY: tuple[Ints, Floats] = np.zeros(0, np.int64), np.zeros(0)


def running_at(table: Columns, row: int, time_scale: float = 1.0) -> tuple[Ints, Floats]:
    """Find the earlier rows that still run when a row arrives, and for how long they have, in seconds.

    What ends at that moment has ended.
    """
    age = age_at(table, row, slice(row), time_scale)
    rows = np.flatnonzero(table["lifetime"][:row] > age)
    return rows, age[rows]


def age_at(table: Columns, row: int, rows: slice | Ints, time_scale: float = 1.0) -> Floats:
    """Compute how long before a row others came, in seconds float64."""
    age: Floats = (table["arrival"][row] - table["arrival"][rows]) * time_scale
    return age


def _check_resources(table: Columns, units: dict[str, float], file: Path | None) -> None:
    """Refuse a trace with requests that ask for none of the resources, or for more of one than can be counted."""
    resources = list(units)
    there = resources_in(table.dtype.names or ())
    missing = [name for name in resources if name not in there]
    if missing:
        raise WorkloadError(
            f"the trace has no demand for {', '.join(missing)}",
            file=file,
            key="cluster",
            remedy=f"Resources of this trace: {', '.join(there)}. Name the cluster's resources after them.",
        )
    nothing = np.ones(len(table), np.bool_)
    for name in resources:
        amount = table[name] * units[name] * QUANTUM
        none = np.rint(amount) == 0
        nothing &= none
        if (lost := none & (amount > 0)).any():
            raise WorkloadError(
                f"{lost.sum()} of {len(table)} requests ask for less than can be counted: {1 / QUANTUM:g}",
                file=file,
                key=name,
                value=float(table[name][lost][0]),
                remedy=f"Write 0 for nothing; `workload: {{units: {{{name}: ...}}}}` says what a 1 in the trace is.",
            )
        if units[name] > 1 and table[name].max() * units[name] > LARGEST:
            raise WorkloadError(
                f"a demand above {measure_of(name).show(LARGEST)}",
                file=file,
                key=f"workload.units.{name}",
                value=f"{table[name].max():g} x {measure_of(name).show(units[name])}",
                remedy="Check what a 1 in the trace is.",
            )
    if nothing.any():
        raise WorkloadError(
            f"{nothing.sum()} of {len(table)} requests ask for none of {', '.join(resources)}",
            file=file,
            key="cluster",
            remedy=f"Give the servers more of the trace's resources: {', '.join(there)}.",
        )


def _names(table: Columns, rows: Ints) -> npt.NDArray[Any]:
    """List the ids of these rows, int64 or str."""
    ids = table["id"][rows]
    return ids if ids.dtype.kind == "i" else np.char.decode(ids, "utf-8")


def spans_of(table: Columns, window: Window, seed: int, file: Path | None = None) -> list[tuple[int, int]]:
    """First row of the trace and the row after the last, for each window of a seed."""
    arrival: Floats = table["arrival"]
    rows = len(arrival)
    length = window.requests
    if isinstance(window.start, RandomStart | ApartStart):
        # The highest start is checked, not the one drawn, so that no seed alone finds out.
        drawn = [_rows(window.start)[1], *firsts(window, seed)]
        if isinstance(window.start, RandomStart) and window.start.of == "events":
            drawn = requests_from(table, drawn)
        _fits(drawn[0], length, rows, window, file)
        return [(first, rows if length is None else first + length) for first in drawn[1:]]
    if isinstance(window.start, TimeStart):
        first = int(np.searchsorted(arrival, window.start.seconds))
        if first == rows:
            raise WorkloadError(
                "nothing arrives at that time or later",
                file=file,
                key="workload.start",
                value=moment(window.start.seconds),
                remedy=f"Its {rows} requests arrive from {moment(arrival[0])} to {moment(arrival[-1])}.",
            )
        if window.start.seconds < DATED <= arrival[0]:
            raise WorkloadError(
                "is a time before all dates of this trace",
                file=file,
                key="workload.start",
                value=moment(window.start.seconds),
                remedy=f"`start` is on the trace's clock, while others count from the first request: "
                f"{moment(window.start.seconds)} after its first request is "
                f"{moment(arrival[0] + window.start.seconds)}. Write a date from {moment(arrival[0])} to "
                f"{moment(arrival[-1])}.",
            )
    else:
        first = window.start
    if window.superpose > 1 and length is None:
        raise WorkloadError(
            "superposed windows from a fixed start follow one another, so their length is needed",
            file=file,
            key="workload.requests",
            remedy="Give `requests: n`, or a random start.",
        )
    _fits(first, None if length is None else length * window.superpose, rows, window, file)
    if length is None:
        return [(first, rows)]
    return [(first + number * length, first + (number + 1) * length) for number in range(window.superpose)]


def requests_from(table: Columns, events: list[int]) -> list[int]:
    """Find the row of the first request that arrives with each of these events or after it."""
    ends = table["arrival"] + table["lifetime"]
    ends = ends[np.isfinite(ends)]
    arrives = np.argsort(np.concatenate([ends, table["arrival"]]), kind="stable") >= len(ends)
    before = np.concatenate([[0], np.cumsum(arrives)])  # arrivals before each event
    found: list[int] = before[np.minimum(events, len(arrives))].tolist()
    return found


def firsts(window: Window, seed: int) -> list[int]:
    """Find the row that each window of a seed starts at, whether its start is listed, drawn or dealt.

    Of events, the event is meant.
    """
    start, numbers = window.start, range(window.superpose)
    if isinstance(start, int):
        return [start + number * (window.requests or 0) for number in numbers]
    if isinstance(start, ApartStart):
        assert window.requests is not None
        count = start.count(window.requests)
        order = stream(0, "workload", "apart").permutation(count)
        places = [int(order[(seed * window.superpose + number) % count]) for number in numbers]
        return [start.apart[0] + place * window.requests for place in places]
    assert isinstance(start, RandomStart)
    low, high = start.random
    return [int(stream(seed, "workload", "start", number).integers(low, high + 1)) for number in numbers]


def _rows(start: RandomStart | ApartStart) -> tuple[int, ...]:
    """Return the first and the last row that a window may start at."""
    return start.apart if isinstance(start, ApartStart) else start.random


def _key(start: Start) -> str:
    """Name the key by which a scenario says it."""
    if isinstance(start, ApartStart):
        return "workload.start.apart"
    drawn = isinstance(start, RandomStart) and start.drawn  # a listed event is drawn from itself alone
    return f"workload.start{'.random' * drawn}"


def _fits(first: int, length: int | None, rows: int, window: Window, file: Path | None) -> None:
    if first < 0 or first >= rows or first + (length or 0) > rows:
        wanted = f"{length} requests from row {first}" if length else f"row {first}"
        start: object = window.start
        if isinstance(window.start, RandomStart | ApartStart):
            start = [*_rows(window.start)]
        raise WorkloadError(
            f"the window leaves the trace: it wants {wanted}",
            file=file,
            key=_key(window.start),
            value=start,
            remedy=f"The trace has {rows} requests, rows 0 to {rows - 1}.",
        )
