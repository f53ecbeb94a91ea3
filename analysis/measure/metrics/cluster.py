"""How full servers, links and devices were, what was fragmented, used, lacked and emptied, how requests were spread."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np

from binwright.analysis.measure.contention import Contention
from binwright.analysis.measure.definition import Definition, define, table
from binwright.analysis.measure.finished_run import FinishedRun, ratio
from binwright.analysis.measure.stays import Order
from binwright.fabric.devices import empty_devices
from binwright.fabric.fragmentation import CAUSES, USABLE, cpu_of, fragments, typical
from binwright.simcore.extras import pl
from binwright.simcore.jit import kernel
from binwright.simcore.types import QUANTUM, Floats, Ints


def history(run: FinishedRun) -> pl.DataFrame | None:
    """Play a run's decisions again; None where servers have none, some failed or were added, or requests gave way.

    A row is a decision, in order, and numbers are devices: the `row` of the request, what all requests up to it have
    asked for (`arrived`), what is held after it (`allocated`), what is not (`free`), and by each cause the part of that
    which it keeps from the usual requests.
    """
    simulation, ledger, answered = run.simulation, run.simulation.ledger, run.sequence
    changed = simulation.changes or simulation.preempting
    if ledger.devices is None or changed or not len(answered):
        return None
    view, lay = ledger.view, run.places
    held = run.held[lay.who]
    first, after = Order(simulation).lasting(held, lay.end)
    placed_at, gone_at = np.where(lay.first < 0, first, lay.first), np.where(lay.last < 0, after, lay.last)
    # Whoever moved on before the next decision was there after none.
    order = np.argsort(placed_at, kind="stable")
    order = order[gone_at[order] > placed_at[order]]
    held, placed_at, gone_at = held[order], placed_at[order], gone_at[order]
    last = np.array([ledger.devices.taken.get(row, 0) for row in held.tolist()], np.int64)
    taken = np.where(lay.devices[order] < 0, last, lay.devices[order])
    demand, cpu = simulation.workload.demand, cpu_of(view)
    amounts = demand[held, view.resource]
    cores = demand[held, cpu] if cpu >= 0 else np.zeros(len(held), np.int64)
    left, counts, model, _ = empty_devices(ledger.cluster)
    each = amounts // np.maximum((taken[:, None] >> np.arange(left.shape[1]) & 1).sum(axis=1), 1)
    where, more = np.stack([lay.server[order], taken], axis=1), np.stack([cores, each], axis=1)
    events = np.column_stack([np.append(gone_at, placed_at), np.tile(where, (2, 1)), np.append(more, -more, axis=0)])
    events = events[np.argsort(events[:, 0], kind="stable")]
    room = view.capacity[:, 0, cpu].copy() if cpu >= 0 else np.zeros(len(left), np.int64)
    out = np.zeros((len(answered), len(CAUSES)))
    _follow(room, left, counts, model, *typical(view), events, out)
    change = np.zeros(len(answered) + 1, np.int64)
    np.add.at(change, placed_at, amounts)
    np.subtract.at(change, gone_at, amounts)
    allocated = change[:-1].cumsum() / QUANTUM
    arrived = demand[:, view.resource].cumsum()[answered] / QUANTUM
    total = int(view.devices.installed.sum())
    columns = {"row": answered.astype(np.int64), "arrived": arrived, "allocated": allocated, "free": total - allocated}
    by_cause = zip(CAUSES, (out / 1000).T, strict=True)
    return pl.DataFrame({**columns, **{f"fragments_{cause}": part for cause, part in by_cause}})


@kernel
def _follow(
    cpu: Ints, left: Ints, counts: Ints, model: Ints, kinds: Ints, share: Floats, events: Ints, out: Floats
) -> None:
    """Write to `out` float64 [decisions, CAUSES] the fragments of all servers after every decision, in thousandths.

    `cpu` int64 [servers] and `left` int64 [servers, most] are free at the beginning, and change; `counts` and `model`
    are as in `Devices`. `events` int64 [any, 5], in order: after which decision, the server, the bits of devices, and
    how much more is free from then on of cpu and of each of these.
    """
    now, by_server, new = np.zeros(out.shape[1]), np.zeros((len(cpu), out.shape[1])), np.zeros(out.shape[1])
    for server in range(len(cpu)):
        fragments(cpu[server], left[server], counts[server], model[server], kinds, share, by_server[server])
        for cause in range(len(now)):
            now[cause] += by_server[server, cause]
    event = 0
    for decision in range(len(out)):
        while event < len(events) and events[event, 0] <= decision:
            server, devices = events[event, 1], events[event, 2]
            cpu[server] += events[event, 3]
            for device in range(counts[server]):
                left[server, device] += events[event, 4] * (devices >> device & 1)
            fragments(cpu[server], left[server], counts[server], model[server], kinds, share, new)
            for cause in range(len(now)):
                now[cause] += new[cause] - by_server[server, cause]
                by_server[server, cause] = new[cause]
            event += 1
        for cause in range(len(now)):
            out[decision, cause] = now[cause]


LOWER: dict[str, Any] = {"better": "lower"}


def _until(run: FinishedRun, until: float) -> list[float] | None:
    """Average the shares over the time until then, weighted by time; None where that never comes."""
    if until == np.inf:
        return None
    return list(map(ratio, run.held_until(until).tolist(), run.installed(until).tolist()))


def _shares(
    key: str, name: str, heading: str, meaning: str, shares: Callable[[FinishedRun], list[float] | None], **how: Any
) -> Definition:
    """Make the metric of the shares of resources, or of tiers, which stand behind these in what `shares` returns."""

    def function(run: FinishedRun) -> list[float] | None:
        result, count = shares(run), len(run.resources)
        return result and (result[:count] if how["per"] == "resource" else result[count:])

    return define(key, heading, meaning, function, name=name, unit="%", **how)


def _fragmentation(run: FinishedRun) -> list[float]:
    """Average the stranded share of what is free over the samples."""
    free, stranded = run.samples["free"], run.samples["stranded"]
    return [float((stranded[:, r] / np.maximum(free[:, r], 1)).mean()) for r in range(len(run.resources))]


def _fragmented(run: FinishedRun, devices: pl.DataFrame) -> float:
    """Average over the decisions what is free and not usable, of all that is free."""
    parts = np.ascontiguousarray(devices.select(f"fragments_{cause}" for cause in CAUSES).to_numpy())
    lost = parts.sum(axis=1) - parts[:, USABLE]
    return float((lost / np.maximum(devices["free"].to_numpy(), 1e-9)).mean())


# -- what requests used --------------------------------------------------------------------------------------------


def _wanted_and_missing(result: Contention) -> list[tuple[float, float]]:
    """Add up of each resource what requests would have used, and what they did not get, in quanta x seconds."""
    wanted, missing = result.levels.sum(axis=0).tolist()
    return list(zip(wanted, missing, strict=True))


def _used(run: FinishedRun, result: Contention) -> list[float]:
    pairs = _wanted_and_missing(result)
    installed = run.installed(run.finish)[: len(pairs)]  # behind which a network has its links
    return [ratio(want - miss, float(of)) for (want, miss), of in zip(pairs, installed, strict=True)]


USE: dict[str, Any] = {"needs": attrgetter("contention"), "unit": "%", "in_parts": True}

# -- servers that are to be emptied --------------------------------------------------------------------------------

Emptied = tuple[Floats, Floats]


def _emptied(run: FinishedRun) -> Emptied | None:
    """Need servers to be emptied: since when each was, and when it was empty, float64 [n] each, infinite for never.

    Servers that take nothing from the start are none of them. Of several drains of a server the first counts. One that
    still holds something when its drain ends was not emptied.
    """
    ledger = run.simulation.ledger
    drains = ledger.drains
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


# -- networks and gangs --------------------------------------------------------------------------------------------


def _gang_servers(run: FinishedRun) -> float | None:
    """Average over how many servers the parts of placed gangs are spread; 0 where none was placed."""
    gangs = run.requests.gangs
    if gangs is None or gangs.first is None:
        return None
    rows = np.arange(run.first, run.simulation.offered)
    rows = rows[run.got_place[rows] & (gangs.parts[rows] > 1)]
    lies = np.unique(np.stack([gangs.first[rows], run.server[rows]]), axis=1)
    return len(lies.T) / max(len(np.unique(lies[0])), 1)


ALLOCATED: dict[str, Any] = {"per": "resource", "better": "higher", "beyond": True}
TABLE = table((
    define("used_{}", "{} used %",
           "share of {} of all servers that requests got to use, weighted by time; where the workload says their use",
           _used, per="resource", table="first", **USE),
    define("contention_{}", "{} contention %",
           "share of the {} that requests would have used, and did not get, since nodes have less",
           lambda run, data: [ratio(miss, want) for want, miss in _wanted_and_missing(data)],
           per="resource", better="lower", table="first", **USE),
    define("contended", "contended time %",
           "share of the servers' time in which requests would have used more of a resource than a node has",
           lambda run, data: ratio(float(data.contended.sum()), float(data.seconds.sum())),
           better="lower", table="differs", **USE),
    define("contention_p99", "p99 contention %",
           "share of what it would have used of a resource that a request did not get: 99 % of them miss no more",
           lambda run, data: float(np.quantile(data.lacked, 0.99, method="inverted_cdf")) if len(data.lacked) else 0,
           better="lower", table="differs", **USE),
    define("drained", "until drained", "from when servers were to be emptied until the last of them was",
           lambda run, data: None if np.isinf(data[1]).any() else float((data[1] - data[0]).max()),
           needs=_emptied, unit="s", **LOWER),
    define("undrained", "not drained", "servers to be emptied that still held something at the last decision",
           lambda run, data: int((data[1] > run.finish).sum()), needs=_emptied, table="harm", **LOWER),
    define("span", "span", "0 one server, 1 one rack, 2 neighbouring racks, 3 beyond; mean",
           lambda run, spans: float(spans.T[1].mean()) if len(spans) else 0.0,
           needs=attrgetter("spans"), in_parts=True, **LOWER),
    *(define(f"span_{number}", f"{where} %", f"share of the placements in {where}",
             lambda run, spans, number=number: float((spans.T[1] == number).mean()) if len(spans) else 0.0,
             needs=attrgetter("spans"), unit="%", table="never", in_parts=True)
      for number, where in enumerate(("one server", "one rack", "neighbouring racks", "racks further apart"))),
    define("gang_servers", "servers/gang",
           "servers that the parts of a placed gang lie on; mean of those that arrived in the measured time",
           _gang_servers, **LOWER),
    _shares("allocation", "allocation_{}", "{} %", "share allocated, weighted by time",
            lambda run: _until(run, run.finish), in_parts=True, **ALLOCATED),
    _shares("allocation_decisions", "allocation_{}_decisions", "{} % (decisions)",
            "share allocated, mean over the moments right after every decision",
            lambda run: run.shares[0], table="never", in_parts=True, **ALLOCATED),
    _shares("allocation_end", "allocation_{}_end", "{} % (end)", "share allocated right after the last decision",
            lambda run: run.shares[1], table="never", **ALLOCATED),
    _shares("utilisation", "utilisation_{}", "{} % in all", "share allocated over the makespan",
            lambda run: _until(run, run.last), table="never", **ALLOCATED),
    _shares("links_allocation", "allocation_{}", "{} %", "share of the links reserved, weighted by time",
            lambda run: _until(run, run.finish), per="tier", in_parts=True),
    _shares("links_allocation_decisions", "allocation_{}_decisions", "{} % (decisions)",
            "share of the links reserved, mean over the moments right after every decision",
            lambda run: run.shares[0], per="tier", table="never", in_parts=True),
    define("fragmented_gpu", "gpu fragmented %",
           "free parts of devices that a usual request could not take, of all that are free, mean over the decisions",
           _fragmented, needs=history, unit="%", **LOWER),
    define("fragmentation", "{} fragmentation %", "free {} that no flavour can use", _fragmentation,
           name="fragmentation_{}", per="resource", unit="%", better="lower", table="first", in_parts=True),
    define("servers", "servers", "at the end, with all expansion", lambda run: len(run.capacity),
           better="lower", table="differs"),
    define("servers_used", "servers used", "holding something, mean over the run",
           lambda run: float(run.samples["in_use"].mean()), better="lower", in_parts=True),
    define("servers_used_end", "servers used at the end", "holding something then",
           lambda run: int(run.samples["in_use"][-1]), better="lower"),
))  # fmt: skip
