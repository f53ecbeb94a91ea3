"""Jobs in SQLite: what is accepted is on disk, and survives the server."""

from __future__ import annotations

import fcntl
import secrets
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from shutil import disk_usage
from threading import Lock
from typing import NamedTuple

from binwright.service.limits import Limits
from binwright.service.models import Mistake
from binwright.simcore.errors import UserError

TRIES = 3
"""A job that was running whenever the server died so often is not run again."""
RESERVE = 2**19
"""Bytes of the disk that new jobs leave free, so that those there are can begin and end."""
LOGGED = 64
"""Pages of 4 KiB after which the write-ahead log is moved into the tables: well below `RESERVE`."""
PROBE = 2**17
"""Bytes that are written to find out whether the disk takes changes again."""
LOST = "the server stopped while it ran"
BRIEF = "number, id, owner, state, priority, submitted, started, finished, title, status, error"
COLUMNS = f"{BRIEF}, request, result"

FORM = 3
"""Of the tables of `jobs.sqlite`, as the file says it in `user_version`."""
SCHEMA = f"""
create table if not exists jobs (
    number integer primary key,
    id text not null unique,
    owner text not null,
    key text not null,
    state text not null,
    tries integer not null default 0,
    priority integer not null,
    submitted real not null,
    started real,
    finished real,
    title text not null,
    status text,
    size integer not null,
    error text,
    request text not null,
    result text
);
create table if not exists room (bytes blob);
create index if not exists jobs_key on jobs (owner, key);
create index if not exists jobs_owner on jobs (owner, number);
create index if not exists jobs_state on jobs (state, priority desc, number, owner, id);
pragma user_version = {FORM};
"""


class Row(NamedTuple):
    """A job; `request`, `result` and `error` are JSON."""

    number: int
    id: str
    owner: str
    state: str
    priority: int
    submitted: float
    started: float | None
    finished: float | None
    title: str
    status: str | None
    """Of the result."""
    error: str | None
    request: str = ""
    result: str | None = None


class Foreign(Exception):
    """The tables have another form than ours."""


class Full(Exception):
    """No more jobs for now."""


class Trouble(Exception):
    """The disk does not take a change, or does not give what it has; says why."""


