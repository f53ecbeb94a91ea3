"""A second set of books: what every node and link holds, in plain dictionaries, kept beside a run."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable

import numpy as np
import polars as pl

from binwright.fabric.ledger import Ledger
from binwright.simcore.faults import Kind
from binwright.simcore.types import QUANTUM, Embedding, Placement, Request
from tests.support.recount import recount

Place = tuple[int, int, int]
"""Server, node, resource."""


class Books:
    """Stands beside a ledger, writes down what it accepts, and compares after everything that happens to it."""

    def __init__(self, ledger: Ledger, now: Callable[[], float]) -> None:
        self.ledger = ledger
        self._now = now
        self.held: dict[int, tuple[Counter[Place], Counter[int]]] = {}
        """Of each request, quanta on places and on links."""
        self.going: dict[int, tuple[tuple[Counter[Place], Counter[int]], tuple[Counter[Place], Counter[int]]]] = {}
        """Of each request on its way, quanta on places and links, at its old place and at its new one."""
        self.used: Counter[Place] = Counter()
        self.carried: Counter[int] = Counter()
        self.down: set[int] = set()
        self.cut: Counter[int] = Counter()
        self.happened = 0
        self.times: list[float] = []
        self.totals: list[tuple[int, ...]] = []
        """Quanta used of every resource and link tier, after each of `times`."""
        self._take, self._release, self._fail = ledger.apply, ledger.release, ledger.fail
        self._repair, self._grow = ledger.repair, ledger.grow
        self._begin_move, self._end_move = ledger.begin_move, ledger.end_move
        for name in ("apply", "release", "fail", "repair", "grow", "begin_move", "end_move"):
            setattr(ledger, name, getattr(self, name))
        self._compare()

    def apply(self, request: Request, placement: Placement) -> tuple[int, int]:
        """Take a placement, and write down what it says."""
        where = self._take(request, placement)
        places, links = self.held[request.index] = self._written(request, placement)
        self.used += places
        self.carried += links
        self._compare()
        return where

    def _written(self, request: Request, placement: Placement) -> tuple[Counter[Place], Counter[int]]:
        """Write down what a placement takes of places and of links."""
        places: Counter[Place] = Counter()
        links: Counter[int] = Counter()
        for server, node, amounts in placement.shares:
            assert server not in self.down
            places.update({(int(server), int(node), r): int(amount) for r, amount in enumerate(amounts)})
        if isinstance(placement, Embedding):
            links.update(dict(zip(map(int, placement.links), map(int, placement.amounts), strict=True)))
        else:
            links.update(dict.fromkeys(map(int, placement.links), request.bandwidth))
        assert not set(links) & set(self.cut)
        assert [sum(n for (_, _, k), n in places.items() if k == r) for r in range(len(request.demand))] == [
            *request.demand
        ]
        return places, links

    def begin_move(self, request: Request, placement: Placement) -> tuple[int, int]:
        """Take a second place."""
        where = self._begin_move(request, placement)
        (old, wires), (new, links) = self.going[request.index] = (
            self.held[request.index],
            self._written(request, placement),
        )
        self.held[request.index] = old + new, Counter({link: wires[link] + links[link] for link in {*wires, *links}})
        self.used += new
        self.carried += links
        self._compare()
        return where

    def end_move(self, row: int, arrived: bool) -> None:
        """Keep one of the two places, unless both were given back."""
        self._end_move(row, arrived)
        old, new = self.going.pop(row)
        if row in self.held:
            self.held[row], (places, links) = (new, old) if arrived else (old, new)
            self.used -= places
            self.carried -= links
        self._compare()

    def release(self, row: int) -> None:
        """Give back what a request has; a failure may have done so before."""
        self._release(row)
        places, links = self.held.pop(row, (Counter(), Counter()))
        self.used -= places
        self.carried -= links
        self._compare()

    def fail(self, part: int, kind: Kind = "server") -> list[int]:
        """Take a part out of service, and with it whoever holds something there."""
        links = self._links(part, kind)
        hit = [
            row
            for row, (places, wires) in self.held.items()
            if (kind == "server" and any(server == part for server, _, _ in places)) or not links.isdisjoint(wires)
        ]
        actual = self._fail(part, kind)
        assert sorted(actual) == sorted(hit)
        assert not set(hit) & set(self.held)
        self.down |= {part} if kind == "server" else set()
        self.cut.update(links)
        self._compare()
        return actual

    def repair(self, part: int, kind: Kind = "server") -> None:
        """Bring a part back."""
        self._repair(part, kind)
        if kind == "server":
            self.down.remove(part)
        self.cut -= Counter(self._links(part, kind))
        self._compare()

    def grow(self, by: int) -> None:
        """Add servers."""
        before = len(self.ledger.view.capacity)
        self._grow(by)
        assert len(self.ledger.view.capacity) == before + by
        self._compare()

    def close(self) -> None:
        """Give back what is held still: then everything must be free."""
        for row in list(self.held):
            self.release(row)
        assert not self.used
        assert not self.carried

    def check_samples(self, samples: pl.DataFrame) -> None:
        """Hold the samples of the run to the books."""
        tiers = self.ledger.tiers
        resources = len(self.ledger.cluster.resources)
        names = [f"used_{name}" for name in (*self.ledger.cluster.resources, *tiers)]
        for time, *used in samples.select("time", *names).rows():
            quanta = tuple(round(amount * QUANTUM) for amount in used)
            last = bisect_right(self.times, time)
            then = self.totals[max(0, bisect_left(self.times, time) - 1) : last]
            assert quanta[:resources] in [total[:resources] for total in then], time
            # Of tiers, samples have what was reserved right after the last decision.
            assert quanta[resources:] in [total[resources:] for total in self.totals[:last]], time

    def _links(self, part: int, kind: Kind) -> set[int]:
        if kind == "server":
            return set()
        return {part}

    def _compare(self) -> None:
        """Compare with what agents see."""
        view = self.ledger.view
        capacity = view.capacity.tolist()
        free = [
            [
                [0 if s in self.down else most - self.used[s, n, r] for r, most in enumerate(node)]
                for n, node in enumerate(server)
            ]
            for s, server in enumerate(capacity)
        ]
        assert view.everything_free.tolist() == free
        assert min(min(map(min, server)) for server in free) >= 0
        if self.ledger.devices:
            recount(self.ledger)
        totals = np.zeros(len(view.resources), np.int64)
        for (_, _, r), amount in self.used.items():
            totals[r] += amount
        carried: dict[str, int] = {}
        if self.ledger.network:
            topology, shown = self.ledger.network.topology, self.ledger.view.link_free.tolist()
            carried = dict.fromkeys(self.ledger.tiers, 0)
            for link, (most, left) in enumerate(zip(topology.link_capacity.tolist(), shown, strict=True)):
                if link in self.cut:
                    assert left < 0
                    assert not self.carried[link]
                else:
                    assert left == most - self.carried[link] >= 0
                carried[list(carried)[topology.link_tier[link]]] += self.carried[link]
        assert tuple(self.ledger.used().tolist()) == tuple(totals)
        self.happened += 1
        self.times.append(self._now())
        self.totals.append((*map(int, totals), *carried.values()))
