"""Backfilling second by second: what every server will have free in each second to come, written out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

HORIZON = 400


class Job(NamedTuple):
    """A job of whole seconds: it runs for `ran`, and asked for `asked` at least as long."""

    arrival: int
    ran: int
    asked: int
    need: int


@dataclass
class Backfilled:
    """Jobs on servers of one resource: when each starts, and by when the first that waits was promised to.

    Whoever may start goes to the first server with room.
    """

    servers: list[int]
    jobs: list[Job]
    backfilling: str
    shortest_first: bool = False
    starts: dict[int, int] = field(default_factory=dict)
    promised: dict[int, int] = field(default_factory=dict)
    """The earliest time that each job was ever promised, once it was."""

    def __post_init__(self) -> None:
        self.where: dict[int, int] = {}
        self.kept: dict[int, tuple[int, int]] = {}
        for now in range(HORIZON):
            came = any(job.arrival == now for job in self.jobs)
            ended = any(start + self.jobs[i].ran == now for i, start in self.starts.items())
            if came or ended:
                self.offer(now)

    def offer(self, now: int) -> None:
        line = [i for i, job in enumerate(self.jobs) if job.arrival <= now and i not in self.starts]
        if self.shortest_first:
            line.sort(key=lambda i: self.jobs[i].asked)
        kept, self.kept = (self.kept if self.backfilling == "conservative" else {}), {}
        waits, each = False, range(len(self.servers))
        for i in line:
            kept.pop(i, None)
            promises = {**kept, **self.kept}
            free = self.free(now, promises)
            places = [
                s
                for s in range(len(self.servers))
                if self.room(now, s) >= self.jobs[i].need and self.fits(i, s, now, free)
            ]
            if places and not (waits and self.backfilling == "none"):
                self.starts[i], self.where[i] = now, places[0]
                continue
            if self.backfilling == "conservative" or (self.backfilling == "easy" and not waits):
                time, s = min((t, s) for s in each for t in self.times(i, s, now, free))
                self.kept[i] = time, s
                self.promised[i] = min(time, self.promised.get(i, HORIZON))
            waits = True

    def room(self, now: int, server: int) -> int:
        """What a server has free at this moment."""
        runs = [i for i, start in self.starts.items() if start + self.jobs[i].ran > now and self.where[i] == server]
        return self.servers[server] - sum(self.jobs[i].need for i in runs)

    def free(self, now: int, promises: dict[int, tuple[int, int]]) -> list[list[int]]:
        """What each server will have free in each second, by what jobs asked for."""
        free = [[amount] * HORIZON for amount in self.servers]
        runs = {i: (start, self.where[i]) for i, start in self.starts.items() if start + self.jobs[i].ran > now}
        for i, (start, server) in {**runs, **promises}.items():
            for time in range(start, min(start + self.jobs[i].asked, HORIZON)):
                free[server][time] -= self.jobs[i].need
        return free

    def fits(self, i: int, server: int, time: int, free: list[list[int]]) -> bool:
        return all(has >= self.jobs[i].need for has in free[server][time : time + self.jobs[i].asked])

    def times(self, i: int, server: int, now: int, free: list[list[int]]) -> list[int]:
        """From when on the job could run there, the earliest only."""
        found = (time for time in range(now, HORIZON) if self.fits(i, server, time, free))
        return [next(found)] if self.servers[server] >= self.jobs[i].need else []
