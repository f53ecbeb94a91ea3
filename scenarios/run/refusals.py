"""Counts what a run refused: for which reasons, of which labels and sizes, and when."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from binwright.fabric.ledger import Ledger
from binwright.fabric.run.simulation import Simulation
from binwright.simcore.extras import pl
from binwright.simcore.memmap import blocks
from binwright.simcore.record import IMPOSSIBLE, PENDING, REJECTED
from binwright.simcore.types import Floats, Ints, Request
from binwright.simcore.units import say

Bools: TypeAlias = npt.NDArray[np.bool_]

REASONS = 20
"""More reasons of one run are counted together."""
VALUES = 20
"""Values of a label, and sizes, that are counted."""
SPANS = 10
"""Equal spans of time, from the first request to the last, in which refusals are counted."""

SIZE, CAME, REFUSED = ".size", ".came", ".refused"
"""Columns that are no labels."""


def refusals(simulation: Simulation, first: int) -> dict[str, str]:
    """Count, from row `first` on, rejections by reason, and who came and was refused by label, size and time.

    Each is a column of its own, as JSON: `reasons`, the commonest first; `refused_by` if requests have labels;
    `refused_sizes` and `refused_times` if any was refused. Of many values those are named that were refused most.
    Rejections are also those of requests that had run before the row `first` and were sent back.
    """
    asked = simulation.asked()
    by = {name: [name] for name in asked.labels} | {"": [f"{SIZE}{r}" for r in range(len(asked.resources))]}
    counts: dict[str, list[pl.DataFrame]] = {name: [] for name in by}
    begin, end, refused = np.inf, -np.inf, False
    for rows, no in _answered(simulation, first):
        columns: dict[str, Any] = {name: words[rows] for name, words in asked.labels.items()}
        frame = pl.DataFrame(columns | dict(zip(by[""], asked.demand[rows].T, strict=True)) | {REFUSED: no})
        for name, keys in by.items():
            counts[name].append(frame.group_by(keys).agg(pl.len().alias(CAME), pl.col(REFUSED).sum()))
        begin, end = min(begin, asked.arrival[rows].min()), max(end, asked.arrival[rows].max())
        refused = refused or bool(no.any())
    found: dict[str, object] = {}
    if reasons := _reasons(simulation, first):
        found["reasons"] = reasons
    if asked.labels:
        found["refused_by"] = {name: _most(counts[name], lambda word: str(word[0])) for name in asked.labels}
    if refused:
        found["refused_sizes"] = _most(counts[""], lambda size: say(size, asked.resources))
        ends, times = _spans(begin, end), np.zeros((SPANS, 2), np.int64)
        for rows, no in _answered(simulation, first):
            times += _by_time(ends, asked.arrival[rows], no)
        found["refused_times"] = times.tolist()
    return {name: json.dumps(counts, ensure_ascii=False) for name, counts in found.items()}


def _answered(simulation: Simulation, first: int) -> Iterator[tuple[Ints, Bools]]:
    """Yield the requests that came and were answered, and which of them were refused, block by block; no empty ones."""
    record, asked = simulation.record, simulation.asked()
    refused_again = record.sources(refused_as_sent_back(simulation))
    for some in blocks(simulation.offered, first):
        rows = asked.leads(np.arange(some.start, some.stop))
        rows = rows[record.outcome[rows] != PENDING]
        if len(rows):
            yield rows, np.isin(record.outcome[rows], (REJECTED, IMPOSSIBLE)) | np.isin(rows, refused_again)


def refused_as_sent_back(simulation: Simulation) -> Ints:
    """Return the rows, int64 [n], on which requests that were interrupted and sent back were refused."""
    record = simulation.record
    back = np.arange(len(simulation.workload), record.rows)
    return back[np.isin(record.outcome[back], (REJECTED, IMPOSSIBLE))]


def _reasons(simulation: Simulation, first: int) -> dict[str, int]:
    record, asked, counts = simulation.record, simulation.asked(), Counter[str]()
    begin = asked.arrival[first]
    for some in chain(blocks(simulation.offered, first), blocks(record.rows, len(simulation.workload))):
        rows = asked.leads(np.arange(some.start, some.stop))
        codes = record.reason[rows[(record.outcome[rows] == REJECTED) & ~(record.decided[rows] < begin)]]
        counts.update({record.reasons[code]: int(count) for code, count in enumerate(np.bincount(codes)) if count})
    if len(counts) > REASONS:
        others = sum(counts.values()) - sum(count for _, count in counts.most_common(REASONS))
        counts = Counter(dict(counts.most_common(REASONS)) | {"other reasons": others})
    return dict(counts.most_common())


def over_time(arrival: Floats, no: Bools) -> tuple[Floats, Ints]:
    """Return the ends of the spans float64 [SPANS + 1], and how many came in each and were refused int64 [SPANS, 2]."""
    ends = _spans(arrival.min(), arrival.max()) if len(arrival) else np.zeros(SPANS + 1)
    return ends, _by_time(ends, arrival, no)


def _spans(begin: float, end: float) -> Floats:
    return np.linspace(begin, end, SPANS + 1)


def _by_time(ends: Floats, arrival: Floats, no: Bools) -> Ints:
    span = np.clip(np.searchsorted(ends, arrival, side="right") - 1, 0, SPANS - 1)
    return np.stack([np.bincount(span, minlength=SPANS), np.bincount(span[no], minlength=SPANS)], 1)


def _most(counts: list[pl.DataFrame], name: Callable[[tuple[Any, ...]], str]) -> dict[str, list[int]]:
    """Keep those that were refused most, of equals the first, by their names."""
    if not counts:
        return {}
    *keys, _, _ = counts[0].columns
    whole = pl.concat(counts).group_by(keys).sum().sort(pl.col(REFUSED), *keys, descending=[True, *[False] * len(keys)])
    return {name(row[:-2]): list(row[-2:]) for row in whole.head(VALUES).rows()}


def room_for_parts(ledger: Ledger, request: Request) -> tuple[str, ...]:
    """Say for how many parts of a gang there is room now, by the labels that its rules go by; nothing of others."""
    gang, said = request.gang, []
    if gang:
        may = ledger.may_lie(request)
        may = np.ones(len(ledger.view.capacity), np.bool_) if may is None else may
        said.append(f"Of its {gang.parts} parts {ledger.room_for_parts(request, may)} had room")
        for label in dict.fromkeys([gang.rules.together, *dict(gang.rules.at_most)]):
            domain = ledger.domains(label) if label else None
            if domain is not None:
                rooms = sorted(ledger.room_for_parts(request, may & (domain == one)) for one in np.unique(domain))
                said.append(f"by {label}: {', '.join(map(str, rooms[:-9:-1]))}" + " and fewer" * (len(rooms) > 8))
    return ("; ".join(said) + ".",) if said else ()
