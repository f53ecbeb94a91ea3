"""Google's cluster trace of 2019 (version 3): the events of instances, as JSON lines."""

from __future__ import annotations

import io
from pathlib import Path

from binwright.simcore.errors import WorkloadError
from binwright.simcore.extras import pl
from binwright.workloads.csv_files import contents
from binwright.workloads.traces.check import LABELS

TYPES = (
    *("SUBMIT", "QUEUE", "ENABLE", "SCHEDULE", "EVICT", "FAIL", "FINISH", "KILL", "LOST"),
    *("UPDATE_PENDING", "UPDATE_RUNNING"),
)
SCHEDULE, LAST_END = 3, 8
AFTER = 2**63 - 1
"""The time of what happened after the trace's end."""
NUMBERS = ("time", "collection_id", "instance_index", "priority", "alloc_collection_id")
GIVE = "Give the events as they are downloaded."
OPTIONAL = ("priority", "alloc_collection_id")
"""Fields that no event of a file may have."""


def placements(path: Path) -> pl.DataFrame:
    """Make a request of each time that an instance was scheduled, until it is evicted, fails or ends.

    Instances that ran before the trace begin at 0; those of which no end is there keep running. Tasks inside of an
    alloc set are left out, since the set has asked for their room; so are requests for nothing. Groups are collections.
    """
    events = _events(path)
    events = events.filter((pl.col("time") != AFTER) & (pl.col("alloc_collection_id").fill_null(0) == 0))
    who = ["collection_id", "instance_index"]
    turns = events.filter(pl.col("type").is_between(SCHEDULE, LAST_END)).sort("time", "line")
    # Of instances that run already, the trace's beginning, and updates, repeat that they were scheduled.
    before = pl.col("type").shift(1).over(who).fill_null(LAST_END)
    turns = turns.filter((pl.col("type") != SCHEDULE) | (before != SCHEDULE))
    turns = turns.with_columns(
        end=pl.col("time").shift(-1).over(who), turn=(pl.col("type") == SCHEDULE).cum_sum().over(who) - 1
    )
    placed = turns.filter((pl.col("type") == SCHEDULE) & ((pl.col("cpu") > 0) | (pl.col("mem") > 0)))
    return placed.select(
        "line",
        id=pl.format("{}-{}-{}", "collection_id", "instance_index", "turn"),
        arrival=pl.col("time") / 1e6,
        lifetime=((pl.col("end") - pl.col("time")) / 1e6).fill_null(float("inf")),
        cpu="cpu",
        mem="mem",
        group=pl.col("collection_id").cast(pl.String),
        **{f"{LABELS}priority": pl.col("priority").cast(pl.String).fill_null("")},
    )


def _events(path: Path) -> pl.DataFrame:
    """Read events, whose whole numbers may be texts (as JSON has no 64 bits), and whose types may be words."""
    kind = pl.col("type").cast(pl.String).replace({word: number for number, word in enumerate(TYPES)})
    requested = pl.col("resource_request").struct
    amounts = {name: requested.field(field).cast(pl.Float64) for name, field in (("cpu", "cpus"), ("mem", "memory"))}
    try:
        frame = pl.read_ndjson(io.BytesIO(contents(path)), infer_schema_length=None).with_row_index("line", offset=1)
        absent = {name: pl.lit(None, pl.String) for name in OPTIONAL if name not in frame.columns}
        numbers = (pl.col(name).cast(pl.Int64) for name in NUMBERS)
        events = frame.with_columns(**absent).select(
            "line", *numbers, kind.cast(pl.Int64),
            **{name: amount.fill_null(0.0) for name, amount in amounts.items()},
        )  # fmt: skip
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        problem = f"not lines of JSON with events of instances: {str(error).splitlines()[0]}"
        raise WorkloadError(problem, file=path, remedy=GIVE) from error
    if lacking := next((name for name in ("time", "type", "collection_id") if events[name].null_count()), None):
        line = int(events["line"].filter(events[lacking].is_null())[0])
        raise WorkloadError(f"an event has no {lacking}", file=path, line=line, remedy=GIVE)
    return events
