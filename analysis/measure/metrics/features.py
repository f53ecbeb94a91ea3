"""Metrics of what a scenario has only where it says so: moves, preemption, tenants, sites, drains, networks, gangs."""

from __future__ import annotations

import json
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np

from binwright.analysis.measure.definition import Definition, define, table
from binwright.analysis.measure.finished_run import HOUR, FinishedRun, Rows, ratio
from binwright.analysis.measure.metric import MONEY
from binwright.simcore.moves import Moved
from binwright.simcore.ordered_sums import dot, rows_dot
from binwright.simcore.rules import Eviction
from binwright.simcore.types import QUANTUM, Floats, Ints

MONTH, YEAR = 30, 365
"""Days."""


BILL, MOVING, SPANNED = attrgetter("bill"), attrgetter("moving"), attrgetter("spans")
"""What needs `costs`; `rescheduling`, `make_room` or `on_load`; and a network."""


def _earned(run: FinishedRun, seconds: Callable[[Rows], Floats]) -> float | None:
    """Add up what is earned in so many seconds by each that is held, where there are prices."""
    return float(sum(dot(seconds(part), part.worth) for part in run.parts())) if run.prices else None


def _income(run: FinishedRun) -> float | None:
    return _earned(run, lambda part: part.seconds * part.sold)


def _booked(run: FinishedRun) -> float | None:
    """Add up what was sold: the same placements to their ends; those without one count to the end of the run."""
    return _earned(run, lambda part: np.where(np.isinf(part.end), part.seconds, part.end - part.start) * part.sold)


def _cost(run: FinishedRun) -> float | None:
    return run.bill.cost if run.bill else None


def _net(run: FinishedRun) -> float | None:
    """Take the cost from the income, where both are known."""
    earned, spent = _income(run), _cost(run)
    return None if earned is None or spent is None else earned - spent


def per_days(run: FinishedRun, money: float | None, days: int = MONTH) -> float | None:
    """Divide money of a run by its measured time, for so many days; None where that is 0."""
    lasted = run.finish - run.begin
    return None if money is None or not lasted else float(money) / lasted * days * 86_400


def _billed(part: str, name: str, heading: str, meaning: str, **how: Any) -> Definition:
    """Make the metric of a part of the bill."""
    return define(name, heading, meaning, lambda run, bill: getattr(bill, part), needs=BILL, better="lower", **how)


OF_RUN: dict[str, Any] = {"unit": MONEY, "table": "never"}
PER = table(
    define(f"{what}_{period}", f"{what} per {period}", f"{what} of the run per {days} days of its measured time",
           lambda run, of=of, days=days: per_days(run, of(run), days), unit=MONEY, better=better, beyond=what == "net")
    for what, of, better in (("income", _income, "higher"), ("cost", _cost, "lower"), ("net", _net, "higher"))
    for period, days in (("month", MONTH), ("year", YEAR))
)  # fmt: skip
COSTS = PER | table((
    define("income", "income of the run", "prices x amounts x hours held while the run lasted", _income,
           better="higher", **OF_RUN),
    define("income_held", "income held of the run",
           "the same of all that is held, also of what was there before; where there was a warm start",
           lambda run: _earned(run, lambda part: part.seconds) if run.first else None, better="higher", **OF_RUN),
    define("income_booked", "income booked of the run",
           "the income to the end of all holding periods; of those that never end, to the end of the run",
           _booked, better="higher", **OF_RUN),
    define("net", "net of the run", "income - cost", _net, better="higher", beyond=True, **OF_RUN),
    _billed("there", "server_hours", "server-hours", "servers there x hours, added up", table="never"),
    _billed("on", "server_hours_on", "server-hours on", "of these, neither failed nor switched off", table="differs"),
    _billed("used", "server_hours_used", "server-hours used", "of these, holding something", table="never"),
    _billed("woken", "woken", "woken", "servers that were switched off and were needed again", table="never"),
    _billed("energy", "energy", "energy", "of all servers in the measured time, times the PUE", unit="kWh"),
    _billed("power", "power", "power", "energy / hours", unit="kW", table="never"),
    _billed("peak", "power_peak", "peak power", "the most that was drawn at once, times the PUE", unit="kW",
            table="never"),
    _billed("carbon", "carbon", "carbon", "CO2 equivalent of the energy when it was drawn", unit="kg"),
    _billed("servers", "cost_servers", "cost of servers of the run", "hours on demand, reservations", **OF_RUN),
    _billed("electricity", "cost_electricity", "cost of electricity of the run",
            "energy at its price when it was drawn", **OF_RUN),
    _billed("moves", "cost_moves", "cost of moves of the run", "of those that arrived", **OF_RUN),
    _billed("cost", "cost", "cost of the run", "of servers, electricity and moves in the measured time", **OF_RUN),
))  # fmt: skip


