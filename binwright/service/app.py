"""The routes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
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
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json
from starlette.routing import Match

from agents.solver import examples
from agents.solver.backends.devices import Device
from binwright.service import models, pool
from binwright.service.gate import Gate, Pace, refusal, too_many
from binwright.service.jobs import Full, Jobs, Row, Trouble
from binwright.service.limits import Limits
from binwright.service.offered import CPU, named
from simcore.errors import UserError

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
TICK = 0.1
"""Seconds between two looks at a job that is streamed."""
BEAT = 15.0
"""Seconds of silence in a stream, at most."""
LARGE = 2**15
"""Bytes of a body that is read beside all else: to have a thread do it takes longer than reading a small one."""
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


def body_of(model: type[models.Problem], limits: Limits, *options: str) -> dict[str, Any]:
    """How a body is described: the text of a specification with options in the query, or JSON."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    if "time" in options:
        schema["properties"]["time"] |= {"maximum": limits.time, "default": min(models.TIME, limits.time)}
    content = {
        "text/plain": {"schema": {"type": "string"}, "example": models.EXAMPLE["text"]},
        "application/json": {"schema": schema, "example": models.EXAMPLE},
    }
    query = [{"name": name, "in": "query", "schema": schema["properties"][name]} for name in options]
    return {"requestBody": {"content": content, "required": True}, "parameters": query}


