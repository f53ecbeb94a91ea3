"""A disk below the service that is full, broken, or readable by all: nothing accepted is lost, and it goes on."""

import errno
import io
import json
import resource
import stat
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from binwright.cli import MISTAKE, main
from binwright.service.jobs import Jobs, Row, Trouble
from binwright.service.limits import Limits
from binwright.service.pool import Do, Pool, Worker
from binwright.simcore.errors import UserError
from tests.support.failing_sqlite import failing_sqlite
from tests.support.faults import failing
from tests.support.properties import first
from tests.support.service import SMALL, Server, serving

NUMBERS = [errno.ENOSPC, errno.EIO, errno.EFBIG]


def lived(jobs: Jobs, insist: Callable[..., Any]) -> list[str]:
    """Accept three jobs, do the first, cancel the second; gives the accepted ones' ids."""
    ids = [insist(jobs.add, "me", key, f'{{"{key}": "{"x" * 9000}"}}')[0].id for key in "abc"]
    row: Row = insist(jobs.next)
    assert insist(jobs.begin, row.id)
    insist(jobs.finish, row.id, "done", '{"alloc": []}')
    jobs.leave(row.id)
    assert insist(jobs.cancel_queued, ids[1])
    return ids


@pytest.mark.long
@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: errno.errorcode[number])
def test_every_write_of_the_jobs_may_fail(tmp_path: Path, number: int) -> None:
    refused = 0
    for at in range(1000):
        jobs = Jobs(tmp_path / str(at), Limits())

        def insist(do: Callable[..., Any], *arguments: Any) -> Any:
            nonlocal refused
            try:
                return do(*arguments)
            except Trouble:
                refused += 1
                assert jobs.trouble  # noqa: B023
                with pytest.raises(Trouble):
                    jobs.add("me", "another", "{}")  # noqa: B023
                jobs.try_again()  # noqa: B023
                assert not jobs.trouble  # noqa: B023
                return do(*arguments)

        with failing_sqlite(at, number) as seen:
            ids = lived(jobs, insist)
        for _ in range(2):
            found = [jobs.get("me", name) for name in ids]
            assert [row and row.state for row in found] == ["done", "cancelled", "queued"], at
            assert jobs.unfinished == 1
            assert jobs._stored == sum(len(row.request) + len(row.result or "") for row in found if row)
            jobs.close()
            jobs = Jobs(tmp_path / str(at), Limits())
        jobs.close()
        if len(seen) <= at:
            break
    assert at > 10
    assert refused > 5