LOWER: dict[str, Any] = {"better": "lower"}

# -- moves ---------------------------------------------------------------------------------------------------------


def _moved(run: FinishedRun, moving: Any) -> float | None:
    """Add up what the requests that were moved held of memory."""
    if moving.resource < 0:
        return None
    return float(run.demand[run.arrived, moving.resource].sum()) / QUANTUM


def _moves(run: FinishedRun, which: Callable[[Moved], bool]) -> int:
    return sum(map(which, run.moves_ended))


MOVE: dict[str, Any] = {"needs": MOVING, "better": "lower"}
MOVES = table((
    define("moves", "moves", "requests that were moved while they ran, each as often as it arrived",
           lambda run, moving: len(run.arrived), **MOVE),
    define("moved", "moved", "memory that these moves carried", _moved, unit="GB", table="differs", **MOVE),
    define("downtime", "downtime", "for which moved requests stood still",
           lambda run, moving: len(run.arrived) * moving.spec.downtime, unit="s", table="harm", **MOVE),
    define("moves_for_load", "moves for load",
           "those of these moves by which a request left a server that used too much (`on_load`)",
           lambda run, moving: None if moving.relief is None else _moves(
               run, lambda one: one.outcome == "done" and one.why == "load"), table="differs", **MOVE),
    define("moves_failed", "moves failed",
           "moves that did not arrive: called off as a server failed, or their request ended or was interrupted",
           lambda run, moving: _moves(run, lambda one: one.outcome != "done"), table="harm", **MOVE),
    define("moves_under_way", "moves under way", "at most at a time, those of no duration included",
           lambda run, moving: moving.most, table="never", **MOVE),
    define("plan_ms", "ms/plan", "the mover's own time for one plan, on average",
           lambda run, moving: float(np.mean([took for _, took, _ in moving.plans])) / 1e6 if moving.plans else None,
           table="never", timed=True, **MOVE),
    define("plans_late", "late plans", "plans that took the mover longer than `within`",
           lambda run, moving: sum(late for _, _, late in moving.plans), table="differs", timed=True, **MOVE),
))  # fmt: skip

# -- preemption ----------------------------------------------------------------------------------------------------


def _evictions(run: FinishedRun) -> list[Eviction] | None:
    """Need `preemption`: the evictions of the measured time."""
    preempting = run.simulation.preempting
    if preempting is None:
        return None
    return [each for each in preempting.log if each.outcome == "evicted" and run.begin <= each.end <= run.finish]


def _lost_work(run: FinishedRun, evictions: list[Eviction]) -> list[float]:
    """Add up the work that evictions lost: the time since the last checkpoint, times what was held."""
    return [
        sum(each.lost * int(run.demand[each.row, r]) for each in evictions) / QUANTUM / HOUR
        for r in range(len(run.resources))
    ]


