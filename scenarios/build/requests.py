"""The requests of a scenario, drawn by seed."""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TypeAlias

from binwright.scenarios.build import lifetime_info, trace, user_workload
from binwright.scenarios.features import used
from binwright.scenarios.schema.scenario import Scenario
from binwright.scenarios.schema.trace import Trace
from binwright.scenarios.schema.workload import Generated, OwnWorkload
from binwright.scenarios.schema.workload_kind import Roled
from binwright.simcore.rng import stream
from binwright.simcore.roles import Roles
from binwright.simcore.workload import Workload
from binwright.workloads.lifetimes import pick

Total: TypeAlias = dict[str, float]
"""Units of every resource that all servers have together."""
_last: dict[tuple[str, object, int], Workload] = {}
"""The last requests, by all that determines them: every agent of a seed meets them."""


class ScenarioRequests:
    """Draws the requests of a scenario, with what features make of them, and what agents may know of them.

    `total()` is what its servers have.
    """

    def __init__(self, scenario: Scenario, total: Callable[[], Total]) -> None:
        self._scenario, self._spec, self._total = scenario, scenario.workload, total

    @cached_property
    def drawn(self) -> bool:
        """Whether the requests depend on the seed."""
        match spec := self._spec:
            case Trace():
                drawn = spec.inflate is not None or spec.moves
            case Generated():
                drawn = spec.drawn
            case OwnWorkload():
                drawn = user_workload.is_drawn(spec)
            case _:
                drawn = True
        later = any(feature.draws(self._scenario) for feature in used(self._scenario))
        return drawn or later or lifetime_info.is_drawn(self._scenario)

    @cached_property
    def _identity(self) -> str:
        return self._scenario.model_dump_json()

    def draw(self, seed: int) -> Workload:
        """Draw the requests of a seed."""
        spec = self._spec
        version = trace.version_of(spec) if isinstance(spec, Trace) else None
        code = user_workload.identity_of(spec) if isinstance(spec, OwnWorkload) else ""
        key = self._identity, version or code, seed
        if (result := _last.get(key)) is None:
            result = lifetime_info.foreseen(self._scenario, self._altered(seed), seed, self._altered)
            _last.clear()
            _last[key] = result
        return result

    def windows(self, seed: int, requests: int | None = None, met: float = 1.0) -> list[tuple[int, int]] | None:
        """Find the windows of a trace that a seed meets, see `trace.windows_of`."""
        if not isinstance(self._spec, Trace):
            return None
        return trace.windows_of(self._spec, self._scenario.resources, seed, requests, met)

    def _altered(self, seed: int) -> Workload:
        """Draw requests, before it is said what agents know of them."""
        spec, result = self._spec, self._raw(seed)
        if isinstance(spec, Roled) and spec.roles:
            uniform = stream(seed, "workload", "roles").random(len(result))
            of = pick(tuple(role.weight for role in spec.roles), uniform)
            result = replace(result, roles=Roles(tuple(role.role for role in spec.roles), of))
        for feature in used(self._scenario):
            result = feature.alter(self._scenario, result, seed)
        return result

    def _raw(self, seed: int) -> Workload:
        """Draw requests as the workload alone has them."""
        spec, resources = self._spec, self._scenario.resources
        if isinstance(spec, OwnWorkload):
            return user_workload.draw(spec, resources, seed)
        if not isinstance(spec, Trace):
            return spec.draw(resources, seed)
        window = trace.window_of(spec, resources, seed)
        return trace.inflated(spec, window, self._total()).draw(seed) if spec.inflate else window


def forget() -> None:
    """Drop the requests that were kept: files and code that they come from may have changed since."""
    _last.clear()
    trace.forget()
    lifetime_info.forget()
