"""Jobs in SQLite: what is accepted is on disk, and survives the server."""

from __future__ import annotations

import fcntl
import json
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from binwright.service.limits import Limits
from binwright.simcore.errors import UserError

TRIES = 3
"""A job that was running whenever the server died so often is not run again."""
FORM = 5
"""Of the table, as the file says it in `user_version`."""
SCHEMA = f"""
create table if not exists jobs (
    number integer primary key, id text not null unique, owner text not null, key text not null, state text not null,
    tries integer not null default 0, submitted real not null, started real, finished real,
    error text, request text not null, result text
);
create index if not exists jobs_key on jobs (owner, key);
create index if not exists jobs_state on jobs (state, number);
pragma user_version = {FORM};
"""
COLUMNS = "id, state, submitted, started, finished, error, request, result"


class Row(NamedTuple):
    """A job; `request`, `result` and `error` are JSON."""

    id: str
    state: str
    submitted: float
    started: float | None
    finished: float | None
    error: str | None
    request: str
    result: str | None

    def shown(self) -> dict[str, Any]:
        """Say what clients see of it."""
        moments = {
            name: None if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
            for name in ("submitted", "started", "finished")
            for at in [getattr(self, name)]
        }
        parts = {name: json.loads(getattr(self, name) or "null") for name in ("error", "result")}
        return {"id": self.id, "state": self.state, **moments, **parts}


class QueueFull(Exception):
    """No more jobs for now."""


class StorageError(Exception):
    """The disk does not take a change, or does not give what it has; says why."""


def failure(message: str, remedy: str = "", state: str = "failed", **place: int) -> dict[str, Any]:
    """Say why a job has no answer."""
    return {"state": state, "error": {"message": message, "remedy": remedy, "line": None, "column": None} | place}


