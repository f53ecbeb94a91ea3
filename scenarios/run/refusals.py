"""Counts what a run refused: for which reasons, of which sizes, and when."""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from binwright.fabric.run.simulation import Simulation
from binwright.simcore.extras import pl
from binwright.simcore.memmap import blocks
from binwright.simcore.record import IMPOSSIBLE, PENDING, REJECTED
from binwright.simcore.types import Ints
from binwright.simcore.units import say

Bools: TypeAlias = npt.NDArray[np.bool_]

VALUES = 20
"""Sizes that are counted."""

SIZE, CAME, REFUSED = ".size", ".came", ".refused"
"""Columns that are no labels."""


def refusals(simulation: Simulation, first: int) -> dict[str, str]:
    """Count, from row `first` on, rejections by reason, and who came and was refused by size.

    Each is a column of its own, as JSON: `reasons`, the commonest first, and `refused_sizes`, those that were refused
    most, if any was refused. Rejections are also those of requests that had run before the row `first` and were sent
    back.
    """
    asked, counts, refused = simulation.asked(), list[pl.DataFrame](), False
    keys = [f"{SIZE}{r}" for r in range(len(asked.resources))]
    for rows, no in _answered(simulation, first):
        frame = pl.DataFrame(dict(zip(keys, asked.demand[rows].T, strict=True)) | {REFUSED: no})
        counts.append(frame.group_by(keys).agg(pl.len().alias(CAME), pl.col(REFUSED).sum()))
        refused = refused or bool(no.any())
    found: dict[str, object] = {}
    if reasons := _reasons(simulation, first):
        found["reasons"] = reasons
    if refused:
        falling = [True, *([False] * len(keys))]
        most = pl.concat(counts).group_by(keys).sum().sort(REFUSED, *keys, descending=falling).head(VALUES)
        found["refused_sizes"] = {say(row[:-2], asked.resources): list(row[-2:]) for row in most.rows()}
    return {name: json.dumps(each, ensure_ascii=False) for name, each in found.items()}


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
    return dict(counts.most_common())
