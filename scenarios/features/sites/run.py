"""Several sites of servers: a router chooses the site of every request, and the agent a server there."""

from collections.abc import Callable, Sequence
from functools import cached_property
from math import inf
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from binwright.analysis.measure.costs.bill import SiteEnergy
from binwright.analysis.measure.costs.time_series import TimeSeries
from binwright.analysis.measure.definition import define, table
from binwright.analysis.measure.finished_run import FinishedRun, ratio
from binwright.fabric.run.simulation import Simulation
from binwright.simcore.errors import RunError, short
from binwright.simcore.registry import Registry
from binwright.simcore.types import Flags, Floats, Ints, Request


class Sites(NamedTuple):
    """Says which sites there are, and in which order a request tries them.

    `energy` has the name of each, and what a kWh comes to there. `of` int64 [servers] is the place of each server's
    site; servers that are added are `like` the one in this place. `home` int64 [rows] is the site of each request, -1
    for none, and `latency` float64 [rows, sites] are seconds, NaN where nobody says. The least of the first of the
    `routers` is tried first; the others settle ties.
    """

    energy: tuple[SiteEnergy, ...]
    of: Ints
    routers: tuple[tuple[str, "Router"], ...]
    home: Ints
    latency: Floats
    like: int = -1

    @property
    def names(self) -> list[str]:
        """The name of each site."""
        return [each.name for each in self.energy]


class SiteRouting:
    """Sends every request that a simulation offers to a site, and to the next one where it finds no place.

    Where several are offered together, those sites are passed over that have no room for a request now.
    """

    def __init__(self, simulation: Simulation, sites: Sites, rng: np.random.Generator) -> None:
        self._simulation, self.sites, self._rng = simulation, sites, rng
        self.count = len(sites.names)
        self.spilled: dict[int, int] = {}
        """Of every row that other sites refused, how many did so."""
        self._of, self._lies_at = sites.of, np.zeros((self.count, 0), np.int64)
        self._orders: dict[int, list[int]] = {}
        """Of those whose turn it is or was at this instant, by their first row, the sites in order."""
        self._places: dict[int, int] = {}
        """Of those whose turn it is, which of these they try."""
        self._time = -inf
        simulation.routing = simulation.ledger.rules.routing = self

    # -- routers -----------------------------------------------------------------------------------------------------

    def load(self, request: Request) -> Floats:
        """Return the largest share of a resource that is taken at each site; failed servers are taken."""
        view = self._simulation.view
        if len(view.capacity) != self._lies_at.shape[1]:
            self._lies_at = (self.of == np.arange(self.count)[:, None]).astype(np.int64)
        installed, free = self._lies_at @ view.capacity.sum(axis=1), self._lies_at @ view.everything_free.sum(axis=1)
        result: Floats = ((installed - free) / np.maximum(installed, 1)).max(axis=1)
        return result

    def price(self, request: Request) -> Floats:
        """Return what a kWh that servers use at each site costs now, cooling included."""
        return self._now([(each.pue, each.price) for each in self.sites.energy])

    def carbon(self, request: Request) -> Floats:
        """Return what a kWh that servers use at each site emits now, cooling included: grams."""
        return self._now([(each.pue, each.carbon) for each in self.sites.energy])

    def latency(self, request: Request) -> Floats:
        """Return the seconds from where a request comes from to each site, infinite where nobody says."""
        result: Floats = np.nan_to_num(self.sites.latency[self._source(request)], nan=inf)
        return result

    def home(self, request: Request) -> Floats:
        """Return 0 for the site that a request belongs to, 1 for others."""
        result: Floats = (np.arange(self.count) != self.sites.home[self._source(request)]).astype(np.float64)
        return result

    def random(self, request: Request) -> Floats:
        """Return random numbers of the request, the same for all agents."""
        result: Floats = self.chances[self._source(request)]
        return result

    def round_robin(self, request: Request) -> Floats:
        """Return whose turn it is, by the number of the request."""
        return ((np.arange(self.count) - self._source(request)) % self.count).astype(np.float64)

    @property
    def of(self) -> Ints:
        """The place of each server's site, int64 [servers]."""
        servers = len(self._simulation.view.capacity)
        if servers > len(self._of):
            self._of = np.append(self._of, np.full(servers - len(self._of), self._of[self.sites.like]))
        return self._of

    @cached_property
    def chances(self) -> Floats:
        """Random numbers of every row of the workload, float64 [rows, sites]."""
        return self._rng.random((len(self._simulation.workload), self.count))

    def _source(self, request: Request) -> int:
        """Return the row of the workload that a request is of, or goes on with."""
        return self._simulation.source(request.index)

    def _now(self, rates: Sequence[tuple[float, TimeSeries | None]]) -> Floats:
        """Return what rates times these factors are now; empty where they are not known."""
        now, result = self._simulation.now, list[float]()
        for factor, series in rates:
            if series:
                series.check(now)
                result.append(factor * float(series.at(np.array(now))))
        return np.array(result)

    # -- what the engine asks ----------------------------------------------------------------------------------------

    def offer(self, request: Request, has_room: Callable[[Flags], bool]) -> Flags:
        """Choose the site that a request tries now; returns which servers are there, bool [servers].

        `has_room` tells whether some of the servers bool [servers] have room for it.
        """
        self._forget_the_past()
        lead, together = self._simulation.lead(request.index), self._simulation.overflow.together > 0
        if together and request.index == lead:
            self._places.pop(lead, None)
        if lead not in self._places:
            self._orders.pop(lead, None)
            order = self._order(request)
            place = next((p for p, site in enumerate(order) if together and has_room(self.of == site)), 0)
            self._places[lead] = place
            self.spilled.pop(lead, None)
            if place:
                self.spilled[lead] = place
        return self.is_open(request)

    def is_open(self, request: Request) -> Flags:
        """Tell which servers are at the site that a request tries now, or where it runs, bool [servers]."""
        if request.index in self._simulation.ledger.held:
            return self.reach(request)
        order, place = self._order(request), self._places.get(self._simulation.lead(request.index), 0)
        result: Flags = self.of == (order[place] if order else -1)
        return result

    def spills(self, request: Request) -> bool:
        """Have a request that was refused try the next site; False where there is none."""
        lead, order = self._simulation.lead(request.index), self._order(request)
        place = self._places.pop(lead, 0) + 1  # it starts again if it is offered again
        if place < len(order):
            self._places[lead] = self.spilled[lead] = place
            return True
        self.spilled.pop(lead, None)
        return False

    def reach(self, request: Request) -> Flags:
        """Tell which servers are at sites that a request may go to, bool [servers]; one that runs stays at its own."""
        if holding := self._simulation.ledger.held.get(request.index):
            own: Flags = self.of == self.of[holding.servers[0]]
            return own
        return np.isin(self.of, self._order(request))

    def _order(self, request: Request) -> list[int]:
        """Return the sites that a request may go to, in order, which is made anew when its turn comes."""
        self._forget_the_past()
        lead = self._simulation.lead(request.index)
        if lead in self._orders:
            return self._orders[lead]
        scores = list[Floats]()
        for name, router in self.sites.routers:
            answer = router(self, request)
            score = np.asarray(answer, np.float64) if isinstance(answer, np.ndarray | Sequence) else np.zeros(0)
            if score.shape != (self.count,) or np.isnan(score).any():
                raise RunError(f"the router {name} returned {short(repr(answer))}, which is not a number per site")
            scores.append(score)
        order = np.lexsort(scores[::-1])
        self._orders[lead] = [int(site) for site in order if all(score[site] < inf for score in scores)]
        return self._orders[lead]

    def _forget_the_past(self) -> None:
        """Forget what sites were tried before this instant."""
        if self._time != self._simulation.now:
            self._time = self._simulation.now
            self._orders.clear()
            self._places.clear()


