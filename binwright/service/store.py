"""Jobs in SQLite: what is accepted is on disk, and survives the server."""

from __future__ import annotations

import fcntl
import json
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

from binwright.service.limits import Limits
from binwright.service.models import Job, failure
from binwright.simcore.errors import UserError

TRIES = 3
"""A job that was running whenever the server died so often is not run again."""
FORM = 6
"""Of the table, as the file says it in `user_version`."""
SCHEMA = f"""
create table if not exists jobs (
    number integer primary key, id text not null unique, owner text not null, key text not null, state text not null,
    tries integer not null default 0, submitted text not null, started text, finished text,
    error text, request text not null, result text
);
create index if not exists jobs_key on jobs (owner, key);
create index if not exists jobs_state on jobs (state, number);
pragma user_version = {FORM};
"""


class QueueFull(Exception):
    """No more jobs for now."""


class StorageError(Exception):
    """The disk does not take a change, or does not give what it has; says why."""


class Store:
    """The jobs of one data folder, for one server at a time; any thread may call."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self._limits, self._lock = limits, Lock()
        file = folder / "jobs.sqlite"
        try:
            with ExitStack() as opened:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                fcntl.flock(opened.enter_context((folder / "lock").open("w")), fcntl.LOCK_EX | fcntl.LOCK_NB)
                file.touch(mode=0o600)
                for part in folder.glob(f"{file.name}*"):
                    part.chmod(0o600)
                how: dict[str, Any] = {"check_same_thread": False, "isolation_level": "IMMEDIATE"}
                self._base = opened.enter_context(closing(sqlite3.connect(file, **how)))
                self._base.row_factory = sqlite3.Row
                self._begin(file)
                self.close = opened.pop_all().close
        except BlockingIOError:
            remedy = "Stop it, or give another folder: --data FOLDER."
            raise UserError("another server uses this folder", file=folder, remedy=remedy) from None
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
        with self._base as base:
            over = "update jobs set state = 'failed', finished = ?, error = ? where state = 'running' and tries >= ?"
            base.execute(over, (_now(), lost, TRIES))
            base.execute("update jobs set state = 'queued', started = null where state = 'running'")

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """Within is one transaction of one thread, on disk when it ends; what the disk refuses is a `StorageError`."""
        with self._lock:
            try:
                with self._base as base:
                    yield base
            except sqlite3.Error as error:
                raise StorageError(str(error)) from error

    def add(self, owner: str, key: str, request: str) -> tuple[Job, bool]:
        """Add a job, or find the owner's earlier one with the same key; returns whether it is new, too.

        One that failed or was cancelled is not an answer.
        """
        with self._changing() as base:
            earlier = "owner = ? and key = ? and state not in ('failed', 'cancelled')"
            for job in _jobs(base, earlier, owner, key):
                return job, False
            (unfinished,) = base.execute("select count(*) from jobs where state in ('queued', 'running')").fetchone()
            if unfinished >= self._limits.queue:
                raise QueueFull
            over = "select number from jobs where finished is not null order by number desc limit -1 offset ?"
            base.execute(f"delete from jobs where number in ({over})", (self._limits.keep,))
            into = "insert into jobs (id, owner, key, state, submitted, request) values (?, ?, ?, 'queued', ?, ?)"
            name = secrets.token_hex(16)
            base.execute(into, (name, owner, key, _now(), request))
            return _jobs(base, "id = ?", name)[0], True

    def get(self, owner: str, name: str) -> Job | None:
        """Return the owner's job of this id."""
        with self._changing() as base:
            return next(iter(_jobs(base, "id = ? and owner = ?", name, owner)), None)

    def counts(self) -> dict[str, int]:
        """Count the jobs by state."""
        with self._changing() as base:
            return dict(base.execute("select state, count(*) from jobs group by state").fetchall())

    def probe(self) -> None:
        """Write something: a `StorageError` says why the disk takes no changes."""
        with self._changing() as base:
            base.execute(f"pragma user_version = {FORM}")

    def take(self) -> Job | None:
        """Begin the next job: the oldest of an owner with none running, else the oldest. A crash counts as a try."""
        with self._changing() as base:
            first = "order by owner in (select owner from jobs where state = 'running'), number limit 1"
            for job in _jobs(base, f"state = 'queued' {first}"):
                begun = "update jobs set state = 'running', tries = tries + 1, started = ? where id = ?"
                base.execute(begun, (_now(), job.id))
                return job
        return None

    def _change(self, change: str, *values: Any) -> bool:
        """Change jobs; returns whether there were any to change."""
        with self._changing() as base:
            return base.execute(f"update jobs set {change}", values).rowcount > 0

    def put_back(self) -> None:
        """Let the jobs that run wait again, since the server stops; this try does not count."""
        self._change("state = 'queued', tries = tries - 1, started = null where state = 'running'")

    def finish(self, name: str, state: str = "done", result: object = None, error: object = None) -> None:
        """Note that a job is over, if it was not before."""
        over = "state = ?, finished = ?, result = ?, error = ? where id = ? and finished is null"
        self._change(over, state, _now(), json.dumps(result), json.dumps(error), name)

    def cancel_queued(self, name: str) -> bool:
        """Cancel a job if it waits; returns whether it did."""
        return self._change("state = 'cancelled', finished = ? where id = ? and state = 'queued'", _now(), name)


def _jobs(base: sqlite3.Connection, where: str, *values: Any) -> list[Job]:
    """Read the jobs of which something is true."""
    rows = map(dict, base.execute(f"select * from jobs where {where}", values))
    return [Job(**row | {part: json.loads(row[part] or "null") for part in ("error", "result")}) for row in rows]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
