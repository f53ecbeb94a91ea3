"""Fills the cluster of a run before its agent takes over."""

from collections.abc import Callable

from binwright.fabric.run.simulation import Simulation
from binwright.simcore.errors import RunError
from binwright.simcore.rules import Overflow
from binwright.simcore.types import Agent


def fill(simulation: Simulation, resource: str, until: float, agent: Agent, play: Callable[..., int]) -> None:
    """Have an agent place requests, skipping misfits, until this share of a resource is allocated.

    `play` is `fabric.run.play.play`, or what does the same in machine code.
    """
    overflow, simulation.overflow = simulation.overflow, Overflow("drop")
    allocated = _Allocated(simulation, resource, until)
    play(simulation, agent, allocated)
    allocated.check()
    simulation.overflow = overflow


class _Allocated:
    """The `watch` of `play` that ends a warm start once enough is allocated."""

    def __init__(self, simulation: Simulation, resource: str, until: float) -> None:
        view, workload = simulation.view, simulation.workload
        self._simulation, self._view, self._name, self._until = simulation, view, resource, until
        self._resource = view.resources.index(resource)
        demand, gangs = workload.demand[:, self._resource], workload.gangs
        demand = demand if gangs is None else demand * gangs.parts
        self._largest, self._requests = int(demand.max()), len(demand)
        self._share, self._reached = 0.0, False

    def __call__(self) -> int:
        if (early := self._simulation.before(self._simulation.workload.running)) > 0:
            return early  # what runs already is there before anything begins
        r = self._resource
        used, installed = int(self._simulation.ledger.used()[r]), int(self._view.capacity[:, :, r].sum())
        self._share = used / installed
        missing = self._until * installed - used
        self._reached = missing <= 0
        # No fewer requests than that can make up what is missing: no need to look before.
        return 0 if self._reached else max(1, int(missing // max(1, self._largest)))

    def check(self) -> None:
        """Refuse to go on from a warm start that ended before it was warm."""
        if not self._reached:
            raise RunError(
                f"the warm start never reached {self._until:.0%} of {self._name}: all {self._requests} requests were "
                f"offered, and {self._share:.1%} is allocated. Give it more requests, fewer servers, or a lower `until`"
            )
