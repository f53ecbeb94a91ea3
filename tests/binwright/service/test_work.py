"""Several machines over one queue: workers elsewhere take jobs, die, fall silent; every job is done, and once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from agents.solver import problem
from agents.solver.solving.solve import solve
from binwright.cli import MISTAKE, main
from binwright.client import Client, Refused
from binwright.service.limits import Limits
from tests.support.service import ENDLESS, SMALL, Server, gone, serving

CLIENT, OTHER, WORKER, METRICS = (f"{name}-token-0123456789" for name in ("client", "other", "worker", "metrics"))


def tokens(folder: Path) -> str:
    """Write a service's tokens, and a file with each alone."""
    lines = [CLIENT, f"{OTHER} priority=5", f"{WORKER} worker", f"{METRICS} metrics"]
    for line in lines:
        (folder / line.partition("-")[0]).write_text(line.split()[0])
    (folder / "tokens").write_text("\n".join(lines))
    return str(folder / "tokens")


@contextmanager
def queue(folder: Path, *options: str) -> Iterator[Server]:
    """A service that does no jobs itself."""
    with serving(folder / "data", "--workers", "0", "--token-file", tokens(folder), *options) as server:
        yield server


@contextmanager
def working(server: Server, workers: int = 1) -> Iterator[subprocess.Popen[str]]:
    """A machine that works for it."""
    folder = server.data.parent
    command = [sys.executable, "-m", "binwright", "work", "--server", server.url, "--workers", str(workers)]
    process = subprocess.Popen([*command, "--token-file", str(folder / "worker")], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        assert "Ctrl-C ends it" in process.stdout.readline()
        yield process
        if process.poll() is None:
            process.terminate()
            assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


def metrics(server: Server) -> dict[str, float]:
    """Read the metrics: each sample's name with its labels, and its value."""
    got = server.ask("GET", "/metrics", Authorization=f"Bearer {METRICS}")
    assert got.status == 200
    lines = [line for line in got.body.decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


@pytest.mark.long
def test_a_worker_elsewhere_gives_the_same_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with queue(tmp_path) as server, working(server) as worker:
        client = Client(server.url, CLIENT)
        answer = client.solve(SMALL, seed=3, attempts=50)
        assert answer["alloc"] == list(solve(problem(SMALL), seed=3, attempts=50).alloc)
        job = client.submit(ENDLESS, time=20)
        until = monotonic() + 20
        while not client.look(job["id"])["progress"]:
            assert monotonic() < until
            sleep(0.05)
        found = metrics(server)
        assert found['binwright_workers_busy{machine="elsewhere"}'] == 1
        assert found['binwright_workers_memory_bytes{machine="elsewhere"}'] > 10e6
        client.cancel(job["id"])
        done = client.wait(job["id"])
        assert (done["state"], done["result"]["interrupted"]) == ("cancelled", True)
        last = client.submit(ENDLESS, time=20, seed=1)
        server.wait(last["id"], "running", headers={"Authorization": f"Bearer {CLIENT}"})
        worker.terminate()
        assert worker.wait(20) == 0
        waits = client.look(last["id"])
        assert (waits["state"], waits["place"]) == ("queued", 1)  # given back
        client.cancel(last["id"])
        here = ["--server", server.url, "--token-file", str(tmp_path / "client")]
        assert main(["jobs", *here]) == 0
        said = capsys.readouterr().out
        assert said.count("cancelled") == 2
        assert "done: optimal" in said
        assert main(["work", *here]) == MISTAKE
        assert "this token is for client" in capsys.readouterr().err


@pytest.mark.long
def test_a_machine_that_dies_loses_its_job_to_another(tmp_path: Path) -> None:
    with queue(tmp_path, "--limit", "lease=2") as server:
        client = Client(server.url, CLIENT)
        with working(server) as dying:
            job = client.submit(ENDLESS, time=4)
            server.wait(job["id"], "running", headers={"Authorization": f"Bearer {CLIENT}"})
            family = children(dying.pid)
            dying.send_signal(signal.SIGKILL)
            dying.wait()
        gone(family)  # its processes end with it
        with working(server):
            done = client.wait(job["id"])
        assert (done["state"], done["result"]["status"]) == ("done", "partial")
        assert metrics(server)["binwright_leases_lapsed_total"] == 1


@pytest.mark.long
def test_a_machine_that_wakes_up_has_lost_its_job(tmp_path: Path) -> None:
    with queue(tmp_path, "--limit", "lease=2") as server, working(server) as asleep:
        client = Client(server.url, CLIENT)
        job = client.submit(ENDLESS, time=6)
        server.wait(job["id"], "running", headers={"Authorization": f"Bearer {CLIENT}"})
        asleep.send_signal(signal.SIGSTOP)
        with working(server):
            until = monotonic() + 20
            while metrics(server)["binwright_leases_lapsed_total"] < 1:
                assert monotonic() < until
                sleep(0.1)
            asleep.send_signal(signal.SIGCONT)  # it goes on, and hears that the job is not its own
            done = client.wait(job["id"])
            assert done["state"] == "done"
            assert client.solve(SMALL, seed=1)["status"] == "optimal"
            sleep(1)
            assert client.look(job["id"]) == done
            assert metrics(server)['binwright_jobs_finished_total{state="done"}'] == 2


@pytest.mark.long
def test_workers_go_on_while_the_server_is_away(tmp_path: Path) -> None:
    with queue(tmp_path) as server:
        server.stop()
        server.options += ("--port", str(server.port))
        server.start()
        client = Client(server.url, CLIENT)
        with working(server):
            job = client.submit(ENDLESS, time=5)
            mine = {"Authorization": f"Bearer {CLIENT}"}
            began = server.wait(job["id"], "running", headers=mine)["started"]
            server.kill()
            sleep(1)
            server.start()
            done = client.wait(job["id"])
            assert (done["state"], done["started"]) == ("done", began)  # not begun again
            assert client.solve(SMALL)["status"] == "optimal"


@pytest.mark.long
def test_here_and_elsewhere_share_a_queue(tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--workers", "1", "--token-file", tokens(tmp_path)) as server, working(server):
        client = Client(server.url, CLIENT)
        jobs = [client.submit(ENDLESS, time=20, seed=seed) for seed in range(2)]
        until, busy = monotonic() + 20, set[tuple[float, float]]()
        while (1, 1) not in busy:
            found = metrics(server)
            busy.add(
                (found['binwright_workers_busy{machine="here"}'], found['binwright_workers_busy{machine="elsewhere"}'])
            )
            assert monotonic() < until, busy
        for job in jobs:
            client.cancel(job["id"])
        assert all(client.wait(job["id"])["state"] == "cancelled" for job in jobs)


def children(pid: int) -> list[int]:
    """Find all processes that a process started, and theirs."""
    found = [int(one) for task in Path(f"/proc/{pid}/task").glob("*/children") for one in task.read_text().split()]
    return found + [one for child in found for one in children(child)]


@pytest.mark.long
def test_what_workers_and_others_may_not(tmp_path: Path) -> None:
    with queue(tmp_path, "--limit", "lease=0.5") as server:
        as_worker = {"Authorization": f"Bearer {WORKER}"}
        job = Client(server.url, CLIENT).submit(SMALL)
        take: dict[str, Any] = {"lease": "x" * 16, "worker": "w", "version": "0"}
        for method, path, token, body, status in (
            ("POST", "/v1/work", CLIENT, take, 403),
            ("POST", "/v1/problems", WORKER, {"text": SMALL}, 403),
            ("GET", f"/v1/problems/{job['id']}", WORKER, None, 403),
            ("GET", "/metrics", CLIENT, None, 403),
            ("GET", "/v1/jobs", METRICS, None, 403),
            ("GET", "/metrics", "wrong", None, 401),
            ("POST", "/v1/work", WORKER, take, 409),
            ("POST", "/v1/work", WORKER, take | {"lease": "/"}, 422),
            ("POST", f"/v1/work/{'x' * 16}/beat", WORKER, {"worker": "w", "memory": 0}, 410),
            ("POST", f"/v1/work/{'x' * 16}/end", WORKER, {"state": "queued"}, 410),
            ("POST", f"/v1/work/{'x' * 16}/end", WORKER, {"state": "done"}, 422),
            ("POST", f"/v1/work/{'x' * 16}/end", WORKER, {"state": "done", "result": {"a": 1}}, 422),
        ):
            got = server.ask(method, path, body, Authorization=f"Bearer {token}")
            assert got.status == status, (method, path, got)
        for path in ("/livez", "/readyz"):
            assert server.ask("GET", path, Host="10.0.0.1").body == b"ok\n"
        worker = Client(server.url, WORKER)
        with pytest.raises(Refused, match="the service is Binwright"):
            worker.ask("POST", "/v1/work", **take)
        from importlib.metadata import version

        take["version"] = version("binwright")
        first = worker.ask("POST", "/v1/work", **take)["job"]
        assert worker.ask("POST", "/v1/work", **take)["job"] == first  # the answer may have been lost
        assert first["limits"] == {"lease": 0.5} | {
            name: getattr(Limits(), name) for name in ("spare", "memory", "balls", "dims")
        }
        server.wait(job["id"], "queued", headers={"Authorization": f"Bearer {CLIENT}"})  # it lapsed
        assert server.ask("POST", f"/v1/work/{'x' * 16}/beat", {"worker": "w", "memory": 0}, **as_worker).status == 410
        for _ in range(2):
            lease = os.urandom(12).hex()
            assert worker.ask("POST", "/v1/work", **take | {"lease": lease})["job"]
            until = monotonic() + 10
            while Client(server.url, CLIENT).look(job["id"])["state"] == "running":
                assert monotonic() < until
                sleep(0.1)
        failed = Client(server.url, CLIENT).look(job["id"])
        assert (failed["state"], failed["error"]["message"]) == ("failed", "every machine that had it fell silent")
        assert metrics(server)["binwright_leases_lapsed_total"] == 3
