"""The service, over real HTTP with a real process: jobs, limits, and what hostile clients try."""

import base64
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest

from binwright.agents.solver import examples, problem
from binwright.agents.solver.model.verify import faults
from binwright.client import Client
from binwright.simcore.errors import UserError
from tests.support.properties import first
from tests.support.service import ENDLESS, SMALL, Server, gone, serving
from tests.support.solving import NAMED

TOKENS = ("first-token-0123456789", "second-token-0123456789")


@pytest.mark.long
def test_every_example_is_solved(server: Server) -> None:
    texts = examples()
    names = {name: server.submit(text, time=15, attempts=500, seed=1) for name, text in texts.items()}
    for name, job in names.items():
        done = server.wait(job)
        result = done["result"]
        assert result, (name, done)
        assert result["status"] in ("optimal", "solved"), (name, done)
        assert result["placed"] == result["balls"]
        again = problem(texts[name])
        again = again.with_bins(result["bins"]) if result["searched"] else again
        assert not faults(again, result["alloc"])
        for family in result["resources"]:
            assert len(family["used"]) == len(family["capacity"])
        assert done["error"] is None
        assert done["submitted"] <= done["started"] <= done["finished"]


def test_tables_and_parameters_take_the_place_of_the_texts(server: Server) -> None:
    text = "PARAM n = 1 BALLS len(D) BINS n RESOURCES C[b in BINS] => 10\n"
    text += "procedure UTILFN(BALL, BIN, ALLOC) UTIL.C[BIN] += D[BALL] end"
    done = server.wait(server.submit(text, tables={"D": [5, 5, 2.5]}, params={"n": 2}))
    assert done["result"]["bins"] == 2
    assert sum(done["result"]["resources"][0]["used"]) == 12.5


def test_a_wrong_specification_is_refused_with_its_place(server: Server) -> None:
    job = server.wait(server.submit(SMALL.replace("DEMAND[BALL, 1]", "nothing")))
    assert (job["state"], job["error"]["message"]) == ("refused", "unknown name nothing")
    assert (job["error"]["line"], job["error"]["column"]) == (8, 25)


def test_events_tell_progress_and_end_with_the_job(server: Server) -> None:
    server.wait(server.submit(ENDLESS, attempts=1))  # what it needs is compiled then, and the rest is searching
    name = server.submit(ENDLESS, time=1.5)
    got = server.ask("GET", f"/v1/problems/{name}/events")
    assert got.headers["content-type"].startswith("text/event-stream")
    events = [json.loads(line[6:]) for line in got.body.decode().splitlines() if line.startswith("data: ")]
    assert events[-1]["state"] == "done"
    assert events[-1]["result"]["status"] == "partial"
    progress = [each["progress"] for each in events if each["progress"]]
    assert progress
    assert progress[-1]["checked"] > progress[0]["checked"]
    assert all(each["balls"] == 23 for each in progress)


def searching(server: Server, name: str) -> None:
    """Wait until the job tells its progress."""
    until = monotonic() + 20
    while not server.ask("GET", f"/v1/problems/{name}").json["progress"]:
        assert monotonic() < until
        sleep(0.02)


def test_a_cancelled_job_gives_its_best(server: Server) -> None:
    name = server.submit(ENDLESS, time=20)
    searching(server, name)
    assert server.ask("DELETE", f"/v1/problems/{name}").status == 200
    done = server.wait(name, seconds=5)
    assert done["state"] == "cancelled"
    assert done["result"]["interrupted"]
    assert done["result"]["placed"] >= 18
    assert server.ask("DELETE", f"/v1/problems/{name}").json == done
    assert server.submit(ENDLESS, time=20) != name  # it was no answer
    again = server.submit(ENDLESS, time=20)
    server.ask("DELETE", f"/v1/problems/{again}")
    server.wait(again)  # until then it would be given to whoever submits the same


def test_a_queued_job_is_cancelled_at_once(server: Server) -> None:
    first = [server.submit(ENDLESS, time=20, seed=seed) for seed in range(2)]
    for name in first:
        server.wait(name, "running")
    third = server.submit(ENDLESS, time=20, seed=2)
    assert server.ask("DELETE", f"/v1/problems/{third}").json["state"] == "cancelled"
    for name in first:
        server.ask("DELETE", f"/v1/problems/{name}")
        assert server.wait(name, seconds=5)["state"] == "cancelled"


def test_a_job_cancelled_as_its_process_starts_leaves_no_traceback(server: Server) -> None:
    for number in range(30):
        name = server.submit(ENDLESS, time=20, seed=1000 + number)
        sleep(number / 4000)
        server.ask("DELETE", f"/v1/problems/{name}")
        assert server.wait(name, seconds=5)["state"] == "cancelled"
    assert "Traceback" not in server.log.read_text()


