"""What a monitoring system asks for: whether the service lives and is ready, and its metrics."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import version
from typing import Any

from fastapi.responses import JSONResponse, PlainTextResponse, Response

from binwright.service.jobs import Jobs, Trouble
from binwright.service.metrics import CONTENT_TYPE, Labels, Metric, page
from binwright.service.pool import Pool

Samples = list[tuple[Labels, float]]


class Watch:
    """Answers about the service as a whole, not about anybody's jobs."""

    def __init__(self, jobs: Jobs, pool: Pool, refused: Counter[str], on_disk: Callable[..., Awaitable[Any]]) -> None:
        self._jobs = jobs
        self._pool = pool
        self._refused = refused
        self._on_disk = on_disk
        self._started = time.time()
        self.answered = Counter[int]()
        """Answers, by status."""

    def _alive(self) -> bool:
        return self._pool.alive() == self._pool.size

    def _accepting(self) -> bool:
        return self._alive() and not self._jobs.trouble

    async def live(self) -> Response:
        """Say whether the service works; if not, only a restart helps."""
        return _probe(self._alive())

    async def ready(self) -> Response:
        """Say whether new jobs are accepted."""
        return _probe(self._accepting())

    async def health(self) -> Response:
        """Say whether new jobs are accepted, and how many wait and run."""
        try:
            counts: dict[str, int | None] = {**await self._on_disk(self._jobs.counts)}
        except Trouble:
            counts = {"queued": None, "running": None}
        accepting = self._accepting()
        said = {"accepting": accepting, "error": self._jobs.trouble or None, "workers": self._pool.alive(), **counts}
        return JSONResponse(said, 200 if accepting else 503)

    async def metrics(self) -> Response:
        """Give the numbers, as Prometheus reads them."""
        try:
            counts = await self._on_disk(self._jobs.counts)
        except Trouble:
            counts = {}
        busy, jobs = list(self._pool.workers.values()), self._jobs
        memory = sum(worker.memory() for worker in busy)
        metrics = [
            Metric("info", "gauge", "The version, as a label.", [({"version": version("binwright")}, 1)]),
            Metric("start_time_seconds", "gauge", "When the service started, since 1970.", [({}, self._started)]),
            Metric("ready", "gauge", "1 if new jobs are accepted.", [({}, self._accepting())]),
            Metric("jobs", "gauge", "Jobs that wait and run.", _by("state", counts)),
            Metric("jobs_finished_total", "counter", "Jobs that ended, by how.", _by("state", jobs.over)),
            Metric("job_waiting_seconds", "histogram", "From submission to beginning.", jobs.waiting),
            Metric("job_running_seconds", "histogram", "From beginning to end.", jobs.running),
            Metric(
                "submissions_refused_total",
                "counter",
                "Submissions that were not accepted, by reason.",
                _by("reason", {"malformed": 0, "pace": 0, "queue": 0, "disk": 0} | self._refused),
            ),
            Metric("http_answers_total", "counter", "Answers to requests, by status.", _by("status", self.answered)),
            Metric("workers", "gauge", "Jobs that can run at a time.", [({}, self._pool.alive())]),
            Metric("workers_busy", "gauge", "Jobs whose process has begun.", [({}, len(busy))]),
            Metric("workers_memory_bytes", "gauge", "What processes of running jobs have.", [({}, memory)]),
            Metric("store_bytes", "gauge", "Problems and answers that are kept.", [({}, jobs.stored())]),
        ]
        return Response(page(metrics), media_type=CONTENT_TYPE)


def _probe(well: bool) -> Response:
    return PlainTextResponse("ok\n" if well else "not ok\n", 200 if well else 503)


def _by(label: str, counts: Mapping[Any, float]) -> Samples:
    return [({label: str(name)}, count) for name, count in counts.items()]
