"""The service is killed at any moment, again and again: what it accepted is done exactly once."""

import sqlite3
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from binwright.service.store import TRIES
from tests.support.service import SMALL, serving
from tests.support.service_kills import History, kill_service

KILLS = 8


def test_history_checker_finds_lost_and_repeated_jobs(tmp_path: Path) -> None:
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


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
def test_an_accepted_job_is_done_exactly_once(tmp_path: Path, seed: int) -> None:
    assert kill_service(tmp_path / "data", KILLS, seed) > 5


@pytest.mark.long
def test_kills_before_a_worker_began_are_no_tries(tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--workers", "1") as server:
        name = server.submit(SMALL, time=0.05)
        for _ in range(TRIES + 2):
            sleep(0.2)  # the process that forks workers takes longer to start
            server.kill()
            server.start()
        assert server.wait(name)["state"] == "done"
