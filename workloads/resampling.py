"""Draws a trace anew from blocks of another one, so that seeds meet requests that differ as months differ."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pydantic import Field

from binwright.simcore.errors import WorkloadError
from binwright.simcore.fields import Model, PositiveTime
from binwright.simcore.rng import stream
from binwright.simcore.types import Ints
from binwright.simcore.units import TIME
from binwright.workloads.traces.mapped import Columns

DAY = 86_400.0


class Resample(Model):
    """A trace that every seed draws anew: blocks of the old one, with replacement, at their time of day.

    Requests keep how long they stay, and those that never end are among them as they were.
    """

    block: PositiveTime = Field(
        default=DAY,
        description="Blocks that divide a day, such as 1 h, replace one of the same time of day.",
        examples=["1 d"],
    )
    length: PositiveTime | None = Field(
        default=None, description="The length of the new trace; by default that of the old one.", examples=["31 d"]
    )


def resampled(table: Columns, blocks: Resample, seed: int, file: Path | None = None) -> tuple[Columns, Ints]:
    """Draw the trace of a seed; returns its rows, in order of arrival, and the block of each, int64 [rows].

    Requests keep the time since their block began, and how long they stay, beyond the block's end, too.
    """
    begin = np.floor(table["arrival"][0] / blocks.block) * blocks.block
    of = np.floor((table["arrival"] - begin) / blocks.block).astype(np.int64)
    there = int(of[-1]) + 1
    wanted = there if blocks.length is None else int(np.ceil(blocks.length / blocks.block))
    phases = max(1, round(DAY / blocks.block)) if DAY % blocks.block == 0 else 1
    if there < phases:
        raise WorkloadError(
            f"the trace has {there} blocks, less than a day of them",
            file=file,
            key="workload.resample.block",
            value=TIME.show(blocks.block),
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
        shifts.append(np.full(len(some), (number - drawn) * blocks.block))
        numbers.append(np.full(len(some), number))
    found: Columns = table[np.concatenate(rows)]
    found["arrival"] += np.concatenate(shifts)
    return found, np.concatenate(numbers)