@pytest.mark.long
def test_a_job_that_dies_takes_nothing_with_it(server: Server) -> None:
    other = server.submit(ENDLESS, time=3, seed=20)
    searching(server, other)
    before = set(server.family())
    name = server.submit(ENDLESS, time=20, seed=21)
    server.wait(name, "running")
    until = monotonic() + 10
    while not (new := set(server.family()) - before):
        assert monotonic() < until
    for pid in new:
        os.kill(pid, signal.SIGKILL)
    done = server.wait(name)
    assert done["error"], done
    assert (done["state"], done["error"]["message"]) == ("failed", "the worker process died")
    assert server.wait(other)["state"] == "done"
    server.ask("DELETE", f"/v1/problems/{server.submit(ENDLESS, time=20, seed=21)}")  # tried again


@pytest.mark.long
def test_workers_go_on_when_the_process_that_forks_them_dies(server: Server) -> None:
    name = server.submit(ENDLESS, time=20, seed=40)
    searching(server, name)
    for pid in server.family()[1:]:  # and with it all workers
        if b"forkserver" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)
    assert server.wait(name)["state"] == "failed"
    assert server.wait(server.submit(SMALL, seed=41))["state"] == "done"


HEAD = "BALLS 4 BINS 2 RESOURCES C[b in BINS] => 9\n"
BODY = "procedure UTILFN(BALL, BIN, ALLOC) UTIL.C[BIN] += 1 end"
HOSTILE = {
    "many steps": HEAD + "procedure UTILFN(BALL, BIN, ALLOC) for i in 1000 for j in 1000 UTIL.C[BIN] += 1 end end end",
    "a huge table": "TABLE T[i in 4000, j in 4000] = i" + HEAD + BODY,
    "huge dimensions": "BALLS 4 BINS 2 RESOURCES C[a in 1000, b in 1000, c in 4] => 1\n"
    + BODY.replace("[BIN]", "[0,0,0]"),
    "many balls": "BALLS 300000 BINS 300000 RESOURCES C[b in BINS] => 9\n" + BODY,
    "many members": "BALLS 99999 BINS 2 RESOURCES C[b in BINS] => 9 FRIENDS 0 .. 99999 FOES 0 .. 99999\n" + BODY,
    "deep nesting": HEAD + "PARAM x = " + "(" * 20000 + "1" + ")" * 20000 + BODY,
    "a path": 'TABLE T FROM "/etc/passwd" ' + HEAD + BODY,
    "a path beside": 'TABLE T FROM "jobs.csv" COLUMNS "id" ' + HEAD + BODY,
}
PATHS = {"a path": "/etc/passwd", "a path beside": "jobs.csv"}
SLOW = {"many members", "deep nesting", "huge dimensions"}
"""Those that take seconds to refuse."""


@pytest.mark.parametrize("what", first(len(HOSTILE) - len(SLOW), sorted(HOSTILE, key=SLOW.__contains__)))
def test_hostile_specifications_are_answered(server: Server, what: str) -> None:
    job = server.wait(server.submit(HOSTILE[what], time=0.5))
    assert job["state"] in ("done", "refused", "failed")
    for secret in ("/tmp", "/work", "root:", "Traceback", ".py"):
        assert secret not in json.dumps(job).replace(what, "")
    if what in PATHS:
        message = f"{PATHS[what]!r} is not in the specification's folder"
        assert (job["state"], job["error"]["message"]) == ("refused", message)


BODIES: list[tuple[bytes, int]] = [
    (b"\xff\xfe\xc3(", 422),
    (b"[" * 200_000, 422),
    (b'{"text": "x", "tables": {"T": ' + b"[" * 200 + b"1" + b"]" * 200 + b"}}", 422),
    (b'{"text": "x", "tables": {"T": [' + b"9" * 100_000 + b"]}}", 422),
    (b"{" + b",".join(b'"%d": 1' % n for n in range(20_000)) + b"}", 422),
    (b"x" * 300_001, 413),
]


@pytest.mark.parametrize(("body", "status"), BODIES)
def test_malformed_requests_are_refused(server: Server, body: bytes, status: int) -> None:
    got = server.ask("POST", "/v1/problems", body, Content_Type="application/json")
    assert got.status == status, got
    assert got.json["detail"]
    assert len(got.body) < 1000


