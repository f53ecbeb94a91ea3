"""The routes: submit, look, follow, cancel, health, and the page."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route

from binwright.agents.solver import examples
from binwright.service.access import AccessMiddleware, refusal
from binwright.service.limits import Limits
from binwright.service.models import Health, Job, Refusal, Submission
from binwright.service.runner import Runner, prepare
from binwright.service.store import QueueFull, Row, StorageError, Store
from binwright.simcore.errors import UserError

TICK = 0.1
"""Seconds between two looks at a job that is followed."""
OPEN = ("queued", "running")
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Refusal, "description": "Refused: the message says why."}
    for status in (400, 401, 403, 404, 413, 421, 422, 429, 507)
}
FILES = {"/": "text/html", "/page.css": "text/css", "/page.js": "text/javascript"}
SEE = "See /v1/openapi.json."


def application(folder: Path, limits: Limits, workers: int, tokens: frozenset[bytes], hosts: frozenset[str]) -> FastAPI:
    """Put the service together: `workers` jobs at a time."""
    store = Store(folder, limits)
    runner = Runner(store, limits, workers)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        prepare()
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
    app.add_middleware(AccessMiddleware, tokens=tokens, hosts=hosts, body=limits.body)

    def job_of(row: Row) -> dict[str, Any]:
        return row.shown() | {"progress": runner.progress.get(row.id)}

    def find(request: Request, name: str) -> Row:
        if row := store.get(request.state.owner, name):
            return row
        raise HTTPException(404, "no such job")

    @app.post("/v1/problems", status_code=202, response_model=Job, responses={200: {"model": Job}})
    def submit(submission: Submission, request: Request) -> Response:
        """Submit a problem.

        202: accepted; it is on disk, and gets done even if the service stops meanwhile. 200: this is what you
        submitted before, with its answer if there is one.
        """
        if "time" not in submission.model_fields_set:
            submission.time = min(submission.time, limits.time)
        if submission.time > limits.time:
            raise HTTPException(422, f"time is at most {limits.time:g} s here")
        row, new = store.add(request.state.owner, submission.key, submission.canonical())
        runner.work.set()
        return JSONResponse(job_of(row), 202 if new else 200, {"location": f"/v1/problems/{row.id}"})

    @app.get("/v1/problems/{name}", response_model=Job)
    def look(request: Request, name: str) -> Response:
        """Look at a job: its state, its progress, its result."""
        return JSONResponse(job_of(find(request, name)))

    @app.delete("/v1/problems/{name}", response_model=Job)
    def cancel(request: Request, name: str) -> Response:
        """Cancel a job: the best so far becomes its result; a finished one stays as it is."""
        row = find(request, name)
        if row.state in OPEN and not store.cancel_queued(row.id):
            runner.cancelled.add(row.id)
        return JSONResponse(job_of(find(request, name)))

    @app.get("/v1/problems/{name}/events", response_class=StreamingResponse)
    async def events(request: Request, name: str) -> Response:
        """Follow a job: server-sent events `job`, each with the job as JSON; the stream ends with the job."""
        first = await run_in_threadpool(find, request, name)

        async def stream() -> AsyncIterator[str]:
            last, row = "", first
            while True:
                if (now := json.dumps(job_of(row))) != last:
                    last = now
                    yield f"event: job\ndata: {now}\n\n"
                if row.state not in OPEN:
                    return
                await asyncio.sleep(TICK)
                with suppress(StorageError):  # it is as it was
                    row = await run_in_threadpool(find, request, name)

        return StreamingResponse(stream(), media_type="text/event-stream")

    @app.get("/v1/health", response_model=Health, responses={503: {"model": Health}})
    def health() -> Response:
        """Say whether new jobs are accepted, and how many wait and run."""
        state: dict[str, Any] = {"workers": runner.alive(), "error": None, "queued": None, "running": None}
        try:
            state |= store.counts()
            store.probe()
        except StorageError as error:
            state["error"] = str(error)
        state["accepting"] = runner.alive() == workers and not state["error"]
        return JSONResponse(state, 200 if state["accepting"] else 503)

    @app.get("/v1/examples")
    def shipped() -> dict[str, str]:
        """Return the shipped specifications: name and text."""
        return examples()

    for path, media in FILES.items():
        text = files("binwright.service").joinpath(path[1:] or "page.html").read_text(encoding="utf-8")
        page = Response(text, media_type=media)
        app.router.routes.append(Route(path, page, methods=["GET"], include_in_schema=False))
    for kind in (HTTPException, RequestValidationError, UserError, QueueFull, StorageError, Exception):
        app.add_exception_handler(kind, _failed)
    return app


async def _failed(request: Request, error: Any) -> Response:
    """Say what is wrong; of what is not as described the first thing, and the input stays out of it."""
    if isinstance(error, HTTPException):
        headers = dict(error.headers or {})
        if error.status_code == 405:  # the framework names the methods of one of the routes of a path
            routes = [route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE]
            headers["allow"] = ", ".join(sorted({method for route in routes for method in route.methods}))
        return refusal(error.status_code, str(error.detail), SEE, headers)
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        where = "" if first["type"] == "json_invalid" else ".".join(str(part)[:100] for part in first["loc"][1:])
        return refusal(422, f"{where}: {first['msg']}" if where else first["msg"], SEE)
    if isinstance(error, UserError):
        return refusal(422, error.problem, error.remedy)
    if isinstance(error, QueueFull):
        return refusal(429, "the queue is full", "Try again in 10 s.", {"retry-after": "10"})
    if isinstance(error, StorageError):
        remedy = "Try again later; what was accepted is kept. Who runs the service makes room on its disk."
        return refusal(507, f"the disk takes no changes now: {error}", remedy, {"retry-after": "5"})
    return refusal(500, "the service failed", "This is our mistake; the server's log has the details.")
