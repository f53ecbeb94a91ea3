"""Requests that a scenario takes from a trace."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from math import ceil
from pathlib import Path

import numpy as np

from binwright.scenarios.schema.trace import Trace
from binwright.scenarios.schema.workload import MultiServer
from binwright.simcore.extras import pl
from binwright.simcore.file_tracking import digest_of
from binwright.simcore.roles import NO_ROLE, Roles
from binwright.simcore.workload import Workload
from binwright.workloads.inflation import Inflated
from binwright.workloads.parts import in_gangs
from binwright.workloads.traces.library import find, read
from binwright.workloads.windows import select


def table_of(spec: Trace, resources: tuple[str, ...]) -> pl.DataFrame:
    """Read a trace; the last ones are kept, since runs of other agents and seeds read them."""
    return _table(spec.trace, find(spec.trace, spec.path), version_of(spec), json.dumps(spec.options), resources)


@lru_cache(maxsize=2)
def _table(name: str, file: Path, version: tuple[int, int], options: str, resources: tuple[str, ...]) -> pl.DataFrame:
    return read(name, file, options=json.loads(options), resources=resources).rechunk()


forget = _table.cache_clear
"""Drops the traces that were kept."""


def version_of(spec: Trace) -> tuple[int, int]:
    """Tell a trace's file from what it was before an edit."""
    stat = find(spec.trace, spec.path).stat()
    return stat.st_mtime_ns, stat.st_size


def window_of(spec: Trace, resources: tuple[str, ...], seed: int, *, watched: bool = False) -> Workload:
    """Read the requests of a seed's window, before any is repeated; `watched` as `select` has it."""
    units = dict.fromkeys(resources, 1.0) if spec.trace == "table" else spec.units_of(resources)
    window = spec.model_copy(update={"running": "drop"}) if spec.inflate else spec
    table, file = table_of(spec, resources), find(spec.trace, spec.path)
    result = select(table, window, resources, seed, scale=units, file=file, watched=watched)
    if spec.parts:
        result = in_gangs(result, spec.parts, seed)
    if spec.role == NO_ROLE:
        return result
    roles = result.roles or Roles((NO_ROLE,), np.zeros(len(result), np.int64))
    return replace(result, roles=roles.filled(spec.role))


def windows_of(
    spec: Trace, resources: tuple[str, ...], seed: int, requests: int | None = None, met: float = 1.0
) -> list[tuple[int, int]] | None:
    """Find the first row of each of a seed's windows, and the row after its last one.

    None where all seeds have the same, or each a trace of its own. Of each window only the first share `met` counts.
    Windows that go on to the end of the trace have so many `requests` in all; None where nobody says how many.
    """
    length = spec.length(seed)
    if not spec.moves or spec.inflate or spec.resample or (length is None and requests is None):
        return None
    starts = spec.firsts(seed, table_of(spec, resources))
    rows = ((requests or 0) + sum(starts)) // len(starts)
    return [(first, first + ceil((length or rows - first) * met)) for first in starts]


def inflated(spec: Trace, base: Workload, total: dict[str, float]) -> Inflated:
    """Make what draws requests again and again from a window, for servers that have so much in `total`."""
    assert spec.inflate is not None
    return Inflated(base, spec.inflate.of, total[spec.inflate.of], spec.inflate.until)


def content_of(spec: Trace | MultiServer) -> str | None:
    """Hash what is in a trace's file; runs are named by it. None for a demand that is read from no file."""
    if isinstance(spec, Trace):
        return digest_of(find(spec.trace, spec.path))
    file: Callable[[], Path] | None = getattr(spec.demand.build(), "file", None)
    return None if file is None else digest_of(file())
