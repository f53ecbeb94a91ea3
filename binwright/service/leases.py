"""Jobs that other machines do: each has a lease, which lapses when its machine is silent."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from importlib.metadata import version
from typing import Annotated, Any, Literal, NamedTuple

from fastapi import Request
from fastapi.responses import JSONResponse, Response
from pydantic import AfterValidator, BaseModel, Field, model_validator

from binwright.service import models, pool
from binwright.service.bodies import Bodies
from binwright.service.gate import refusal
from binwright.service.jobs import Jobs
from binwright.service.limits import Limits

WAIT = 10.0
"""Seconds that a worker waits for a job, before it asks again."""
TOLD = ("spare", "memory", "balls", "dims", "lease")
"""Limits that hold for whoever does a job."""
OnDisk = Callable[..., Awaitable[Any]]


def _answer(result: dict[str, Any]) -> dict[str, Any]:
    """Refuse what is no result; one stays as it is."""
    models.Result.model_validate(result)
    json.dumps(result, allow_nan=False)
    return result


Lease = Annotated[str, Field(pattern="^[A-Za-z0-9_-]{16,64}$")]
"""A name that a worker makes up for each job that it asks for."""
Worker = Annotated[str, Field(min_length=1, max_length=200)]


class Take(BaseModel):
    """What a worker on another machine asks for a job with."""

    lease: Lease
    worker: Worker
    version: str = Field(max_length=100)


class Beat(BaseModel):
    """A sign that a worker goes on."""

    worker: Worker
    memory: int = Field(ge=0, le=2**60)
    progress: models.Progress | None = None


class End(BaseModel):
    """What a worker says last of a job; `queued` gives it back."""

    state: Literal["done", "refused", "failed", "queued"]
    result: Annotated[dict[str, Any], AfterValidator(_answer)] | None = None
    error: models.Mistake | None = None

    @model_validator(mode="after")
    def _whole(self) -> End:
        """Refuse an end without what it should have."""
        if (self.result is not None) != (self.state == "done") or (
            (self.error is not None) != (self.state in ("refused", "failed"))
        ):
            raise ValueError("a job that is done has a result, one that is refused or failed an error")
        return self


class Seen(NamedTuple):
    """What was last heard of a worker."""

    when: float
    busy: bool
    memory: int


class Leases:
    """The jobs that run on other machines, and what their workers ask for."""

    def __init__(self, jobs: Jobs, limits: Limits, here: pool.Pool, bodies: Bodies, on_disk: OnDisk) -> None:
        self._jobs = jobs
        self._limits = limits
        self._pool = here
        self._bodies = bodies
        self._on_disk = on_disk
        self._held: dict[str, tuple[str, float]] = {}
        """By lease: the job's id, and when the lease lapses."""
        self._seen: dict[str, Seen] = {}
        """By the name of a worker."""
        self._fresh = asyncio.Event()
        self.lapsed = 0
        """Leases that did since the server started."""

    def begin(self) -> None:
        """Go on with the leases that an earlier server gave."""
        due = time.monotonic() + self._limits.lease
        self._held = {lease: (name, due) for lease, name in self._jobs.leased().items()}

    def wake(self) -> None:
        """There may be a job for a worker that waits."""
        self._fresh.set()
        self._fresh = asyncio.Event()

    def workers(self) -> list[Seen]:
        """Give what there is of workers that are not silent."""
        then = time.monotonic() - max(self._limits.lease, 2 * WAIT)
        self._seen = {name: seen for name, seen in self._seen.items() if seen.when > then}
        return list(self._seen.values())

    async def take(self, request: Request) -> Response:
        """Give a worker the job whose turn it is, or nothing after a while."""
        asked = await self._bodies.read(request, Take, lambda asked: asked)
        if isinstance(asked, Response):
            return asked
        ours = version("binwright")
        if asked.version != ours:
            return refusal(409, f"the service is Binwright {ours}, and not {asked.version}", f"Install {ours}.")
        end = time.monotonic() + WAIT
        while not await request.is_disconnected():
            fresh, now = self._fresh, time.monotonic()
            self._seen[asked.worker] = Seen(now, False, 0)
            row = await self._on_disk(self._jobs.take, asked.lease)
            if row is not None:
                self._held[asked.lease] = (row.id, now + self._limits.lease)
                self._seen[asked.worker] = Seen(now, True, 0)
                limits = {name: getattr(self._limits, name) for name in TOLD}
                return JSONResponse({"job": {"request": row.request, "limits": limits}})
            if now >= end:
                break
            with suppress(TimeoutError):
                async with asyncio.timeout(min(1.0, end - now)):
                    await fresh.wait()
        return JSONResponse({"job": None})

    async def beat(self, request: Request, lease: str) -> Response:
        """Hear that a worker goes on, and how far it is; tell it whether it is to end."""
        asked = await self._bodies.read(request, Beat, lambda asked: asked)
        if isinstance(asked, Response):
            return asked
        held = self._held.get(lease)
        if held is None:
            return _lost()
        now = time.monotonic()
        self._held[lease] = (held[0], now + self._limits.lease)
        self._seen[asked.worker] = Seen(now, True, asked.memory)
        if asked.progress is not None:
            self._pool.progress[held[0]] = asked.progress.model_dump()
        return JSONResponse({"cancel": held[0] in self._pool.cancelled})

    async def end(self, request: Request, lease: str) -> Response:
        """Take what a worker says last of its job; it may say so again when it did not hear our answer."""
        asked = await self._bodies.read(request, End, End.model_dump)
        if isinstance(asked, Response):
            return asked
        held = self._held.get(lease)
        if held is None:
            return JSONResponse({}) if await self._on_disk(self._jobs.ended, lease) else _lost()
        name, cancelled = held[0], held[0] in self._pool.cancelled
        if asked["state"] == "queued" and not cancelled:
            await self._on_disk(self._jobs.put_back, name, lease)
        else:
            said = {key: value for key, value in asked.items() if value is not None}
            await self._on_disk(self._finish, name, lease, said)
        self._forget(lease, name)
        if asked["state"] == "queued":
            self._pool.wake()
            self.wake()
        return JSONResponse({})

    def _finish(self, name: str, lease: str, said: dict[str, Any]) -> None:
        self._jobs.finish(name, lease=lease, **pool.ending(said, name in self._pool.cancelled))

    def _forget(self, lease: str, name: str) -> None:
        self._held.pop(lease, None)
        self._pool.progress.pop(name, None)
        self._pool.cancelled.discard(name)

    def lapse(self) -> list[str]:
        """Take jobs from machines that are silent; returns the ids of those that wait again."""
        now = time.monotonic()
        silent = [(lease, name) for lease, (name, due) in self._held.items() if due < now]
        for lease, name in silent:
            if name in self._pool.cancelled:
                self._jobs.finish(name, "cancelled", lease=lease)
            else:
                self._jobs.lapse(lease)
            self._forget(lease, name)
            self._pool.wake()
        self.lapsed += len(silent)
        return [name for _, name in silent]


def _lost() -> Response:
    return refusal(410, "this job is not yours any more", "Ask for another.")