class Store:
    """The jobs of one data folder, for one server at a time; any thread may call."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self._limits = limits
        self._lock = Lock()
        file = folder / "jobs.sqlite"
        other = "give another folder: --data FOLDER."
        try:
            with ExitStack() as opened:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                locked = opened.enter_context((folder / "lock").open("w"))
                fcntl.flock(locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
                file.touch(mode=0o600)
                for part in folder.glob(f"{file.name}*"):
                    part.chmod(0o600)
                self._base = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
                opened.enter_context(closing(self._base))
                self._begin(file)
                self.close = opened.pop_all().close
        except BlockingIOError:
            raise UserError("another server uses this folder", file=folder, remedy=f"Stop it, or {other}") from None
        except (OSError, sqlite3.OperationalError) as error:
            remedy = "Give a folder that can be written: --data FOLDER."
            raise UserError(f"cannot keep jobs here: {error}", file=folder, remedy=remedy) from None
        except sqlite3.Error as error:
            remedy = "Bring back a copy, or move it away (and what is called so with -wal and -shm): its jobs are lost."
            raise UserError(f"is damaged: {error}", file=file, remedy=remedy) from None

    def _begin(self, file: Path) -> None:
        """Read the table; what was running when the last server ended waits again, or has failed."""
        self._base.execute("pragma journal_mode = wal")
        self._base.execute("pragma synchronous = full")
        (check,) = self._base.execute("pragma quick_check(1)").fetchone()
        if check != "ok":
            raise sqlite3.DatabaseError(" ".join(check.split()))
        (form,) = self._base.execute("pragma user_version").fetchone()
        (tables,) = self._base.execute("select count(*) from sqlite_master").fetchone()
        if tables and form != FORM:
            remedy = "Serve it with the version that wrote it, or give another folder: --data FOLDER."
            raise UserError("is of another version of Binwright", file=file, remedy=remedy)
        self._base.executescript(SCHEMA)
        lost = json.dumps(failure(f"the server stopped while it ran ({TRIES} times)")["error"])
        again = "update jobs set state = 'queued', started = null where state = 'running' and tries < ?"
        over = "update jobs set state = 'failed', finished = ?, error = ? where state = 'running'"
        self._base.execute(again, (TRIES,))
        self._base.execute(over, (time.time(), lost))

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """Within, no other thread reads or writes; what the disk has against it is a `StorageError`."""
        with self._lock:
            try:
                yield self._base
            except sqlite3.Error as error:
                raise StorageError(str(error)) from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Within is one transaction, all or nothing; on disk when it ends."""
        with self._reading() as base:
            try:
                base.execute("begin immediate")
                yield base
                base.execute("commit")
            except BaseException:
                base.rollback()
                raise

    def probe(self) -> None:
        """Write something: a `StorageError` says why the disk takes no changes."""
        with self._writing() as base:
            base.execute(f"pragma user_version = {FORM}")

    def add(self, owner: str, key: str, request: str) -> tuple[Row, bool]:
        """Add a job, or find the owner's earlier one with the same key; returns whether it is new, too.

        One that failed or was cancelled is not an answer.
        """
        earlier = self._rows("owner = ? and key = ? and state not in ('failed', 'cancelled')", owner, key)
        if earlier:
            return earlier[0], False
        name = secrets.token_hex(16)
        with self._writing() as base:
            (unfinished,) = base.execute("select count(*) from jobs where state in ('queued', 'running')").fetchone()
            if unfinished >= self._limits.queue:
                raise QueueFull
            over = "select number from jobs where finished is not null order by number desc limit -1 offset ?"
            base.execute(f"delete from jobs where number in ({over})", (self._limits.keep,))
            into = "insert into jobs (id, owner, key, state, submitted, request) values (?, ?, ?, 'queued', ?, ?)"
            base.execute(into, (name, owner, key, time.time(), request))
            return Row(*base.execute(f"select {COLUMNS} from jobs where id = ?", (name,)).fetchone()), True

    def _rows(self, where: str, *values: Any) -> list[Row]:
        with self._reading() as base:
            return [Row(*row) for row in base.execute(f"select {COLUMNS} from jobs where {where}", values)]

    def get(self, owner: str, name: str) -> Row | None:
        """Return the owner's job of this id."""
        return next(iter(self._rows("id = ? and owner = ?", name, owner)), None)

    def counts(self) -> dict[str, int]:
        """Count the jobs that wait, and those that run."""
        with self._reading() as base:
            states = "select state, count(*) from jobs where state in ('queued', 'running') group by state"
            return {"queued": 0, "running": 0} | dict(base.execute(states).fetchall())

    def take(self) -> Row | None:
        """Begin the next job: the oldest of an owner with none running, else the oldest. A crash counts as a try."""
        with self._writing() as base:
            first = "order by owner in (select owner from jobs where state = 'running'), number limit 1"
            row = base.execute(f"select {COLUMNS} from jobs where state = 'queued' {first}").fetchone()
            if row is None:
                return None
            begun = "update jobs set state = 'running', tries = tries + 1, started = ? where id = ?"
            base.execute(begun, (time.time(), row[0]))
            return Row(*row)

    def _update(self, change: str, *values: Any) -> bool:
        """Change jobs; returns whether there were any to change."""
        with self._writing() as base:
            return base.execute(f"update jobs set {change}", values).rowcount > 0

    def put_back(self, name: str) -> None:
        """Let a job that runs wait again, since the server stops; this try does not count."""
        again = "state = 'queued', tries = tries - 1, started = null where id = ? and state = 'running'"
        self._update(again, name)

    def finish(self, name: str, state: str, result: str | None = None, error: str | None = None) -> None:
        """Note that a job is over, if it was not before."""
        over = "state = ?, finished = ?, result = ?, error = ? where id = ? and finished is null"
        self._update(over, state, time.time(), result, error, name)

    def cancel_queued(self, name: str) -> bool:
        """Cancel a job if it waits; returns whether it did."""
        return self._update("state = 'cancelled', finished = ? where id = ? and state = 'queued'", time.time(), name)