TABLE = "PARAM n = 1 BALLS len(T) BINS 2 RESOURCES C[b in BINS] => n "
TABLE += "procedure UTILFN(BALL, BIN, ALLOC) UTIL.C[BIN] += T[BALL] end"


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (b'{"T": ' + b"[" * 90 + b"1" + b"]" * 90 + b"}", "T takes 90 indices, not 1"),
        (b'{"T": [[1], 2, "a"]}', "T mixes numbers and rows"),
        (b'{"T": [1, {"a": 2}]}', "T is not numeric"),
        (b'{"T": 1}', "is no table"),
        (b'{"T": [1], "../T": [1]}', "reads no table ../T"),
        (b'{"T": [1], ' + b",".join(b'"%d": 1' % n for n in range(20_000)) + b"}", "reads no table"),
        (b'{"T": [1]}, "params": {"n": NaN}', "range"),
        (b'{"T": [1]}, "params": {"n": []}', "n is not a number"),
        (b'{"T": [1]}, "now": [[]]', "now does not say where balls are"),
        (b'{"T": [1]}, "now": {"0": true}', "now does not say where balls are"),
        (b'{"T": [1]}, "drain": [[]]', "drain is not a number"),
        (b'{"T": [NaN]}', "T has entries out of range"),
        (b'{"T": [1' + b"0" * 400 + b"]}", "T "),
        (b'{"T": [1]}, "params": {"n": 1' + b"0" * 400 + b"}", "range"),
    ],
)
def test_tables_that_are_none_are_refused_jobs(server: Server, values: bytes, says: str) -> None:
    body = b'{"text": "' + TABLE.encode() + b'", "tables": ' + values + b"}"
    got = server.ask("POST", "/v1/problems", body)
    assert got.status == 202, got
    job = server.wait(got.json["id"])
    assert job["state"] == "refused", job
    assert says in job["error"]["message"]
    assert len(json.dumps(job)) < 1000


@pytest.mark.parametrize("more", [b"", b"\r\nContent-Length: 10"])
def test_bodies_of_unknown_length_are_refused_before_they_stream_in(server: Server, more: bytes) -> None:
    with server.raw() as raw:
        head = b"Host: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked" + more
        raw.sendall(b"POST /v1/problems HTTP/1.1\r\n" + head + b"\r\n\r\n2710\r\n")
        assert raw.recv(100).startswith(b"HTTP/1.1 413")


def test_nonsense_is_refused(server: Server) -> None:
    for nonsense in (b"\x00\xff\r\n\r\n", b"X" * 100_000, b"GET /\xff HTTP/1.1\r\n\r\n"):
        with server.raw() as raw:
            raw.sendall(nonsense)
            assert raw.recv(100).startswith(b"HTTP/1.1 400")
    assert server.ask("GET", "/v1/examples").status == 200


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("POST", {"Origin": "https://example.org"}, 403),
        ("DELETE", {"Origin": "null"}, 403),
        ("GET", {"Host": "example.org"}, 421),
        ("GET", {"Host": "["}, 421),
        ("DELETE", {"Origin": "OURS"}, 404),
    ],
)
def test_pages_of_other_sites_may_not_ask(server: Server, method: str, headers: dict[str, str], status: int) -> None:
    options = {name: server.url if value == "OURS" else value for name, value in headers.items()}
    assert server.ask(method, "/v1/problems/none", **options).status == status


@pytest.mark.long
def test_an_accepted_job_survives_kill_9(tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--workers", "1") as server:
        server.warm()
        done = server.wait(server.submit(SMALL))
        running = server.submit(ENDLESS, time=1)
        waiting = [server.submit(SMALL, seed=seed) for seed in range(1, 4)]
        server.wait(running, "running")
        until = monotonic() + 10
        while len(server.family()) < 4:  # itself, the two helpers of forking, the job
            assert monotonic() < until
            sleep(0.01)
        family = server.family()
        server.kill()
        gone(family)
        server.start()
        assert server.ask("GET", f"/v1/problems/{done['id']}").json == done
        assert server.submit(SMALL) == done["id"]
        for name in waiting:
            assert server.wait(name)["result"]["status"] == "optimal"
        assert server.wait(running)["result"]["status"] == "partial"
        last = server.submit(ENDLESS, time=5, seed=1)
        server.wait(last, "running")
        server.stop()
        server.start()
        assert server.wait(last)["state"] == "done"
        command = [sys.executable, "-m", "binwright", "serve", "--port", "0", "--data", str(server.data)]
        second = subprocess.run(command, check=False, capture_output=True, text=True)
        assert (second.returncode, second.stdout) == (2, "")
        assert "another server uses this folder" in second.stderr


@pytest.mark.long
def test_without_a_token_there_is_nothing_but_401(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("\n".join(TOKENS))
    limits = ("--limit", "queue=2", "--limit", "time=30")
    with serving(tmp_path / "data", "--workers", "1", "--token-file", str(file), *limits) as server:
        for method, path in (("GET", "/"), ("GET", "/v1/openapi.json"), ("POST", "/v1/problems"), ("GET", "/nothing")):
            for options in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic !"}):
                got = server.ask(method, path, **options)
                assert got.status == 401
                assert "www-authenticate" in got.headers
        first, second = ({"Authorization": f"Bearer {token}"} for token in TOKENS)
        basic = base64.b64encode(f"me:{TOKENS[0]}".encode()).decode()
        assert server.ask("GET", "/", Authorization=f"Basic {basic}").status == 200

        mine = server.ask("POST", "/v1/problems", {"text": ENDLESS}, **first)
        assert mine.status == 202
        path = f"/v1/problems/{mine.json['id']}"
        for method, other in (("GET", path), ("DELETE", path), ("GET", f"{path}/events")):
            got = server.ask(method, other, **second)
            assert (got.status, got.json["detail"]) == (404, "no such job")
        theirs = server.ask("POST", "/v1/problems", {"text": ENDLESS}, **second)  # the same problem, a job of their own
        assert theirs.status == 202
        assert theirs.json["id"] != mine.json["id"]

        full = server.ask("POST", "/v1/problems", {"text": SMALL}, **second)
        assert (full.status, full.json["detail"]) == (429, "the queue is full")
        assert int(full.headers["retry-after"]) >= 1
        assert server.ask("POST", "/v1/problems", {"text": ENDLESS}, **first).status == 200  # others go on
        assert server.ask("DELETE", f"/v1/problems/{theirs.json['id']}", **second).status == 200
        assert server.ask("DELETE", path, **first).status == 200
        assert server.wait(mine.json["id"], headers=first)["state"] == "cancelled"


def room(server: Server, size: int) -> None:
    """Let no file of the server grow beyond so many bytes: to it, the disk is full."""
    _, hard = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, hard))


