"""The requests of a scenario, drawn by seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from agents.world import Requests
from scenarios.build.trace import TraceRequests, forget_traces
from scenarios.schema.fields import Model
from scenarios.schema.multiserver import MultiServer
from scenarios.schema.offline import Offline
from scenarios.schema.options import check_options
from scenarios.schema.registered import Registered
from scenarios.schema.scenario import Scenario
from scenarios.schema.tenants import Tenants
from scenarios.schema.workload import Generated, OwnWorkload, Trace
from simcore.errors import WorkloadError
from simcore.vocabulary import Workload
from workloads.generators import Flavour, Synthetic
from workloads.multiserver import MultiServerRequests
from workloads.offline import OfflineRequests
from workloads.virtual import TenantRequests

Total: TypeAlias = dict[str, float]
"""Units of every resource that all servers have together."""


def requests_of(scenario: Scenario, total: Callable[[], Total], cache: Path | None) -> Requests:
    """Make what draws a scenario's requests; `total()` is what its servers have, and `cache` keeps converted traces.

    The last requests are kept in memory, since every agent of a seed meets them.
    """
    spec = scenario.workload
    if isinstance(spec, Trace):
        return TraceRequests(spec, scenario.resources, cache)
    return _Generator(spec, scenario.resources, total)


def forget() -> None:
    """Drop the requests that were kept: files and code that they come from may have changed since."""
    forget_traces()
    _drawn.cache_clear()


@dataclass(frozen=True, slots=True)
class _Generator:
    """Requests of a kind in `KINDS`."""

    spec: Model
    resources: tuple[str, ...]
    total: Callable[[], Total]

    @property
    def drawn(self) -> bool:
        return bool(getattr(KINDS[type(self.spec)](self.spec, self._needed()), "drawn", True))

    def draw(self, seed: int) -> Workload:
        return _drawn(self.spec, self.resources, tuple(self._needed().items()), seed)

    def windows(self, seed: int, drawn: int | None = None, met: float = 1.0) -> None:
        return None

    def _needed(self) -> Total:
        """Tell what the servers have where requests depend on it: it may be in a file."""
        return self.total() if isinstance(self.spec, MultiServer) else {}


@lru_cache(maxsize=1)
def _drawn(spec: Model, resources: tuple[str, ...], total: tuple[tuple[str, float], ...], seed: int) -> Workload:
    found: Workload = KINDS[type(spec)](spec, dict(total)).draw(resources, seed)
    return _checked(found, resources) if isinstance(spec, OwnWorkload) else found


def _generated(spec: Generated, total: Total) -> Synthetic:
    flavours = tuple(
        Flavour(kind.demand, kind.weight, built(kind.lifetimes) if kind.lifetimes else None) for kind in spec.flavours
    )
    lifetimes = built(spec.lifetimes) if spec.lifetimes else None
    return Synthetic(spec.requests, built(spec.arrivals), flavours, lifetimes)


def _multi_server(spec: MultiServer, total: Total) -> MultiServerRequests:
    asked = MultiServerRequests(spec.requests, built(spec.demand), spec.holding, spec.load, spec.bandwidth, spec.step)
    return asked.settled(total)


def _tenants(spec: Tenants, total: Total) -> TenantRequests:
    form, options = spec.networks.chosen
    if isinstance(options, Model):
        given = {key: value for key, value in options if value is not None}
        networks = spec.networks.registry.load(form)(**{**given, "machines": given["machines"].sizes})
    else:
        networks = built(spec.networks)
    return TenantRequests(spec.requests, built(spec.arrivals), built(spec.lifetimes), networks)


KINDS: dict[type[Model], Callable[[Any, Total], Any]] = {
    Generated: _generated,
    MultiServer: _multi_server,
    Offline: lambda spec, total: OfflineRequests(spec.offline, spec.requests),
    Tenants: _tenants,
    OwnWorkload: lambda spec, total: built(spec),
}
"""For every kind of workload but traces what makes an object with `draw(resources, seed) -> Workload`, and with
`drawn`, which tells whether the requests depend on the seed (they do where it has none).
"""


def built(spec: Registered) -> Any:
    """Make the object behind `{name: options}`."""
    name, options = spec.chosen
    kind = spec.registry.load(name)
    if isinstance(options, Model):
        return kind(**{key: value for key, value in options if value is not None})
    return kind(**check_options(kind, options)) if isinstance(options, dict) else kind(options)


def _checked(workload: object, resources: tuple[str, ...]) -> Workload:
    """Refuse what a user's own kind of workload drew and no run can meet."""
    remedy = "`draw(resources, seed)` returns a binwright.Workload: see docs/guides/traces.md."
    if not isinstance(workload, Workload):
        problem = f"draw returned {type(workload).__name__}, not a Workload"
        raise WorkloadError(problem, key="workload", remedy=remedy)
    arrival, duration, demand = workload.arrival, workload.duration, workload.demand
    n = len(arrival)
    for problem, wrong in (
        (f"its resources are {workload.resources}, not {resources}", workload.resources != resources),
        ("it has no requests", not n),
        ("its columns have different lengths", not n == len(duration) == len(demand) == len(workload.id)),
        ("demand is not an array of int64 [requests, resources]", demand.dtype != np.int64 or demand.ndim != 2),
        ("a demand is below zero", bool((demand < 0).any())),
        ("an arrival is not a time from 0 on", not (np.isfinite(arrival) & (arrival >= 0)).all()),
        ("arrivals do not ascend", bool((np.diff(arrival) < 0).any())),
        ("a duration is not a time from 0 on", not (duration >= 0).all()),
    ):
        if wrong:
            raise WorkloadError(f"what draw returned cannot be met: {problem}", key="workload", remedy=remedy)
    return workload
