"""Requests that a scenario takes from a trace."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from math import ceil
from pathlib import Path
from typing import NamedTuple

import numpy as np

from binwright.scenarios.schema.workload import MultiServer, Trace
from binwright.simcore.file_tracking import digest_of
from binwright.simcore.roles import NO_ROLE, Roles
from binwright.simcore.types import Workload
from binwright.workloads.inflation import Inflated
from binwright.workloads.parts import in_gangs
from binwright.workloads.traces.library import find, read
from binwright.workloads.windows import Columns, Window, select, structured


class _Source(NamedTuple):
    """Names what is read of a trace: `options` as JSON, and the `version` of the file."""

    trace: str
    file: Path
    options: str
    resources: tuple[str, ...]
    version: tuple[int, int]


class TraceRequests:
    """The windows of a trace that the seeds of a scenario meet.

    `total()` is what the servers have of every resource, in units.
    """

    def __init__(self, spec: Trace, resources: tuple[str, ...], total: Callable[[], dict[str, float]]) -> None:
        self.spec = spec
        self._total = total
        self._resources = resources

    @property
    def drawn(self) -> bool:
        """Whether the requests depend on the seed."""
        return self.spec.inflate is not None or self.spec.moves

    def draw(self, seed: int) -> Workload:
        window = self.window_of(seed)
        return inflated(self.spec, window, self._total()).draw(seed) if self.spec.inflate else window

    def window_of(self, seed: int, *, watched: bool = False) -> Workload:
        """Read the requests of a seed's window, before any is repeated; `watched` as `select` has it."""
        spec = self.spec
        units = dict.fromkeys(self._resources, 1.0) if spec.knows_units else spec.units_of(self._resources)
        window = spec.model_copy(update={"running": "drop"}) if spec.inflate else spec
        found = _select(self._source, window, tuple(units.items()), seed, watched)
        if spec.parts:
            found = in_gangs(found, spec.parts, seed)
        if spec.role == NO_ROLE:
            return found
        roles = found.roles or Roles((NO_ROLE,), np.zeros(len(found), np.int64))
        return replace(found, roles=roles.filled(spec.role))

    @property
    def table(self) -> Columns:
        return _table(self._source)

    @property
    def _source(self) -> _Source:
        file = find(self.spec.trace, self.spec.path)
        stat, options = file.stat(), json.dumps(self.spec.options)
        return _Source(self.spec.trace, file, options, self._resources, (stat.st_mtime_ns, stat.st_size))

    def windows(self, seed: int, requests: int | None = None, met: float = 1.0) -> list[tuple[int, int]] | None:
        """Find the first row of each of a seed's windows, and the row after its last one.

        None where all seeds have the same, or each a trace of its own. Of each window only the first share `met`
        counts. Windows that go on to the end of the trace have so many `requests` in all; None where nobody says how
        many.
        """
        if not self.drawn or self.spec.inflate or self.spec.resample:
            return None
        length = self.spec.length(seed)
        if length is None and requests is None:
            return None
        starts = self.spec.firsts(seed, lambda: self.table)
        rows = ((requests or 0) + sum(starts)) // len(starts)
        return [(first, first + ceil((length or rows - first) * met)) for first in starts]


def inflated(spec: Trace, base: Workload, total: dict[str, float]) -> Inflated:
    """Make what draws requests again and again from a window, for servers that have so much in `total`."""
    assert spec.inflate is not None
    return Inflated(base, spec.inflate.of, total[spec.inflate.of], spec.inflate.until, spec.inflate.draws)


def content_of(spec: Trace | MultiServer) -> str | None:
    """Hash what is in a trace's file; runs are named by it. None for a demand that is read from no file."""
    if isinstance(spec, Trace):
        return digest_of(find(spec.trace, spec.path))
    file = getattr(spec.demand.build(), "file", None)
    return None if file is None else digest_of(file())


def forget_traces() -> None:
    """Drop the traces and windows that were kept: files may have changed since."""
    _select.cache_clear()
    _table.cache_clear()


@lru_cache(maxsize=1)
def _select(
    source: _Source, window: Window, scale: tuple[tuple[str, float], ...], seed: int, watched: bool
) -> Workload:
    return select(_table(source), window, source.resources, seed, scale=dict(scale), file=source.file, watched=watched)


@lru_cache(maxsize=2)
def _table(source: _Source) -> Columns:
    """Read a trace; the last ones are kept, since runs of other agents and seeds read them."""
    options = json.loads(source.options)
    return structured(read(source.trace, source.file, options=options, resources=source.resources))
