"""Jobs on disk: order, tries, and a disk that is full, broken, damaged, or readable by all."""

import _sqlite3
import asyncio
import ctypes
import errno
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.exceptions import HTTPException

from binwright.cli import MISTAKE, main
from binwright.service.app import application
from binwright.service.limits import Limits, changed
from binwright.service.models import Job, Submission
from binwright.service.store import TRIES, StorageError, Store
from binwright.simcore.errors import UserError
from tests.support.faults import failing
from tests.support.properties import first

NUMBERS = [errno.ENOSPC, errno.EIO, errno.EFBIG]


class Vfs(ctypes.Structure):
    """How SQLite asks the system: the head of its `struct sqlite3_vfs`."""

    _fields_ = (
        ("version", ctypes.c_int),
        ("file_size", ctypes.c_int),
        ("longest_path", ctypes.c_int),
        *((name, ctypes.c_void_p) for name in ("following", "name", "data", "open", "delete", "access", "full_path")),
        *((name, ctypes.c_void_p) for name in ("dl_open", "dl_error", "dl_sym", "dl_close", "randomness", "sleep")),
        *((name, ctypes.c_void_p) for name in ("time", "last_error", "time_64")),
        ("set_call", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)),
        ("get_call", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)),
    )


@contextmanager
def failing_sqlite(at: int, number: int = errno.ENOSPC, count: int = 1) -> Iterator[list[int]]:
    """Within, the `at`-th write of SQLite in this process fails, counted from 0, and `count` - 1 after it.

    Gives the sizes of all that were tried. SQLite itself has this way in for its own tests.
    """
    try:
        library = ctypes.CDLL(_sqlite3.__file__)
        library.sqlite3_vfs_find.restype = ctypes.POINTER(Vfs)
    except (AttributeError, OSError):
        pytest.skip("this Python's SQLite cannot be reached")
    vfs = library.sqlite3_vfs_find(None)
    seen: list[int] = []

    def failing_call(real: Callable[..., int]) -> Callable[..., int]:
        def call(file: int, content: int, size: int, *offset: int) -> int:
            seen.append(size)
            if at < len(seen) <= at + count:
                ctypes.set_errno(number)
                return -1
            return real(file, content, size, *offset)

        return call

    retained = []
    for name, offsets in ((b"write", 0), (b"pwrite", 1), (b"pwrite64", 1)):
        values = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int64] * offsets]
        kind = ctypes.CFUNCTYPE(ctypes.c_ssize_t, *values, use_errno=True)
        if real := vfs.contents.get_call(vfs, name):
            retained.append(kind(failing_call(kind(real))))
            vfs.contents.set_call(vfs, name, retained[-1])
    try:
        yield seen
    finally:
        vfs.contents.set_call(vfs, None, None)  # as it was


def store_in(folder: Path, **limits: float) -> Store:
    return Store(folder, changed(f"{name}={value}" for name, value in limits.items()))


def taken(store: Store) -> Job:
    """The next job, running."""
    job = store.take()
    assert job
    return job


