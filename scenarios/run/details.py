"""What a scenario may have recorded of every run: its requests, and the cluster over time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from binwright.analysis.measure.metrics.cluster import history
from binwright.analysis.measure.samples import states
from binwright.analysis.measure.stays import Order
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.feature import Feature
from binwright.simcore.extras import pl
from binwright.simcore.files import write_tables
from binwright.simcore.memmap import blocks
from binwright.simcore.record import INTERRUPTED, OUTCOMES, PLACED
from binwright.simcore.types import QUANTUM, Ints
from binwright.workloads.traces.check import LABELS

if TYPE_CHECKING:
    from binwright.analysis.measure.finished_run import FinishedRun


def write_details(
    run: FinishedRun, record: Collection[str], features: Iterable[Feature], begin: float, name: Path
) -> None:
    """Write the tables that a scenario asks for, each into a file of its own whose path begins with `name`.

    States are from `begin` on, when the agent took over.
    """
    tables: dict[str, Callable[[FinishedRun], Any]] = {
        "samples": _samples,
        "times": _times,
        "states": lambda run: states(run, begin),
        "devices": lambda run: pl.DataFrame({"row": []}) if (table := history(run)) is None else table,
        **{kind: table for feature in features for kind, table in feature.details.items()},
    }
    for kind in record:
        frames = requests_of(run.simulation, run.first) if kind == "requests" else iter([tables[kind](run)])
        # They need not be on disk before their run is in the journal: that has their digests, and a run whose details a
        # power cut has damaged is done again. To wait for each would take longer than short runs do.
        write_tables(name.with_name(f"{name.name}.{kind}.parquet"), frames, lasting=False)


def requests_of(simulation: Simulation, first: int) -> Iterator[pl.DataFrame]:
    """Yield a row per request, in blocks: when, what, where, what became of it. Those before `first` are warm.

    It has those that arrived while the run lasted, which metrics count, and after them those that were sent back.
    """
    record, requests = simulation.record, simulation.as_workload()
    roles, gangs, network, spread = requests.roles, requests.gangs, simulation.ledger.network, dict[str, Any]()
    groups = np.array([role.group for role in roles.all] if roles else [])
    if network:  # traces and flavours ask for no bandwidth; who holds no place is on -1 servers
        spread["bandwidth"] = np.zeros(record.rows) if requests.bandwidth is None else requests.bandwidth / QUANTUM
        spans, held = np.full((record.rows, 3), -1), np.isin(record.outcome[: record.rows], (PLACED, INTERRUPTED))
        spans[held] = network.spans(np.flatnonzero(held))
        spread |= dict(zip(("servers", "span", "links"), spans.T, strict=True))
    evicted_for = np.full(record.rows, -1, np.int32)
    if preempting := simulation.preempting:
        evicted = [each for each in preempting.log if each.outcome == "evicted"]
        evicted_for[[each.row for each in evicted]] = [each.by for each in evicted]

    def block(rows: slice) -> pl.DataFrame:
        outcome, decided, arrival = record.outcome[rows], record.decided[rows], requests.arrival[rows]
        held, duration = np.isin(outcome, (PLACED, INTERRUPTED)), requests.duration[rows]
        end = np.fmin(decided + duration, record.interruption[rows])
        row, networks = np.arange(rows.start, rows.stop), requests.networks
        columns = {
            "row": row,
            "id": requests.id[rows],
            "arrival": arrival,
            "duration": duration,
            **{name: requests.demand[rows, r] / QUANTUM for r, name in enumerate(requests.resources)},
            **({"machines": [len(network) for network in networks[rows]]} if networks is not None else {}),
            **({"gang": gangs.first[rows]} if gangs is not None and gangs.first is not None else {}),
            "outcome": _words(outcome, OUTCOMES),
            "decided": decided,
            "wait": np.where(held, decided - arrival, np.nan),
            "end": np.where(held, end, np.nan),
            "server": record.server[rows],
            "node": record.node[rows],
            **{name: column[rows] for name, column in spread.items()},
            "reason": _words(record.reason[rows], tuple(record.reasons)),
            "origin": record.origin[rows],
            **({"evicted_for": evicted_for[rows]} if preempting else {}),
            **({"priority": requests.priority[rows]} if requests.priority is not None else {}),
            **({"group": groups[roles.of[rows]]} if roles and groups.any() else {}),
            **{f"{LABELS}{name}": words[rows] for name, words in requests.labels.items()},
            "warm": row < first,
        }
        return pl.DataFrame(columns)

    came = chain(blocks(simulation.offered), blocks(record.rows, len(simulation.workload)))
    return map(block, came)


def _samples(run: FinishedRun) -> pl.DataFrame:
    """Return a row per look at the cluster: servers, failures so far, requests waiting, and what is used.

    Of every resource the units that are used, free, stranded and installed; of link tiers those used and installed.
    """
    simulation, samples = run.simulation, run.samples
    columns = {name: column for name, column in samples.items() if column.ndim == 1 and name != "changes"}
    failed = np.cumsum([0, *(change.what == "failure" for change in simulation.changes)])
    columns["failures"] = failed[samples["changes"]]
    for kind in ("used", "free", "stranded", "capacity"):
        columns |= {f"{kind}_{name}": samples[kind][:, r] / QUANTUM for r, name in enumerate(simulation.view.resources)}
    if tiers := simulation.ledger.tiers:
        used = _reserved(run)[samples["decisions"]]
        for number, (name, total) in enumerate(tiers.items()):
            columns |= {
                f"used_{name}": used[:, number] / QUANTUM,
                f"capacity_{name}": np.full(len(used), total / QUANTUM),
            }
    return pl.DataFrame(columns)


def _times(run: FinishedRun) -> pl.DataFrame:
    """Return a row per decision, in order: its request, how long the agent took, and whether it got a place."""
    row, took = np.array(run.simulation.times, np.int64).reshape(-1, 2).T
    placed = np.isin(run.simulation.record.outcome[row], (PLACED, INTERRUPTED))
    return pl.DataFrame({"row": row, "seconds": took / 1e9, "placed": placed}).filter(pl.col("row") >= run.first)


def _words(codes: Any, words: tuple[str, ...]) -> pl.Series:
    """Turn codes into categories; -1 is null."""
    text = pl.Series([None, *words], dtype=pl.Enum(words))
    return text.gather(pl.Series(codes.astype(np.int64) + 1))


def _reserved(run: FinishedRun) -> Ints:
    """Count the quanta that are reserved on each tier right after so many decisions, int64 [decisions + 2, tiers]."""
    first, after = Order(run.simulation).lasting(run.held, run.end)
    moves, links = run.on_the_way, slice(len(run.resources), None)
    reserved = np.concatenate([run.amounts[:, links], moves.amounts[:, links]])
    change = np.zeros((len(run.sequence) + 2, reserved.shape[1]), np.int64)
    np.add.at(change, np.append(first, moves.first) + 1, reserved)
    np.subtract.at(change, np.append(after, moves.last) + 1, reserved)
    reserved_then: Ints = change.cumsum(axis=0)
    return reserved_then
