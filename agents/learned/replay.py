"""Records what an agent observed and did while it learned, in its kernel, and keeps it in a replay buffer."""

from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from binwright.agents.heuristics.servers.candidates import candidates
from binwright.agents.rules.random_stream import drawn
from binwright.simcore.jit import kernel, named_after
from binwright.simcore.types import Amounts, Floats, Ints, Reals

ROWS, EPSILON, SLOTS, STOPS, SEED, DRAWN, HEAD = range(7)
"""Places in a trajectory's head: decisions so far; how often to explore; candidates in a row; 1 if a refusal ends the
episode; the random stream. Rows follow: the outcome, the choice, whether it is spread, the demand, the candidates (-1
where there are fewer), and what is free.
"""
CONTINUES, TERMINATED, TRUNCATED = range(3)
"""Outcomes of a decision: there is a next one; a refusal ended the episode; neither is known."""


NONE: Floats = np.zeros(0)
"""No trajectory: a rule that is given it neither explores nor records."""


Decisions: TypeAlias = Any
"""The n decisions of a trajectory in order, a record array of float64.

`outcome` [n], `code` [n], `spread` [n], `demand` [n, resources] quanta, `candidates` [n, slots], `free` [n, servers,
nodes, resources] quanta.
"""


def decision_type(slots: int, capacity: Ints) -> np.dtype[Any]:
    """Return how a decision lies in a trajectory."""
    single = [(name, np.float64) for name in ("outcome", "code", "spread")]
    arrays = {"demand": capacity.shape[2:], "candidates": (slots,), "free": capacity.shape}
    return np.dtype([*single, *((name, np.float64, shape) for name, shape in arrays.items())])


