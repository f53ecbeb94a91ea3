"""Reads what requests were recorded to use: a row for a request and a time, in a table of one's own."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pydantic import Field

from simcore.errors import WorkloadError, suggest
from simcore.fields import Share, Text
from simcore.lazy_imports import pl
from simcore.types import Floats, Ints, Workload
from workloads.traces.cells import moments
from workloads.traces.table import is_parquet, read_parquet
from workloads.traces.text import number, read_text
from workloads.use import RecordedUse, ResourceUse
from workloads.use_case import UseCase

LARGEST = 100.0
"""A share that no request uses of what it asks for: percent were taken for shares."""
_DRAWN = re.compile(r"^(?:w\d+:)?(?:b\d+:)?(.*?)(?:\+\d+\.\d+)*$")
"""The name of a request of superposed or resampled windows, or of a copy, and in it that of its trace."""


class RecordedCase(UseCase):
    """Requests use what a table says, from the row of their id with the first time on, as if they had arrived then.

    Who has no rows there is in the other cases. What is said for a step is the mean of its rows, or that of the step
    before.
    """

    path: Text = Field(
        description="A CSV or Parquet file with a row for a request and a time.", examples=["use.parquet"]
    )
    id: Text = Field(default="id", description="The column of the requests' ids.", examples=["VM Name"])
    time: Text = Field(default="time", description="The column of times: seconds, or dates.", examples=["timestamp"])
    column: Text | None = Field(
        default=None,
        description="The column of what is used; by default that of the resource's name.",
        examples=["cpu"],
    )
    unit: Share = Field(default=1.0, description="What a 1 in that column is.", examples=["1 %"])

    def labels(self) -> list[str]:
        """List the labels that say shares: none."""
        return []

    def draw(
        self, base: Workload, rows: Ints, step: float, resource: str, others: float | ResourceUse, key: str
    ) -> RecordedUse:
        """Make the use of these rows of a workload, as far as the table has them; all others use what `others` say."""
        file, column = Path(self.path), self.column or resource
        try:
            version = file.stat().st_mtime_ns
        except OSError:
            remedy = "Give the path of a CSV or Parquet file, relative to the scenario."
            raise WorkloadError("cannot be read", key=f"{key}.path", value=self.path, remedy=remedy) from None
        ids, first, length, values = _series(file, version, self.id, self.time, column, self.unit, step)
        names = base.id[rows].astype(np.str_)
        if base.id.dtype.kind != "i":
            names = np.array([name if found is None else found[1] for name in names for found in [_DRAWN.match(name)]])
        place = np.searchsorted(ids, names).clip(max=len(ids) - 1)
        known = ids[place] == names
        if not known.any():
            remedy = f"The file's first id is {ids[0]}, and that of the requests {names[0] if len(names) else 'none'}."
            raise WorkloadError("has rows of none of the requests", file=file, key=f"{key}.id", remedy=remedy)
        firsts, lengths, begins = np.zeros((3, len(base)), np.int64)
        firsts[rows[known]], lengths[rows[known]] = first[place[known]], length[place[known]]
        age = np.zeros(len(base))
        age[: base.running] = 0.0 if base.age is None else base.age
        begins = np.floor((base.arrival - age) / step).astype(np.int64)
        return RecordedUse(values, firsts, lengths, begins, others)


@lru_cache(maxsize=4)
def _series(
    file: Path, version: int, name: str, time: str, column: str, unit: float, step: float
) -> tuple[npt.NDArray[np.str_], Ints, Ints, npt.NDArray[np.float32]]:
    """Read a table onto a grid: ids in order, and of each the place of its first value and how many, and all values."""
    table = read_parquet(file) if is_parquet(file) else read_text(file)
    for wanted in (name, time, column):
        if wanted not in table.columns:
            remedy = suggest(wanted, [each for each in table.columns if each != "line"])
            raise WorkloadError(f"has no column {wanted}", file=file, remedy=remedy)
    shares = table[column] if table[column].dtype.is_numeric() else number(table, column, file)
    at: Floats = moments(table, time, file, 1.0).to_numpy()
    value = shares.cast(pl.Float64).to_numpy() * unit
    broken = ~((value >= 0) & (value <= LARGEST) & np.isfinite(at))
    if broken.any() or not len(value):
        row = int(broken.argmax()) if len(value) else 0
        line = int(table["line"][row]) if "line" in table.columns and len(value) else None
        remedy = f"Give numbers from 0 to {LARGEST / unit:g}, or say what a 1 is, like `unit: 1 %`."
        said = str(table[column][row]) if len(value) else ""
        raise WorkloadError("is no share", file=file, line=line, key=column, value=said, remedy=remedy)
    ids, of = np.unique(table[name].cast(pl.String).fill_null("").to_numpy().astype(np.str_), return_inverse=True)
    begin = np.full(len(ids), np.inf)
    np.minimum.at(begin, of, at)
    steps = np.floor((at - begin[of]) / step).astype(np.int64)
    length = np.zeros(len(ids), np.int64)
    np.maximum.at(length, of, steps + 1)
    first = np.cumsum(length) - length
    places = first[of] + steps
    count = np.bincount(places, minlength=length.sum())
    values = np.bincount(places, value, minlength=length.sum()) / np.maximum(count, 1)
    last = np.maximum.accumulate(np.where(count > 0, np.arange(len(count)), 0))  # a request's first step has a row
    return ids, first, length, values[last].astype(np.float32)
