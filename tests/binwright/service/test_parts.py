"""The service's parts on their own, and its client."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.responses import Response

from binwright.agents.solver import examples
from binwright.agents.solver.backends.opencl_devices import Device, opencl_devices
from binwright.cli import main
from binwright.client import Client, Mistaken
from binwright.service import access_control
from binwright.service.jobs import TRIES, Full, Jobs, Row
from binwright.service.limits import Limits, changed
from binwright.service.models import Submission
from binwright.service.offered_devices import named, offered
from binwright.service.server import serve
from binwright.simcore.errors import UserError
from tests.support.opencl import opencl_device
from tests.support.service import ENDLESS, SMALL, Server, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("client")
    (folder / "tokens").write_text("a-token-of-the-client\n")
    limits = ("--limit", "queue=3")
    offer = ("--device", "opencl") if any(one.usable for one in opencl_devices()) else ()
    with serving(folder / "data", "--token-file", str(folder / "tokens"), *limits, *offer) as found:
        yield found


def token_file(server: Server) -> str:
    return str(server.data.parent / "tokens")


@pytest.mark.long
def test_client_solves_and_reports_progress(server: Server) -> None:
    client = Client(server.url, "a-token-of-the-client")
    text = "PARAM m = 1 BALLS len(D) BINS 2 RESOURCES C[b in BINS] => m\n"
    text += "procedure UTILFN(BALL, BIN, ALLOC) UTIL.C[BIN] += D[BALL] end"
    how: dict[str, Any] = {"tables": {"D": np.array([5.5, 5, 4.5])}, "params": {"m": 10}}
    assert client.check(text, **how)["balls"] == 3
    assert client.solve(text, **how)["status"] == "optimal"
    said: list[list[int]] = [[]]
    while not said[-1] and len(said) < 9:  # compiling, the first time, may leave no moment with something to tell
        said.append([])
        how = {"time": 0.5, "seed": len(said)}
        result = client.solve(ENDLESS, progress=lambda now: said[-1].append(now["checked"]), **how)
        assert result["status"] == "partial"
        assert said[-1] == sorted(said[-1])
    assert said[-1]
    with pytest.raises(Mistaken, match="there is no BALLS"):
        client.solve("BINS 1 RESOURCES C => 1 procedure UTILFN(BALL, BIN, ALLOC) end")


@pytest.mark.long
def test_client_waits_while_the_queue_is_full(server: Server) -> None:
    client = Client(server.url, "a-token-of-the-client")
    jobs = [client.submit(ENDLESS, seed=seed, time=3)["id"] for seed in range(3)]
    hasty = Client(server.url, "a-token-of-the-client", patience=0.1)
    with pytest.raises(UserError, match="the queue is full"):
        hasty.submit(SMALL)
    assert client.wait(client.submit(SMALL)["id"])["state"] == "done"
    assert [client.wait(job)["state"] for job in jobs] == ["done"] * 3


def test_mistakes_of_the_clients_user_are_user_errors(server: Server) -> None:
    with pytest.raises(UserError, match="no request without a token"):
        Client(server.url).check(SMALL)
    with pytest.raises(UserError, match="no such job"):
        Client(server.url, "a-token-of-the-client").look("x")
    with pytest.raises(UserError, match=r"no answer: .*refused"):
        Client("http://127.0.0.1:9", patience=0.2).check(SMALL)
    with pytest.raises(UserError, match="is not an address"):
        Client("127.0.0.1:8000")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--host", "0.0.0.0"], "other machines may not use this without a token"),
        (["--host", "nowhere.invalid", "--token-file", "TOKENS"], "cannot listen"),
        (["--port", "99999"], "cannot listen"),
        (["--token-file", "none"], "cannot be read"),
        (["--token-file", "SHORT"], "one that is too short"),
        (["--limit", "memroy=1"], "Did you mean 'memory'?"),
        (["--limit", "memory=much"], "is not a number above zero"),
        (["--limit", "queue=0.5"], "is not a number above zero"),
        (["--limit", "time=inf"], "is not a number above zero"),
        (["--workers", "0"], "workers"),
        (["--data", "SHORT"], "cannot keep jobs here"),
    ],
)
def test_mistakes_in_starting_the_server_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], says: str
) -> None:
    (tmp_path / "SHORT").write_text("short")
    (tmp_path / "TOKENS").write_text("long-enough-for-a-token")
    given = [str(tmp_path / one) if one.isupper() else one for one in options]
    assert main(["serve", "--port", "0", "--data", str(tmp_path / "data"), *given]) == 2
    assert says in capsys.readouterr().err


def test_without_its_packages_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "uvicorn", None)
    with pytest.raises(UserError, match=r"(?s)needs uvicorn.*\[serve,solver\]") as found:
        serve()
    assert "pip install" in found.value.remedy


def test_job_key_depends_on_the_content_only() -> None:
    given: dict[str, Any] = {"text": "x", "tables": {"A": [1], "B": [2]}, "seed": 1}
    one = Submission(**given)
    assert one.key == Submission.model_validate_json('{"seed":1,"tables":{"B":[2],"A":[1]},"text":"x"}').key
    others: list[dict[str, Any]] = [
        {"text": "y"},
        {"tables": {"A": [1.0], "B": [2]}},
        {"seed": 2},
        {"time": 9},
        {"search": "published"},
    ]
    assert len({one.key, *(Submission(**given | other).key for other in others)}) == 6


def jobs_in(folder: Path, **limits: float) -> Jobs:
    return Jobs(folder, changed(f"{name}={value}" for name, value in limits.items()))


def started(jobs: Jobs) -> Row | None:
    """The next job, running."""
    row = jobs.next()
    assert row is None or jobs.begin(row.id)
    return row


def test_queue_is_bounded_and_first_come_first_served(tmp_path: Path) -> None:
    jobs = jobs_in(tmp_path, queue=2)
    names = [jobs.add("", key, "{}")[0].id for key in "ab"]
    with pytest.raises(Full):
        jobs.add("", "c", "{}")
    assert jobs.add("", "a", "{}")[1] is False
    first = started(jobs)
    assert first is not None
    assert first.id == names[0]
    assert not jobs.cancel_queued(names[0])
    assert jobs.cancel_queued(names[1])
    assert started(jobs) is None
    assert jobs.add("", "b", "{}")[1] is True  # the cancelled one is no answer
    assert jobs.get("other", names[0]) is None
    jobs.close()


def test_oldest_answers_are_dropped_to_make_room(tmp_path: Path) -> None:
    jobs = jobs_in(tmp_path, store=1000)
    names = []
    for key in "abcd":
        row, new = jobs.add("", key, "x" * 300)
        assert new
        assert started(jobs) is not None
        jobs.finish(row.id, "done", result="{}")
        names.append(row.id)
    assert [jobs.get("", name) is not None for name in names] == [False, True, True, True]
    with pytest.raises(Full):
        jobs.add("", "e", "x" * 2000)
    jobs.close()


def test_a_job_that_ran_at_every_crash_of_the_server_fails_after_three_attempts(tmp_path: Path) -> None:
    for last in range(TRIES + 1):
        jobs = jobs_in(tmp_path)
        jobs.add("", "a", "{}")
        found = started(jobs)
        jobs.close()
        assert found is not None or last == TRIES
    jobs = jobs_in(tmp_path)
    (earlier,) = jobs._base.execute("select error from jobs where state = 'failed'").fetchone()
    assert "the server stopped while it ran (3 times)" in earlier
    jobs.close()


def test_a_run_that_had_not_begun_is_not_counted_as_an_attempt(tmp_path: Path) -> None:
    for _ in range(2 * TRIES):
        jobs = jobs_in(tmp_path)
        row, _ = jobs.add("", "a", "{}")
        assert jobs.next() == row
        assert jobs.next() is None  # it is given to one
        jobs.close()
    jobs = jobs_in(tmp_path)
    assert started(jobs) is not None
    jobs.close()


def test_a_job_cancelled_while_queued_never_begins(tmp_path: Path) -> None:
    jobs = jobs_in(tmp_path)
    row, _ = jobs.add("", "a", "{}")
    assert jobs.next() == row
    assert jobs.cancel_queued(row.id)
    assert not jobs.begin(row.id)
    jobs.close()


def test_stopping_the_server_is_not_counted_as_an_attempt(tmp_path: Path) -> None:
    jobs = jobs_in(tmp_path)
    row, _ = jobs.add("", "a", "{}")
    for _ in range(2 * TRIES):
        assert started(jobs) is not None
        jobs.put_back(row.id)
        jobs.leave(row.id)
    jobs.close()
    jobs = jobs_in(tmp_path)
    assert started(jobs) is not None
    jobs.close()


def gated() -> Callable[..., Coroutine[Any, Any, int]]:
    """Gives what answers a request with a token."""

    async def app(scope: access_control.Message, receive: access_control.Receive, send: access_control.Send) -> None:
        await Response()(scope, receive, send)

    known = {access_control._digest(token) for token in ("right", "other")}
    whole = access_control.Gate(app, Limits(), known, frozenset())

    async def ask(token: str = "", path: str = "/", **more: str) -> int:
        statuses: list[int] = []

        async def send(message: access_control.Message) -> None:
            if "status" in message:
                statuses.append(int(message["status"]))

        async def receive() -> access_control.Message:
            raise AssertionError

        headers = [(b"authorization", f"Bearer {token}".encode())] if token else []
        headers += [(name.replace("_", "-").encode(), value.encode()) for name, value in more.items()]
        scope = {"type": "http", "method": "GET", "path": path, "headers": headers}
        await whole(scope, receive, send)
        return statuses[0]

    return ask


def test_all_paths_need_a_token() -> None:
    async def tried() -> None:
        ask = gated()
        for path in ("/", "/v1/jobs", "/v1/health", "/nothing"):
            assert await ask("right", path=path) == 200, path
            assert [await ask(token, path=path) for token in ("", "wrong", "righ")] == [401] * 3, path

    asyncio.run(tried())


LINK = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}


@pytest.mark.parametrize(
    ("headers", "path", "status"),
    [
        ({}, "/v1/jobs", 200),
        ({"sec_fetch_site": "none"}, "/v1/jobs", 200),
        ({"sec_fetch_site": "same-origin", "sec_fetch_mode": "cors"}, "/v1/jobs", 200),
        ({"sec_fetch_site": "cross-site"}, "/v1/jobs", 403),
        ({"sec_fetch_site": "cross-site", "sec_fetch_mode": "no-cors", "sec_fetch_dest": "image"}, "/", 403),
        ({"sec_fetch_site": "same-site", "sec_fetch_mode": "cors"}, "/v1/examples", 403),
        (LINK, "/", 200),
        (LINK, "/v1/jobs", 403),
        (LINK | {"sec_fetch_dest": "iframe"}, "/", 403),
        ({"origin": "http://localhost:8000"}, "/v1/jobs", 200),
        ({"origin": "https://localhost:8000"}, "/v1/jobs", 403),
        ({"origin": "https://localhost:8000", "x_forwarded_proto": "https"}, "/v1/jobs", 200),
        ({"origin": "http://localhost:8000", "x_forwarded_proto": "https"}, "/v1/jobs", 403),
        ({"origin": "ftp://localhost:8000"}, "/v1/jobs", 403),
        ({"origin": "null"}, "/v1/jobs", 403),
    ],
)
def test_other_sites_pages_may_not_ask(headers: dict[str, str], path: str, status: int) -> None:
    """A page of another scheme at the same address is another site's, too; a link to our page may be followed."""
    assert asyncio.run(gated()("right", path=path, host="localhost:8000", **headers)) == status


