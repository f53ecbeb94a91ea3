"""The requests of a scenario, drawn by seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from agents.world import Requests
from scenarios.build import user_workload
from scenarios.build.lifetime_info import forget_predictors
from scenarios.build.named_objects import built
from scenarios.build.trace import TraceRequests, forget_traces
from scenarios.schema.changes import Changing
from scenarios.schema.kind import Roled
from scenarios.schema.multiserver import MultiServer
from scenarios.schema.offline import Offline
from scenarios.schema.scenario import Scenario
from scenarios.schema.tenants import Tenants
from scenarios.schema.workload import Generated, OwnWorkload, Trace
from simcore.fields import Model
from simcore.rng import stream
from simcore.roles import Role, Roles
from simcore.types import Workload
from workloads.changes import Change, changed
from workloads.generators import Flavour, Synthetic
from workloads.holding import find_holding
from workloads.lifetimes import pick
from workloads.multiserver import MultiServerRequests
from workloads.virtual import TenantRequests

Total: TypeAlias = dict[str, float]
"""Units of every resource that all servers have together."""


def requests_of(scenario: Scenario, total: Callable[[], Total], cache: Path | None) -> Requests:
    """Make what draws a scenario's requests; `total()` is what its servers have, and `cache` keeps converted traces.

    The last requests are kept in memory, since every agent of a seed meets them.
    """
    spec = scenario.workload
    if isinstance(spec, OwnWorkload):
        return _Own(spec, scenario.resources)
    base: Requests = (
        TraceRequests(spec, scenario.resources, cache, total)
        if isinstance(spec, Trace)
        else _Generator(spec, scenario.resources, total)
    )
    if isinstance(spec, Roled) and spec.roles:
        return _Roled(base, tuple((role.role, role.weight) for role in spec.roles))
    changes = spec.changes if isinstance(spec, Changing) else ()
    return _Changed(base, changes) if changes else base


def forget() -> None:
    """Drop the requests that were kept: files and code that they come from may have changed since."""
    forget_traces()
    forget_predictors()
    _drawn.cache_clear()
    _drawn_by_own.cache_clear()


@dataclass(frozen=True, slots=True)
class _Generator:
    """Requests of a kind in `KINDS`."""

    spec: Model
    resources: tuple[str, ...]
    total: Callable[[], Total]

    @property
    def drawn(self) -> bool:
        return _generated(self.spec, {}).drawn if isinstance(self.spec, Generated) else True

    def draw(self, seed: int) -> Workload:
        total = self.total() if isinstance(self.spec, MultiServer) else {}  # it may be in a file
        return _drawn(self.spec, self.resources, tuple(total.items()), seed)

    def windows(self, seed: int, requests: int | None = None, met: float = 1.0) -> None:
        return None


@dataclass(slots=True)
class _Roled:
    """Requests that are given roles, by weight, after they are drawn; the last ones are kept."""

    base: Requests
    roles: tuple[tuple[Role, float], ...]
    _last: tuple[int, Workload, Workload] | None = None

    @property
    def drawn(self) -> bool:
        return self.base.drawn or len(self.roles) > 1

    def draw(self, seed: int) -> Workload:
        base = self.base.draw(seed)
        if self._last is None or self._last[0] != seed or self._last[1] is not base:
            uniform = stream(seed, "workload", "roles").random(len(base))
            of = pick(tuple(weight for _, weight in self.roles), uniform)
            self._last = seed, base, replace(base, roles=Roles(tuple(role for role, _ in self.roles), of))
        return self._last[2]

    def windows(self, seed: int, requests: int | None = None, met: float = 1.0) -> list[tuple[int, int]] | None:
        return self.base.windows(seed, requests, met)


@dataclass(slots=True)
class _Changed:
    """Requests that are changed after they are drawn; the last ones are kept, as those before the change are."""

    base: Requests
    changes: tuple[Change, ...]
    _last: tuple[int, Workload, Workload] | None = None

    @property
    def drawn(self) -> bool:
        return True

    def draw(self, seed: int) -> Workload:
        base = self.base.draw(seed)
        if self._last is None or self._last[0] != seed or self._last[1] is not base:
            self._last = seed, base, changed(base, self.changes, seed)
        return self._last[2]

    def windows(self, seed: int, requests: int | None = None, met: float = 1.0) -> list[tuple[int, int]] | None:
        return self.base.windows(seed, requests, met)


@dataclass(frozen=True, slots=True)
class _Own:
    """Requests of a kind from outside."""

    spec: OwnWorkload
    resources: tuple[str, ...]

    @property
    def drawn(self) -> bool:
        return user_workload.is_drawn(self.spec)

    def draw(self, seed: int) -> Workload:
        return _drawn_by_own(self.spec, self.resources, user_workload.identity_of(self.spec), seed)

    def windows(self, seed: int, requests: int | None = None, met: float = 1.0) -> None:
        return None


@lru_cache(maxsize=1)
def _drawn(spec: Model, resources: tuple[str, ...], total: tuple[tuple[str, float], ...], seed: int) -> Workload:
    found: Workload = KINDS[type(spec)](spec, dict(total)).draw(resources, seed)
    return found


@lru_cache(maxsize=1)
def _drawn_by_own(spec: OwnWorkload, resources: tuple[str, ...], identity: str, seed: int) -> Workload:
    """Draw; `identity` tells apart what compares equal, and what was edited."""
    return user_workload.draw(spec, resources, seed)


def _generated(spec: Generated, total: Total) -> Synthetic:
    flavours = tuple(
        Flavour(kind.demand, kind.weight, built(kind.lifetimes) if kind.lifetimes else None, kind.role)
        for kind in spec.flavours
    )
    lifetimes = built(spec.lifetimes) if spec.lifetimes else None
    return Synthetic(spec.requests, built(spec.arrivals), flavours, lifetimes)


def _multi_server(spec: MultiServer, total: Total) -> MultiServerRequests:
    demand, holding = built(spec.demand), spec.holding
    if holding is None:
        assert spec.load is not None
        holding = find_holding(demand, total, spec.load)
    return MultiServerRequests(spec.requests, demand, holding, spec.bandwidth, spec.step)


def _tenants(spec: Tenants, total: Total) -> TenantRequests:
    return TenantRequests(spec.requests, built(spec.arrivals), built(spec.lifetimes), built(spec.networks))


KINDS: dict[type[Model], Callable[[Any, Total], Any]] = {
    Generated: _generated,
    MultiServer: _multi_server,
    Offline: lambda spec, total: spec,
    Tenants: _tenants,
}
"""For every kind of workload but traces and those from outside what makes an object with
`draw(resources, seed) -> Workload`.
"""
