"""The routes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from importlib.resources import files
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Match

from binwright.agents.solver import examples
from binwright.agents.solver.backends.opencl_devices import Device
from binwright.service import models, pool
from binwright.service.access_control import Gate, Tokens, refusal, too_many
from binwright.service.jobs import Full, Jobs, Row, Trouble
from binwright.service.limits import Limits
from binwright.service.offered_devices import CPU, named
from binwright.service.request_bodies import LISTING, LONGEST, PAGE, Bodies, body_of
from binwright.simcore.errors import UserError

T = TypeVar("T")
TICK = 0.1
"""Seconds between two looks at a job that is streamed."""
BEAT = 15.0
"""Seconds of silence in a stream, at most."""
OPEN = ("queued", "running")
REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": models.Refusal, "description": "The request ended early."},
    401: {"model": models.Refusal, "description": "The service wants a token, and this is none."},
    403: {"model": models.Refusal, "description": "Another site's page asked."},
    408: {"model": models.Refusal, "description": "The request took too long to arrive."},
    421: {"model": models.Refusal, "description": "Asked by a name that is not the service's."},
    429: {"model": models.Refusal, "description": "Too many: `Retry-After` says when to come again."},
}
NO_ROOM: dict[int | str, dict[str, Any]] = {
    507: {
        "model": models.Refusal,
        "description": "The disk is full, or broken: `Retry-After` says when to come again.",
    },
}
UNKNOWN: dict[int | str, dict[str, Any]] = {404: {"model": models.Refusal, "description": "No such job of yours."}}
UNFIT: dict[int | str, dict[str, Any]] = {
    413: {"model": models.Refusal, "description": "The request is too large."},
    422: {"model": models.Refusal, "description": "The request is not as described."},
}


def application(
    folder: Path,
    limits: Limits,
    workers: int,
    tokens: Tokens,
    hosts: frozenset[str],
    devices: Sequence[Device] = (),
) -> Gate:
    """Put the service together: `workers` jobs at a time, which may ask for `devices`."""
    service = Service(folder, limits, workers, devices)
    app = FastAPI(
        title="Binwright",
        version=version("binwright"),
        summary="Allocation problems as balls, bins and resources: submit a specification, get an allocation.",
        lifespan=service.life,
        docs_url=None,  # they load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        openapi_url="/v1/openapi.json",
        responses=REFUSALS | NO_ROOM,
    )
    job: dict[str, Any] = {"model": models.Job}
    done: dict[int | str, dict[str, Any]] = {200: job}
    submit = body_of(models.Submission, limits, "search", "device", "seed", "time", "attempts")
    app.post(
        "/v1/problems", status_code=202, responses=done | {202: job} | UNFIT, openapi_extra=submit,
        response_model=None,
    )(service.submit)  # fmt: skip
    listed: dict[int | str, dict[str, Any]] = {200: {"model": models.Jobs}}
    app.get("/v1/jobs", responses=listed | UNFIT, openapi_extra=LISTING, response_model=None)(service.jobs)
    app.get("/v1/problems/{name}", responses=done | UNKNOWN, response_model=None)(service.look)
    app.delete("/v1/problems/{name}", responses=done | UNKNOWN, response_model=None)(service.cancel)
    stream: dict[int | str, dict[str, Any]] = {200: {"content": {"text/event-stream": {}}}}
    stream |= UNKNOWN
    app.get("/v1/problems/{name}/events", responses=stream, response_model=None, response_class=StreamingResponse)(
        service.events
    )
    check = {200: {"model": models.Checked}} | UNFIT
    app.post("/v1/check", responses=check, openapi_extra=body_of(models.Problem, limits), response_model=None)(
        service.check
    )
    ill: dict[int | str, dict[str, Any]] = {200: {"model": models.Health}, 503: {"model": models.Health}}
    app.get("/v1/health", responses=ill, response_model=None)(service.health)
    app.get("/v1/devices", response_model=None, responses={200: {"model": list[models.Device]}})(service.devices)
    app.get("/v1/examples", response_model=None, responses={200: {"model": dict[str, str]}})(service.examples)
    for path, file, kind in (
        ("/", "page.html", "text/html"),
        ("/page.css", "page.css", "text/css"),
        ("/data.js", "data.js", "text/javascript"),
        ("/page.js", "page.js", "text/javascript"),
        ("/jobs.js", "jobs.js", "text/javascript"),
        ("/answer.js", "answer.js", "text/javascript"),
    ):
        text = files("binwright.service").joinpath(file).read_text(encoding="utf-8")
        app.get(path, include_in_schema=False)(partial(_file, text, kind))
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(Trouble, _no_room)
    app.add_exception_handler(404, _refused)
    app.add_exception_handler(405, _refused)
    app.add_exception_handler(Exception, _broken)
    return Gate(app, limits, tokens, hosts)


async def _file(text: str, kind: str) -> Response:
    return Response(text, media_type=kind)


async def _refused(request: Request, error: Any) -> Response:
    headers = dict(error.headers or {})
    if error.status_code == 405:
        fitting = [route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE]
        headers["allow"] = ", ".join(sorted({method for route in fitting for method in route.methods}))
    return refusal(error.status_code, str(error.detail).lower(), headers=headers)


async def _no_room(request: Request, error: Exception) -> Response:
    remedy = "Try again later; what was accepted is kept. Who runs the service makes room on its disk."
    return refusal(507, f"the disk takes no changes now: {error}", remedy, {"retry-after": "5"})


async def _broken(request: Request, error: Exception) -> Response:
    return refusal(500, "the service failed", "This is our mistake; the server's log has the details.")


class Service:
    """The jobs, the processes that do them, and what clients may ask of them."""

    def __init__(self, folder: Path, limits: Limits, workers: int, devices: Sequence[Device]) -> None:
        self._limits = limits
        self._devices = devices
        self._workers = workers
        self._jobs = Jobs(folder, limits)
        self._checking = self._streams = 0
        self._bodies = Bodies()
        self._pool = pool.Pool(self._jobs, limits, workers, devices)

    @asynccontextmanager
    async def life(self, app: FastAPI) -> AsyncIterator[None]:
        """Start the processes with the server, and end them with it."""
        pool.prepare()
        checkers = max(1, min(4, self._workers))
        self._disk = ThreadPoolExecutor(1, "disk")
        self._threads = ThreadPoolExecutor(checkers, "check")
        self._checkers = pool.Checkers(self._limits, checkers, self._limits.check)
        self._pool.start()
        mending = asyncio.create_task(self._mend())
        try:
            yield
        finally:
            mending.cancel()
            await asyncio.to_thread(self._pool.stop)
            self._threads.shutdown(cancel_futures=True)
            self._checkers.stop()
            self._bodies.stop()
            self._disk.shutdown()
            self._jobs.close()

    async def _on_disk(self, do: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._disk, do, *arguments)

    async def submit(self, request: Request) -> Response:
        """Submit a problem.

        202: accepted; it is on disk, and gets done even if the service stops meanwhile. 200: this is what you
        submitted before, with its answer if there is one.
        """
        asked = await self._bodies.read(request, models.Submission, self._limited)
        if isinstance(asked, Response):
            return asked
        try:
            row, new = await self._on_disk(self._jobs.add, request.state.owner, *asked)
        except Full:
            return too_many("the queue is full", 10)
        if new:
            self._pool.wake()
        where = {"location": f"/v1/problems/{row.id}"}
        return JSONResponse(await self._job(row), 202 if new else 200, where)

    def _limited(self, asked: models.Submission) -> tuple[str, str, str, int] | Response:
        """Return what `Jobs.add` wants to know of a submission, within what there is of time, priority and devices."""
        most = self._limits.priority
        priority = min(0, most) if asked.priority is None else asked.priority
        if priority > most:
            return refusal(422, f"priority is at most {most} here", "Ask for less, or who runs the service for more.")
        if "time" not in asked.model_fields_set:
            asked.time = min(asked.time, self._limits.time)
        if asked.time > self._limits.time:
            return refusal(422, f"time is at most {self._limits.time:g} s here", "Ask for less.")
        try:
            asked.device = named(asked.device, self._devices)
        except UserError as error:
            return refusal(422, error.problem, error.remedy)
        return asked.key, asked.canonical, asked.title, priority

    async def jobs(self, request: Request) -> Response:
        """List your jobs, newest first: of the states that you name, or all; in pages."""
        asked = request.query_params
        states = [part for one in asked.getlist("state") for part in one.split(",")]
        if wrong := [one for one in states if one not in models.STATES]:
            return refusal(422, f"{wrong[0][:100]!r} is no state", f"States are {', '.join(models.STATES)}.")
        limit = asked.get("limit", str(PAGE))
        if not (limit.isascii() and limit.isdecimal() and 1 <= int(limit[:9]) <= LONGEST):
            return refusal(422, "limit is not a number of jobs", f"Ask for 1 to {LONGEST}.")
        most, before = int(limit), asked.get("before")
        rows = await self._on_disk(self._jobs.listed, request.state.owner, states or models.STATES, before, most + 1)
        places = await self._places(rows)
        more = rows[most - 1].id if len(rows) > most else None
        return JSONResponse({"jobs": [_listed(row, places) for row in rows[:most]], "next": more})

    async def _places(self, rows: Iterable[Row]) -> dict[str, int]:
        """Give the places in the queue, if a job waits."""
        return await self._on_disk(self._jobs.places) if any(row.state == "queued" for row in rows) else {}

    async def look(self, request: Request, name: str) -> Response:
        """Look at a job: its state, its progress, its result."""
        return JSONResponse(await self._job(await self._find(request, name)))

    async def cancel(self, request: Request, name: str) -> Response:
        """Cancel a job; a finished one stays as it is."""
        row = await self._find(request, name)
        if row.state in OPEN and not await self._on_disk(self._jobs.cancel_queued, row.id):
            self._pool.cancelled.add(row.id)
        return JSONResponse(await self._job(await self._find(request, name)))

    async def events(self, request: Request, name: str) -> Response:
        """Follow a job: server-sent events `job`, each with the job as JSON; the stream ends with the job."""
        row = await self._find(request, name)
        if self._streams >= self._limits.streams:
            return too_many("too many streams", 5)

        async def stream() -> AsyncIterator[str]:
            self._streams += 1
            try:
                told, silent = None, 0.0
                job: dict[str, Any] | None = None
                found: Row | None = row
                while found is not None:
                    with suppress(Trouble):  # it is as it was
                        job = await self._job(found)
                    if job != told:
                        told, silent = job, 0.0
                        yield f"event: job\ndata: {json.dumps(job)}\n\n"
                    elif silent >= BEAT:
                        silent = 0.0
                        yield ": still here\n\n"
                    if found.state not in OPEN:
                        return
                    await asyncio.sleep(TICK)
                    silent += TICK
                    with suppress(Trouble):  # it is as it was
                        found = await self._on_disk(self._jobs.get, request.state.owner, name)
            finally:
                self._streams -= 1

        return StreamingResponse(stream(), media_type="text/event-stream")

    async def check(self, request: Request) -> Response:
        """Compile a specification: its errors, or what is known of it."""
        asked = await self._bodies.read(request, models.Problem, attrgetter("canonical"))
        if isinstance(asked, Response):
            return asked
        if self._checking >= self._limits.checks:
            return too_many("too many checks at once", 1)
        self._checking += 1
        try:
            loop = asyncio.get_running_loop()
            said = await loop.run_in_executor(self._threads, self._checked, asked)
        finally:
            self._checking -= 1
        errors = [said["error"]] if "error" in said else []
        return JSONResponse({"ok": not errors, "errors": errors, "properties": said.get("properties")})

    def _checked(self, asked: str) -> dict[str, Any]:
        try:
            return self._checkers.ask("check", asked) or {}
        except (OSError, EOFError):
            return models.failed("the service has no process for this now", "Try again.")

    async def health(self) -> Response:
        """Say whether new jobs are accepted, and how many wait and run."""
        try:
            counts: dict[str, int | None] = {**await self._on_disk(self._jobs.counts)}
        except Trouble:
            counts = {"queued": None, "running": None}
        workers, error = self._pool.alive(), self._jobs.trouble or None
        accepting = workers == self._workers and not error
        health = {"accepting": accepting, "error": error, "workers": workers, **counts}
        return JSONResponse(health, 200 if accepting else 503)

    async def _mend(self) -> None:
        """Look for room on the disk while there is none."""
        while True:
            await asyncio.sleep(pool.AGAIN)
            with suppress(Trouble):
                if self._jobs.trouble:
                    await self._on_disk(self._jobs.try_again)

    async def devices(self) -> list[dict[str, str]]:
        """Return what a submission may ask for."""
        cards = [{"device": f"opencl:{one.number}", "name": one.name, "kind": one.kind} for one in self._devices]
        return [{"device": CPU, "name": "the processor", "kind": "CPU"}, *cards]

    async def examples(self) -> dict[str, str]:
        """Return the shipped specifications: name and text."""
        return examples()

    async def _find(self, request: Request, name: str) -> Row:
        row = await self._on_disk(self._jobs.get, request.state.owner, name)
        if row is None:
            raise HTTPException(404, "no such job")
        return row

    async def _job(self, row: Row) -> dict[str, Any]:
        job = _listed(row, await self._places([row]))
        del job["status"]
        return job | {"progress": self._pool.progress.get(row.id), "result": row.result and json.loads(row.result)}


def _listed(row: Row, places: dict[str, int]) -> dict[str, Any]:
    return {
        "id": row.id,
        "state": row.state,
        "priority": row.priority,
        "place": places.get(row.id),
        "title": row.title,
        "submitted": _moment(row.submitted),
        "started": _moment(row.started),
        "finished": _moment(row.finished),
        "status": row.status,
        "error": row.error and json.loads(row.error),
    }


def _moment(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
