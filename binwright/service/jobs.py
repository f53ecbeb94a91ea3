"""Jobs in SQLite: what is accepted is on disk, and survives the server."""

from __future__ import annotations

import fcntl
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from binwright.service.limits import Limits
from simcore.errors import UserError

TRIES = 3
"""A job that was running whenever the server died so often is not run again."""
PROBE = 2**20
"""Bytes for which there is to be room before there are new jobs again."""
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
create table if not exists room (bytes blob);
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


class Trouble(Exception):
    """The disk does not take a change, or does not give what it has; says why."""


class Jobs:
    """The jobs of one data folder, for one server at a time; any thread may call."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self._limits = limits
        self._lock = Lock()
        self._given = set[str]()
        """Queued jobs that a thread has, by id."""
        self._stored = self.unfinished = 0
        self.trouble = ""
        """Why the disk took no change the last time; empty when it did."""
        file = folder / "jobs.sqlite"
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
                self._begin()
                self.close = opened.pop_all().close
        except BlockingIOError:
            remedy = "Stop it, or give another folder: --data FOLDER."
            raise UserError("another server uses this folder", file=folder, remedy=remedy) from None
        except (OSError, sqlite3.OperationalError, Trouble) as error:
            remedy = "Give a folder that can be written: --data FOLDER."
            raise UserError(f"cannot keep jobs here: {error}", file=folder, remedy=remedy) from None
        except sqlite3.Error as error:
            remedy = "Bring back a copy, or move it away (and what is called so with -wal and -shm): its jobs are lost."
            raise UserError(f"is damaged: {error}", file=file, remedy=remedy) from None

    def _begin(self) -> None:
        """Read what there is; what was running when the last server ended waits again."""
        self._base.execute("pragma journal_mode = wal")
        self._base.execute("pragma synchronous = full")
        (found,) = self._base.execute("pragma quick_check(1)").fetchone()
        if found != "ok":
            raise sqlite3.DatabaseError(" ".join(found.split()))
        self._base.executescript(SCHEMA)
        with self._writing() as base:
            base.execute(
                "update jobs set state = 'failed', finished = ?, error = ? where state = 'running' and tries >= ?",
                (time.time(), LOST, TRIES),
            )
            base.execute("update jobs set state = 'queued', started = null where state = 'running'")
        (self._stored,) = self._base.execute("select coalesce(sum(size), 0) from jobs").fetchone()
        (self.unfinished,) = self._base.execute("select count(*) from jobs where state = 'queued'").fetchone()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """One thread at a time; what the disk has against it is `Trouble`."""
        with self._lock:
            try:
                yield self._base
            except sqlite3.Error as error:
                self.trouble = str(error)
                raise Trouble(self.trouble) from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, all or nothing; on disk when it ends."""
        with self._reading() as base:
            before = self._stored, self.unfinished, base.total_changes
            try:
                base.execute("begin immediate")
                yield base
                base.execute("commit")
            except BaseException:
                base.rollback()
                self._stored, self.unfinished = before[:2]
                raise
            if base.total_changes > before[2]:
                self.trouble = ""

    def try_again(self) -> None:
        """Find out whether the disk takes changes again, `PROBE` bytes at least."""
        for change in (f"insert into room values (zeroblob({PROBE}))", "delete from room"):
            with self._writing() as base:
                base.execute(change)

    def add(self, owner: str, key: str, request: str) -> tuple[Row, bool]:
        """Add a job, or find the owner's earlier one with the same key; returns whether it is new, too.

        One that failed or was cancelled is not an answer.
        """
        with self._writing() as base:
            earlier = base.execute(
                f"select {COLUMNS} from jobs where owner = ? and key = ? and state not in ('failed', 'cancelled')",
                (owner, key),
            ).fetchone()
            if earlier:
                return Row(*earlier), False
            if self.trouble:
                raise Trouble(self.trouble)
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
        """Remove the oldest finished jobs until there is room."""
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
        """Find a job of this owner."""
        with self._reading() as base:
            found = base.execute(f"select {COLUMNS} from jobs where id = ? and owner = ?", (name, owner))
            row = found.fetchone()
        return Row(*row) if row else None

    def counts(self) -> dict[str, int]:
        """Count the jobs that wait, and those that run."""
        with self._reading() as base:
            found = base.execute("select state, count(*) from jobs where state in ('queued', 'running') group by state")
            return {"queued": 0, "running": 0} | dict(found.fetchall())

    def next(self) -> Row | None:
        """Give the first job that is queued, and given to nobody else until `leave`."""
        with self._reading() as base:
            found = base.execute(
                f"select {COLUMNS} from jobs where state = 'queued' order by number limit ?", (len(self._given) + 1,)
            )
            rows = [row for row in map(Row._make, found) if row.id not in self._given]
            self._given.update(row.id for row in rows[:1])
        return rows[0] if rows else None

    def leave(self, name: str) -> None:
        """Take back what `next` gave: if it is still queued, it may be given again."""
        with self._lock:
            self._given.discard(name)

    def begin(self, name: str) -> bool:
        """Make a queued job one that runs; is it one? From now on a crash counts as a try."""
        with self._writing() as base:
            done = base.execute(
                "update jobs set state = 'running', tries = tries + 1, started = ? where id = ? and state = 'queued'",
                (time.time(), name),
            )
        return done.rowcount > 0

    def finish(self, name: str, state: str, result: str | None = None, error: str | None = None) -> None:
        """Note that a job is over."""
        more = len(result or "") + len(error or "")
        with self._writing() as base:
            base.execute(
                "update jobs set state = ?, finished = ?, result = ?, error = ?, size = size + ? where id = ?",
                (state, time.time(), result, error, more, name),
            )
            self.unfinished -= 1
            self._stored += more

    def cancel_queued(self, name: str) -> bool:
        """Cancel a job if it waits; returns whether it did."""
        with self._writing() as base:
            done = base.execute(
                "update jobs set state = 'cancelled', finished = ? where id = ? and state = 'queued'",
                (time.time(), name),
            )
            self.unfinished -= done.rowcount
        return done.rowcount > 0

    def put_back(self, name: str) -> None:
        """Let a job wait for the next server, since this one stops; this try does not count."""
        with self._writing() as base:
            base.execute("update jobs set state = 'queued', tries = tries - 1, started = null where id = ?", (name,))
