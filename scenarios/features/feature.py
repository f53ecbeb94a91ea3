"""What a feature of scenarios may take part in. A method that a feature does not override does nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from binwright.agents.world import Luck
from binwright.analysis.measure.finished_run import FinishedRun
from binwright.fabric.ledger import MakeBook
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.server_labels import ServerLabels, Texts
from binwright.simcore.extras import pl
from binwright.simcore.faults import Faults
from binwright.simcore.fields import Keys, Model
from binwright.simcore.types import Agent, Ints
from binwright.simcore.workload import Workload

Named: TypeAlias = tuple[Keys, str, str]
"""The keys, the label (or `group`, `models`) and the value where a scenario chooses requests by one."""


CORE = {"cluster.network": "a network", "overflow.wait": "requests that are offered together"}
"""What features may exclude that is none itself, and what it is called."""


class WithFeatures(Model):
    """A model to which features add fields, of whatever types these have."""

    if TYPE_CHECKING:

        def __getattr__(self, key: str) -> Any: ...


@dataclass(frozen=True, slots=True)
class Servers:
    """Holds what servers have, by their numbers; those that are added later are like number `labels.like`.

    `capacity` int64 [servers, nodes, resources] quanta, before it is overcommitted; `devices` int64 [servers] is how
    many, `model` str [servers] what they are, empty where there are none. `kind` str [servers] is what `costs` goes by.
    `order` int64 [servers] has the place of each as they are written.
    """

    capacity: Ints
    devices: Ints
    model: Texts
    kind: Texts
    labels: ServerLabels
    order: Ints

    def take(self, order: Ints) -> Servers:
        """Return the servers in another order, int64 [servers]."""
        known, like = self.labels, int(np.flatnonzero(order == self.labels.like)[0])
        columns: dict[str, Any] = {
            name: getattr(self, name)[order] for name in ("capacity", "devices", "model", "kind", "order")
        }
        labels = {label: each[order] for label, each in known.labels.items()}
        taints = {taint: each[order] for taint, each in known.taints.items()}
        described = replace(known, labels=labels, taints=taints, like=like)
        return Servers(**columns, labels=described)


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a scenario and a seed, and what collects its servers."""

    scenario: Any
    seed: int
    servers: Callable[[], Servers]

    @property
    def labels(self) -> ServerLabels:
        """The labels of the servers."""
        network = self.scenario.cluster.network
        return network.server_labels if network else self.servers().labels


