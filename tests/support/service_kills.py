"""A service that is killed at any moment, again and again, while clients use it; and what they were told."""

import random
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from threading import Event
from time import monotonic, sleep
from typing import Any

from tests.support.service import SMALL, Server, gone, serving

ERRORS = (OSError, HTTPException)
OVER = ("done", "refused", "failed", "cancelled")


@dataclass
class History:
    """What clients were told, in order; and whether it fits together."""

    told: dict[str, list[tuple[int, dict[str, Any]]]] = field(default_factory=dict)
    """By submission: statuses of answers, and jobs."""

    def add(self, key: str, status: int, job: dict[str, Any]) -> None:
        """Note an answer to a submission, or a look at its job."""
        self.told.setdefault(key, []).append((status, job))

    def check(self, data: Path) -> None:
        """Compare with what the service has in the end, when all is over."""
        base = sqlite3.connect(data / "jobs.sqlite")
        rows = base.execute("select id, key, state, tries, finished from jobs").fetchall()
        base.close()
        assert len({key for _, key, *_ in rows}) == len(rows), "a submission became two jobs"
        there = {name: (state, tries, finished) for name, _, state, tries, finished in rows}
        for key, told in self.told.items():
            assert len({job["id"] for _, job in told}) == 1, (key, "has several jobs")
            assert [status for status, _ in told].count(202) <= 1, (key, "was new twice")
            state, tries, _ = there[told[0][1]["id"]]
            assert (state, tries > 0) == ("done", True), (key, told[-1])
            ends = [job for _, job in told if job["state"] in OVER]
            assert ends, (key, "has no end")
            assert all(job == ends[0] for job in ends), (key, "was done twice")
            first = next(n for n, (_, job) in enumerate(told) if job["state"] in OVER)
            assert all(job["state"] in OVER for _, job in told[first:]), (key, "was taken up again")


@contextmanager
def client(server: Server, history: History, number: int, seed: int) -> Iterator[None]:
    """A client that submits and looks, whether there is a server or not, until the block ends."""
    over = Event()
    drawn = random.Random(f"{seed} {number}")

    def works() -> None:
        keys: list[int] = []
        while not over.is_set():
            if not keys or drawn.random() < 0.3:
                keys.append(number * 1000 + len(keys))
            key = drawn.choice(keys)
            try:
                got = server.ask("POST", "/v1/problems", {"text": SMALL, "seed": key, "time": 0.05})
                assert got.status in (200, 202), got
                history.add(str(key), got.status, got.json)
            except ERRORS:
                pass
            over.wait(drawn.random() * 0.3)

    with ThreadPoolExecutor(1) as thread:
        working = thread.submit(works)
        try:
            yield
        finally:
            over.set()
        working.result()


def kill_service(data: Path, kills: int, seed: int) -> int:
    """Kill a service so often, at random moments, its start included: what it accepted is done once, and rightly.

    Returns how many submissions that was.
    """
    drawn, history = random.Random(seed), History()
    with serving(data, "--workers", "2") as server:
        server.warm()
        with client(server, history, 1, seed), client(server, history, 2, seed):
            for _ in range(kills):
                sleep(drawn.choice([0.1, 0.5, 3]) * drawn.random())
                family = server.family()
                server.kill()
                gone(family)
                server.log.write_text("")  # what forks workers may say that it was killed amid that
                server.start()
            server.warm()
        until = monotonic() + 120
        for key, told in history.told.items():
            job = server.wait(told[0][1]["id"], seconds=until - monotonic())
            assert (job["result"]["status"], job["result"]["bins"]) == ("optimal", 2), job
            history.add(key, 200, job)
            history.add(key, 200, server.ask("GET", f"/v1/problems/{job['id']}").json)
        assert server.ask("GET", "/v1/health").json["accepting"]
        server.stop()
        history.check(data)
    return len(history.told)
