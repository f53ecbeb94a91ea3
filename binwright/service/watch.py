"""What a monitoring system asks for: whether the service lives and is ready, and its metrics."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from importlib.metadata import version
from typing import Any

from fastapi.responses import JSONResponse, PlainTextResponse, Response
from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from binwright.service.jobs import Jobs, Trouble
from binwright.service.pool import Pool

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Numbers(Collector):
    """The numbers of a moment, but for the histograms, which the jobs keep."""

    def __init__(self, found: list[Metric]) -> None:
        self._found = found

    def collect(self) -> Iterator[Metric]:
        """Give them."""
        yield from self._found


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
        refused = {"malformed": 0, "pace": 0, "queue": 0, "disk": 0} | self._refused
        found = [
            _gauge("info", "The version, as a label.", {version("binwright"): 1}, "version"),
            _gauge("start_time_seconds", "When the service started, since 1970.", self._started),
            _gauge("ready", "1 if new jobs are accepted.", self._accepting()),
            _gauge("jobs", "Jobs that wait and run.", counts, "state"),
            _counter("jobs_finished", "Jobs that ended, by how.", jobs.over, "state"),
            _counter("submissions_refused", "Submissions that were not accepted, by reason.", refused, "reason"),
            _counter("http_answers", "Answers to requests, by status.", self.answered, "status"),
            _gauge("workers", "Jobs that can run at a time.", self._pool.alive()),
            _gauge("workers_busy", "Jobs whose process has begun.", len(busy)),
            _gauge("workers_memory_bytes", "What processes of running jobs have.", memory),
            _gauge("store_bytes", "Problems and answers that are kept.", jobs.stored()),
        ]
        registry = CollectorRegistry()
        for collector in (Numbers(found), jobs.waiting, jobs.running):
            registry.register(collector)
        return Response(generate_latest(registry), media_type=CONTENT_TYPE)


def _probe(well: bool) -> Response:
    return PlainTextResponse("ok\n" if well else "not ok\n", 200 if well else 503)


def _gauge(name: str, what: str, value: float | Mapping[str, float], label: str = "") -> Metric:
    """Make a gauge of one value, or of one for each value of a label."""
    if not isinstance(value, Mapping):
        return GaugeMetricFamily(f"binwright_{name}", what, value)
    return _labelled(GaugeMetricFamily(f"binwright_{name}", what, labels=[label]), value)


def _counter(name: str, what: str, counts: Mapping[Any, float], label: str) -> Metric:
    return _labelled(CounterMetricFamily(f"binwright_{name}", what, labels=[label]), counts)


def _labelled(family: Any, counts: Mapping[Any, float]) -> Metric:
    for name, count in counts.items():
        family.add_metric([str(name)], count)
    found: Metric = family
    return found
