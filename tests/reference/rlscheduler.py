"""RLScheduler's program, as short as can be: one job is chosen at a time, and time goes on from event to event."""

from collections.abc import Callable
from math import log2, log10
from pathlib import Path
from typing import NamedTuple


class Job(NamedTuple):
    """A job of a log: whole seconds, and processors."""

    submitted: int
    ran: int
    processors: int


RULES: dict[str, Callable[[Job], float]] = {
    "fcfs": lambda job: job.submitted,
    "sjf": lambda job: job.ran,
    "f1": lambda job: log10(job.ran) * job.processors + 870 * log10(job.submitted),
    "wfp3": lambda job: -(((-1 - job.submitted) / job.ran) ** 3) * job.processors,
    "unicep": lambda job: -(-1 - job.submitted + 1e-15) / (log2(job.processors + 1e-15) * job.ran),
}


def log(path: Path) -> list[Job]:
    """Read a log whose jobs say no more than when they came, how long they ran, and on how many processors."""
    rows = [line.split() for line in path.read_text().splitlines() if not line.startswith(";")]
    return [Job(int(row[1]), int(row[3]), int(row[4])) for row in rows]


def slowdown(jobs: list[Job], starts: list[int]) -> float:
    """The mean bounded slowdown."""
    each = [
        max(1, (start - job.submitted + job.ran) / max(job.ran, 10)) for job, start in zip(jobs, starts, strict=True)
    ]
    return sum(each) / len(each)


def starts(jobs: list[Job], rule: str, backfilling: bool, processors: int) -> list[int]:
    """When each job starts."""
    began: dict[int, int] = {}
    queue, running, to_come = [0], list[int](), list(range(1, len(jobs)))
    now, free = jobs[0].submitted, processors

    def end(i: int) -> int:
        return began[i] + jobs[i].ran

    def begin(i: int) -> None:
        nonlocal free
        free -= jobs[i].processors
        began[i] = now
        running.append(i)
        queue.remove(i)

    def go_on() -> None:
        nonlocal now, free
        running.sort(key=end)  # equals stay in the order in which they began
        if to_come and (not running or jobs[to_come[0]].submitted <= end(running[0])):
            now = max(now, jobs[to_come[0]].submitted)
            queue.append(to_come.pop(0))
        else:
            over = running.pop(0)
            now = max(now, end(over))
            free += jobs[over].processors

    while queue:
        chosen = min(queue, key=lambda i: (RULES[rule](jobs[i]), i))
        room, until = free, now
        for i in sorted(running, key=end):
            if room < jobs[chosen].processors:
                room, until = room + jobs[i].processors, end(i)
        while jobs[chosen].processors > free:
            for i in sorted(queue) if backfilling else ():
                if jobs[i].processors <= free and now + jobs[i].ran < until:
                    begin(i)
            go_on()
        begin(chosen)
        while not queue and to_come:
            go_on()
    return [began[i] for i in range(len(jobs))]
