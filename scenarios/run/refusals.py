"""Counts for which reasons a run refused requests."""

import json
from collections import Counter
from itertools import chain

import numpy as np

from binwright.fabric.run.simulation import Simulation
from binwright.simcore.memmap import blocks
from binwright.simcore.record import IMPOSSIBLE, REJECTED
from binwright.simcore.types import Ints


def refusals(simulation: Simulation, first: int) -> dict[str, str]:
    """Count rejections by reason from row `first` on, the commonest first: as JSON, the column `reasons`, if any.

    Those of requests are among them that had run before the row `first` and were sent back.
    """
    record, asked, counts = simulation.record, simulation.asked(), Counter[str]()
    begin = asked.arrival[first]
    for some in chain(blocks(simulation.offered, first), blocks(record.rows, len(simulation.workload))):
        rows = asked.leads(np.arange(some.start, some.stop))
        codes = record.reason[rows[(record.outcome[rows] == REJECTED) & ~(record.decided[rows] < begin)]]
        counts.update({record.reasons[code]: int(count) for code, count in enumerate(np.bincount(codes)) if count})
    return {"reasons": json.dumps(dict(counts.most_common()), ensure_ascii=False)} if counts else {}


def refused_as_sent_back(simulation: Simulation) -> Ints:
    """Return the rows, int64 [n], on which requests that were interrupted and sent back were refused."""
    record = simulation.record
    back = np.arange(len(simulation.workload), record.rows)
    return back[np.isin(record.outcome[back], (REJECTED, IMPOSSIBLE))]
