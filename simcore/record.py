"""What a run remembers of every request: one row each, in columns that are written in place."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from binwright.simcore.memmap import blocks, zeros
from binwright.simcore.types import Floats, Ints

PENDING, PLACED, REJECTED, IMPOSSIBLE, INTERRUPTED = range(5)
OUTCOMES = ("pending", "placed", "rejected", "impossible", "interrupted")
QUOTA, QUEUE = "quota: ", "queue: "
"""What the reasons begin with for which the engine refuses a request by itself."""
SPREAD = -1
"""In column `node`: an even part on every node of the server."""


class Record:
    """Columns with a row per request; rows past the workload are requests that were sent back.

    `outcome` int8; `decided` float64, when the answer came and the holding period began, NaN for never; `server`
    int32, -1 for nowhere; `node` int8; `reason` int32, an index into `reasons`, -1 for none; `interruption` float64,
    when the holding period was cut short, NaN for never; `origin` int32, the row that a returned request continues, -1
    for none.
    """

    COLUMNS = ("outcome", "decided", "server", "node", "reason", "interruption", "origin")

    def __init__(self, rows: int, reasons: Sequence[str]) -> None:
        self.reasons = list(reasons)
        self.grown: Callable[[], None] = lambda: None
        """Called before longer arrays take the place of the columns."""
        self._codes = {reason: code for code, reason in enumerate(reasons)}
        self.rows = 0
        self.order = np.zeros(0, np.int32)
        """The rows in the order of their answers, int32 [any]; the first `answers` count."""
        self.answers = np.zeros(1, np.int64)
        """How many answers there were, int64 [1]."""
        self.outcome = np.zeros(0, np.int8)
        self.decided: Floats = np.zeros(0)
        self.server = np.zeros(0, np.int32)
        self.node = np.zeros(0, np.int8)
        self.reason = np.zeros(0, np.int32)
        self.interruption: Floats = np.zeros(0)
        self.origin = np.zeros(0, np.int32)
        self._grow(rows)
        self.rows = rows

    def _grow(self, by: int) -> None:
        self.grown()
        order = zeros(len(self.order) + by, np.int32)
        order[: len(self.order)], self.order = self.order, order
        empty = {"outcome": PENDING, "decided": np.nan, "interruption": np.nan}
        for name in self.COLUMNS:
            column = getattr(self, name)
            value, before = np.array(empty.get(name, -1), column.dtype), len(column)
            more = zeros(before + by, column.dtype)
            more[:before] = column
            for some in blocks(before + by, before):
                more[some] = value
            setattr(self, name, more)
        # Memoryviews write one number several times faster than numpy's indexing.
        self._outcome, self._reason, self._order = self.outcome.data, self.reason.data, self.order.data
        self._decided: Any = self.decided.data
        self._count = self.answers.data

    @property
    def sequence(self) -> npt.NDArray[np.int32]:
        """The rows that got their answer, in order: int32 [answers]."""
        return self.order[: self.answers[0]]

    def rejected(self, row: int, now: float, reason: str, parts: int = 1) -> None:
        """Note that a request of so many parts got no place. A reason not heard before is added to `reasons`."""
        code = self._codes.setdefault(reason, len(self.reasons))
        if code == len(self.reasons):
            self.reasons.append(reason)
        self._order[self._count[0]] = row
        self._count[0] += 1
        for part in range(row, row + parts):
            self._outcome[part], self._decided[part], self._reason[part] = REJECTED, now, code

    def interrupted(self, rows: Sequence[int], now: float) -> None:
        """Note that the holding periods of requests were cut short, by a failure or an eviction."""
        self.outcome[rows] = INTERRUPTED
        self.interruption[rows] = now

    def sources(self, rows: Ints) -> Ints:
        """Return the request of the workload that each of these rows is of, int64 [n]: some were sent back."""
        while ((before := self.origin[rows]) >= 0).any():
            rows = np.where(before >= 0, before, rows)
        return rows

    def add(self, origins: Sequence[int]) -> range:
        """Add a row for each of the requests that go on where these rows were interrupted."""
        rows = range(self.rows, self.rows + len(origins))
        if rows.stop > len(self.outcome):
            self._grow(max(64, len(rows), self.rows // 8))
        self.rows = rows.stop
        self.origin[rows.start : rows.stop] = origins
        return rows