@pytest.mark.long
def test_jobs_use_the_devices_that_are_offered(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    device = opencl_device()
    client = Client(server.url, "a-token-of-the-client")
    how: dict[str, Any] = {"search": "published", "attempts": 16, "seed": 3, "time": 60}  # attempts end it
    text = examples()["network"]
    here, there = (client.solve(text, device=one, **how) for one in ("cpu", "opencl"))
    assert here["alloc"] == there["alloc"]
    with pytest.raises(UserError, match="device opencl:77 is not offered by this service"):
        client.submit(text, device="opencl:77")
    asked = ["--server", server.url, "--token-file", token_file(server), "--search", "published"]
    assert main(["solve", "network", *asked, "--device", f"opencl:{device.number}"]) == 0
    assert "published: " in capsys.readouterr().out


CARDS = [Device(number, "card", "Some", "1.0", "GPU", "") for number in (2, 4)]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [("cpu", "cpu"), ("opencl", "opencl:2"), ("opencl:4", "opencl:4"), ("opencl:4,2", "opencl:4,2")],
)
def test_devices_are_named_in_one_way(asked: str, expected: str) -> None:
    assert named(asked, CARDS) == expected


@pytest.mark.parametrize("asked", ["opencl:3", "opencl:2-4", "opencl:x", "opencl:", "reference", "cpu:2", ""])
def test_devices_that_are_not_offered(asked: str) -> None:
    with pytest.raises(UserError, match=f"device {asked} is not offered") as error:
        named(asked, CARDS)
    assert error.value.remedy == "Here are: cpu, opencl:2, opencl:4."
    with pytest.raises(UserError, match="is not offered"):
        named("opencl", [])


def test_only_opencl_devices_are_offered() -> None:
    assert offered(None) == []
    with pytest.raises(UserError, match="is no OpenCL device"):
        offered("cpu")
