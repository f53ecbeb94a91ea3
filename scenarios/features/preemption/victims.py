"""Says who could give way to a request, what that costs, and who has to go."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from binwright.fabric.compiled.numa_loop import EVICTED
from binwright.fabric.run.simulation import Simulation
from binwright.fabric.servers import fits_node, fits_spread, give
from binwright.simcore.jit import kernel
from binwright.simcore.registry import Registry
from binwright.simcore.types import Amounts, Flags, Floats, Ints, Request


class Victim(NamedTuple):
    """Describes a request that could be evicted: since when it has run, what it would lose, and how much it holds.

    `ran` and `lost` are seconds, `lost` those since its last checkpoint; `share` is the largest share that it holds of
    what all servers have of a resource. Of a gang all `rows` go, and `request` is its first part.
    """

    request: Request
    ran: float
    lost: float
    share: float
    rows: Sequence[int] = ()


class Victims(NamedTuple):
    """Describes several as `Victim` does, in columns [n]; of gangs `row` has the first part, and `priority` is theirs.

    `rows` int64 [parts] are all their parts where it matters, ascending, and `of` int64 [parts] says whose.
    """

    row: Ints
    priority: Ints
    ran: Floats
    lost: Floats
    share: Floats
    rows: Ints
    of: Ints


def fewest(victims: Victims) -> Floats:
    """Count the victims."""
    return np.ones(len(victims.row))


def lowest(victims: Victims) -> Floats:
    """Return their priorities."""
    return victims.priority.astype(np.float64)


def youngest(victims: Victims) -> Floats:
    """Return how long they have run."""
    return victims.ran


def cheapest(victims: Victims) -> Floats:
    """Return what is lost: the seconds since the last checkpoint, times the share held."""
    return victims.lost * victims.share


SUM, MOST = (np.add, 0.0), (np.maximum, -np.inf)
TOGETHER = {fewest: SUM, lowest: MOST, youngest: MOST, cheapest: SUM}
"""Of the rules that ship, which return what each of `Victims` costs: how costs add up, and the cost of none. A rule of
one's own takes (view, request, list of `Victim`) and returns what all of them cost.
"""
VICTIM_RULES = Registry(
    "rule of victims", "binwright.victims", {rule.__name__: f"{__name__}:{rule.__name__}" for rule in TOGETHER}
)


def running(simulation: Simulation) -> tuple[Ints, Ints, Ints]:
    """Return the rows of all that run, ascending, those of the first parts of their gangs, and priorities, [rows]."""
    held, priority = simulation.ledger.held, simulation.priority
    rows = np.flatnonzero(simulation.holds != EVICTED) if simulation.inside else np.array(sorted(held), np.int64)
    leads = rows if simulation.workload.gangs is None else np.array([*map(simulation.lead, rows.tolist())], np.int64)
    return rows, leads, priority[rows] if len(priority) else np.zeros(len(rows), np.int64)


@kernel
def give_way(
    free: Ints, demand: Amounts, spread: bool, rows: Ints, of: Ints, demands: Ints, servers: Any, nodes: Any
) -> Flags:
    """Tell which of these have to go so that a request has room on their server, of each victim the first, bool [n].

    `rows` int64 [n] are places in `demands`, `servers` and `nodes`, server by server, and `of` int64 [n] tells victims
    apart. Those are spared that leave room, the first ones first; nobody goes where all are not enough.
    """
    left, goes, first = free.copy(), np.zeros(len(rows), np.bool_), 0
    while first < len(rows):
        server, end = servers[rows[first]], first
        while end < len(rows) and servers[rows[end]] == server:
            give(left, demands[rows[end]], server, nodes[rows[end]], 1)
            end += 1
        enough = fits_on(left, demand, server, spread)
        while first < end:
            after = first
            while after < end and of[after] == of[first]:
                give(left, demands[rows[after]], server, nodes[rows[after]], -1)
                after += 1
            goes[first] = enough and not fits_on(left, demand, server, spread)
            for part in range(first, after if goes[first] else first):
                give(left, demands[rows[part]], server, nodes[rows[part]], 1)
            first = after
    return goes


@kernel
def fits_on(free: Ints, demand: Amounts, server: int, spread: bool) -> bool:
    """Tell whether a demand fits on a server."""
    fits = spread and fits_spread(free, server, demand)
    for node in range(0 if spread else free.shape[1]):
        fits |= fits_node(free, server, node, demand)
    return fits
