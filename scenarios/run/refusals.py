"""Counts what a run refused: for which reasons, of which labels and sizes, and when."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from simcore.engine import Simulation
from simcore.record import IMPOSSIBLE, PENDING, REJECTED
from simcore.units import say
from simcore.vocabulary import Floats, Ints

Bools: TypeAlias = npt.NDArray[np.bool_]

REASONS = 20
"""More reasons of one run are counted together."""
VALUES = 20
"""Values of a label, and sizes, that are counted."""
SPANS = 10
"""Equal spans of time, from the first request to the last, in which refusals are counted."""
CHUNK = 1 << 20
"""Requests whose sizes are sorted at a time, so that it takes little memory."""


def refusals(simulation: Simulation, first: int) -> dict[str, str]:
    """Count, from row `first` on, the rejected by reason, and those that came and were refused by label, size and time.

    Each is a column of its own, as JSON: `reasons`, the commonest first; `refused_by` if requests have labels;
    `refused_sizes` and `refused_times` if any was refused. Of many values those are named that were refused most.
    """
    record, asked = simulation.record, simulation.asked()
    back = np.arange(len(simulation.workload), record.rows)  # sent back by failures
    rows = np.concatenate([np.arange(first, simulation.offered), back])
    rows = rows[record.outcome[rows] != PENDING]
    no = np.isin(record.outcome[rows], (REJECTED, IMPOSSIBLE))
    found: dict[str, object] = {}
    if reasons := _reasons(simulation, first):
        found["reasons"] = reasons
    if asked.labels:
        found["refused_by"] = {name: _by_word(words[rows], no) for name, words in asked.labels.items()}
    if no.any():
        found["refused_sizes"] = _by_size(asked.demand, asked.resources, rows, no)
        found["refused_times"] = over_time(asked.arrival[rows], no)[1].tolist()
    return {name: json.dumps(counts, ensure_ascii=False) for name, counts in found.items()}


def _reasons(simulation: Simulation, first: int) -> dict[str, int]:
    record = simulation.record
    rows = slice(first, record.rows)
    codes = record.reason[rows][record.outcome[rows] == REJECTED]
    counts = Counter({record.reasons[code]: int(count) for code, count in enumerate(np.bincount(codes)) if count})
    if len(counts) > REASONS:
        others = sum(counts.values()) - sum(count for _, count in counts.most_common(REASONS))
        counts = Counter(dict(counts.most_common(REASONS)) | {"other reasons": others})
    return dict(counts.most_common())


def _by_word(words: npt.NDArray[np.object_], no: Bools) -> dict[str, list[int]]:
    values, of = np.unique(words, return_inverse=True)
    counts = np.stack([np.bincount(of, minlength=len(values)), np.bincount(of[no], minlength=len(values))], 1)
    return _most(zip(map(str, values.tolist()), counts.tolist(), strict=True))


def _by_size(demand: Ints, resources: tuple[str, ...], rows: Ints, no: Bools) -> dict[str, list[int]]:
    counts: dict[tuple[int, ...], list[int]] = {}
    for begin in range(0, len(rows), CHUNK):
        some, refused = demand[rows[begin : begin + CHUNK]], no[begin : begin + CHUNK]
        order = np.lexsort(some.T[::-1])
        some, refused = some[order], refused[order]
        starts = np.flatnonzero(np.append(True, (some[1:] != some[:-1]).any(axis=1)))
        came = np.diff(np.append(starts, len(some)))
        went = np.add.reduceat(refused, starts, dtype=np.int64)
        for size, more, less in zip(map(tuple, some[starts].tolist()), came.tolist(), went.tolist(), strict=True):
            before = counts.setdefault(size, [0, 0])
            before[0], before[1] = before[0] + more, before[1] + less
    return _most((say(size, resources), counts[size]) for size in sorted(counts))


def over_time(arrival: Floats, no: Bools) -> tuple[Floats, Ints]:
    """Return the ends of the spans float64 [SPANS + 1], and how many came in each and were refused int64 [SPANS, 2]."""
    ends = np.linspace(arrival.min(), arrival.max(), SPANS + 1) if len(arrival) else np.zeros(SPANS + 1)
    span = np.clip(np.searchsorted(ends, arrival, side="right") - 1, 0, SPANS - 1)
    return ends, np.stack([np.bincount(span, minlength=SPANS), np.bincount(span[no], minlength=SPANS)], 1)


def _most(counts: Iterable[tuple[str, list[int]]]) -> dict[str, list[int]]:
    """Keep those that were refused most, of equals the first."""
    return dict(sorted(counts, key=lambda one: -one[1][1])[:VALUES])
