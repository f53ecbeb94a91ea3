"""Requests that were moved while they ran."""

from operator import attrgetter
from typing import Any

from binwright.analysis.measure.definition import define, table

MOVE: dict[str, Any] = {"needs": attrgetter("moving"), "better": "lower"}
TABLE = table((
    define("moves", "moves", "requests that were moved while they ran, each as often as it arrived",
           lambda run, moving: len(run.arrived), **MOVE),
    define("moves_failed", "moves failed",
           "moves that did not arrive: called off as a server failed, or their request ended or was interrupted",
           lambda run, moving: sum(move.outcome != "done" for move in run.moves_ended), table="harm", **MOVE),
))  # fmt: skip
