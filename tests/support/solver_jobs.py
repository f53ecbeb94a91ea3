"""Jobs whose workers share bandwidth, and a plain greedy for them.

GPU jobs of 1 to 24 workers lie below the links of servers and racks, of which m of a job's n workers need min(m, n - m)
times their rate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from binwright.agents.solver import problem
from binwright.agents.solver.model.problem import Problem
from binwright.simcore.types import Ints

TEXT = """
BALLS len(JOB) BINS RACKS * PER_RACK
RESOURCES GPU[s in BINS] => FREE[s], LINK[s in BINS] => WIDTH, UPLINK[r in RACKS] => UP
procedure UTILFN(BALL, BIN, ALLOC)
    UTIL.GPU[BIN] += 1
    let j = JOB[BALL]
    let n = len(WORKERS[j])
    let rack = BIN // PER_RACK
    let m = count(o in WORKERS[j] except BALL: ALLOC[o] == BIN)
    UTIL.LINK[BIN] += RATE[j] * (min(m + 1, n - m - 1) - min(m, n - m))
    let k = count(o in WORKERS[j] except BALL: ALLOC[o] != NULL and ALLOC[o] // PER_RACK == rack)
    UTIL.UPLINK[rack] += RATE[j] * (min(k + 1, n - k - 1) - min(k, n - k))
end
"""
GPUS, PER_RACK = 8, 8


@dataclass(frozen=True)
class Jobs:
    """Jobs, and servers with free GPUs below links."""

    size: Ints
    """[jobs]: workers, 1 to 24"""
    rate: Ints
    """[jobs]: what each worker sends"""
    free: Ints
    """[servers]: GPUs"""
    link: int
    """What a server's link carries."""
    uplink: int
    """What a rack's link carries."""

    @classmethod
    def drawn(cls, workers: int, seed: int, spare: float = 0.1, link: int = 100, uplink: int = 200) -> Jobs:
        """Draw jobs of so many workers in all, and racks of servers of which a share stays free."""
        rng = np.random.default_rng(seed)
        size: list[int] = []
        while (left := workers - sum(size)) > 0:
            size.append(
                min(left, int(rng.choice([1, 2, 4, 8, 12, 16, 24], p=[0.3, 0.2, 0.18, 0.16, 0.06, 0.06, 0.04])))
            )
        racks = -(-int(workers / (1 - spare)) // (GPUS * PER_RACK))
        rate = rng.choice([2, 5, 10], len(size))
        return cls(np.array(size), rate, np.full(racks * PER_RACK, GPUS), link, uplink)

    def problem(self, more: str = "", bins: str = "RACKS * PER_RACK", **more_tables: Ints) -> Problem:
        """State it in the language, with more declarations."""
        job = np.repeat(np.arange(len(self.size)), self.size)
        workers = np.split(np.arange(len(job)), np.cumsum(self.size)[:-1])
        tables = {"JOB": job, "WORKERS": [each.tolist() for each in workers], "RATE": self.rate, "FREE": self.free}
        options = {"RACKS": len(self.free) // PER_RACK, "PER_RACK": PER_RACK, "WIDTH": self.link, "UP": self.uplink}
        head = "".join(f"PARAM {name} = {value}\n" for name, value in options.items())
        text = TEXT.replace("BINS RACKS * PER_RACK", f"BINS {bins}").replace("procedure", f"{more}\nprocedure")
        return problem(head + text, tables=tables | more_tables)

    def whole(self, alloc: list[int]) -> int:
        """Count the workers of jobs that are placed whole in an allocation [workers]."""
        parts = np.split(np.array(alloc), np.cumsum(self.size)[:-1])
        return sum(len(part) for part in parts if (part >= 0).all())

    def greedy(self) -> int:
        """Place the largest jobs first; returns the workers placed."""
        return int(self.size[self.placed(np.lexsort((-self.rate, -self.size)))].sum())

    def placed(self, order: Ints) -> NDArray[np.bool_]:
        """Place jobs in an order, near together, where the links carry them; tells which are placed [jobs].

        A job goes into the server with least room for it, or else into the rack with least; or else, rack by rack,
        into all of them.
        """
        free, link = self.free.copy(), np.full(len(self.free), self.link)
        up, rack = np.full(len(self.free) // PER_RACK, self.uplink), np.arange(len(self.free)) // PER_RACK
        placed = np.zeros(len(self.size), np.bool_)
        for job in order.tolist():
            n, b = int(self.size[job]), int(self.rate[job])
            room = np.bincount(rack, free)
            groups = [np.array([s]) for s in np.argsort(free, kind="stable") if free[s] >= n]
            by_room = np.argsort(room, kind="stable")
            groups += [np.flatnonzero(rack == r)[np.argsort(-free[rack == r])] for r in by_room if room[r] >= n]
            groups.append(np.lexsort((-free, rack, -room[rack])))
            for servers in groups:
                taken: dict[int, int] = {}
                inside = np.zeros(len(up), np.int64)
                for s in servers:
                    left = n - sum(taken.values())
                    fits = (
                        m
                        for m in range(min(left, int(free[s])), 0, -1)
                        if min(m, n - m) * b <= link[s] and min(k := inside[rack[s]] + m, n - k) * b <= up[rack[s]]
                    )
                    if most := next(fits, 0):
                        taken[int(s)] = most
                        inside[rack[s]] += most
                if sum(taken.values()) == n:
                    for s, m in taken.items():
                        free[s] -= m
                        link[s] -= min(m, n - m) * b
                    up -= np.minimum(inside, n - inside) * b
                    placed[job] = True
                    break
        return placed
