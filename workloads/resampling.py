"""Draws a trace anew from blocks of another one, so that seeds meet requests that differ as months differ."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simcore.errors import WorkloadError
from simcore.rng import stream
from simcore.types import Ints
from simcore.units import TIME
from workloads.traces.mapped import Columns

DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Blocks:
    """Blocks of so many `seconds`, counted from midnight on the trace's clock, that are drawn with replacement.

    A block that divides a day, or is divided by one, takes the place of one that begins at the same time of day. The
    new trace is as long as the blocks of the old one, or `length` seconds.
    """

    seconds: float = DAY
    length: float | None = None


def resampled(table: Columns, blocks: Blocks, seed: int, file: Path | None = None) -> tuple[Columns, Ints]:
    """Draw the trace of a seed; returns its rows, in order of arrival, and the block of each, int64 [rows].

    Requests keep the time since their block began, and how long they stay, beyond the block's end, too.
    """
    begin = np.floor(table["arrival"][0] / blocks.seconds) * blocks.seconds
    of = np.floor((table["arrival"] - begin) / blocks.seconds).astype(np.int64)
    there = int(of[-1]) + 1
    wanted = there if blocks.length is None else int(np.ceil(blocks.length / blocks.seconds))
    phases = max(1, round(DAY / blocks.seconds)) if DAY % blocks.seconds == 0 else 1
    if there < phases:
        raise WorkloadError(
            f"the trace has {there} blocks, less than a day of them",
            file=file,
            key="workload.resample.block",
            value=TIME.show(blocks.seconds),
            remedy="Give shorter blocks, or a longer trace.",
        )
    rng = stream(seed, "workload", "resample")
    edges = np.searchsorted(of, np.arange(there + 1))
    rows, shifts, numbers = [], [], []
    for number in range(wanted):
        phase = number % phases
        drawn = phase + phases * int(rng.integers((there - phase + phases - 1) // phases))
        some = np.arange(edges[drawn], edges[drawn + 1])
        rows.append(some)
        shifts.append(np.full(len(some), (number - drawn) * blocks.seconds))
        numbers.append(np.full(len(some), number))
    found: Columns = table[np.concatenate(rows)]
    found["arrival"] += np.concatenate(shifts)
    return found, np.concatenate(numbers)