class Trajectory:
    """Holds what a kernel writes of an episode, in `numbers`: a head, whose first number counts decisions, and these.

    `table` is the room for decisions, of this type.
    """

    def __init__(self, rows: int, decision: np.dtype[Any], head: int = HEAD) -> None:
        self.numbers = np.zeros(head + rows * decision.itemsize // 8)
        self.table: Any = self.numbers[head:].view(decision).view(np.recarray)

    @property
    def decisions(self) -> Any:
        """The decisions so far, as a view."""
        return self.table[: int(self.numbers[ROWS])]


@kernel
def exploring(codes: Ints, trajectory: Floats) -> int:
    """Return any candidate now and then, and -1 otherwise or where there is none; changes the random stream."""
    if not len(codes) or not len(trajectory) or drawn(trajectory[SEED:HEAD]) >= trajectory[EPSILON]:
        return -1
    return int(codes[int(drawn(trajectory[SEED:HEAD]) * len(codes))])


@kernel
def write(free: Ints, demand: Amounts, spread: bool, codes: Ints, code: int, trajectory: Floats) -> None:
    """Add a decision, or without candidates an end, unless the trajectory is full; changes it."""
    if not len(trajectory):
        return
    slots, resources = int(trajectory[SLOTS]), len(demand)
    width = 3 + resources + slots + free.size
    at = HEAD + int(trajectory[ROWS]) * width
    if at + width > len(trajectory):
        return
    if trajectory[ROWS] > 0 and trajectory[at - width] == TRUNCATED:
        ended = TERMINATED if trajectory[STOPS] > 0 else TRUNCATED
        trajectory[at - width] = CONTINUES if len(codes) else ended
    if not len(codes):
        return
    trajectory[ROWS] += 1
    trajectory[at], trajectory[at + 1], trajectory[at + 2] = TRUNCATED, code, spread
    for r in range(resources):
        trajectory[at + 3 + r] = demand[r]
    at += 3 + resources
    for i in range(slots):
        trajectory[at + i] = codes[i] if i < len(codes) else -1
    for i, amount in enumerate(free.flat):
        trajectory[at + slots + i] = amount


def exploring_scan(choose: Any) -> Any:
    """Make a `Scan` of a kernel that chooses among candidates, of which it tries others and records what it did.

    `choose(free, capacity, demand, spread, weights, how, codes)` returns one of `codes`. The scan has the numbers
    `weights`, `how`, which begins with the two counts for `candidates`, and a trajectory, which changes.
    """

    def scan(
        free: Ints, capacity: Ints, demand: Amounts, spread: bool, weights: Floats, how: Floats, trajectory: Floats
    ) -> int:
        codes = candidates(free, capacity, demand, spread, int(how[0]), int(how[1]))
        code = exploring(codes, trajectory)
        if code < 0 and len(codes):
            code = choose(free, capacity, demand, spread, weights, how, codes)
        write(free, demand, spread, codes, code, trajectory)
        return code

    return kernel(named_after(choose, scan, "_exploring"))


CHOSEN, DIFFERENT, CELLS = range(3)
"""Columns of a record: the slot that was chosen; how many different shared cells there are. Then come the cells of all
slots after the choice, those before it, and the different shared cells, each with how often it is there. A cell is
observation * outputs + output; cell 0 is none, and worth 0.
"""
FORGET_FROM = 100_000
"""Observations from which on, at first, those that are in no record any more are left out."""


class ReplayBuffer:
    """Holds the last `most` decisions, and each different observation in them once.

    `outcome` int8 [n], `rewards` float64 [n], `records` uint32 [n, any], `observations` float32 [any, inputs], whose
    first row stands for none. A choice is worth the sum of its decision's shared cells, plus its cell after it, less
    that before.
    """

    def __init__(self, most: int, inputs: int, outputs: int, slots: int) -> None:
        self._most, self._outputs, self.limit = most, outputs, FORGET_FROM
        self._shared = CELLS + 2 * slots
        self.outcome, self.rewards = np.empty(0, np.int8), np.empty(0)
        self.records, self.observations = np.empty((0, self._shared), np.uint32), np.zeros((1, inputs), np.float32)
        self._numbers: dict[bytes, int] = {}

    def number(self, observed: Reals) -> Ints:
        """Return numbers int64 [...] of observations [..., inputs]: equal ones have the same."""
        if len(self._numbers) != len(self.observations) - 1:  # they were replaced
            self._numbers = {row.tobytes(): number for number, row in enumerate(self.observations[1:], 1)}
        data, size, known = observed.tobytes(), observed.shape[-1] * observed.itemsize, len(self._numbers)
        rows = (data[at : at + size] for at in range(0, len(data), size))
        numbers = np.array([self._numbers.setdefault(row, len(self._numbers) + 1) for row in rows])
        new = b"".join(islice(self._numbers, known, None))
        added = np.frombuffer(new, np.float32).reshape(-1, observed.shape[-1])
        self.observations = np.concatenate([self.observations, added])
        return numbers.reshape(observed.shape[:-1])

    def add(self, decisions: Decisions, rewards: Floats, cells: tuple[Ints, Ints, Ints]) -> None:
        """Add decisions; `cells` int64 are the shared ones [n, any], then those after and before a slot [n, slots]."""
        shared, after, before = cells
        fitting = decisions.candidates >= 0
        records = np.zeros((len(shared), self._shared + 2 * shared.shape[1]), np.uint32)
        records[:, CHOSEN] = (decisions.candidates == decisions.code[:, None]).argmax(axis=1)
        records[:, CELLS : self._shared] = np.concatenate([after * fitting, before * fitting], axis=1)
        count_shared(shared, records, self._shared)
        width = max(self.records.shape[1], self._shared + 2 * records[:, DIFFERENT].max(initial=0))
        self.records = np.pad(self.records, ((0, 0), (0, width - self.records.shape[1])))
        records = records[:, :width]
        self.outcome = np.append(self.outcome, decisions.outcome.astype(np.int8))[-self._most :]
        self.rewards = np.append(self.rewards, rewards)[-self._most :]
        self.records = np.concatenate([self.records, records])[-self._most :]
        if len(self.observations) > self.limit:
            self._forget()

    def _forget(self) -> None:
        """Leave out observations that are in no record, and number the others anew."""
        columns = np.r_[CELLS : self._shared, self._shared : self.records.shape[1] : 2]
        cells = np.append(self.records[:, columns], 0)
        used, numbers = np.unique(cells // self._outputs, return_inverse=True)
        self.records[:, columns] = (numbers * self._outputs + cells % self._outputs)[:-1].reshape(-1, len(columns))
        self.observations = self.observations[used]
        self.limit = max(FORGET_FROM, 2 * len(used))


@kernel
def count_shared(shared: Ints, records: Any, start: int) -> None:
    """Write each different cell of shared[b] to records[b], from column `start` on, and how often it is there."""
    for b in range(len(shared)):
        end = start
        for cell in shared[b]:
            at = start
            while at < end and records[b, at] != cell:
                at += 2
            records[b, at] = cell
            records[b, at + 1] += 1
            end = max(end, at + 2)
        records[b, DIFFERENT] = (end - start) // 2
