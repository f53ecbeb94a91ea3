"""The service is killed at any moment, again and again: what it accepted is done exactly once."""

from pathlib import Path
from time import sleep

import pytest

from binwright.service.store import TRIES
from tests.support.service import SMALL, serving
from tests.support.service_kills import kill_service

KILLS = 8


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