def _spot_evicted(run: FinishedRun, evictions: list[Eviction]) -> float | None:
    """Divide the evictions of requests that pay less by how often these were placed."""
    if not run.pays:
        return None
    spot = np.isin(run.priority, [*run.pays])
    placed = spot & run.got_place & (run.decided >= run.begin)
    return ratio(int(spot[[each.row for each in evictions]].sum()), int(placed.sum()))


PREEMPTION = table((
    define("preemptions", "preemptions", "requests evicted for more urgent ones",
           lambda run, evictions: len(run.asked.leads(np.array([each.row for each in evictions], np.int64))),
           needs=_evictions, table="differs", **LOWER),
    define("lost_work_{}", "{} lost h", "hours of a unit of {} that were held since the last checkpoint, when evicted",
           _lost_work, needs=_evictions, per="resource", table="differs", **LOWER),
    define("spot_evicted", "spot evicted %",
           "share of the holding periods of spot requests that an eviction cut short",
           _spot_evicted, needs=_evictions, unit="%", **LOWER),
))  # fmt: skip

# -- tenants -------------------------------------------------------------------------------------------------------

Tenants = tuple[Any, Ints]


def _tenants(run: FinishedRun) -> Tenants | None:
    """Need `quotas`: these, and the place among them of every row, int64 [rows], -1 for none."""
    quotas: Any = run.simulation.quotas
    if quotas is None:
        return None
    return quotas, quotas.table.tenant[: len(run.outcome)]


def _shares(run: FinishedRun, quotas: Any, of: Ints) -> Floats:
    """Return the share of the cluster that each tenant held on average, float64 [tenants, resources]."""
    mine = of[run.held]
    each = [rows_dot(run.demand[run.held[mine == n]].T, run.seconds[mine == n]) for n in range(len(quotas.names))]
    installed = run.installed_seconds[: len(run.resources)]
    shares: Floats = np.divide(each, installed, out=np.zeros((len(each), len(installed))), where=installed > 0)
    return shares


def _borrowed(run: FinishedRun, quotas: Any, of: Ints) -> Floats:
    """Integrate what each tenant held beyond its nominal quota: unit hours, float64 [tenants, resources]."""
    found = np.zeros((len(quotas.names), len(run.resources)))
    for number, nominals in enumerate(quotas.nominal):
        mine = of[run.held] == number
        rows, ends = run.held[mine], np.clip(run.end[mine], run.begin, run.finish)
        times = np.concatenate([np.clip(run.start[mine], run.begin, run.finish), ends])
        order = np.argsort(times, kind="stable")
        for r, nominal in nominals.items():
            level = np.cumsum(np.concatenate([run.demand[rows, r], -run.demand[rows, r]])[order])
            found[number, r] = dot(np.maximum(level - nominal, 0)[:-1], np.diff(times[order])) if len(order) else 0.0
    return found / QUANTUM / HOUR


def _waits(run: FinishedRun, quotas: Any, of: Ints) -> tuple[Ints, Floats]:
    """Count who was above a quota, int64 [tenants], and add up for how long, seconds float64 [tenants]."""
    rows = np.array([*quotas.waited], np.int64)
    since, until = np.array([*quotas.waited.values()], np.float64).reshape(-1, 2).T
    waited, tenants = np.minimum(until, run.finish) - since, len(quotas.names)
    total: Floats = np.bincount(of[rows], np.maximum(waited, 0), minlength=tenants).astype(np.float64)
    return np.bincount(of[rows], minlength=tenants), total


def tenants_column(run: FinishedRun) -> dict[str, str]:
    """Put into a column what became of each tenant: its requests, shares, what it borrowed, and its waits, as JSON."""
    if (found := _tenants(run)) is None:
        return {}
    quotas, of = found
    shares, borrowed, (held, waited) = _shares(run, *found), _borrowed(run, *found), _waits(run, *found)
    said = {
        name: {
            "requests": int((of[run.offered] == n).sum()),
            "dominant_share": float(shares[n].max()),
            **{f"share_{resource}": float(shares[n, r]) for r, resource in enumerate(run.resources)},
            **{f"borrowed_{run.resources[r]}": float(borrowed[n, r]) for r in quotas.nominal[n]},
            "above_quota": int(held[n]),
            "waited_above_quota": float(waited[n]),
        }
        for n, name in enumerate(quotas.names)
    }
    return {"tenants": json.dumps(said, ensure_ascii=False)}


