"""Requests that were moved while they ran, and what planned that."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np

from binwright.analysis.measure.definition import define, table
from binwright.analysis.measure.finished_run import FinishedRun
from binwright.simcore.moves import Moved
from binwright.simcore.types import QUANTUM


def _moved(run: FinishedRun, moving: Any) -> float | None:
    """Add up what the requests that were moved held of memory."""
    if moving.resource < 0:
        return None
    return float(run.demand[run.arrived, moving.resource].sum()) / QUANTUM


def _moves(run: FinishedRun, which: Callable[[Moved], bool]) -> int:
    return sum(map(which, run.moves_ended))


MOVE: dict[str, Any] = {"needs": attrgetter("moving"), "better": "lower"}
TABLE = table((
    define("moves", "moves", "requests that were moved while they ran, each as often as it arrived",
           lambda run, moving: len(run.arrived), **MOVE),
    define("moved", "moved", "memory that these moves carried", _moved, unit="GB", table="differs", **MOVE),
    define("downtime", "downtime", "for which moved requests stood still",
           lambda run, moving: len(run.arrived) * moving.spec.downtime, unit="s", table="harm", **MOVE),
    define("moves_for_load", "moves for load",
           "those of these moves by which a request left a server that used too much (`on_load`)",
           lambda run, moving: None if moving.relief is None else _moves(
               run, lambda one: one.outcome == "done" and one.why == "load"), table="differs", **MOVE),
    define("moves_failed", "moves failed",
           "moves that did not arrive: called off as a server failed, or their request ended or was interrupted",
           lambda run, moving: _moves(run, lambda one: one.outcome != "done"), table="harm", **MOVE),
    define("moves_under_way", "moves under way", "at most at a time, those of no duration included",
           lambda run, moving: moving.most, table="never", **MOVE),
    define("plan_ms", "ms/plan", "the mover's own time for one plan, on average",
           lambda run, moving: float(np.mean([took for _, took, _ in moving.plans])) / 1e6 if moving.plans else None,
           table="never", timed=True, **MOVE),
    define("plans_late", "late plans", "plans that took the mover longer than `within`",
           lambda run, moving: sum(late for _, _, late in moving.plans), table="differs", timed=True, **MOVE),
))  # fmt: skip