class Jobs:
    """The jobs of one data folder, for one server at a time; any thread may call."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self._limits, self._folder = limits, folder
        self._lock = Lock()
        self._given = set[str]()
        """Queued jobs that a thread has, by id."""
        self._order: list[str] | None = None
        """The ids of the jobs that wait, in turn; None when it may have changed."""
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
        except Foreign:
            remedy = "Serve it with the version that wrote it, or give another folder: --data FOLDER."
            raise UserError("is of another version of Binwright", file=file, remedy=remedy) from None
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
        self._base.execute(f"pragma wal_autocheckpoint = {LOGGED}")
        self._base.execute("pragma journal_size_limit = 0")
        (found,) = self._base.execute("pragma quick_check(1)").fetchone()
        if found != "ok":
            raise sqlite3.DatabaseError(" ".join(found.split()))
        (form,) = self._base.execute("pragma user_version").fetchone()
        (tables,) = self._base.execute("select count(*) from sqlite_master").fetchone()
        if tables and form != FORM:
            raise Foreign
        self._base.executescript(SCHEMA)
        for (name,) in self._base.execute("select id from jobs where state = 'running'").fetchall():
            self.lose(name, LOST)
        (self._stored,) = self._base.execute("select coalesce(sum(size), 0) from jobs").fetchone()
        (self.unfinished,) = self._base.execute("select count(*) from jobs where finished is null").fetchone()

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
            self._order = None
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
        """Find out whether the disk takes changes again, and has room for new jobs."""
        self._shorten_log()
        self._check_room(0)
        for change in (f"insert into room values (zeroblob({PROBE}))", "delete from room"):
            with self._writing() as base:
                base.execute(change)

    def _shorten_log(self) -> None:
        """Move what is in the write-ahead log into the tables, and leave the log empty: it may have all of the room."""
        with self._reading() as base:
            base.execute("pragma wal_checkpoint(truncate)")

    def _check_room(self, size: int) -> None:
        """Leave `RESERVE` bytes of the disk free beside a new job's, which are written to the log and to the tables."""
        if disk_usage(self._folder).free < RESERVE + 2 * size:
            self._shorten_log()
        if (free := disk_usage(self._folder).free) < RESERVE + 2 * size:
            self.trouble = f"only {free / 2**20:.1f} MB are free on it"
            raise Trouble(self.trouble)

    def add(self, owner: str, key: str, request: str, title: str = "", priority: int = 0) -> tuple[Row, bool]:
        """Add a job, or find the owner's earlier one with the same key; returns whether it is new, too.

        One that failed or was cancelled is not an answer. One that waits gets the priority.
        """
        room = ""
        try:
            self._check_room(len(request))
        except Trouble as trouble:
            room = str(trouble)  # an earlier one needs none
        with self._writing() as base:
            found = "from jobs where owner = ? and key = ? and state not in ('failed', 'cancelled')"
            earlier = base.execute(f"select {COLUMNS} {found}", (owner, key)).fetchone()
            if earlier:
                row = Row(*earlier)
                if row.state == "queued" and row.priority != priority:
                    base.execute("update jobs set priority = ? where id = ?", (priority, row.id))
                    row = row._replace(priority=priority)
                return row, False
            if self.trouble or room:
                raise Trouble(self.trouble or room)
            if self.unfinished >= self._limits.queue or not self._room(base, len(request)):
                raise Full
            name = secrets.token_hex(18)  # no "-" in front, which commands take for an option
            base.execute(
                "insert into jobs (id, owner, key, state, priority, submitted, title, request, size) "
                "values (?, ?, ?, 'queued', ?, ?, ?, ?, ?)",
                (name, owner, key, priority, time.time(), title, request, len(request)),
            )
            row = Row(*base.execute(f"select {COLUMNS} from jobs where id = ?", (name,)).fetchone())
            self.unfinished += 1
            self._stored += len(request)
            return row, True

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
        with self._reading() as base:
            found = base.execute(f"select {COLUMNS} from jobs where id = ? and owner = ?", (name, owner))
            row = found.fetchone()
        return Row(*row) if row else None

    def listed(self, owner: str, states: Sequence[str], before: str | None, most: int) -> list[Row]:
        """List this owner's jobs in these states, newest first, without requests and results.

        It begins after the job with the id `before`.
        """
        marks = ", ".join("?" * len(states))
        older = "and number < (select number from jobs where id = ? and owner = ?)" if before else ""
        last = (before, owner) if before else ()
        with self._reading() as base:
            found = base.execute(
                f"select {BRIEF} from jobs where owner = ? and state in ({marks}) {older} order by number desc limit ?",
                (owner, *states, *last, most),
            )
            return [Row(*row) for row in found]

    def counts(self) -> dict[str, int]:
        """Count the jobs that wait, and those that run."""
        with self._reading() as base:
            found = base.execute("select state, count(*) from jobs where state in ('queued', 'running') group by state")
            return {"queued": 0, "running": 0} | dict(found.fetchall())

    def places(self) -> dict[str, int]:
        """Give each job that waits its place in the queue, from 1, by id."""
        with self._reading() as base:
            return {name: place for place, name in enumerate(self._in_turn(base), start=1)}

    def _in_turn(self, base: sqlite3.Connection) -> list[str]:
        """Order the jobs that wait and that no thread has: by priority, then owners with none running, then by age."""
        if self._order is None:
            queued = base.execute(
                "select id from jobs where state = 'queued' "
                "order by priority desc, owner in (select owner from jobs where state = 'running'), number"
            )
            self._order = [name for (name,) in queued if name not in self._given]
        return self._order

    def next(self) -> Row | None:
        """Give the job whose turn it is; it is given to nobody else until `leave`."""
        with self._reading() as base:
            order = self._in_turn(base)
            if not order:
                return None
            row = Row(*base.execute(f"select {COLUMNS} from jobs where id = ?", order[:1]).fetchone())
            self._given.add(row.id)
            self._order = None
        return row

    def leave(self, name: str) -> None:
        """Take back what `next` gave: if it is still queued, it may be given again."""
        with self._lock:
            self._given.discard(name)
            self._order = None

    def begin(self, name: str) -> bool:
        """Make a queued job one that runs; is it one? From now on a crash counts as a try."""
        with self._writing() as base:
            begun = base.execute(
                "update jobs set state = 'running', tries = tries + 1, started = ? where id = ? and state = 'queued'",
                (time.time(), name),
            )
        return begun.rowcount > 0

    def finish(
        self, name: str, state: str, result: str | None = None, error: str | None = None, *, status: str | None = None
    ) -> bool:
        """Note that a job is over; returns whether it was not before."""
        more = len(result or "") + len(error or "")
        with self._writing() as base:
            done = base.execute(
                "update jobs set state = ?, finished = ?, result = ?, error = ?, status = ?, size = size + ? "
                "where id = ? and finished is null",
                (state, time.time(), result, error, status, more, name),
            )
            if done.rowcount:
                self.unfinished -= 1
                self._stored += more
        return done.rowcount > 0

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
        """Let a job that runs wait again, since the server stops; this try does not count."""
        with self._writing() as base:
            again = "update jobs set state = 'queued', tries = tries - 1, started = null"
            base.execute(f"{again} where id = ? and state = 'running'", (name,))

    def lose(self, name: str, why: str) -> None:
        """Let a job that runs wait again whose machine is gone; one that was tried `TRIES` times has failed."""
        with self._writing() as base:
            (tries,) = base.execute("select tries from jobs where id = ?", (name,)).fetchone()
            if tries < TRIES:
                base.execute("update jobs set state = 'queued', started = null where id = ?", (name,))
        if tries >= TRIES:
            self.finish(name, "failed", error=Mistake(message=f"{why} ({TRIES} times)").model_dump_json())
