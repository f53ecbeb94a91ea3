"""Keeps where a compiled run is, and goes on from there in a new simulation of the same run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from fabric.compiled.heap import Rows
from fabric.compiled.numa_loop import ANSWERED, COUNTERS, ENDS, FIRST, HEAD, TAIL
from fabric.compiled.numa_run import CompiledSimulation
from simcore.engine import Change, Simulation
from simcore.large import blocks
from simcore.record import PLACED, REJECTED, SPREAD, Record
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


def check_answers(simulation: Simulation, rows: Rows, servers: int, answers: npt.NDArray[Any]) -> None:
    """Refuse with a `ValueError` what cannot be the first answers of a run, whose `rows` are answered in order."""
    reasons, nodes = len(simulation.record.reasons), simulation.view.capacity.shape[1]
    right = len(answers) <= len(rows)
    for some in blocks(len(answers)):
        block = answers[some]
        placed, server, node, reason = block["outcome"] == PLACED, block["server"], block["node"], block["reason"]
        right = right and bool(
            (block["row"] == rows[some]).all()
            and (placed | (block["outcome"] == REJECTED)).all()
            and np.where(placed, (server >= 0) & (server < servers), server == -1).all()
            and ((node >= SPREAD) & (node < nodes) & (reason >= -1) & (reason < reasons)).all()
        )
    must(right)


def check_left(simulation: Simulation, holder: npt.NDArray[np.integer[Any]], left: npt.NDArray[Any]) -> None:
    """Refuse with a `ValueError` another amount `left` on the servers than those who hold something leave.

    `left` int64 [servers, nodes, resources], `holder` int [any] the rows that will end. The record has to have their
    answers, and the ledger all servers.
    """
    record, duration, demand = simulation.record, simulation.workload.duration, simulation.workload.demand
    must(holder.dtype.kind == "i" and holder.ndim == 1 and ((holder >= 0) & (holder < len(duration))).all())
    parts = blocks(len(duration))
    for_ever = [np.flatnonzero((record.outcome[r] == PLACED) & (duration[r] == inf)) + r.start for r in parts]
    rows = np.concatenate([holder, *for_ever])
    must((record.outcome[holder] == PLACED).all() and len(np.unique(rows)) == len(rows))
    server, node, found = record.server[rows], record.node[rows], simulation.view.capacity.copy()
    nodes, whole = found.shape[1], node != SPREAD
    np.subtract.at(found, (server[whole], node[whole]), demand[rows[whole]])
    for n in range(nodes):
        wanted = demand[rows[~whole]]
        np.subtract.at(found, (server[~whole], n), wanted // nodes + (n < wanted % nodes))
    must(np.array_equal(found, left))


def must(right: Any) -> None:
    """Raise a `ValueError` unless this is so."""
    if not right:
        raise ValueError("what was kept cannot be of this run")


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
    """Bring a simulation that has answered nothing to where another one of the same run was.

    What cannot be of this run raises an error, a `ValueError` where nothing else does; the simulation is then lost.
    """
    at, due, holder, left, grown = (kept[name] for name in ("at", "due", "holder", "left", "grown"))
    capacity, rows, planned = simulation.view.capacity, simulation.requests.rows, int(kept["planned"])
    must(at.shape == (COUNTERS,) and at.dtype == np.int64 and due.shape == holder.shape == (at[ENDS],))
    must(at[HEAD] == at[ANSWERED] == len(answers) and at[HEAD] <= at[TAIL] <= len(rows) and at[FIRST] == 0)
    must((grown[:, 1] > 0).all() and left.shape == (len(capacity) + grown[:, 1].sum(), *capacity.shape[1:]))
    must(0 <= planned <= simulation.planned)
    check_answers(simulation, rows, len(left), answers)
    write(simulation.record, answers)
    for time, (decisions, by) in zip(kept["times"].tolist(), grown.tolist(), strict=True):
        simulation.ledger.grow(by)
        simulation.changes.append(Change(time, decisions, "expansion", by))
    simulation.lay_out(planned)
    state = simulation.state
    check_left(simulation, holder, left)
    state.sequence[: len(answers)] = answers["row"]
    state.at[:], state.now[:] = at, kept["now"]
    state.free[:] = state.left[:] = left
    for heap, values in ((state.due, due), (state.holder, holder)):
        heap[: len(values)] = values
    simulation.follow()
