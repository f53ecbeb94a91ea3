"""Jobs in SQLite: what is accepted is on disk, and survives the server."""

import json
import secrets
import sqlite3
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

from starlette.exceptions import HTTPException

from binwright.service.limits import Limits
from binwright.service.models import Job, failure
from binwright.simcore.errors import UserError

TRIES = 3
"""A job that was running whenever the server died so often is not run again."""
SCHEMA = """
create table if not exists jobs (
    number integer primary key, id text not null unique, owner text not null, key text not null, state text not null,
    tries integer not null default 0, submitted text not null, started text, finished text,
    error text, request text not null, result text
);
create unique index if not exists jobs_same on jobs (owner, key) where state not in ('failed', 'cancelled');
create index if not exists jobs_state on jobs (state, number);
"""


class StorageError(HTTPException):
    """The disk does not take a change, or does not give what it has; says why."""


class Store:
    """The jobs of one data folder, for one server at a time; any thread may call."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self._limits, self._lock = limits, Lock()
        file = folder / "jobs.sqlite"
        try:
            with ExitStack() as opened:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                file.touch(mode=0o600)
                for part in folder.glob(f"{file.name}*"):
                    part.chmod(0o600)
                base = sqlite3.connect(file, timeout=0, check_same_thread=False, isolation_level=None)
                self._base = opened.enter_context(closing(base))
                self._base.row_factory = sqlite3.Row
                self._begin()
                self.close = opened.pop_all().close
        except (OSError, sqlite3.OperationalError) as error:
            locked = "is locked" in str(error)
            problem = "another server uses this folder" if locked else f"cannot keep jobs here: {error}"
            remedy = "Give another folder, which can be written: --data FOLDER."
            raise UserError(problem, file=folder, remedy=remedy) from None
        except sqlite3.Error as error:
            remedy = "Bring back a copy, or move it away (and what is called so with -wal): its jobs are lost."
            raise UserError(f"is damaged: {error}", file=file, remedy=remedy) from None

    def _begin(self) -> None:
        """Read the table; what was running when the last server ended waits again, or has failed."""
        for pragma in ("locking_mode = exclusive", "journal_mode = wal", "synchronous = full"):
            self._base.execute(f"pragma {pragma}")
        (check,) = self._base.execute("pragma quick_check(1)").fetchone()
        if check != "ok":
            raise sqlite3.DatabaseError(" ".join(check.split()))
        self._base.executescript(SCHEMA)
        lost = json.dumps(failure(f"the server stopped while it ran ({TRIES} times)")["error"])
        over = "update jobs set state = 'failed', finished = ?, error = ? where state = 'running' and tries >= ?"
        self._base.execute(over, (_now(), lost, TRIES))
        self._base.execute("update jobs set state = 'queued', started = null where state = 'running'")

    def _rows(self, statement: str, *values: Any) -> list[sqlite3.Row]:
        """Run a statement, whose changes are on disk then, and return its rows; `StorageError` if the disk refuses."""
        try:
            with self._lock:
                return self._base.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise StorageError(507, f"the disk takes no changes now: {error}", {"retry-after": "5"}) from error

    def _jobs(self, statement: str, *values: Any) -> list[Job]:
        """Run a statement, and read the jobs that it returns."""
        rows = map(dict, self._rows(statement, *values))
        return [Job(**row | {part: json.loads(row[part] or "null") for part in ("error", "result")}) for row in rows]

    def add(self, owner: str, key: str, request: str) -> tuple[Job, bool]:
        """Add a job, or find the owner's earlier one with the same key; returns whether it is new, too.

        One that failed or was cancelled is not an answer.
        """
        over = "select number from jobs where finished is not null order by number desc limit -1 offset ?"
        self._rows(f"delete from jobs where number in ({over})", self._limits.keep)
        new = self._jobs(
            "insert into jobs (id, owner, key, state, submitted, request) select ?, ?, ?, 'queued', ?, ? "
            "where (select count(*) from jobs where finished is null) < ? on conflict do nothing returning *",
            *(secrets.token_hex(16), owner, key, _now(), request, self._limits.queue),
        )
        same = "select * from jobs where owner = ? and key = ? and state not in ('failed', 'cancelled')"
        if not (jobs := new or self._jobs(same, owner, key)):
            raise HTTPException(429, "the queue is full", {"retry-after": "10"})
        return jobs[0], bool(new)

    def get(self, owner: str, name: str) -> Job | None:
        """Return the owner's job of this id."""
        return next(iter(self._jobs("select * from jobs where id = ? and owner = ?", name, owner)), None)

    def counts(self) -> dict[str, int]:
        """Count the jobs by state, after writing something: a `StorageError` says why the disk takes no changes."""
        self._rows("pragma user_version = 1")
        return dict(map(tuple, self._rows("select state, count(*) from jobs group by state")))

    def take(self) -> Job | None:
        """Begin the next job: the oldest of an owner with none running, else the oldest. A crash counts as a try."""
        begun = "update jobs set state = 'running', tries = tries + 1, started = ?"
        first = "order by owner in (select owner from jobs where state = 'running'), number limit 1"
        chosen = f"where number = (select number from jobs where state = 'queued' {first})"
        return next(iter(self._jobs(f"{begun} {chosen} returning *", _now())), None)

    def put_back(self) -> None:
        """Let the jobs that run wait again, since the server stops; this try does not count."""
        self._rows("update jobs set state = 'queued', tries = tries - 1, started = null where state = 'running'")

    def finish(self, name: str, state: str = "done", result: object = None, error: object = None) -> None:
        """Note that a job is over, if it was not before."""
        over = "state = ?, finished = ?, result = ?, error = ? where id = ? and finished is null"
        self._rows(f"update jobs set {over}", state, _now(), json.dumps(result), json.dumps(error), name)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
