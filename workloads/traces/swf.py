"""The Standard Workload Format of the Parallel Workloads Archive: 18 numbers a line, a line for every job."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from binwright.simcore.errors import WorkloadError
from binwright.simcore.extras import pl
from binwright.workloads.traces.base import Trace
from binwright.workloads.traces.cells import is_number
from binwright.workloads.traces.check import LABELS, REQUESTED, check
from binwright.workloads.traces.text import contents

FIELDS = (
    *("job number", "submit time", "wait time", "run time", "allocated processors", "average cpu time", "used memory"),
    *("requested processors", "requested time", "requested memory", "status", "user", "group", "executable", "queue"),
    *("partition", "preceding job", "think time"),
)
PARTS = (2.0, 3.0, 4.0)
"""States of lines that are parts of a job, which has another line as a whole."""
GB_PER_KB = 1.024e-6
LARGEST = 2.0**53
"""Beyond it, floats do not tell whole numbers apart."""


@dataclass(frozen=True)
class StandardWorkload(Trace):
    """Reads jobs that ran: processors that were requested, or else allocated, and the time that they ran.

    Left out are jobs that never ran (a run time of -1, or 0 for those that were cancelled), jobs without processors,
    and lines that are parts of others. Memory is that which is requested for each processor, times the processors. A
    requested time that is not known is NaN.
    """

    version: ClassVar[int] = 3

    @classmethod
    def recognises(cls, start: bytes) -> bool:
        lines = start.decode(errors="replace").splitlines()
        first = next((line.split() for line in lines if line.strip() and not line.startswith(";")), [])
        return len(first) == len(FIELDS) and all(map(is_number, first))

    def read(self, path: Path) -> pl.DataFrame:
        schema = {"line": pl.UInt32, **dict.fromkeys(FIELDS, pl.Float64)}
        table = pl.DataFrame(list(_rows(path)), schema=schema, orient="row")
        requested = pl.col("requested processors")
        processors = pl.when(requested > 0).then(requested).otherwise(pl.col("allocated processors"))
        ran = (pl.col("run time") > 0) | ((pl.col("run time") == 0) & (pl.col("status") != 5))
        labels = {
            f"{LABELS}{label}": pl.when(pl.col(field) >= 0)
            .then(pl.col(field).cast(pl.Int64).cast(pl.String))
            .otherwise(pl.lit(""))
            for label, field in (("tenant", "user"), ("queue", "queue"))
        }
        frame = table.filter(ran & (processors > 0) & ~pl.col("status").is_in(PARTS)).select(
            "line",
            id=pl.col("job number").cast(pl.Int64),
            arrival="submit time",
            lifetime="run time",
            cpu=processors,
            mem=pl.max_horizontal("requested memory", 0) * processors * GB_PER_KB,
            **{REQUESTED: pl.when(pl.col("requested time") > 0).then("requested time").otherwise(float("nan"))},
            **labels,
        )
        keys = {"id": "job number", "arrival": "submit time", "lifetime": "run time", "mem": "requested memory"}
        return check(frame.sort("arrival", maintain_order=True), path, {**keys, "cpu": "requested processors"})


def _rows(path: Path) -> Iterator[tuple[float, ...]]:
    for number, line in enumerate(contents(path).decode().splitlines(), 1):
        if not line.strip() or line.startswith(";"):
            continue
        cells = line.split()
        if len(cells) != len(FIELDS):
            remedy = "The format has 18 numbers in every line, with blanks between; comments begin with ;."
            problem = f"{len(cells)} fields instead of {len(FIELDS)}"
            raise WorkloadError(problem, file=path, line=number, remedy=remedy)
        for name, cell in zip(FIELDS, cells, strict=True):
            if not is_number(cell) or not abs(float(cell)) <= LARGEST:
                remedy = f"Give a number up to {LARGEST:.0f}; -1 is for what is not known."
                raise WorkloadError("not a number", file=path, line=number, key=name, value=cell, remedy=remedy)
        yield number, *map(float, cells)
