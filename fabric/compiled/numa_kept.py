"""Keeps where a compiled run is, and goes on from there in a new simulation of the same run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from fabric.compiled.numa_loop import ENDS
from fabric.compiled.numa_run import CompiledSimulation
from simcore.engine import Change
from simcore.large import blocks
from simcore.record import Record
from simcore.vocabulary import Compiled, Floats

COLUMNS = ("outcome", "decided", "server", "node", "reason")
"""What an answer writes into the record."""
ANSWER = np.dtype(
    [("row", "<i4"), ("outcome", "i1"), ("decided", "<f8"), ("server", "<i4"), ("node", "i1"), ("reason", "<i4")]
)
"""An answer, as it is kept."""
Kept = Mapping[str, npt.NDArray[Any]]


def answers_since(record: Record, first: int) -> Iterator[npt.NDArray[Any]]:
    """Yield the answers from number `first` on, in their order and in blocks, at least one: `ANSWER` [any] each."""
    for some in blocks(len(record.sequence), first):
        yield answers_of(record, np.array(record.sequence[some], np.int32))


def answers_of(record: Record, rows: npt.NDArray[np.int32]) -> npt.NDArray[Any]:
    """Return the answers to the requests of these rows [any], in their order, `ANSWER` [any]."""
    found = np.empty(len(rows), ANSWER)
    found["row"] = rows
    for name in COLUMNS:
        found[name] = getattr(record, name)[rows]
    return found


def write(record: Record, answers: npt.NDArray[Any]) -> None:
    """Write answers, `ANSWER` [any], into a record, but not into its `sequence`."""
    for some in blocks(len(answers)):
        block = answers[some]
        for name in COLUMNS:
            getattr(record, name)[block["row"]] = block[name]


def numbers(simulation: CompiledSimulation, rule: Compiled) -> tuple[Floats, ...]:
    """Return the numbers of a rule, those that the run changes."""
    return rule.weights


def where(simulation: CompiledSimulation) -> dict[str, npt.NDArray[Any]]:
    """Return all else that the rest of the run depends on; nothing is copied."""
    state, changes = simulation.state, simulation.changes
    ends = state.at[ENDS]
    return {
        "at": state.at,
        "now": state.now,
        "due": state.due[:ends],
        "holder": state.holder[:ends],
        "left": state.left,
        "times": np.array([change.time for change in changes], np.float64),
        "grown": np.array([(change.decisions, change.subject) for change in changes], np.int64).reshape(-1, 2),
        "planned": np.array(simulation.planned),
    }


def go_on(simulation: CompiledSimulation, kept: Kept, answers: npt.NDArray[Any]) -> None:
    """Bring a simulation that has answered nothing to where another one of the same run was."""
    write(simulation.record, answers)
    for time, (decisions, by) in zip(kept["times"].tolist(), kept["grown"].tolist(), strict=True):
        simulation.ledger.grow(by)
        simulation.changes.append(Change(time, decisions, "expansion", by))
    simulation.lay_out(int(kept["planned"]))
    state = simulation.state
    state.sequence[: len(answers)] = answers["row"]
    state.at[:], state.now[:] = kept["at"], kept["now"]
    state.free[:] = state.left[:] = kept["left"]
    for heap, values in ((state.due, kept["due"]), (state.holder, kept["holder"])):
        heap[: len(values)] = values
    simulation.follow()
