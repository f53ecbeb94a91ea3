"""The requests of a scenario, drawn by seed."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TypeAlias

from binwright.agents.world import Requests
from binwright.scenarios.build import user_workload
from binwright.scenarios.build.lifetime_info import forget_predictors
from binwright.scenarios.build.trace import TraceRequests, forget_traces
from binwright.scenarios.build.user_workload import identity_of, is_drawn
from binwright.scenarios.features.altered import Altered, forget_altered
from binwright.scenarios.schema.scenario import Scenario
from binwright.scenarios.schema.workload import (
    Changing,
    Generated,
    Modelled,
    MultiServer,
    Offline,
    OwnWorkload,
    Roled,
    Tenants,
    Trace,
)
from binwright.simcore.fields import Model
from binwright.simcore.rng import stream
from binwright.simcore.roles import Role, Roles
from binwright.simcore.types import Workload
from binwright.workloads.changes import changed
from binwright.workloads.demands import find_holding
from binwright.workloads.generators import Flavour, MultiServerRequests, Synthetic, TenantRequests
from binwright.workloads.lifetimes import pick
from binwright.workloads.parts import in_gangs

Total: TypeAlias = dict[str, float]
"""Units of every resource that all servers have together."""


def requests_of(scenario: Scenario, total: Callable[[], Total]) -> Requests:
    """Make what draws a scenario's requests, to which features add; `total()` is what its servers have.

    The last requests are kept, since every agent of a seed meets them.
    """
    spec, resources = scenario.workload, scenario.resources
    if isinstance(spec, OwnWorkload):
        return _Drawn(lambda seed: _drawn_by_own(spec, resources, identity_of(spec), seed), is_drawn(spec))
    if isinstance(spec, Trace):
        base: Requests = TraceRequests(spec, resources, total)
    else:

        def draw(seed: int) -> Workload:
            there = total() if isinstance(spec, MultiServer | Modelled) else {}  # it may be in a file
            return _drawn(spec, resources, tuple(there.items()), seed)

        base = _Drawn(draw, not isinstance(spec, Generated) or synthetic(spec).drawn)
    if isinstance(spec, Roled) and spec.roles:
        weighted = tuple((role.role, role.weight) for role in spec.roles)
        drawn = base.drawn or len(weighted) > 1
        return Altered(base, "roles", repr(weighted), partial(_with_roles, weighted), drawn)
    if isinstance(spec, Changing) and spec.changes:
        changes = spec.changes
        return Altered(base, "changes", repr(changes), lambda base, seed: changed(base, changes, seed), True)
    return base


def forget() -> None:
    """Drop the requests that were kept: files and code that they come from may have changed since."""
    forget_traces()
    forget_predictors()
    forget_altered()
    _drawn.cache_clear()
    _drawn_by_own.cache_clear()


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Requests that are not in a trace; `by_seed` draws them, and they may depend on the seed or not."""

    by_seed: Callable[[int], Workload]
    drawn: bool

    def draw(self, seed: int) -> Workload:
        return self.by_seed(seed)

    def windows(self, seed: int, requests: int | None = None, met: float = 1.0) -> None:
        return None


def _with_roles(weighted: tuple[tuple[Role, float], ...], base: Workload, seed: int) -> Workload:
    """Give requests roles by weight."""
    uniform = stream(seed, "workload", "roles").random(len(base))
    of = pick(tuple(weight for _, weight in weighted), uniform)
    return replace(base, roles=Roles(tuple(role for role, _ in weighted), of))


@lru_cache(maxsize=1)
def _drawn(spec: Model, resources: tuple[str, ...], total: tuple[tuple[str, float], ...], seed: int) -> Workload:
    """Draw, for servers that have so much in `total`."""
    match spec:
        case Modelled():
            jobs = spec.lublin.draw(spec.requests, resources, dict(total), seed)
            return in_gangs(jobs, spec.parts, seed) if spec.parts else jobs
        case MultiServer():
            demand = spec.demand.build()
            holding = spec.holding or find_holding(demand, dict(total), spec.load or 0.0)
            return MultiServerRequests(spec.requests, demand, holding, spec.bandwidth, spec.step).draw(resources, seed)
        case Tenants():
            arrivals, lifetimes, networks = spec.arrivals.build(), spec.lifetimes.build(), spec.networks.build()
            return TenantRequests(spec.requests, arrivals, lifetimes, networks).draw(resources, seed)
        case Generated():
            return synthetic(spec).draw(resources, seed)
    assert isinstance(spec, Offline)
    return spec.draw(resources, seed)


@lru_cache(maxsize=1)
def _drawn_by_own(spec: OwnWorkload, resources: tuple[str, ...], identity: str, seed: int) -> Workload:
    """Draw; `identity` tells apart what compares equal, and what was edited."""
    return user_workload.draw(spec, resources, seed)


def synthetic(spec: Generated) -> Synthetic:
    """Make what draws requests of flavours."""
    flavours = tuple(
        Flavour(kind.demand, kind.weight, kind.lifetimes.build() if kind.lifetimes else None, kind.role, kind.parts)
        for kind in spec.flavours
    )
    lifetimes = spec.lifetimes.build() if spec.lifetimes else None
    return Synthetic(spec.requests, spec.arrivals.build(), flavours, lifetimes)
