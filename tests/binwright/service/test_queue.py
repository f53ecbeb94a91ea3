"""Whose turn it is, and the list of jobs: the parts on their own, and once through a real service."""

import signal
from pathlib import Path
from typing import Any

import pytest

from binwright.client import Client
from binwright.service.access_control import _digest, read_tokens
from binwright.service.jobs import Jobs, Row
from binwright.service.limits import Limits, changed
from binwright.service.models import Submission
from binwright.simcore.errors import UserError
from tests.support.service import ENDLESS, SMALL, serving


def begun(jobs: Jobs) -> Row:
    """Begin the job whose turn it is."""
    row = jobs.next()
    assert row
    assert jobs.begin(row.id)
    jobs.leave(row.id)
    return row


def test_priority_is_first_then_clients_with_nothing_running_then_age(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path, Limits())
    clients = (("busy", 0), ("busy", 0), ("other", 0), ("other", 0), ("busy", 1), ("third", -1))
    for number, (owner, priority) in enumerate(clients):
        jobs.add(owner, str(number), str(number), priority=priority)
    rows = [begun(jobs) for _ in clients]
    assert [row.request for row in rows] == ["4", "2", "0", "1", "3", "5"]
    for row in rows:
        jobs.put_back(row.id)
    requests = []
    for _ in clients:
        row = begun(jobs)
        requests.append(row.request)
        jobs.finish(row.id, "done", "{}")
    assert requests == ["4", "0", "1", "2", "3", "5"]  # one at a time: nobody else has any that runs
    jobs.close()


def test_to_submit_again_changes_the_priority(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path, Limits())
    names = [jobs.add("", key, "{}")[0].id for key in "abc"]
    assert all(name.isalnum() for name in names)  # none looks like an option of a command
    assert jobs.add("", "c", "{}", priority=3)[1] is False
    assert jobs.places() == {names[2]: 1, names[0]: 2, names[1]: 3}
    row = jobs.next()
    assert row
    assert (row.id, row.priority) == (names[2], 3)
    assert jobs.places() == {names[0]: 1, names[1]: 2}  # it is about to begin
    jobs.close()


def test_a_job_whose_machine_is_lost_waits_again_and_fails_the_third_time(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path, Limits())
    name = jobs.add("", "a", "{}")[0].id
    for time in range(3):
        assert jobs.unfinished == 1
        row = jobs.next()
        assert row
        assert jobs.begin(row.id)
        jobs.leave(row.id)
        jobs.lose(row.id, f"node {time} was lost")
    failed = jobs.get("", name)
    assert failed
    assert (failed.state, jobs.unfinished) == ("failed", 0)
    assert "node 2 was lost (3 times)" in str(failed.error)
    assert not jobs.finish(name, "done", "{}")
    jobs.close()


def test_list_of_jobs_has_pages(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path, Limits())
    names = [jobs.add("me", str(number), "{}", title=f"job {number}")[0].id for number in range(5)]
    theirs = jobs.add("other", "0", "{}")[0].id
    jobs.cancel_queued(names[1])
    both = ("queued", "cancelled")
    assert [row.id for row in jobs.listed("me", both, None, 9)] == names[::-1]
    assert [row.id for row in jobs.listed("me", ("queued",), names[3], 2)] == [names[2], names[0]]
    assert [row.title for row in jobs.listed("me", ("cancelled",), None, 9)] == ["job 1"]
    assert not jobs.listed("me", both, theirs, 9)
    assert not jobs.listed("me", both, names[0], 9)
    jobs.close()


def test_a_token_has_a_line_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    one, two = (f"token-{number}-0123456789" for number in range(2))
    file.write_text(f"{one}\n\n  {two} \n")
    assert read_tokens(file) == {_digest(one), _digest(two)}
    file.write_text(f"{one}\n{two} metrics")
    with pytest.raises(UserError, match="stands behind a token") as found:
        read_tokens(file)
    assert two not in str(found.value)
    assert found.value.line == 2


def test_priorities_are_limited() -> None:
    assert changed(["priority=-5"]).priority == -5
    for limit in ("priority=101", "priority=high", "priority=nan"):
        with pytest.raises(UserError, match="is not a number from -100 to 100"):
            changed([limit])


def test_title_of_a_job_is_its_first_line() -> None:
    assert Submission(text="\n#\n  # Pods \t by name. \nBALLS 1").title == "Pods by name."
    assert Submission(text="x" * 300).title == "x" * 199 + "…"
    assert Submission(text=" ").title == ""
    one, two = Submission(text="x", priority=3), Submission(text="x")
    assert one.title == "x"
    assert one.key == two.key


def test_a_service_lists_jobs_and_takes_them_by_priority(tmp_path: Path) -> None:
    limits = ("--limit", "priority=2", "--limit", "queue=5")
    with serving(tmp_path / "data", "--workers", "1", *limits) as server:
        client = Client(server.url)
        first = client.submit(ENDLESS, time=20)["id"]
        server.wait(first, "running")
        waiting = [client.submit(SMALL, seed=seed, priority=priority) for seed, priority in ((1, 0), (2, -4), (3, 2))]
        assert [client.look(job["id"])["place"] for job in waiting] == [2, 3, 1]
        wrong: list[tuple[str, dict[str, Any] | None, str]] = [
            ("/v1/problems", {"text": SMALL, "priority": 3}, "priority is at most 2 here"),
            ("/v1/problems", {"text": SMALL, "priority": 1.5}, "priority"),
            ("/v1/jobs?state=going", None, "'going' is no state"),
            ("/v1/jobs?limit=0", None, "limit is not a number of jobs"),
        ]
        for path, body, says in wrong:
            got = server.ask("POST" if body else "GET", path, body)
            assert got.status == 422
            assert says in got.json["error"]["message"]
        server.ask("DELETE", f"/v1/problems/{first}")
        for job in waiting:
            server.wait(job["id"])
        begun = sorted((client.look(job["id"])["started"], number) for number, job in enumerate(waiting))
        assert [number for _, number in begun] == [2, 0, 1]
        listed = list(client.jobs())
        assert [job["id"] for job in listed] == [job["id"] for job in waiting[::-1]] + [first]
        assert {job["status"] for job in client.jobs("done")} == {"optimal"}
        assert listed[0]["title"].startswith("Virtual machines")
        newest = server.ask("GET", "/v1/jobs?limit=3&state=done,cancelled").json
        rest = server.ask("GET", f"/v1/jobs?before={newest['next']}").json
        assert newest["jobs"] + rest["jobs"] == listed
        assert rest["next"] is None
        server.stop(signal.SIGHUP)