def application(
    folder: Path,
    limits: Limits,
    workers: int,
    tokens: frozenset[bytes],
    hosts: frozenset[str],
    devices: Sequence[Device] = (),
) -> Gate:
    """Put the service together; jobs may ask for `devices`."""
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
        ("/page.js", "page.js", "text/javascript"),
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
        self._submissions = Pace(limits.submissions, limits.burst)
        self._checking = self._streams = 0

    @asynccontextmanager
    async def life(self, app: FastAPI) -> AsyncIterator[None]:
        """Start the processes with the server, and end them with it."""
        pool.prepare()
        checkers = max(1, min(4, self._workers))
        self._disk = ThreadPoolExecutor(1, "disk")
        self._reader = ThreadPoolExecutor(1, "read")
        self._threads = ThreadPoolExecutor(checkers, "check")
        self._checkers = pool.Checkers(self._limits, checkers)
        self._pool = pool.Pool(self._jobs, self._limits, self._workers, self._devices)
        mending = asyncio.create_task(self._mend())
        try:
            yield
        finally:
            mending.cancel()
            await asyncio.to_thread(self._pool.stop)
            self._threads.shutdown(cancel_futures=True)
            self._checkers.stop()
            self._reader.shutdown(cancel_futures=True)
            self._disk.shutdown()
            self._jobs.close()

    async def _on_disk(self, do: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._disk, do, *arguments)

    async def submit(self, request: Request) -> Response:
        """Submit a problem.

        202: accepted; it is on disk, and gets done even if the service stops meanwhile. 200: this is what you
        submitted before, with its answer if there is one.
        """
        asked = await self._read(request, models.Submission, self._limited)
        if isinstance(asked, Response):
            return asked
        if seconds := self._submissions.wait(request.state.client):
            return too_many("too many submissions", seconds)
        try:
            row, new = await self._on_disk(self._jobs.add, request.state.owner, *asked)
        except Full:
            return too_many("the queue is full", 10)
        if new:
            self._pool.wake()
        where = {"location": f"/v1/problems/{row.id}"}
        return JSONResponse(self._job(row), 202 if new else 200, where)

    def _limited(self, asked: models.Submission) -> tuple[str, str] | Response:
        """Return a submission's key and text, within the time and the devices that there are."""
        if "time" not in asked.model_fields_set:
            asked.time = min(asked.time, self._limits.time)
        if asked.time > self._limits.time:
            return refusal(422, f"time is at most {self._limits.time:g} s here", "Ask for less.")
        try:
            asked.device = named(asked.device, self._devices)
        except UserError as error:
            return refusal(422, error.problem, error.remedy)
        return asked.key, asked.canonical

    async def look(self, request: Request, name: str) -> Response:
        """Look at a job: its state, its progress, its result."""
        return JSONResponse(self._job(await self._find(request, name)))

    async def cancel(self, request: Request, name: str) -> Response:
        """Cancel a job; a finished one stays as it is."""
        row = await self._find(request, name)
        if row.state in OPEN and not await self._on_disk(self._jobs.cancel_queued, row.id):
            self._pool.cancelled.add(row.id)
        return JSONResponse(self._job(await self._find(request, name)))

    async def events(self, request: Request, name: str) -> Response:
        """Follow a job: server-sent events `job`, each with the job as JSON; the stream ends with the job."""
        row = await self._find(request, name)
        if self._streams >= self._limits.streams:
            return too_many("too many streams", 5)

        async def stream() -> AsyncIterator[str]:
            self._streams += 1
            try:
                told, silent = None, 0.0
                found: Row | None = row
                while found is not None:
                    job = self._job(found)
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
        asked = await self._read(request, models.Problem, attrgetter("canonical"))
        if isinstance(asked, Response):
            return asked
        if self._checking >= self._limits.checks:
            return too_many("too many checks at once", 1)
        self._checking += 1
        try:
            loop = asyncio.get_running_loop()
            said = await loop.run_in_executor(self._threads, self._checkers.check, asked)
        finally:
            self._checking -= 1
        errors = [said["error"]] if "error" in said else []
        return JSONResponse({"ok": not errors, "errors": errors, "properties": said.get("properties")})

    async def health(self) -> Response:
        """Say whether new jobs are accepted, and how many wait and run."""
        alive = self._pool.alive()
        try:
            counts: dict[str, int | None] = {**await self._on_disk(self._jobs.counts)}
        except Trouble:
            counts = {"queued": None, "running": None}
        trouble = self._jobs.trouble
        accepting = not trouble and alive == self._workers
        said = {"accepting": accepting, "error": trouble or None, "workers": alive, **counts}
        return JSONResponse(said, 200 if accepting else 503)

    async def _mend(self) -> None:
        """Look for room on the disk while there is none."""
        while True:
            await asyncio.sleep(pool.AGAIN)
            if self._jobs.trouble:
                with suppress(Trouble):
                    await self._on_disk(self._jobs.try_again)

    async def devices(self) -> list[dict[str, str]]:
        """Return what a submission may ask for."""
        cards = [{"device": f"opencl:{one.number}", "name": one.name, "kind": one.kind} for one in self._devices]
        return [{"device": CPU, "name": "the processor", "kind": "CPU"}, *cards]

    async def examples(self) -> dict[str, str]:
        """Return the shipped specifications: name and text."""
        return examples()

    async def _read(self, request: Request, model: type[M], take: Callable[[M], T | Response]) -> T | Response:
        """Read a request's body as the model wants it; gives what is taken from that.

        Large ones are read one at a time, beside the event loop: threads that read at once make each other, and
        whoever waits for the loop, wait for seconds, and hold many times their bytes.
        """
        body = await request.body()
        if not body:
            return refusal(422, "the request is empty", "Send a specification.")
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json":
            if request.query_params:
                return refusal(422, "options stand in the JSON", "Leave them out of the address.")
            if len(body) < LARGE:
                return _parsed(model, body, take)
            return await asyncio.get_running_loop().run_in_executor(self._reader, _parsed, model, body, take)
        try:
            return _checked(model, {"text": body.decode(), **_query(request)}, take)
        except UnicodeDecodeError:
            return refusal(422, "the text is not UTF-8", "Send the specification in UTF-8.")

    async def _find(self, request: Request, name: str) -> Row:
        row = await self._on_disk(self._jobs.get, request.state.owner, name)
        if row is None:
            raise HTTPException(404, "no such job")
        return row

    def _job(self, row: Row) -> dict[str, Any]:
        return {
            "id": row.id,
            "state": row.state,
            "submitted": _moment(row.submitted),
            "started": _moment(row.started),
            "finished": _moment(row.finished),
            "progress": self._pool.progress.get(row.id),
            "result": row.result and json.loads(row.result),
            "error": row.error and json.loads(row.error),
        }


def _parsed(model: type[M], body: bytes, take: Callable[[M], T | Response]) -> T | Response:
    try:
        return _checked(model, from_json(body), take)
    except ValueError as error:
        return refusal(422, f"this is not JSON that can be read: {error}", "See /v1/openapi.json.")


def _checked(model: type[M], given: Any, take: Callable[[M], T | Response]) -> T | Response:
    """Check what was given, few names first, since pydantic lists every mistake there is; gives what is taken."""
    if not isinstance(given, dict):
        return refusal(422, "the JSON is not an object", "See /v1/openapi.json.")
    if any(len(one) > models.NAMES for one in (given, *given.values()) if isinstance(one, dict)):
        return refusal(422, f"there are more than {models.NAMES:,} names", "Put numbers into rows of a table.")
    try:
        return take(model.model_validate(given))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part)[:100] for part in first["loc"])
        return refusal(422, f"{where}: {first['msg']}" if where else first["msg"], "See /v1/openapi.json.")


def _query(request: Request) -> dict[str, Any]:
    """Options of a text: numbers stay numbers."""

    def number(text: str) -> int | float | str:
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
        return text

    return {name: number(text) for name, text in request.query_params.items() if name != "text"}


def _moment(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