class Feature:
    """Knows one feature: its keys, what is wrong with what they say, and how a run has it.

    A `scenario` has attributes for all keys; `way(...)` finds what is written below its `overflow`.
    """

    key: ClassVar[str]
    """Where its section stands in a scenario."""
    keys: ClassVar[Mapping[str, type[Model]]] = {}
    """Models whose fields are added: to the scenario (""), or to its `cluster` or `overflow`."""
    learned: ClassVar[bool] = True
    """Do agents learn in scenarios that use it?"""
    drains: ClassVar[bool] = False
    """May it drain servers? Their ledger keeps rules of placement then."""
    grows: ClassVar[bool] = False
    """May it add servers?"""
    name: ClassVar[str] = ""
    """What it is called in messages about what it excludes."""
    excludes: ClassVar[Mapping[str, str]] = {}
    """What makes no sense beside it, by the key that says so, and why."""
    details: ClassVar[Mapping[str, Callable[[FinishedRun], pl.DataFrame]]] = {}
    """What may be recorded of runs that use it: tables by the words of `record`."""
    labels: ClassVar[tuple[str, ...]] = ()
    """Labels that requests have by it, of which it refuses unknown values."""

    def section(self, scenario: Any) -> Any:
        """Return what a scenario says of the feature; nothing, or what is false, where it is not used."""
        return reduce(getattr, self.key.split("."), scenario)

    def stepped(self, scenario: Any, together: bool) -> bool:
        """Say whether machine code cannot run a scenario that uses the feature.

        `together` says whether requests that wait are offered together.
        """
        return False

    def at(self, scenario: Any) -> str:
        """Return the key by which a scenario uses the feature."""
        return self.key

    def check(self, scenario: Any) -> None:
        """Refuse what is wrong in a scenario that uses the feature, beside what it `excludes`."""

    def check_keys(self, scenario: Any) -> None:
        """Refuse what its keys say in vain, whether the feature is used or not."""

    def names(self, scenario: Any) -> Iterable[Named]:
        """List where its keys choose requests by labels, whether the feature is used or not."""
        return ()

    def by_priority(self, scenario: Any) -> bool:
        """Tell whether a scenario that uses the feature compares priorities of requests, which they must have then."""
        return False

    def alter(self, scenario: Any, requests: Workload, seed: int) -> Workload:
        """Return the requests that a seed of a scenario that uses the feature has instead of these."""
        return requests

    def draws(self, scenario: Any) -> bool:
        """Tell whether what it makes of the requests depends on the seed."""
        return False

    def books(self, scenario: Any, labels: ServerLabels) -> Mapping[str, MakeBook]:
        """Return what makes the books that a run's ledger has by the feature, by their names there."""
        return {}

    def attach(self, point: Point, simulation: Simulation) -> None:
        """Have a run at a point that uses the feature keep it."""

    def begin(self, point: Point, simulation: Simulation, luck: Luck) -> None:
        """Prepare what begins when the warm start is over; `luck` returns the random stream of a name."""

    def faults(self, point: Point) -> list[Faults]:
        """Return which parts of the cluster fail."""
        return []

    def measure(self, point: Point, known: dict[str, Any]) -> None:
        """Add what a run at a point that uses the feature is measured by: arguments of `FinishedRun`."""

    def agents(self, scenario: Any) -> Sequence[tuple[Keys, Any]]:
        """List the agents that take part beside those that are compared, and their keys."""
        return ()

    def world(self, scenario: Any) -> Mapping[str, Any]:
        """Return what the world of a scenario has by the feature: arguments of `agents.world.World`."""
        return {}

    def prepare(self, scenario: Any, simulation: Simulation, agent: Agent, play: Callable[..., int]) -> None:
        """Have an agent answer before the one that is compared takes over; `play` is as `fabric.run.play.play`."""

    def suits(self, scenario: Any, agent: Agent) -> None:
        """Refuse an agent that does not go with a scenario that uses the feature."""

    def why(self, simulation: Simulation, row: int) -> Sequence[str]:
        """Say what the feature did to the request of a row."""
        return ()


def written(scenario: Any, key: str) -> Keys:
    """Return where a scenario says what stands at a key; nothing where it does not say it."""
    if key == "cluster.devices" and scenario.cluster.has_devices:
        return ("cluster", "trace" if scenario.cluster.trace else "devices")
    keys = tuple(key.split("."))
    if keys[0] == "overflow":
        return keys if way(scenario.overflow, keys[1]) else ()
    return keys if reduce(lambda part, name: getattr(part, name, None), keys, scenario) else ()


def chosen(at: Keys, where: Mapping[str, Iterable[str]]) -> list[Named]:
    """List the labels and values of a `where` that stands at these keys."""
    return [((*at, label), label, name) for label, names in where.items() for name in names]


def way_at(overflow: Any, name: str, at: Keys = ("overflow",)) -> tuple[Keys, Any]:
    """Find a way to overflow, and where it stands: alone, or as what happens when another one makes no room."""
    if isinstance(overflow, str):
        return at, None
    mode, section = overflow.chosen
    if mode == name:
        return (*at, name), section
    then = next((key for key in ("otherwise", "then") if hasattr(section, key)), "")
    return way_at(getattr(section, then, ""), name, (*at, mode, then))


def way(overflow: Any, name: str) -> Any:
    """Return what a scenario says of a way to overflow; None where requests do not overflow so."""
    return way_at(overflow, name)[1]
