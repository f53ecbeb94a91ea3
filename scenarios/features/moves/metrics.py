"""Requests that were moved while they ran, and what planned that."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, get_args

from binwright.analysis.measure.definition import define, table
from binwright.analysis.measure.finished_run import FinishedRun
from binwright.simcore.extras import pl
from binwright.simcore.moves import Moved, Outcome, Why
from binwright.simcore.types import QUANTUM

MOVE: dict[str, Any] = {"needs": attrgetter("moving"), "better": "lower"}
TABLE = table((
    define("moves", "moves", "requests that were moved while they ran, each as often as it arrived",
           lambda run, moving: len(run.arrived), **MOVE),
    define("moves_failed", "moves failed",
           "moves that did not arrive: called off as a server failed, or their request ended or was interrupted",
           lambda run, moving: sum(move.outcome != "done" for move in run.moves_ended), table="harm", **MOVE),
))  # fmt: skip


def moves_table(run: FinishedRun) -> pl.DataFrame:
    """Return a row per move that was begun, in order: whose, why, from where to where, when, what became of it."""
    assert run.moving
    downtime, log = run.moving.spec.downtime, run.moving.log
    rows = [moved.row for moved in log]

    def column(kind: Any, each: Callable[[Moved], Any]) -> pl.Series:
        return pl.Series([each(moved) for moved in log], dtype=kind)

    columns = {
        "row": column(pl.Int64, lambda moved: moved.row),
        "id": run.asked.id[rows],
        "why": column(pl.Enum(get_args(Why)), lambda moved: moved.why),
        "begin": column(pl.Float64, lambda moved: moved.begin),
        "end": column(pl.Float64, lambda moved: moved.end),
        "from_server": column(pl.Int64, lambda moved: moved.source[0]),
        "from_node": column(pl.Int64, lambda moved: moved.source[1]),
        "to_server": column(pl.Int64, lambda moved: moved.target[0]),
        "to_node": column(pl.Int64, lambda moved: moved.target[1]),
        **{name: run.asked.demand[rows, r] / QUANTUM for r, name in enumerate(run.asked.resources)},
        "downtime": column(pl.Float64, lambda moved: downtime if moved.outcome == "done" else 0.0),
        "outcome": column(pl.Enum(get_args(Outcome)), lambda moved: moved.outcome),
    }
    return pl.DataFrame(columns)