def _jain(run: FinishedRun, tenants: Tenants) -> float:
    """Compute Jain's index of the largest share of a resource that each tenant held on average."""
    dominant = _shares(run, *tenants).max(axis=1)
    return ratio(float(dominant.sum()) ** 2, len(dominant) * dot(dominant, dominant))


TENANTS = table((
    define("jain", "Jain's index", "how equal the dominant shares of tenants with quotas are: 1 equal, 1/n one has all",
           _jain, needs=_tenants, better="higher"),
    define("borrowed_{}", "{} borrowed h", "hours of a unit of {} that tenants held beyond their nominal quotas",
           lambda run, tenants: _borrowed(run, *tenants).sum(axis=0).tolist(),
           needs=_tenants, per="resource", table="differs"),
    define("quota_wait", "quota wait", "mean time that a request of a tenant with a quota waited above it",
           lambda run, tenants: ratio(float(_waits(run, *tenants)[1].sum()), int((tenants[1][run.offered] >= 0).sum())),
           needs=_tenants, unit="s", **LOWER),
))  # fmt: skip

# -- sites ---------------------------------------------------------------------------------------------------------

Sited = tuple[Any, Ints]


def _sited(run: FinishedRun) -> Sited | None:
    """Need `sites`: the routing, and at which site each of `placed` got its place, int64 [placed]."""
    routing: Any = run.simulation.routing
    return (routing, routing.sites.of[run.server[run.placed]]) if routing else None


def _postponed(run: FinishedRun) -> Floats | None:
    """Need `sites.flexible`: for how long each of `offered` waited for a better hour, float64 [offered]."""
    waited = run.simulation.workload.postponed
    return None if waited is None else waited[run.offered]


def _away(run: FinishedRun, sited: Sited) -> float:
    homes = sited[0].sites.home[run.placed]
    return ratio(float(np.count_nonzero((homes >= 0) & (homes != sited[1]))), int(np.count_nonzero(homes >= 0)))


def _latency(run: FinishedRun, sited: Sited) -> float | None:
    known = sited[0].sites.latency[run.placed, sited[1]]
    known = known[~np.isnan(known)]
    return 1000 * float(known.mean()) if len(known) else None


def sites_column(run: FinishedRun) -> dict[str, str]:
    """Put into a column what became of each site: its share of the placed requests, and its bill, as JSON."""
    if (found := _sited(run)) is None:
        return {}
    names, bills = found[0].sites.names, run.bill.sites if run.bill else ()
    counts = np.bincount(found[1], minlength=len(names))
    said: dict[str, dict[str, float | None]] = {
        name: {"placed": ratio(float(counts[site]), len(run.placed))} for site, name in enumerate(names)
    }
    for name, bill in zip(names, bills, strict=False):
        said[name] |= bill | {"cost_month": per_days(run, bill["cost"])}
    return {"sites": json.dumps(said, ensure_ascii=False)}


SITES = table((
    define("away", "away %", "placed requests that are not at their home site", _away, needs=_sited, unit="%",
           table="differs"),
    define("spilled", "spilled %", "placed requests that their first site had refused",
           lambda run, sited: ratio(float(np.isin(run.placed, np.array([*sited[0].spilled], np.int64)).sum()),
                                    len(run.placed)), needs=_sited, unit="%", table="differs"),
    define("latency", "latency", "mean, of placed requests", _latency, needs=_sited, unit="ms", table="differs",
           **LOWER),
    define("postponed", "postponed %", "requests that waited for a better hour",
           lambda run, waited: ratio(float((waited > 0).sum()), len(run.offered)), needs=_postponed, unit="%",
           table="differs"),
))  # fmt: skip