def test_clients_with_nothing_running_come_first_then_the_oldest(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    for number, owner in enumerate(("busy", "busy", "other", "other", "third")):
        store.add(owner, str(number), str(number))
    rows = [taken(store) for _ in range(5)]
    assert [row.request for row in rows] == ["0", "2", "4", "1", "3"]
    assert store.take() is None
    store.put_back()
    store.finish(taken(store).id, "done", {})
    assert taken(store).request == "1"  # nobody else has any that runs
    store.close()


def test_queue_is_bounded_and_equal_submissions_are_one_job(tmp_path: Path) -> None:
    store = store_in(tmp_path, queue=2)
    names = [store.add("", key, "{}")[0].id for key in "ab"]
    with pytest.raises(HTTPException, match="the queue is full"):
        store.add("", "c", "{}")
    assert store.add("", "a", "{}")[1] is False
    assert taken(store).id == names[0]
    store.finish(names[1], "cancelled")
    assert store.take() is None
    assert store.add("", "b", "{}")[1] is True  # the cancelled one is no answer
    assert store.get("other", names[0]) is None
    store.close()


def test_oldest_answers_are_dropped(tmp_path: Path) -> None:
    store = store_in(tmp_path, keep=2)
    names = []
    for key in "abcd":
        names.append(store.add("", key, "{}")[0].id)
        store.finish(taken(store).id, "done", result={})
    assert [store.get("", name) is not None for name in names] == [False, True, True, True]
    store.close()


def test_a_job_that_ran_at_every_crash_of_the_server_fails_after_three_attempts(tmp_path: Path) -> None:
    for _ in range(TRIES):
        store = store_in(tmp_path)
        name = store.add("", "a", "{}")[0].id
        assert taken(store).id == name
        store.close()
    store = store_in(tmp_path)
    row = store.get("", name)
    assert row
    assert row.state == "failed"
    assert "the server stopped while it ran (3 times)" in str(row.error)
    store.close()


def test_stopping_the_server_is_not_counted_as_an_attempt(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.add("", "a", "{}")
    for _ in range(2 * TRIES):
        assert taken(store)
        store.put_back()
    store.close()
    store = store_in(tmp_path)
    assert taken(store)
    store.close()


def test_job_key_depends_on_the_content_only() -> None:
    inputs: dict[str, Any] = {"text": "x", "tables": {"A": [1], "B": [2]}, "seed": 1}
    others: list[dict[str, Any]] = [{}, {"text": "y"}, {"tables": {"A": [1.0], "B": [2]}}, {"seed": 2}, {"time": 9}]
    keys = [Submission(**inputs | other).key for other in others]
    assert len(set(keys)) == len(others)
    text = '{"seed":1,"tables":{"B":[2],"A":[1]},"text":"x"}'
    assert Submission.model_validate_json(text).key == keys[0]


def lived(store: Store, insist: Callable[..., Any]) -> list[str]:
    """Accept three jobs, do the first, cancel the second; gives the accepted ones' ids."""
    ids = [insist(store.add, "me", key, f'{{"{key}": "{"x" * 9000}"}}')[0].id for key in "abc"]
    insist(store.finish, insist(store.take).id, "done", {"alloc": []})
    insist(store.finish, ids[1], "cancelled")
    return ids


@pytest.mark.long
@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: errno.errorcode[number])
def test_every_write_of_the_jobs_may_fail(tmp_path: Path, number: int) -> None:
    refused = 0
    for at in range(1000):
        store = Store(tmp_path / str(at), Limits())

        def insist(do: Callable[..., Any], *arguments: Any) -> Any:
            nonlocal refused
            try:
                return do(*arguments)
            except StorageError:
                refused += 1
                return do(*arguments)

        with failing_sqlite(at, number) as seen:
            ids = lived(store, insist)
        for _ in range(2):
            rows = [store.get("me", name) for name in ids]
            assert [row and row.state for row in rows] == ["done", "cancelled", "queued"], at
            assert store.counts() == {"done": 1, "cancelled": 1, "queued": 1}
            store.close()
            store = Store(tmp_path / str(at), Limits())
        store.close()
        if len(seen) <= at:
            break
    assert at > 10
    assert refused > 5


@pytest.mark.parametrize("number", first(1, NUMBERS[:2]), ids=lambda number: errno.errorcode[number])
def test_every_other_file_may_fail(tmp_path: Path, number: int) -> None:
    for at in range(100):
        data = tmp_path / f"data-{at}"
        with failing(data, at, number) as faults:
            message = ""
            try:
                Store(data, Limits()).close()
            except UserError as error:
                message = str(error)
        assert ("cannot keep jobs here" in message) == (len(faults.seen) > at)
        if len(faults.seen) <= at:
            break
        Store(data, Limits()).close()
    assert at >= 2


def damaged(file: Path, how: str) -> None:
    """Leave jobs in a file, and harm it."""
    store = Store(file.parent, Limits())
    for number in range(50):
        store.add("", str(number), "x" * 3000)
    store.close()
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
    message = capsys.readouterr().err
    assert f"{tmp_path / 'jobs.sqlite'}: is damaged: " in message
    assert "move it away" in message
    assert (tmp_path / "jobs.sqlite").read_bytes() == before


def test_jobs_that_others_could_read_are_closed_to_them_at_the_start(tmp_path: Path) -> None:
    store = Store(tmp_path / "killed", Limits())
    store.add("", "a", "{}")
    (tmp_path / "data").mkdir()
    for file in (tmp_path / "killed").glob("jobs.sqlite*"):  # as they lie there after a kill -9
        Path(shutil.copy(file, tmp_path / "data")).chmod(0o644)
    store.close()
    store = Store(tmp_path / "data", Limits())
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "data").glob("jobs.sqlite*")}
    assert modes == dict.fromkeys(("jobs.sqlite", "jobs.sqlite-wal"), 0o600)
    assert store.counts() == {"queued": 1}
    store.close()


def test_a_mistake_of_ours_is_answered_as_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "counts", lambda store: 1 / 0)
    scope = {"type": "http", "method": "GET", "path": "/v1/health", "query_string": b"", "headers": [(b"host", b"x")]}
    messages: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request"}

    async def send(message: Any) -> None:
        messages.append(message)

    app = application(tmp_path, Limits(), 1, frozenset(), frozenset())
    with pytest.raises(ZeroDivisionError):  # which uvicorn logs
        asyncio.run(app(scope, receive, send))
    assert messages[0]["status"] == 500
    assert b"the service failed" in messages[1]["body"]
    assert (b"x-content-type-options", b"nosniff") in messages[0]["headers"]
