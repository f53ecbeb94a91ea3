"""Backfilling second by second: what every server will have free in each second to come, written out."""

from dataclasses import dataclass, field
from typing import NamedTuple

HORIZON = 400


class Job(NamedTuple):
    """A job of whole seconds: it runs for `ran`, and asked for `asked` at least as long; each part needs so much."""

    arrival: int
    ran: int
    asked: int
    need: int
    parts: int = 1


@dataclass
class Backfilled:
    """Jobs on servers of one resource: when each starts, and by when the first that waits was promised to.

    Whoever may start goes to the first server with room.
    """

    servers: list[int]
    jobs: list[Job]
    backfilling: str
    shortest_first: bool = False
    closed: tuple[int, int, int] = (0, 0, 0)  # which server is down from when until when, as is known
    starts: dict[int, int] = field(default_factory=dict)
    promised: dict[int, int] = field(default_factory=dict)
    """The earliest time that each job was ever promised, once it was."""

    def __post_init__(self) -> None:
        self.where: dict[int, list[int]] = {}
        self.kept: dict[int, tuple[int, list[int]]] = {}
        for now in range(HORIZON):
            came = any(job.arrival == now for job in self.jobs)
            ended = any(start + self.jobs[i].ran == now for i, start in self.starts.items())
            if came or ended or now in self.closed[1:]:
                self.offer(now)

    def offer(self, now: int) -> None:
        line = [i for i, job in enumerate(self.jobs) if job.arrival <= now and i not in self.starts]
        if self.shortest_first:
            line.sort(key=lambda i: self.jobs[i].asked)
        kept, self.kept = (self.kept if self.backfilling == "conservative" else {}), {}
        waits, each = 0, range(len(self.servers))
        for i in line:
            kept.pop(i, None)
            promises = {**kept, **self.kept}
            free = self.free(now, promises)
            rooms = [min(self.room(now, s) // self.jobs[i].need, self.parts(i, s, now, free)) for s in each]
            places = [s for s in each for _ in range(rooms[s])][: self.jobs[i].parts]
            if len(places) == self.jobs[i].parts and not (waits and self.backfilling == "none"):
                self.starts[i], self.where[i] = now, places
                continue
            if self.backfilling == "conservative" or (self.backfilling == "easy" and not waits):
                time, places = self.promise(i, now, free)
                self.kept[i] = time, places
                self.promised[i] = min(time, self.promised.get(i, HORIZON))
            waits += 1

    def promise(self, i: int, now: int, free: list[list[int]]) -> tuple[int, list[int]]:
        """Find the first second from which all parts have room, and where: first where there is less until then."""
        job, each = self.jobs[i], range(len(self.servers))
        time = next(t for t in range(now, HORIZON) if sum(self.parts(i, s, t, free) for s in each) >= job.parts)
        less = sorted(each, key=lambda s: self.parts(i, s, now, free, time - now)) if job.parts > 1 else each
        return time, [s for s in less for _ in range(self.parts(i, s, time, free))][: job.parts]

    def room(self, now: int, server: int) -> int:
        """What a server has free at this moment."""
        runs = [i for i, start in self.starts.items() if start + self.jobs[i].ran > now]
        return self.servers[server] - sum(self.jobs[i].need * self.where[i].count(server) for i in runs)

    def free(self, now: int, promises: dict[int, tuple[int, list[int]]]) -> list[list[int]]:
        """What each server will have free in each second, by what jobs asked for."""
        free = [[amount] * HORIZON for amount in self.servers]
        server, begin, end = self.closed
        free[server][begin:end] = [0] * (end - begin)
        runs = {i: (start, self.where[i]) for i, start in self.starts.items() if start + self.jobs[i].ran > now}
        for i, (start, places) in {**runs, **promises}.items():
            for time in range(start, min(start + self.jobs[i].asked, HORIZON)):
                for server in places:
                    free[server][time] -= self.jobs[i].need
        return free

    def parts(self, i: int, server: int, time: int, free: list[list[int]], more: int = 0) -> int:
        """How many parts could run there from then on, for some seconds more than the job asked for."""
        return max(0, min(free[server][time : time + self.jobs[i].asked + more], default=0) // self.jobs[i].need)