# -- servers that are to be emptied --------------------------------------------------------------------------------

Emptied = tuple[Floats, Floats]


def _emptied(run: FinishedRun) -> Emptied | None:
    """Need servers to be emptied: since when each was, and when it was empty, float64 [n] each, infinite for never.

    Servers that take nothing from the start are none of them. Of several drains of a server the first counts. One that
    still holds something when its drain ends was not emptied.
    """
    ledger = run.simulation.ledger
    drains = ledger.rules.drains if ledger.rules else []
    since, until = np.full((2, len(run.capacity)), np.inf)
    for begins, ends, servers in drains:
        first = servers & (begins < since)
        since[first], until[first] = begins, ends
    some = np.flatnonzero((since > 0) & (since <= run.finish))
    if not len(some):
        return None
    lay, empty = run.places, since.copy()
    before = lay.start < until[lay.server]
    np.maximum.at(empty, lay.server[before], lay.end[before])
    empty[empty > until] = np.inf
    return since[some], empty[some]


DRAINS = table((
    define("drained", "until drained", "from when servers were to be emptied until the last of them was",
           lambda run, found: None if np.isinf(found[1]).any() else float((found[1] - found[0]).max()),
           needs=_emptied, unit="s", **LOWER),
    define("undrained", "not drained", "servers to be emptied that still held something at the last decision",
           lambda run, found: int((found[1] > run.finish).sum()), needs=_emptied, table="harm", **LOWER),
))  # fmt: skip

# -- networks and gangs --------------------------------------------------------------------------------------------


def _mean(column: int) -> Callable[[FinishedRun, Ints], float]:
    """Average a column of the spans; 0 where nothing was placed."""
    return lambda run, spans: float(spans.T[column].mean()) if len(spans) else 0.0


def _domains(label: str) -> Callable[[FinishedRun], float | None]:
    """Average over how many domains of a label the parts of placed gangs are spread; 0 where none was placed."""

    def measured(run: FinishedRun) -> float | None:
        gangs, domain = run.asked.gangs, run.simulation.ledger.domains(label)
        if gangs is None or gangs.first is None or domain is None:
            return None
        rows = np.arange(run.first, run.simulation.offered)
        rows = rows[run.got_place[rows] & (gangs.parts[rows] > 1)]
        lies = np.unique(np.stack([gangs.first[rows], domain[run.server[rows]]]), axis=1)
        return len(lies.T) / max(len(np.unique(lies[0])), 1)

    return measured


def _share(number: int, where: str) -> Definition:
    """Make the metric of the share of placements with one span."""
    return define(f"span_{number}", f"{where} %", f"share of the placements in {where}",
                  lambda run, spans: float((spans.T[1] == number).mean()) if len(spans) else 0.0,
                  needs=SPANNED, unit="%", table="never", in_parts=True)  # fmt: skip


SPANS = table((
    define("servers_per_request", "servers/request", "servers that a placed request is spread over", _mean(0),
           needs=SPANNED, in_parts=True, **LOWER),
    define("span", "span", "0 one server, 1 one rack, 2 neighbouring racks, 3 beyond; mean", _mean(1),
           needs=SPANNED, in_parts=True, **LOWER),
    _share(0, "one server"),
    _share(1, "one rack"),
    _share(2, "neighbouring racks"),
    _share(3, "racks further apart"),
    define("gang_servers", "servers/gang",
           "servers that the parts of a placed gang lie on; mean of those that arrived in the measured time",
           _domains("server"), **LOWER),
    define("gang_racks", "racks/gang", "racks, by their label, that the parts of a placed gang lie in",
           _domains("rack"), **LOWER),
))  # fmt: skip
TABLE = COSTS | MOVES | PREEMPTION | TENANTS | SITES | DRAINS | SPANS