# -- what is measured --------------------------------------------------------------------------------------------------

Sited = tuple[Any, Ints]


def _sited(run: FinishedRun) -> Sited | None:
    """Need `sites`: the routing, and at which site each of `placed` got its place, int64 [placed]."""
    routing: Any = run.simulation.routing
    return (routing, routing.of[run.server[run.placed]]) if routing else None


def _away(run: FinishedRun, sited: Sited) -> float:
    homes = sited[0].sites.home[run.placed]
    return ratio(float(np.count_nonzero((homes >= 0) & (homes != sited[1]))), int(np.count_nonzero(homes >= 0)))


def _latency(run: FinishedRun, sited: Sited) -> float | None:
    known = sited[0].sites.latency[run.placed, sited[1]]
    known = known[~np.isnan(known)]
    return 1000 * float(known.mean()) if len(known) else None


TABLE = table((
    define("away", "away %", "placed requests that are not at their home site", _away, needs=_sited, unit="%",
           table="differs"),
    define("spilled", "spilled %", "placed requests that their first site had refused",
           lambda run, sited: ratio(float(np.isin(run.placed, np.array([*sited[0].spilled], np.int64)).sum()),
                                    len(run.placed)), needs=_sited, unit="%", table="differs"),
    define("latency", "latency", "mean, of placed requests", _latency, needs=_sited, unit="ms", table="differs",
           better="lower"),
))  # fmt: skip


Router: TypeAlias = Callable[[SiteRouting, Request], Floats]
"""(routing, request) -> a number for each site, float64 [sites]: the least is tried first, infinite never."""


load, price, carbon, latency = SiteRouting.load, SiteRouting.price, SiteRouting.carbon, SiteRouting.latency
home, random, round_robin = SiteRouting.home, SiteRouting.random, SiteRouting.round_robin
NAMES = ("load", "price", "carbon", "latency", "home", "random", "round-robin")
ROUTERS = Registry(
    "router", "binwright.routers", {name: f"{__name__}:{name.replace('-', '_')}" for name in NAMES}, functions=True
)
