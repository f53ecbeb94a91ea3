"""The Standard Workload Format of the Parallel Workloads Archive: 18 numbers a line, a line for every job."""

from __future__ import annotations

from pathlib import Path

from binwright.simcore.extras import pl
from binwright.workloads.csv_files import contents
from binwright.workloads.traces.cells import report
from binwright.workloads.traces.check import LABELS, REQUESTED

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


def jobs(path: Path) -> pl.DataFrame:
    """Read jobs that ran: processors that were requested, or else allocated, and the time that they ran.

    Left out are jobs that never ran (a run time of -1, or 0 for those that were cancelled), jobs without processors,
    and lines that are parts of others. Memory is that which is requested for each processor, times the processors. A
    requested time that is not known is NaN.
    """
    table = _numbers(path)
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
    return frame.sort("arrival", maintain_order=True)


def _numbers(path: Path) -> pl.DataFrame:
    """Read `line` and the fields, Float64, of all lines but comments."""
    text = pl.col("text")
    lines = pl.DataFrame({"text": contents(path).decode().splitlines()}, schema={"text": pl.String})
    lines = lines.with_row_index("line", offset=1).filter((text.str.strip_chars() != "") & ~text.str.starts_with(";"))
    lines = lines.with_columns(text.str.extract_all(r"\S+"))
    counts = lines["text"].list.len()
    if (wrong := counts != len(FIELDS)).any():
        remedy = "The format has 18 numbers in every line, with blanks between; comments begin with ;."
        problem = f"{counts.filter(wrong)[0]} fields instead of {len(FIELDS)}"
        report(lines, wrong, path, "", problem, remedy, None)
    cells = lines.select("line", *(text.list.get(place).alias(name) for place, name in enumerate(FIELDS)))
    table = cells.with_columns(pl.col(FIELDS).cast(pl.Float64, strict=False))
    for name in FIELDS:
        if (wrong := ~(table[name].abs() <= LARGEST).fill_null(False)).any():
            remedy = f"Give a number up to {LARGEST:.0f}; -1 is for what is not known."
            report(cells, wrong, path, name, "not a number", remedy, cells[name].filter(wrong)[0])
    return table
