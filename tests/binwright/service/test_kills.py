"""The service is killed at any moment, again and again: what it accepted is done exactly once."""

from __future__ import annotations

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

import pytest

from binwright.service.jobs import TRIES
from tests.support.service import SMALL, Server, gone, serving

KILLS = 8
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


def test_the_checker_finds_what_is_wrong(tmp_path: Path) -> None:
    base = sqlite3.connect(tmp_path / "jobs.sqlite")
    base.execute("create table jobs (id, key, state, tries, finished)")
    base.execute("insert into jobs values ('a', 'x', 'done', 1, 1.0)")
    base.commit()
    waits: dict[str, Any] = {"id": "a", "state": "queued"}
    done: dict[str, Any] = {"id": "a", "state": "done", "finished": 1}
    good = [(202, waits), (200, waits), (200, done), (200, done)]
    History({"x": good}).check(tmp_path)
    for what, told in (
        ("taken up again", [*good, (200, waits), (200, done)]),
        ("done twice", [*good, (200, done | {"finished": 2})]),
        ("several jobs", [*good, (200, done | {"id": "b"})]),
        ("new twice", [good[0], *good]),
        ("no end", good[:2]),
    ):
        with pytest.raises(AssertionError, match=what):
            History({"x": told}).check(tmp_path)
    base.execute("insert into jobs values ('b', 'x', 'done', 1, 1.0)")
    base.commit()
    base.close()
    with pytest.raises(AssertionError, match="two jobs"):
        History({"x": good}).check(tmp_path)


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


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
def test_what_is_accepted_is_done_exactly_once(tmp_path: Path, seed: int) -> None:
    drawn, history = random.Random(seed), History()
    with serving(tmp_path / "data", "--workers", "2", "--limit", "burst=1e6") as server:
        server.warm()
        with client(server, history, 1, seed), client(server, history, 2, seed):
            for _ in range(KILLS):
                sleep(drawn.choice([0.1, 0.5, 3]) * drawn.random())
                family = server.family()
                server.kill()
                gone(family)
                server.log.write_text("")  # what forks workers may say that it was killed amid that
                server.start()
            server.warm()
        until = monotonic() + 120
        for key, told in history.told.items():
            history.add(key, 200, server.wait(told[0][1]["id"], seconds=until - monotonic()))
            history.add(key, 200, server.ask("GET", f"/v1/problems/{told[0][1]['id']}").json)
        assert len(history.told) > 5
        assert server.ask("GET", "/v1/health").json["accepting"]
        server.stop()
        history.check(tmp_path / "data")


@pytest.mark.long
def test_kills_before_a_worker_began_are_no_tries(tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--workers", "1") as server:
        name = server.submit(SMALL, time=0.05)
        for _ in range(TRIES + 2):
            sleep(0.2)  # the process that forks workers takes longer to start
            server.kill()
            server.start()
        assert server.wait(name)["state"] == "done"
