"""The routes: submit, look, follow, cancel, health, and the page."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse, JSONResponse, Response, StreamingResponse
from fastapi.staticfiles import StaticFiles
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from binwright.agents.solver import examples
from binwright.service.access import HEADERS, refused
from binwright.service.limits import Limits
from binwright.service.models import Job, Submission
from binwright.service.runner import Runner
from binwright.service.store import StorageError, Store

REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"description": "Refused: `detail` says why."} for status in (400, 401, 403, 404, 413, 421, 422, 429, 507)
}
BODY = {"requestBody": {"required": True, "content": {"application/json": {"schema": Submission.model_json_schema()}}}}


def application(folder: Path, limits: Limits, workers: int, tokens: frozenset[str], hosts: frozenset[str]) -> FastAPI:
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

    @app.exception_handler(Exception)
    def broken(request: Request, error: Exception) -> Response:
        return JSONResponse({"detail": "the service failed; its log has the details"}, 500, HEADERS)

    def accept(owner: str, body: bytes) -> tuple[Job, bool]:
        """Store a submission; the first thing that is wrong is said, and the input stays out of it."""
        try:
            submission = Submission.model_validate_json(body)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            where = ".".join(map(str, first["loc"]))[:100]
            raise HTTPException(422, f"{where or 'the request'}: {first['msg']}") from None
        submission.time = min(submission.time, limits.time)
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
        length = -1 if "transfer-encoding" in request.headers else int(request.headers.get("content-length", -1))
        if not 0 <= length <= limits.body:
            raise HTTPException(413, f"a request has its length at its head, and at most {limits.body:,} bytes")
        job, new = await run_in_threadpool(accept, request.state.owner, await request.body())
        runner.work.set()
        response.status_code = 202 if new else 200
        response.headers["location"] = f"/v1/problems/{job.id}"
        return job

    @app.delete("/v1/problems/{name}")
    def cancel(request: Request, name: str) -> Job:
        """Cancel a job: the best so far becomes its result; a finished one stays as it is."""
        if (state := look(request, name).state) in ("queued", "running"):
            runner.cancelled.add(name)  # also if a worker takes it just now
        if state == "queued":
            store.finish(name, "cancelled")
        return look(request, name)

    @app.get("/v1/problems/{name}/events", response_class=StreamingResponse)
    async def events(request: Request, name: str) -> Response:
        """Follow a job: server-sent events `job`, each with the job as JSON; the stream ends with the job."""

        async def stream(job: Job) -> AsyncIterator[str]:
            last = ""
            while True:
                if (now := job.model_dump_json()) != last:
                    last = now
                    yield f"event: job\ndata: {now}\n\n"
                if job.state not in ("queued", "running"):
                    return
                await asyncio.sleep(0.1)
                with suppress(StorageError):  # it is as it was
                    job = await run_in_threadpool(look, request, name)

        return StreamingResponse(stream(await run_in_threadpool(look, request, name)), media_type="text/event-stream")

    @app.get("/v1/health")
    def health() -> dict[str, int]:
        """Count the jobs by state; 507 while the disk takes no new ones: those it took are done when it can."""
        return store.counts()

    app.get("/v1/examples")(examples)
    page = Path(__file__).with_name("page")
    app.get("/", include_in_schema=False, response_class=FileResponse)(lambda: page / "index.html")
    app.mount("/page", StaticFiles(directory=page))
    return app
