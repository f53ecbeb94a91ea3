"""Jobs in SQLite: what is accepted is on disk, and survives the server."""

from __future__ import annotations

import fcntl
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from binwright.service.limits import Limits
from simcore.errors import UserError

TRIES = 3
"""A job that was running whenever the server died so often is not run again."""
SCHEMA = """
create table if not exists jobs (
    number integer primary key,
    id text not null unique,
    owner text not null,
    key text not null,
    state text not null,
    tries integer not null default 0,
    submitted real not null,
    started real,
    finished real,
    request text not null,
    result text,
    error text,
    size integer not null
);
create index if not exists jobs_key on jobs (owner, key);
create index if not exists jobs_state on jobs (state, number);
"""
LOST = '{"message": "the server stopped every time it ran", "remedy": "", "line": null, "column": null}'
COLUMNS = "number, id, state, submitted, started, finished, request, result, error"


class Row(NamedTuple):
    """A job; `request`, `result` and `error` are JSON."""

    number: int
    id: str
    state: str
    submitted: float
    started: float | None
    finished: float | None
    request: str
    result: str | None
    error: str | None


class Full(Exception):
    """No more jobs for now."""


class Jobs:
    """The jobs of one data folder, for one server at a time; any thread may call."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self._limits = limits
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._locked = (folder / "lock").open("w")
            fcntl.flock(self._locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._base = sqlite3.connect(folder / "jobs.sqlite", check_same_thread=False, isolation_level=None)
            self._base.execute("pragma journal_mode = wal")
            self._base.execute("pragma synchronous = full")
            self._base.executescript(SCHEMA)
        except BlockingIOError:
            remedy = "Stop it, or give another folder: --data FOLDER."
            raise UserError("another server uses this folder", file=folder, remedy=remedy) from None
        except (OSError, sqlite3.Error) as error:
            remedy = "Give a folder that can be written: --data FOLDER."
            raise UserError(f"cannot keep jobs here: {error}", file=folder, remedy=remedy) from None
        self._lock = Lock()
        with self._writing() as base:
            base.execute(
                "update jobs set state = 'failed', finished = ?, error = ? where state = 'running' and tries >= ?",
                (time.time(), LOST, TRIES),
            )
            base.execute("update jobs set state = 'queued', started = null where state = 'running'")
        (self._stored,) = self._base.execute("select coalesce(sum(size), 0) from jobs").fetchone()
        (self.unfinished,) = self._base.execute("select count(*) from jobs where state = 'queued'").fetchone()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, all or nothing; on disk when it ends."""
        with self._lock:
            self._base.execute("begin immediate")
            try:
                yield self._base
            except BaseException:
                self._base.execute("rollback")
                raise
            self._base.execute("commit")

    def add(self, owner: str, key: str, request: str) -> tuple[Row, bool]:
        """A new job, or the owner's earlier one with the same key; is it new?

        One that failed or was cancelled is no answer.
        """
        with self._writing() as base:
            earlier = base.execute(
                f"select {COLUMNS} from jobs where owner = ? and key = ? and state not in ('failed', 'cancelled')",
                (owner, key),
            ).fetchone()
            if earlier:
                return Row(*earlier), False
            if self.unfinished >= self._limits.queue or not self._room(base, len(request)):
                raise Full
            name = secrets.token_urlsafe(18)
            base.execute(
                "insert into jobs (id, owner, key, state, submitted, request, size) "
                "values (?, ?, ?, 'queued', ?, ?, ?)",
                (name, owner, key, time.time(), request, len(request)),
            )
            row = base.execute(f"select {COLUMNS} from jobs where id = ?", (name,)).fetchone()
            self.unfinished += 1
            self._stored += len(request)
            return Row(*row), True

    def _room(self, base: sqlite3.Connection, size: int) -> bool:
        """The oldest finished jobs go until there is room."""
        while self._stored + size > self._limits.store:
            oldest = base.execute(
                "select number, size from jobs where finished is not null order by number limit 1"
            ).fetchone()
            if oldest is None:
                return False
            base.execute("delete from jobs where number = ?", oldest[:1])
            self._stored -= oldest[1]
        return True

    def get(self, owner: str, name: str) -> Row | None:
        """The owner's job."""
        with self._lock:
            found = self._base.execute(f"select {COLUMNS} from jobs where id = ? and owner = ?", (name, owner))
            row = found.fetchone()
        return Row(*row) if row else None

    def ahead(self, row: Row) -> int:
        """How many are queued before this one."""
        with self._lock:
            found = self._base.execute("select count(*) from jobs where state = 'queued' and number < ?", (row.number,))
            count: int = found.fetchone()[0]
        return count

    def start_next(self) -> Row | None:
        """The first that is queued, running from now on."""
        with self._writing() as base:
            row = base.execute(f"select {COLUMNS} from jobs where state = 'queued' order by number limit 1").fetchone()
            if row:
                base.execute(
                    "update jobs set state = 'running', tries = tries + 1, started = ? where number = ?",
                    (time.time(), row[0]),
                )
        return Row(*row) if row else None

    def finish(self, name: str, state: str, result: str | None = None, error: str | None = None) -> None:
        """The job is over."""
        more = len(result or "") + len(error or "")
        with self._writing() as base:
            base.execute(
                "update jobs set state = ?, finished = ?, result = ?, error = ?, size = size + ? where id = ?",
                (state, time.time(), result, error, more, name),
            )
            self.unfinished -= 1
            self._stored += more

    def cancel_queued(self, name: str) -> bool:
        """Cancel it if it waits; does it?"""
        with self._writing() as base:
            done = base.execute(
                "update jobs set state = 'cancelled', finished = ? where id = ? and state = 'queued'",
                (time.time(), name),
            )
            self.unfinished -= done.rowcount
        return done.rowcount > 0

    def put_back(self, name: str) -> None:
        """The server stops: the job waits for the next one, and this try does not count."""
        with self._writing() as base:
            base.execute("update jobs set state = 'queued', tries = tries - 1, started = null where id = ?", (name,))

    def close(self) -> None:
        """Let another server have the folder."""
        self._base.close()
        self._locked.close()