def test_threads_wait_for_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever fails and however often, the job is done once and there are as many threads as before."""

    class Quick(Worker):
        def __init__(self, *_: object) -> None:
            self.asked = ""

        def ask(self, do: Do, request: str, found: str = "") -> None:
            self.does, self.asked = do, request

        def hear(self, seconds: float) -> dict[str, Any]:
            return {"found": {}} if self.does == "solve" else {"result": {"status": json.loads(self.asked)["time"]}}

        def end(self) -> None:
            pass

    monkeypatch.setattr("binwright.service.pool.Worker", Quick)
    monkeypatch.setattr("binwright.service.pool.AGAIN", 0.01)
    jobs = Jobs(tmp_path, Limits())
    damaged, row = (jobs.add("me", key, text)[0] for key, text in (("a", "no JSON"), ("b", '{"time": 1}')))
    with failing_sqlite(0, count=30):
        pool = Pool(jobs, Limits(), 2)
        pool.start()
        until = monotonic() + 20
        while {found.state for one in (damaged, row) if (found := jobs.get("me", one.id))} != {"failed", "done"}:
            assert monotonic() < until
            sleep(0.01)
    assert pool.alive() == 2
    assert not jobs.trouble
    pool.stop()
    jobs.close()


class NoRoom(io.StringIO):
    """A log on a full disk."""

    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_threads_live_on_where_the_log_has_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = Jobs(tmp_path, Limits())
    row, _ = jobs.add("me", "a", "no JSON")
    monkeypatch.setattr("sys.stderr", NoRoom())
    pool = Pool(jobs, Limits(), 1)
    pool.start()
    try:
        until = monotonic() + 20
        while (found := jobs.get("me", row.id)) and found.state != "failed":
            assert monotonic() < until
            assert pool.alive() == 1
            sleep(0.01)
        assert pool.alive() == 1
    finally:
        pool.stop()
        jobs.close()


@pytest.mark.parametrize("number", first(1, NUMBERS[:2]), ids=lambda number: errno.errorcode[number])
def test_every_other_file_may_fail(tmp_path: Path, number: int) -> None:
    """A service that cannot make its files says so, and begins when it can."""
    for at in range(100):
        data = tmp_path / f"data-{at}"
        with failing(data, at, number) as faults:
            said = ""
            try:
                Jobs(data, Limits()).close()
            except UserError as error:
                said = str(error)
        assert ("cannot keep jobs here" in said) == (len(faults.seen) > at)
        if len(faults.seen) <= at:
            break
        Jobs(data, Limits()).close()
    assert at >= 3


def room(server: Server, size: int) -> None:
    """Let no file of the server grow beyond so many bytes: to it, the disk is full."""
    _, hard = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, hard))


@pytest.mark.long
def test_a_full_disk_is_507_until_there_is_room(tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--workers", "2") as server:
        server.warm()
        well = {"accepting": True, "error": None, "workers": 2, "queued": 0, "running": 0}
        assert (server.ask("GET", "/v1/health").status, server.ask("GET", "/v1/health").json) == (200, well)
        accepted = [server.submit(SMALL, seed=seed) for seed in range(20)]
        room(server, 1)
        sleep(3)  # long enough for each thread to find out
        refused = [server.ask("POST", "/v1/problems", {"text": SMALL, "seed": seed}) for seed in (30, 31)]
        for got in refused:
            assert got.status == 507, got
            assert "the disk takes no changes now" in got.json["error"]["message"]
            assert int(got.headers["retry-after"]) >= 1
        ill = server.ask("GET", "/v1/health")
        assert (ill.status, ill.json["accepting"], ill.json["workers"]) == (503, False, 2)
        assert ill.json["error"]
        assert server.ask("POST", "/v1/check", SMALL).json["ok"]
        assert server.ask("GET", f"/v1/problems/{accepted[0]}").status == 200
        room(server, resource.RLIM_INFINITY)
        for name in accepted:
            assert server.wait(name)["state"] == "done"
        until = monotonic() + 10
        while not server.ask("GET", "/v1/health").json["accepting"]:
            assert monotonic() < until
            sleep(0.1)
        assert server.wait(server.submit(SMALL, seed=30))["state"] == "done"


def damaged(file: Path, how: str) -> None:
    """Leave jobs in a file, and harm it."""
    jobs = Jobs(file.parent, Limits())
    for number in range(50):
        jobs.add("", str(number), "x" * 3000)
    jobs.close()
    content = bytearray(file.read_bytes())
    if how == "nonsense":
        content = bytearray(b"nonsense" * 1000)
    elif how == "a page amid":
        content[8 * 4096 : 12 * 4096] = b"\xa5" * 4 * 4096
    elif how == "cut off":
        del content[len(content) // 2 :]
    elif how == "head":
        content[:100] = bytes(100)
    file.write_bytes(content)


@pytest.mark.parametrize("how", ["nonsense", "a page amid", "cut off", "head"])
def test_damaged_jobs_are_one_message(tmp_path: Path, how: str, capsys: pytest.CaptureFixture[str]) -> None:
    damaged(tmp_path / "jobs.sqlite", how)
    before = (tmp_path / "jobs.sqlite").read_bytes()
    assert main(["serve", "--port", "0", "--data", str(tmp_path)]) == MISTAKE
    said = capsys.readouterr().err
    assert f"{tmp_path / 'jobs.sqlite'}: is damaged: " in said
    assert "move it away" in said
    assert (tmp_path / "jobs.sqlite").read_bytes() == before


def test_nobody_else_reads_the_jobs(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for _ in range(2):
        jobs = Jobs(tmp_path, Limits())
        jobs.add("", "a", "{}")
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.glob("jobs.sqlite*")}
        assert modes == dict.fromkeys(("jobs.sqlite", "jobs.sqlite-wal", "jobs.sqlite-shm"), 0o600)
        jobs.close()
        (tmp_path / "jobs.sqlite").chmod(0o644)  # as earlier versions left it