@pytest.mark.long
def test_a_full_disk_is_507_until_there_is_room(tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--workers", "2") as server:
        server.warm()
        assert (server.ask("GET", "/v1/health").status, server.ask("GET", "/v1/health").json) == (200, {"done": 1})
        accepted = [server.submit(SMALL, seed=seed) for seed in range(20)]
        room(server, 1)
        refused = [server.ask("POST", "/v1/problems", {"text": SMALL, "seed": seed}) for seed in (30, 31)]
        for got in refused:
            assert got.status == 507, got
            assert "the disk takes no changes now" in got.json["detail"]
            assert int(got.headers["retry-after"]) >= 1
        assert server.ask("GET", "/v1/health").status == 507
        assert server.ask("GET", f"/v1/problems/{accepted[0]}").status == 200
        sleep(2)  # both threads find out, too
        room(server, resource.RLIM_INFINITY)
        for name in accepted:
            assert server.wait(name)["state"] == "done"
        assert server.ask("GET", "/v1/health").status == 200
        assert server.wait(server.submit(SMALL, seed=30))["state"] == "done"


TABLES: dict[str, Any] = {
    "NODE": ["n-a", "n-b", "n-c"],
    "ZONE": np.array(["east", "east", "west"]),
    "HAS": [4, 4, 4],
    "POD": ["web-1", "web-2", "db"],
    "APP": ["web", "web", None],
    "NEEDS": [2, 2, 1],
    "HOME": ["n-b", None, "n-b"],
}


def test_client_sends_names_and_reads_them_back(server: Server) -> None:
    client = Client(server.url)
    result = client.solve(NAMED, tables=TABLES, now=[1, None, "n-c"], drain=["n-a"], moves=1)
    assert result["ball_names"] == TABLES["POD"]
    assert [result["bin_names"][place] for place in result["alloc"]] == ["n-b", "n-c", "n-c"]
    result = client.solve(NAMED.replace("RESOURCES", 'NOW HOME PIN "db" TO "n-a" RESOURCES'), tables=TABLES, drain=[1])
    moved = [(result["ball_names"][each["ball"]], result["bin_names"][each["from"]]) for each in result["moves"]]
    assert moved == [("web-1", "n-b"), ("db", "n-b")]
    for tables, says in (
        ({"POD": [1, 2, None]}, "POD is not numeric"),
        ({"NEDS": [2, 2, 1]}, "reads no table NEDS"),
        ({"NEEDS": ["a", "b", "c"]}, "NEEDS is not numeric"),
    ):
        with pytest.raises(UserError, match=says):
            client.solve(NAMED, tables=TABLES | tables)
    with pytest.raises(UserError, match="n-x is no bin here"):
        client.solve(NAMED, tables=TABLES, now={"db": "n-x"})
    for now in ("n-a", [1.5], {"db": True}):
        with pytest.raises(UserError, match="now"):
            client.solve(NAMED, tables=TABLES, now=now)
    many = {f"pod {number}": None for number in range(5000)} | {"db": "n-c"}
    assert client.solve(NAMED, tables=TABLES, now=many)["placed"] == 3
