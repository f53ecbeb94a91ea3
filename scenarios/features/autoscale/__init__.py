"""Autoscale: servers that are bought when they are needed, and let go when they are not."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import inf
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from binwright.agents.heuristics.movers import ByAgent
from binwright.agents.world import Luck
from binwright.analysis.measure.definition import define, table
from binwright.analysis.measure.finished_run import FinishedRun
from binwright.analysis.measure.metric import MONEY
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.feature import Feature, Point
from binwright.scenarios.features.moves import MovesSpec, Rescheduling
from binwright.scenarios.features.moves.run import Moving
from binwright.simcore.clock import Event
from binwright.simcore.errors import suggest
from binwright.simcore.fields import Index, Model, Number, PositiveTime, Share, Time, known_resources, wrong
from binwright.simcore.types import Ints, Request, part

MOST = 1000  # of those who wait are looked at


class Bought(Model):
    """A kind of servers that can be bought: those of a group, its `count` at most."""

    price: Number = Field(default=0.0, description="Of an hour of one server.")
    delay: Time = Field(default=0.0, description="Until a server that was bought is there.")
    first: Index = Field(default=0, description="So many are there at the start.")


class Autoscale(Model):
    """Servers are bought when requests wait, of the cheapest kind that holds these, and let go when they are empty."""

    buy: dict[str, Bought] = Field(min_length=1, examples=["{large: {price: 1.5, delay: 5 min}}"])
    """Names of groups; others stay."""
    every: PositiveTime = Field(default=60.0, description="How often that is decided.")
    above: dict[str, Share] = Field({}, examples=["{cpu: 80 %}"])
    """More are bought where a larger share is allocated."""
    idle: Time = Field(default=600.0, description="Servers that are empty for so long are let go.")
    below: Share | None = Field(default=None, description="Those with less allocated are emptied by moves, and let go.")


@dataclass(slots=True)
class Purchase:
    """Says at what price an hour a server was bought, when it was there, and when it was let go."""

    price: float
    since: float
    until: float = inf


class Autoscaler:
    """Decides every so often which servers a simulation has, among those that can be bought, of these `kinds`.

    A server that is not there is out of service. `log` has every purchase, also those under way.
    """

    def __init__(self, simulation: Simulation, spec: Autoscale, kinds: Sequence[str]) -> None:
        self._simulation, self.spec, self.log = simulation, spec, list[Purchase]()
        self._kind = np.array(kinds)
        self._bought: dict[int, Purchase] = {}
        """Of every server that was bought and not let go, its purchase."""
        self._empty: dict[int, float] = {}
        self._emptied: dict[int, float] = {}
        """Of every such server that is empty, and that moves are to empty, since when."""
        self._cheapest = sorted(spec.buy, key=lambda name: spec.buy[name].price)
        for name, kind in spec.buy.items():
            servers = np.flatnonzero(self._kind == name).tolist()
            simulation.events.down(servers, requeue=False)
            for server in servers[: kind.first]:
                self._buy(server, 0.0)

    def start(self, moves: MovesSpec, rng: np.random.Generator) -> None:
        """Begin to decide."""
        if self.spec.below is not None:
            self._moves = Rescheduling.model_validate({"on_drain": True, "moves": MOST}), ByAgent()
            self._moves[1].start(self._simulation.view, rng)
            self._moving = self._simulation.moving or Moving(self._simulation, moves)
        self._simulation.env.process(self._decide())

    def _decide(self) -> Generator[Event, Any, None]:
        while True:
            self._let_go()
            self._buy_for_waiting()
            self._buy_above()
            yield self._simulation.env.timeout(self.spec.every)

    def _left(self, name: str) -> list[int]:
        """Return the servers of a kind that can be bought."""
        return [server for server in np.flatnonzero(self._kind == name).tolist() if server not in self._bought]

    def _buy(self, server: int, delay: float) -> None:
        simulation, price = self._simulation, self.spec.buy[str(self._kind[server])].price
        self._bought[server] = bought = Purchase(price, simulation.now + delay)
        self.log.append(bought)
        simulation.clock.at(bought.since, simulation.repair, server) if delay else simulation.repair(server)

    def _buy_for_waiting(self) -> None:
        """Buy for those who wait and have room nowhere, not even on what was bought and is not there yet."""
        view, free = self._simulation.view, self._simulation.view.everything_free.copy()
        for server, bought in self._bought.items():
            if bought.since > self._simulation.now:
                free[server] = view.capacity[server]
        for request in islice(self._simulation.line, MOST):
            may = self._simulation.ledger.open_to(request)
            for _ in range(request.parts):
                if take(free, request, np.flatnonzero(may)):
                    continue
                for name in self._cheapest:
                    left = [server for server in self._left(name) if may[server]]
                    if left and take(view.capacity.copy(), request, np.array(left[:1])):
                        self._buy(left[0], self.spec.buy[name].delay)
                        free[left[0]] = view.capacity[left[0]]
                        take(free, request, np.array(left[:1]))
                        break

    def _buy_above(self) -> None:
        """Buy the cheapest while too much of what is there, or coming, is allocated."""
        view, used = self._simulation.view, self._simulation.ledger.used()
        present = np.ones(len(view.capacity), np.bool_)  # also those that a process has added
        present[: len(self._kind)] = ~np.isin(self._kind, [*self.spec.buy])
        present[[*self._bought]] = True
        for name, share in self.spec.above.items():
            r = view.resources.index(name)
            left = [each for kind in self._cheapest for each in self._left(kind) if view.capacity[each, :, r].any()]
            while left and used[r] > share * view.capacity[present, :, r].sum():
                server = left.pop(0)
                self._buy(server, self.spec.buy[str(self._kind[server])].delay)
                present[server] = True

    def _let_go(self) -> None:
        """Let go of servers that have been empty for long enough, and have another one emptied."""
        simulation, view, now, idle = self._simulation, self._simulation.view, self._simulation.now, self.spec.idle
        taken = view.capacity - view.everything_free if view.requested is None else view.requested
        held = (taken.sum(axis=1) / np.maximum(view.capacity.sum(axis=1), 1)).max(axis=1)
        for server, bought in list(self._bought.items()):
            if bought.since > now or held[server] > 0:
                self._empty.pop(server, None)
            elif now - self._empty.setdefault(server, now) >= idle or server in self._emptied:
                del self._bought[server], self._empty[server]
                bought.until = now
                simulation.events.down([server], requeue=True)
        for server, since in list(self._emptied.items()):
            if server not in self._bought or now - since > max(idle, self.spec.every):
                del self._emptied[server]
                simulation.reopen([server])
        nearly = [server for server in self._bought if 0 < held[server] < (self.spec.below or 0)]
        several = len({*simulation.record.server[[*simulation.ledger.running]].tolist()}) > 1
        if nearly and several and not self._emptied and not simulation.waiting:
            server = min(nearly, key=lambda each: (held[each], each))
            self._emptied[server] = now
            simulation.drain([server])
            self._moving.ask(self._moves, "drain")


def take(free: Ints, request: Request, servers: Ints) -> bool:
    """Take what a request asks for from the first of these servers that has it, int64 [any]; false where none does."""
    nodes, among = free.shape[1], free[servers]
    parts = [part(request.demand, node, nodes) if request.spread else request.demand for node in range(nodes)]
    demand = np.array(parts)
    fits = np.all(among >= demand, axis=2)
    fits = np.all(fits, axis=1, keepdims=True) if request.spread else fits
    if not fits.any():
        return False
    server, node = divmod(int(fits.argmax()), fits.shape[1])
    free[servers[server], slice(None) if request.spread else node] -= demand if request.spread else demand[node]
    return True


# -- what it came to ---------------------------------------------------------------------------------------------------


def _log(run: FinishedRun) -> list[tuple[float, float, bool]] | None:
    """Need `autoscale`: of each purchase its hours in the measured time, its price, and whether it is of that time."""
    if not (scaler := run.simulation.features.get("autoscale")):
        return None
    hours = [max(0.0, min(hire.until, run.finish) - max(hire.since, run.begin)) / 3600 for hire in scaler.log]
    new = [run.begin <= hire.since <= run.finish for hire in scaler.log]
    return [(each, hire.price, is_new) for each, hire, is_new in zip(hours, scaler.log, new, strict=True)]


TABLE = table((
    define("servers_bought", "bought", "servers that were bought, each as often as that",
           lambda run, log: sum(new for _, _, new in log), needs=_log, better="lower"),
    define("cost_bought", "cost of bought servers of the run", "the hours for which they were there, at their prices",
           lambda run, log: sum(hours * price for hours, price, _ in log),
           unit=MONEY, needs=_log, better="lower", table="never"),
))  # fmt: skip


class _Keys(Model):
    autoscale: Autoscale | None = Field(None, examples=["{buy: {large: {delay: 5 min}}}"])
    """Servers are bought and let go."""


class _Feature(Feature):
    key = name = "autoscale"
    keys: ClassVar = {"": _Keys}
    learned, drains = False, True
    excludes: ClassVar = {
        "cluster.network": "the topology says which servers there are",
        "overflow.expand": "servers are added in two ways",
        "cluster.expansion": "servers are added in two ways",
        "pacing": "requests of a pace have no times at which to buy",
    }

    def stepped(self, scenario: Any, together: bool) -> bool:
        return together

    def check(self, scenario: Any) -> None:
        counts = {group.name: group.count for group in scenario.cluster.groups or () if group.name}
        known_resources(scenario.autoscale.above, scenario.resources, ("autoscale", "above"))
        for name, spec in scenario.autoscale.buy.items():
            if name not in counts:
                raise wrong("no group has this name", suggest(name, counts), ("autoscale", "buy", name))
            if spec.first > (count := counts[name]):
                at = ("autoscale", "buy", name, "first")
                raise wrong("is more than there are", f"The group has {count}: give that or fewer.", at, spec.first)

    def attach(self, point: Point, simulation: Simulation) -> None:
        simulation.features["autoscale"] = Autoscaler(
            simulation, point.scenario.autoscale, point.servers().kind.tolist()
        )

    def begin(self, point: Point, simulation: Simulation, luck: Luck) -> None:
        simulation.features["autoscale"].start(point.scenario.moves, luck("autoscale"))


FEATURE = _Feature()
