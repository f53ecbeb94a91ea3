"""Where the highest hour of the day stays least, by walking through all that was used before, request by request."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil, inf
from typing import Any

from binwright.fabric.run.simulation import Simulation
from binwright.simcore.types import Request, part

DAY = 86_400.0


@dataclass
class Known:
    """What is known of a request that runs: what it is to use in each hour, and what it used since the hour began."""

    series: list[list[int]]
    used: list[list[float]] = field(default_factory=list)


class SlowLeastPeak:
    """Follows a simulation decision by decision; `kind` says whom a row is like."""

    def __init__(self, run: Simulation, kind: Callable[[int], Any], oracle: bool) -> None:
        self.run, self.kind, self.oracle, self.use = run, kind, oracle, run.workload.use
        assert self.use is not None
        self.step, self.day = self.use.step, ceil(DAY / self.use.step)
        self.hours = max(1, min(24, int(DAY // self.step)))
        self.known: dict[int, Known] = {}
        self.past: dict[tuple[Any, int], list[list[float]]] = {}
        self.seen, self.hour = 0, -1

    def shares(self, row: int, step: int) -> list[float]:
        assert self.use is not None
        found: list[float] = self.use.during(self.run.source(row), step, step + 1)[0].tolist()
        return found

    def hour_of(self, step: int) -> int:
        return int((self.run.view.origin + step * self.step) % DAY * self.hours / DAY)

    def quanta(self, row: int, shares: list[list[float]]) -> list[list[int]]:
        demand = self.run.running_request(row).demand
        return [[round(min(share, 1.0) * amount) for share, amount in zip(one, demand, strict=True)] for one in shares]

    def mean(self, rows: list[list[float]]) -> list[float]:
        return [sum(column) / len(rows) for column in zip(*rows, strict=True)]

    def expected(self, row: int, now: int) -> list[list[float]]:
        """What a request is to use in each hour."""
        resources = len(self.run.view.resources)
        if self.oracle:
            steps = range(now, now + self.day)
            return [self.mean([self.shares(row, k) for k in steps if self.hour_of(k) == h]) for h in range(self.hours)]
        like = [self.past.get((self.kind(row), hour), []) for hour in range(self.hours)]
        sums = [[sum(column) for column in zip(*one, strict=True)] for one in like if one]
        count = sum(map(len, like))
        usual = [sum(column) / count for column in zip(*sums, strict=True)] if count else [1.0] * resources
        return [self.mean(one) if one else usual for one in like]

    def decide(self, request: Request) -> tuple[int, int] | None:
        """The server and the node with the least peak."""
        run, now = self.run, int(self.run.view.now // self.step)
        running = sorted(run.ledger.running)
        self.known = {row: one for row, one in self.known.items() if row in running}
        new = [row for row in running if row not in self.known]
        self.known |= {row: Known(self.quanta(row, self.expected(row, now))) for row in new}
        for step in range(max(self.seen, now - self.day), now):
            later = step + self.day if self.oracle else step
            if self.hour_of(later) != self.hour:
                self.hour = self.hour_of(later)
                for one in self.known.values():
                    one.used = []
            for row, one in sorted(self.known.items()):
                if int(run.record.decided[row] // self.step) > step:
                    continue
                one.used.append(self.shares(row, later))
                one.series[self.hour] = self.quanta(row, [self.mean(one.used)])[0]
                self.past.setdefault((self.kind(row), self.hour), []).append(one.used[-1])
        self.seen = now
        more = self.quanta(request.index, self.expected(request.index, now))
        free, nodes = run.view.free, run.view.free.shape[1]
        best, least = None, inf
        for server in range(len(free)):
            for place in [None] if request.spread else range(nodes):
                each = range(nodes) if place is None else [place]
                takes = [part(request.demand, n, nodes) if request.spread else request.demand for n in each]
                if all((free[server, n] >= take).all() for n, take in zip(each, takes, strict=True)):
                    peak = max(self.peak(server, n, more, request) for n in each)
                    if peak < least:
                        best, least = (server, each[0]), peak
        return best

    def peak(self, server: int, node: int, more: list[list[int]], request: Request) -> float:
        """The largest share of a resource that is used in an hour, with the request there."""
        record, nodes = self.run.record, self.run.view.free.shape[1]
        found = 0.0
        for r in range(len(self.run.view.resources)):
            capacity = int(self.run.ledger.installed[server, node, r])
            for hour in range(self.hours):
                total = more[hour][r] // nodes if request.spread else more[hour][r]
                for row, one in self.known.items():
                    if row != request.index and record.server[row] == server and record.node[row] in (node, -1):
                        total += one.series[hour][r] // nodes if record.node[row] < 0 else one.series[hour][r]
                found = max(found, total / max(capacity, 1))
        return found
