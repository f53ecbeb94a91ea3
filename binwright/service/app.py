"""The routes: submit, look, follow, cancel, health, and the page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response, StreamingResponse
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route

from binwright.agents.solver import examples
from binwright.service.access import HEADERS, refusal, refused
from binwright.service.limits import Limits
from binwright.service.models import OURS, Health, Job, Refusal, Submission
from binwright.service.runner import Runner
from binwright.service.store import QueueFull, StorageError, Store

TICK = 0.1
"""Seconds between two looks at a job that is followed."""
OPEN = ("queued", "running")
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Refusal, "description": "Refused: the message says why."}
    for status in (400, 401, 403, 404, 413, 421, 422, 429, 507)
}
BODY = {"requestBody": {"required": True, "content": {"application/json": {"schema": Submission.model_json_schema()}}}}
FILES = {"/": "text/html", "/page.css": "text/css", "/page.js": "text/javascript"}


def application(folder: Path, limits: Limits, workers: int, tokens: frozenset[bytes], hosts: frozenset[str]) -> FastAPI:
    """Put the service together: `workers` jobs at a time."""
    store = Store(folder, limits)
    runner = Runner(store, limits, workers)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        runner.start()
        yield
        await run_in_threadpool(runner.stop)
        store.close()

    app = FastAPI(
        title="Binwright",
        version=version("binwright"),
        summary="Allocation problems as balls, bins and resources: submit a specification, get an allocation.",
        lifespan=life,
        docs_url=None,  # they load scripts from elsewhere
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        responses=REFUSALS,
    )

    @app.middleware("http")
    async def guard(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
        response = refused(request, tokens, hosts) or await answer(request)
        response.headers.update(HEADERS)
        return response

    async def sent(request: Request) -> bytes:
        """Read a body, as far as it may go."""
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > limits.body:
                raise HTTPException(413, f"the request is too large: there can be {limits.body:,} bytes")
        return bytes(body)

    def accept(owner: str, body: bytes) -> tuple[Job, bool]:
        """Store a submission; the first thing that is wrong is said, and the input stays out of it."""
        try:
            submission = Submission.model_validate_json(body)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            where = ".".join(str(part)[:100] for part in first["loc"])
            raise HTTPException(422, f"{where}: {first['msg']}" if where else first["msg"]) from None
        if "time" not in submission.model_fields_set:
            submission.time = min(submission.time, limits.time)
        if submission.time > limits.time:
            raise HTTPException(422, f"time is at most {limits.time:g} s here")
        return store.add(owner, submission.key, submission.model_dump_json())

    def look(request: Request, name: str) -> Job:
        """Look at a job: its state, its progress, its result."""
        if (job := store.get(request.state.owner, name)) is None:
            raise HTTPException(404, "no such job")
        job.progress = runner.progress.get(name)
        return job

    app.get("/v1/problems/{name}")(look)

    @app.post("/v1/problems", status_code=202, responses={200: {"model": Job}}, openapi_extra=BODY)
    async def submit(request: Request, response: Response) -> Job:
        """Submit a problem.

        202: accepted; it is on disk, and gets done even if the service stops meanwhile. 200: this is what you
        submitted before, with its answer if there is one.
        """
        job, new = await run_in_threadpool(accept, request.state.owner, await sent(request))
        runner.work.set()
        response.status_code = 202 if new else 200
        response.headers["location"] = f"/v1/problems/{job.id}"
        job.progress = runner.progress.get(job.id)
        return job

    @app.delete("/v1/problems/{name}")
    def cancel(request: Request, name: str) -> Job:
        """Cancel a job: the best so far becomes its result; a finished one stays as it is."""
        if look(request, name).state in OPEN and not store.cancel_queued(name):
            runner.cancelled.add(name)
        return look(request, name)

    @app.get("/v1/problems/{name}/events", response_class=StreamingResponse)
    async def events(request: Request, name: str) -> Response:
        """Follow a job: server-sent events `job`, each with the job as JSON; the stream ends with the job."""
        first = await run_in_threadpool(look, request, name)

        async def stream() -> AsyncIterator[str]:
            last, job = "", first
            while True:
                if (now := job.model_dump_json()) != last:
                    last = now
                    yield f"event: job\ndata: {now}\n\n"
                if job.state not in OPEN:
                    return
                await asyncio.sleep(TICK)
                with suppress(StorageError):  # it is as it was
                    job = await run_in_threadpool(look, request, name)

        return StreamingResponse(stream(), media_type="text/event-stream")

    @app.get("/v1/health", responses={503: {"model": Health}})
    def health(response: Response) -> Health:
        """Say whether new jobs are accepted, and how many wait and run."""
        state = Health(workers=runner.alive())
        try:
            counts = store.counts()
            state.queued, state.running = counts.get("queued", 0), counts.get("running", 0)
            store.probe()
        except StorageError as error:
            state.error = str(error)
        state.accepting = state.workers == workers and not state.error
        response.status_code = 200 if state.accepting else 503
        return state

    @app.get("/v1/examples")
    def shipped() -> dict[str, str]:
        """Return the shipped specifications: name and text."""
        return examples()

    for path, media in FILES.items():
        text = files("binwright.service").joinpath(path[1:] or "page.html").read_text(encoding="utf-8")
        page = Response(text, media_type=media)
        app.router.routes.append(Route(path, page, methods=["GET"], include_in_schema=False))
    for kind in (HTTPException, QueueFull, StorageError, Exception):
        app.add_exception_handler(kind, _failed)
    return app


async def _failed(request: Request, error: Any) -> Response:
    """Say what is wrong."""
    if isinstance(error, HTTPException):
        headers = dict(error.headers or {})
        if error.status_code == 405:  # the framework names the methods of one of the routes of a path
            routes = [route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE]
            headers["allow"] = ", ".join(sorted({method for route in routes for method in route.methods}))
        return refusal(error.status_code, str(error.detail), "See /v1/openapi.json.", headers)
    if isinstance(error, QueueFull):
        return refusal(429, "the queue is full", "Try again in 10 s.", {"retry-after": "10"})
    if isinstance(error, StorageError):
        remedy = "Try again later; what was accepted is kept. Who runs the service makes room on its disk."
        return refusal(507, f"the disk takes no changes now: {error}", remedy, {"retry-after": "5"})
    return refusal(500, "the service failed", OURS)
