"""Counts what all servers have free, looking again only at those that changed since the last time."""

import numpy as np
import numpy.typing as npt

from binwright.fabric.servers import strand
from binwright.simcore.jit import kernel
from binwright.simcore.types import Ints


class Survey:
    """Counts over all servers of one size of cluster.

    `flavours` int64 [k, resources] are the demands that say what is stranded, `spread` bool [k] which of them are
    spread, and `log` int64 [any] says which servers changed, as `fabric.ranking` has it; without it all may
    have.
    """

    def __init__(self, servers: int, flavours: Ints, spread: npt.NDArray[np.bool_], log: Ints | None) -> None:
        resources = flavours.shape[1]
        self.log = log
        self._changes = np.zeros(1, np.int64) if log is None else log
        self._flavours = np.ascontiguousarray(flavours), spread.astype(np.int64)
        self._parts = np.zeros((servers, 1 + 2 * resources), np.int64)
        self._total = np.zeros(1 + 2 * resources, np.int64)
        self._seen = -1  # changes

    def __call__(self, free: Ints, capacity: Ints) -> tuple[int, Ints, Ints]:
        """Return how many servers have not everything free, and what is free and stranded, int64 [resources] quanta."""
        first = self._seen
        if self.log is not None:
            self._seen = int(self.log[0])
        look(free, capacity, *self._flavours, self._changes, first, self._parts, self._total)
        resources = free.shape[2]
        return int(self._total[0]), self._total[1 : 1 + resources].copy(), self._total[1 + resources :].copy()


@kernel
def look(
    free: Ints, capacity: Ints, flavours: Ints, spread: Ints, log: Ints, first: int, parts: Ints, total: Ints
) -> None:
    """Count again the servers that changed since there were `first` changes; all of them if that is negative.

    Changes `parts` int64 [servers, 1 + 2 * resources], what each server adds to `total`: 1 if something is taken, what
    is free, and what of it is stranded.
    """
    servers, nodes, resources = free.shape
    usable, ring = np.zeros(nodes, np.bool_), len(log) - 1
    everything = first < 0 or log[0] - first > ring
    for k in range(servers if everything else log[0] - first):
        s = k if everything else log[1 + ((first + k) & (ring - 1))]
        for place in range(len(total)):
            total[place] -= parts[s, place]
            parts[s, place] = 0
        for n in range(nodes):
            for r in range(resources):
                parts[s, 1 + r] += free[s, n, r]
                if free[s, n, r] != capacity[s, n, r]:
                    parts[s, 0] = 1
        strand(free, s, flavours, spread, usable, parts[s, 1 + resources :])
        for place in range(len(total)):
            total[place] += parts[s, place]
