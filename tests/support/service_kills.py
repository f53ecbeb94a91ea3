"""A service that is killed at any moment, again and again, while clients use it; and what they were told."""

import random
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path
from threading import Event
from time import monotonic, sleep
from typing import Any

from tests.support.service import SMALL, Server, gone, serving

LEAST = 6
"""Submissions that an attack has to meet: on a busy machine it goes on until then."""
OVER = ("done", "refused", "failed", "cancelled")
Told = dict[int, list[tuple[int, dict[str, Any]]]]
"""What clients were told, by seed of the submission: statuses of answers, and jobs."""


def use(server: Server, reported: Told, number: int, drawn: random.Random, over: Event) -> None:
    """Submit and look, whether there is a server or not."""
    seeds: list[int] = []
    while not over.is_set():
        if not seeds or drawn.random() < 0.3:
            seeds.append(number * 1000 + len(seeds))
        seed = drawn.choice(seeds)
        try:
            got = server.ask("POST", "/v1/problems", {"text": SMALL, "seed": seed, "time": 0.05})
            assert got.status in (200, 202), got
            reported.setdefault(seed, []).append((got.status, got.json))
        except (OSError, HTTPException):
            pass
        over.wait(drawn.random() * 0.3)


def check(reported: Told, data: Path) -> None:
    """Compare what clients were told with what the service has in the end, when all is over."""
    base = sqlite3.connect(data / "jobs.sqlite")
    rows = base.execute("select id, key, state, tries from jobs").fetchall()
    base.close()
    assert len({key for _, key, *_ in rows}) == len(rows), "a submission became two jobs"
    states = {name: (state, tries > 0) for name, _, state, tries in rows}
    for seed, answers in reported.items():
        jobs = [job for _, job in answers]
        assert len({job["id"] for job in jobs}) == 1, (seed, "has several jobs")
        assert [status for status, _ in answers].count(202) <= 1, (seed, "was new twice")
        assert states[jobs[0]["id"]] == ("done", True), (seed, answers[-1])
        first = next(n for n, job in enumerate(jobs) if job["state"] in OVER)
        assert all(job == jobs[first] for job in jobs[first:]), (seed, "was done twice, or taken up again")


def kill_service(data: Path, kills: int, seed: int) -> int:
    """Kill a service so often or more, at any moment, its start included: what it accepted is done once, and rightly.

    Returns how many submissions that was.
    """
    reported: Told = {}
    drawn, over = random.Random(seed), Event()
    with serving(data, "--workers", "2") as server, ThreadPoolExecutor(2) as threads:
        server.warm()
        clients = [
            threads.submit(use, server, reported, number, random.Random(f"{seed} {number}"), over) for number in (1, 2)
        ]
        try:
            killed = 0
            while killed < kills or len(reported) < LEAST:
                killed += 1
                sleep(drawn.choice([0.1, 0.5, 3]) * drawn.random())
                family = server.family()
                server.kill()
                gone(family)
                server.log.write_text("")  # what forks workers may say that it was killed amid that
                server.start()
            server.warm()
        finally:
            over.set()
        for client in clients:
            client.result()
        until = monotonic() + 120
        for answers in reported.values():
            job = server.wait(answers[0][1]["id"], seconds=until - monotonic())
            assert (job["result"]["status"], job["result"]["bins"]) == ("optimal", 2), job
            answers.append((200, job))
        assert server.ask("GET", "/v1/health").status == 200
        server.stop()
        check(reported, data)
    return len(reported)
