"""Families of coupled problems: pods, replicas, VLANs, jobs whose workers share bandwidth, and objects to rebalance."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.solver_instance import Floats, Instance, Linear, SingleBalls, all_of, cut, each, one_of, spread
from benchmarks.solver_jobs import PER_RACK, Jobs
from binwright.agents.solver import problem
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.simcore.types import Ints

PODS = """
BALLS len(APP)
BINS len(ZONE)
RESOURCES CPU[n in BINS] => HAS[n, 0], MEMORY[n in BINS] => HAS[n, 1]
RESOURCES COPIES[a in len(MOST), z in 3] => MOST[a]
procedure UTILFN(BALL, BIN, ALLOC)
    if TAINTED[BIN] == 1 and TOLERATES[BALL] == 0 REJECT end
    UTIL.CPU[BIN] += NEEDS[BALL, 0]
    UTIL.MEMORY[BIN] += NEEDS[BALL, 1]
    UTIL.COPIES[APP[BALL], ZONE[BIN]] += 1
end"""


class Pods(SingleBalls):
    """Applications spread over three zones, on nodes of two sizes, some of them tainted."""

    def __init__(self, balls: int, seed: int, slack: float = 0.05) -> None:
        rng, nodes = np.random.default_rng(seed), balls // 5
        self.has = rng.choice([[16_000, 64_000], [32_000, 128_000]], size=nodes, p=[0.7, 0.3])
        self.need, home = cut(rng, self.has, 5, slack)
        self.zone, self.app = np.arange(nodes) % 3, np.empty(len(home), np.int64)
        apps = spread(rng, self.zone[home])
        for number, members in enumerate(apps):
            self.app[members] = number
        self.most = np.array([np.bincount(self.zone[home[members]]).max() for members in apps])
        self.tainted = rng.random(nodes) < 0.2
        self.tolerates = self.tainted[home] | (rng.random(len(home)) < 0.1)

    def problem(self) -> Problem:
        given = {"HAS": self.has, "NEEDS": self.need, "ZONE": self.zone, "APP": self.app, "MOST": self.most}
        more = {"TAINTED": self.tainted.astype(int), "TOLERATES": self.tolerates.astype(int)}
        return problem(PODS, tables=given | more)

    def linear(self) -> Linear:
        may = self.tolerates[:, None] | ~self.tainted
        copies = sparse.kron(one_of(self.app), one_of(self.zone)), np.repeat(self.most, 3)
        return Linear.of(np.ones(may.size), may.ravel(), *self.capacities(), copies)

    def begin(self) -> None:
        self.copies = np.zeros((len(self.most), 3), np.int64)

    def may(self, ball: int) -> NDArray[np.bool_]:
        app = self.app[ball]
        return np.asarray((self.copies[app] < self.most[app])[self.zone] & (self.tolerates[ball] | ~self.tainted))

    def put(self, ball: int, place: int) -> None:
        self.copies[self.app[ball], self.zone[place]] += 1


REPLICAS = """
PARAM PER_RACK = 10
BALLS len(NEED) BINS len(HAS)
RESOURCES DISK[s in BINS] => HAS[s], COPIES[b in BALLS // 3, r in BINS // PER_RACK] => 2
FOES 3 * b + i, 3 * b + j for b in BALLS // 3, i in 2, j in i + 1 .. 3
procedure UTILFN(BALL, BIN, ALLOC)
    UTIL.DISK[BIN] += NEED[BALL]
    UTIL.COPIES[BALL // 3, BIN // PER_RACK] += 1
end"""


class Replicas(SingleBalls):
    """Three replicas of each block, on three servers in two racks at least."""

    def __init__(self, balls: int, seed: int, slack: float = 0.05) -> None:
        rng, blocks, servers = np.random.default_rng(seed), balls // 3, balls // 100 * 10
        self.need = np.repeat(rng.lognormal(3, 0.8, blocks).astype(np.int64) + 1, 3)[:, None]
        home = rng.integers(servers, size=(blocks, 3))
        while len(
            bad := np.flatnonzero([len(set(row)) < 3 or len({s // 10 for s in row}) < 2 for row in home.tolist()])
        ):
            home[bad] = rng.integers(servers, size=(len(bad), 3))
        load = np.bincount(home.ravel(), self.need[:, 0], servers)
        self.has = np.ceil(load * (1 + slack)).astype(np.int64)[:, None]

    def problem(self) -> Problem:
        return problem(REPLICAS, tables={"NEED": self.need[:, 0], "HAS": self.has[:, 0]})

    def linear(self) -> Linear:
        block, servers = one_of(np.arange(len(self.need)) // 3), len(self.has)
        racks = one_of(np.arange(servers) // 10)
        rows = (sparse.kron(block, each(servers)), 1), (sparse.kron(block, racks), 2)
        return Linear.of(np.ones(len(self.need) * servers), 1, *self.capacities(), *rows)

    def begin(self) -> None:
        self.places: list[list[int]] = [[] for _ in range(len(self.need) // 3)]

    def may(self, ball: int) -> NDArray[np.bool_]:
        found, others = np.ones(len(self.has), np.bool_), self.places[ball // 3]
        found[others] = False
        if len(others) == 2 and others[0] // 10 == others[1] // 10:
            found[others[0] // 10 * 10 :][:10] = False
        return found

    def put(self, ball: int, place: int) -> None:
        self.places[ball // 3].append(place)


VLANS = """
BALLS len(HOSTS) BINS len(MOST)
RESOURCES MEMBERS[v in BINS] => MOST[v], CARRIES[s in len(AT)] => LIMIT[s]
procedure UTILFN(BALL, BIN, ALLOC)
    UTIL.MEMBERS[BIN] += HOSTS[BALL]
    if count(o in AT[SWITCH[BALL]] except BALL: ALLOC[o] == BIN) == 0
        UTIL.CARRIES[SWITCH[BALL]] += 1
    end
end"""


class Vlans(SingleBalls):
    """Sets of hosts, twenty at each switch, in VLANs of few hosts, of which a switch carries few."""

    def __init__(self, balls: int, seed: int, slack: float = 0.05) -> None:
        rng, switches = np.random.default_rng(seed), balls // 20
        self.switch, self.need = np.repeat(np.arange(switches), 20), rng.integers(1, 40, (balls, 1))
        home = (self.switch + 7 * rng.integers(6, size=balls)) % switches
        load = np.bincount(home, self.need[:, 0], switches)
        self.has = np.ceil(load * (1 + slack)).astype(np.int64)[:, None]
        carried = np.zeros((switches, switches), np.bool_)
        carried[self.switch, home] = True
        self.limit = carried.sum(1)

    def problem(self) -> Problem:
        at = np.arange(len(self.need)).reshape(-1, 20).tolist()
        given = {"HOSTS": self.need[:, 0], "MOST": self.has[:, 0], "SWITCH": self.switch, "LIMIT": self.limit}
        return problem(VLANS, tables=given | {"AT": at})

    def linear(self) -> Linear:
        switches = len(self.limit)
        some, carried = switches**2, sparse.kron(one_of(self.switch), each(switches))
        rows = [(sparse.hstack([row, sparse.csr_array((row.shape[0], some))]), most) for row, most in self.capacities()]
        rows += [(sparse.hstack([carried, -20 * each(some)]), 0)]
        limit = sparse.kron(each(switches), all_of(switches))
        rows += [(sparse.hstack([sparse.csr_array((switches, self.variables)), limit]), self.limit)]
        return Linear.of(np.append(np.ones(self.variables), np.zeros(some)), 1, *rows)

    def begin(self) -> None:
        self.carried = np.zeros((len(self.limit), len(self.has)), np.bool_)

    def may(self, ball: int) -> NDArray[np.bool_]:
        carried = self.carried[self.switch[ball]]
        return carried if carried.sum() >= self.limit[self.switch[ball]] else np.ones_like(carried)

    def put(self, ball: int, place: int) -> None:
        self.carried[self.switch[ball], place] = True


class Workers(Instance):
    """Jobs of 1 to 24 workers, of which a link with m of n below it carries min(m, n - m) times their rate."""

    def __init__(self, balls: int, seed: int) -> None:
        self.jobs = Jobs.drawn(balls, seed)
        self.size = self.jobs.size

    @property
    def variables(self) -> int:
        return 3 * len(self.size) * len(self.jobs.free)

    def problem(self) -> Problem:
        return self.jobs.problem()

    def linear(self) -> Linear:
        """Count each job's workers on a server, and bound min(m, n - m) from below, with a binary for which it is."""
        given, n, servers = self.jobs, self.size.astype(float), len(self.jobs.free)
        racks = servers // PER_RACK
        jobs, rack, spans = each(len(n)), one_of(np.arange(servers) // PER_RACK), (each(servers), None)
        blocks: list[tuple[list[Any], Any]] = []
        for level, (below, limit) in enumerate(((spans[0], given.link), (rack, given.uplink))):
            count = below.shape[0]
            inside, one = sparse.kron(jobs, below), each(len(n) * count)
            big, whole = (
                sparse.diags_array(np.repeat(n, count)),
                sparse.kron(sparse.diags_array(n), np.ones((count, 1))),
            )
            rate = sparse.kron(given.rate[None].astype(float), each(count))
            for columns, high in (
                ([inside, -one, -big, None], 0),  # m - n z <= t
                ([-inside, -one, big, whole], np.repeat(n, count)),  # n y - m - n (1 - z) <= t
                ([None, rate, None, None], limit),
            ):
                m, t, z, y = columns
                level_columns = [t, z, None, None] if level == 0 else [None, None, t, z]
                blocks.append(([m, *level_columns, y], high))
        most = len(n)
        blocks.append(([sparse.kron(np.ones((1, most)), each(servers)), None, None, None, None, None], given.free))
        for sign in (1, -1):  # all workers of a job, or none
            total = sparse.kron(jobs, all_of(servers))
            blocks.append(([sign * total, None, None, None, None, -sign * sparse.diags_array(n)], 0))
        widths = [most * servers, most * servers, most * servers, most * racks, most * racks, most]
        ends = np.cumsum(widths)
        worth, limits = np.zeros(ends[-1]), np.ones(ends[-1])
        worth[ends[-2] :] = n
        limits[: ends[1]] = np.tile(np.repeat(n, servers), 2)
        limits[ends[2] : ends[3]] = np.repeat(n, racks)
        rows = [(_filled(parts, widths), high) for parts, high in blocks]
        return Linear.of(worth, limits, *rows)

    @property
    def sizes(self) -> Floats:
        return np.asarray(self.size + self.jobs.rate / 100)

    def value(self, alloc: Ints) -> int:
        return self.jobs.whole(alloc.tolist())

    def greedy(self, order: Ints) -> Ints:
        """Return 0 for workers that are placed: it does not say where."""
        return np.where(np.repeat(self.jobs.placed(order), self.size), 0, NULL)

    def missing(self, alloc: Ints) -> NDArray[np.bool_]:
        return np.asarray(alloc[np.cumsum(self.size) - 1] == NULL)


def _filled(parts: list[Any], widths: list[int]) -> Any:
    """Put blocks beside one another, with nothing where there is None."""
    height = next(part.shape[0] for part in parts if part is not None)
    every = zip(parts, widths, strict=True)
    return sparse.hstack([sparse.csr_array((height, width)) if part is None else part for part, width in every], "csr")


REBALANCING = """
BALLS len(NEED) BINS {bins}
RESOURCES LOAD[b in BINS, r in len(LIMIT)] => {capacity}
NOW HOME
MOVES {moves}
MINIMISE sum(b in BINS: sum(r in len(LIMIT): max(0, UTIL.LOAD[b, r] - LIMIT[r])))
procedure UTILFN(BALL, BIN, ALLOC)
    for r in len(LIMIT)
        UTIL.LOAD[BIN, r] += NEED[BALL, r]
    end
end"""


class Rebalancing(Instance):
    """Objects in bins, twenty for each, of which one in twenty may move.

    The goal is that what exceeds the mean load of each of four resources by more than 5 % is little.
    """

    def __init__(self, balls: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.bins = self.moves = balls // 20
        self.need = np.maximum(1, rng.lognormal(4.2, 0.9, (balls, 4))).astype(np.int64)
        self.home = rng.choice(self.bins, balls, p=rng.dirichlet(np.full(self.bins, 8.0)))
        self.limit = self.need.sum(0) * 105 // (100 * self.bins)

    @property
    def variables(self) -> int:
        return len(self.need) * self.bins

    def problem(self) -> Problem:
        text = REBALANCING.format(bins=self.bins, capacity=2 * self.load(self.home).max(), moves=self.moves)
        return problem(text, tables={"NEED": self.need, "HOME": self.home, "LIMIT": self.limit})

    def load(self, where: Ints) -> Ints:
        """Sum up what is in each bin: [bins, 4]."""
        load = np.zeros((self.bins, 4), np.int64)
        np.add.at(load, where, self.need)
        return load

    def excess(self, load: Ints) -> Ints:
        """Return by how much loads [..., 4] are beyond the limit, summed over the resources."""
        return np.asarray(np.maximum(0, load - self.limit).sum(-1))

    def move(self, where: Ints, load: Ints, one: int, there: int) -> None:
        """Move an object; `where` and `load` change."""
        load[where[one]] -= self.need[one]
        load[there] += self.need[one]
        where[one] = there

    def best_move(self, where: Ints, load: Ints, bad: int) -> tuple[int, int, int]:
        """Return which object of a bad bin should go where, and by how much the excess grows then."""
        inside, part = np.flatnonzero(where == bad), self.excess(load)
        after = self.excess(load + self.need[inside][:, None]) - part
        after += self.excess(load[bad] - self.need[inside])[:, None] - part[bad]
        after[:, bad] = 0
        one, there = divmod(int(after.argmin()), self.bins)
        return int(inside[one]), there, int(after[one, there])

    def value(self, alloc: Ints) -> int:
        assert (alloc != self.home).sum() <= self.moves
        return -int(self.excess(self.load(alloc)).sum())

    def greedy(self, order: Ints) -> Ints:
        """Move from the worst bin what makes the excess least, until nothing does or all moves are used."""
        where = self.home.copy()
        load = self.load(where)
        for _ in range(self.moves):
            one, there, more = self.best_move(where, load, int(self.excess(load).argmax()))
            if more >= 0:
                break
            self.move(where, load, one, there)
        return where

    @property
    def sizes(self) -> Floats:
        return np.zeros(1)

    def local_search(self, seconds: float, seed: int) -> Ints:
        """Make the best move from a bad bin; where none is better, or all are used, moved objects go home by chance."""
        rng, until = np.random.default_rng(seed), perf_counter() + seconds
        where, load, best = self.home.copy(), self.load(self.home), self.home.copy()
        while perf_counter() < until:
            part, away, more = self.excess(load), np.flatnonzero(where != self.home), 0
            if len(away) < self.moves and part.sum():
                one, there, more = self.best_move(where, load, rng.choice(self.bins, p=part / part.sum()))
                if more < 0:
                    self.move(where, load, one, there)
            if more >= 0 and len(away):
                for ball in rng.choice(away, min(len(away), 3), replace=False).tolist():
                    self.move(where, load, ball, int(self.home[ball]))
            if self.value(where) > self.value(best):
                best = where.copy()
        return best

    def linear(self) -> Linear:
        balls, bins = len(self.need), self.bins
        some, nothing = 4 * bins, sparse.csr_array((balls, 4 * bins))
        once = sparse.hstack([sparse.kron(each(balls), all_of(bins)), nothing])
        stays = np.zeros(balls * bins + some)
        stays[np.arange(balls) * bins + self.home] = 1
        over = sparse.hstack([sparse.kron(self.need.T.astype(float), each(bins)), -each(some)])
        worth = np.append(np.zeros(balls * bins), -np.ones(some))
        most = np.append(np.ones(balls * bins), np.full(some, float(self.need.sum())))
        rows = (once, 1), (-once, -1), (sparse.csr_array(-stays[None]), self.moves - balls)
        return Linear.of(worth, most, *rows, (over, np.repeat(self.limit, bins)))


FAMILIES: dict[str, Callable[[int, int], Instance]] = {
    "jobs": Workers,
    "rebalancing": Rebalancing,
    "pods": Pods,
    "replicas": Replicas,
    "VLANs": Vlans,
}
