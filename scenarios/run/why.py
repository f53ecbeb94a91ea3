"""Plays a run again to tell why a request got its answer, and what was refused for which reason."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from binwright.analysis.measure.metric import duration
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.build.plan import Run
from binwright.scenarios.build.world import agents_of, build_world
from binwright.scenarios.features import features
from binwright.scenarios.run.execute import play_run, prepare_run
from binwright.scenarios.schema.workload import Trace
from binwright.simcore.agent_calls import answer_all, describe_request, raised
from binwright.simcore.errors import UserError
from binwright.simcore.extras import pl
from binwright.simcore.record import IMPOSSIBLE, PENDING, REJECTED, SPREAD
from binwright.simcore.rng import stream
from binwright.simcore.types import QUANTUM, Agent, Ints, Request, View, Workload, part
from binwright.workloads.traces.cells import DATED
from binwright.workloads.traces.check import LABELS

ROOM = "room"
"""What is said of a server where nothing stood in the way."""


@dataclass(frozen=True, slots=True)
class Why:
    """Tells what a request met when its agent was first asked about it.

    `answer` says in words what became of it. `servers` has a row per server: `server`, the `node` that lacks least
    (null where the request takes a part of every node), of every resource what is `free_<resource>` there and what it
    `lacks_<resource>`, in units, and `why`: `room`, what lacks, or what kept the request out whatever is free.
    `parts` says how many of a gang had room. Times count from `origin`, in seconds since 1970 where the trace has
    dates, and 0 elsewhere.
    """

    request: Request
    id: str
    time: float
    answer: str
    resources: tuple[str, ...]
    servers: pl.DataFrame
    networked: bool = False
    parts: str = ""
    origin: float = 0.0


def why(run: Run, wanted: str) -> Why:
    """Play a run up to the answer to a request, which is named by its id, or as `row 12`.

    Raises a `UserError` for a request that there is not, and for one that came before the agent did.
    """
    world = build_world(run.scenario)
    agent, warm = agents_of(run, world)
    luck = partial(stream, run.seed)
    simulation = prepare_run(run, world, warm, False, luck)
    row = _row(simulation.workload, wanted)
    if simulation.record.outcome[row] == IMPOSSIBLE:
        found = _Asked(world.simulation(run.seed), row).impossible()
        return replace(found, origin=_origin(run, simulation.workload))
    if row < simulation.offered:
        remedy = f"The agent's own requests begin at row {simulation.offered}."
        raise UserError("came during the warm start", key="--request", value=wanted, remedy=remedy)
    world.begin(simulation, run.seed, luck)
    agent.start(simulation.view, luck("agent"))
    return replace(_Asked(simulation, row).why(agent), origin=_origin(run, simulation.workload))


class RefusedRequests(NamedTuple):
    """Holds what a run refused.

    A request that was interrupted and sent back counts once, as refused if it got no place again. `reasons` has a row
    per reason: `reason`, how many `requests`, when the `first` and the `last` of them came, in seconds, and `ids` of
    some that never had a place. `kinds` has a row per kind of request: the demand in units, a column per resource, the
    `group` where there are groups, how many were `offered`, and how many `refused`.

    `labels` has a row per `label` and `value` of it, such as each tenant: how many were `offered`, how many `refused`,
    and how many are `expected`: so many would be if each were refused as often as all of its kind. Who is refused more
    than that is treated worse than the others, and does not only ask for more. Times count from `origin`, in seconds
    since 1970 where the trace has dates, and 0 elsewhere.
    """

    reasons: pl.DataFrame
    kinds: pl.DataFrame
    labels: pl.DataFrame
    origin: float = 0.0


def _origin(run: Run, workload: Workload) -> float:
    """Return when the requests begin on the clock of their trace, 0 where that has no dates or is not kept."""
    spec = run.scenario.workload
    if isinstance(spec, Trace) and (spec.superpose > 1 or spec.time_scale != 1):
        return 0.0
    return workload.origin if workload.origin >= DATED else 0.0


def refused(run: Run) -> RefusedRequests:
    """Play a run to its end, and count what it refused."""
    world = build_world(run.scenario)
    over, *_ = play_run(run, world, *agents_of(run, world), sampled=False)
    first, simulation = over.first, over.simulation
    record, asked = simulation.record, simulation.asked()
    rows = np.arange(first, simulation.offered)
    rows = asked.leads(rows[record.outcome[rows] != PENDING])
    last, back = np.arange(simulation.offered), _refused_as_sent_back(simulation)
    last[record.sources(back)] = back
    answers = last[rows]
    no = np.isin(record.outcome[answers], (REJECTED, IMPOSSIBLE))
    reasons = np.array([*record.reasons, "no server could hold it, even empty"], object)
    frame = pl.DataFrame(
        {
            **{name: asked.demand[rows, r] / QUANTUM for r, name in enumerate(asked.resources)},
            **(
                {"group": [asked.roles.all[role].group for role in asked.roles.of[rows].tolist()]}
                if asked.roles is not None
                else {}
            ),
            **{f"{LABELS}{name}": words[rows] for name, words in asked.labels.items()},
            "id": [str(name) for name in asked.id[rows].tolist()],
            "arrival": asked.arrival[rows],
            "no": no,
            "ran": answers != rows,
            "reason": reasons[np.where(record.outcome[answers] == IMPOSSIBLE, -1, record.reason[answers])].tolist(),
        }
    )
    by = [name for name in frame.columns if name in (*asked.resources, "group")]
    kinds = frame.group_by(by, maintain_order=True).agg(pl.len().alias("offered"), pl.col("no").sum().alias("refused"))
    found = (
        frame.filter("no")
        .group_by("reason", maintain_order=True)
        .agg(
            pl.len().alias("requests"),
            pl.col("arrival").min().alias("first"),
            pl.col("arrival").max().alias("last"),
            pl.col("id").filter(~pl.col("ran")).head(3).alias("ids"),
        )
    )
    largest_first: Any = {"descending": True, "maintain_order": True}
    return RefusedRequests(
        found.sort("requests", **largest_first),
        kinds.sort("refused", **largest_first),
        _by_label(frame.with_columns(pl.col("no").mean().over(by).alias("expected"))),
        _origin(run, simulation.workload),
    )


def _refused_as_sent_back(simulation: Simulation) -> Ints:
    """Return the rows, int64 [n], on which requests that were interrupted and sent back were refused."""
    record = simulation.record
    back = np.arange(len(simulation.workload), record.rows)
    return back[np.isin(record.outcome[back], (REJECTED, IMPOSSIBLE))]


def _by_label(frame: pl.DataFrame) -> pl.DataFrame:
    """Count what was offered and refused by the values of each label, those first that are refused more than others."""
    words = dict.fromkeys(("label", "value"), pl.String())
    schema = pl.Schema({**words, "offered": pl.UInt32(), "refused": pl.UInt32(), "expected": pl.Float64()})
    found = [pl.DataFrame(schema=schema)]
    for name in (each for each in frame.columns if each.startswith(LABELS)):
        counted = frame.group_by(pl.col(name).alias("value"), maintain_order=True).agg(
            pl.len().alias("offered"), pl.col("no").sum().alias("refused"), pl.col("expected").sum()
        )
        more = (pl.col("refused") - pl.col("expected")).round(6)
        counted = counted.sort(more, "offered", descending=True, maintain_order=True)
        found.append(counted.select(pl.lit(name.removeprefix(LABELS)).alias("label"), *list(schema)[1:]).cast(schema))
    return pl.concat(found)


def _row(workload: Workload, wanted: str) -> int:
    """Find the row of a request by its id, or by `row 12`."""
    word, _, number = wanted.partition(" ")
    if word == "row" and number.isdigit():
        if int(number) < len(workload):
            return int(number)
        remedy = f"Rows are 0 to {len(workload) - 1}."
        raise UserError("there is no such row", key="--request", value=wanted, remedy=remedy)
    found = np.flatnonzero(workload.id.astype(np.str_) == wanted)
    if not len(found):
        remedy = f"They are {workload.id[0]} to {workload.id[-1]}, in order of arrival; `row 12` is the thirteenth."
        if workload.id.dtype.kind == "i" and not wanted.isdecimal():
            remedy = f"Requests are named by their row, 0 to {len(workload) - 1:,}. Where a table has ids, "
            remedy += "`binwright traces describe` says why they are not read, such as one that is there twice."
        raise UserError("no request of this run has this id", key="--request", value=wanted, remedy=remedy)
    return int(found[0])


class _Asked:
    """Drives a simulation to the first question about a row, and on to its answer."""

    def __init__(self, simulation: Simulation, row: int) -> None:
        self._simulation, self._ledger, self._row = simulation, simulation.ledger, row
        self._view: View = simulation.view

    def why(self, agent: Agent) -> Why:
        """Let the agent answer until the row has its answer."""
        simulation, row = self._simulation, self._row
        seen: Why | None = None
        request: Request | None
        while (request := simulation.advance()) is not None:
            mine = next((one for one in simulation.offer or (request,) if one.index == row), None)
            if mine is not None and seen is None:
                seen = self._look(mine, self._view.everything_free, "")
            if simulation.offer:
                answer_all(agent, self._view, simulation.offer, simulation.answer)
            else:
                try:
                    placement = agent.decide(self._view, request)
                except Exception as error:
                    raise raised(agent, error, describe_request(request, self._view.resources)) from error
                simulation.answer(placement)
            if seen is not None and simulation.record.outcome[row] != PENDING and not simulation.preempting:
                break
        if seen is None:
            remedy = "Without --request all reasons are counted."
            problem = "the run ended before it was offered to the agent"
            if simulation.record.outcome[row] != PENDING:
                problem = f"{self._became(simulation.request(row).arrival)}, before it was offered to the agent"
            raise UserError(problem, key="--request", value=str(simulation.workload.id[row]), remedy=remedy)
        return replace(seen, answer=self._became(seen.request.arrival))

    def impossible(self) -> Why:
        """Look at the servers before the run, none of which can hold the row."""
        request = self._simulation.request(self._row)
        found = self._look(request, self._view.capacity, "impossible: no server could hold it, even empty")
        return replace(found, time=request.arrival)

    def _became(self, arrival: float) -> str:
        """Say what became of the row, which arrived then."""
        record, row = self._simulation.record, self._row
        outcome = record.outcome[row]
        found, reason = self._simulation.gangs.lacked.get(row, (0, ""))
        part = f": part {found + 1} found no place: {reason}" if reason else ""
        if outcome == PENDING:
            return f"still waiting when the run ended{part}{self._by_features()}"
        later = (
            f", {duration(record.decided[row] - arrival)} after its arrival" if record.decided[row] > arrival else ""
        )
        if outcome == REJECTED:
            return f"refused{later}{part or f': {record.reasons[record.reason[row]]}'}"
        node = "" if record.node[row] == SPREAD else f", node {record.node[row]}"
        place = "in the network" if self._ledger.tiers else f"on server {record.server[row]}{node}"
        gangs = self._simulation.workload.gangs
        if gangs is not None and gangs.parts[row] > 1:
            rows = np.flatnonzero(gangs.first == row)
            rows = rows[record.outcome[rows] != REJECTED]
            place = f"with {len(rows)} parts on servers {', '.join(map(str, np.unique(record.server[rows]).tolist()))}"
        return f"placed {place}{later}{self._by_features()}"

    def _by_features(self) -> str:
        """Say what features did to the row: that it was kept waiting, that others gave way to it, or it to them."""
        return "".join(f"; {said}" for each in features() for said in each.why(self._simulation, self._row))

    def _look(self, request: Request, free: Ints, answer: str) -> Why:
        """Look at what every server has for a request; `free` int64 [servers, nodes, resources] is not changed."""
        resources, ledger = self._view.resources, self._ledger
        node, there, lacks = _nearest(free, request)
        out = ledger.kept_out(request)
        words = []
        for server, lacking in enumerate((lacks > 0).tolist()):
            short = ", ".join(name for name, lack in zip(resources, lacking, strict=True) if lack)
            words.append(out.get(server) or (f"lacks {short}" if short else ROOM))
        frame = pl.DataFrame(
            {
                "server": np.arange(len(free)),
                "node": pl.Series(node, dtype=pl.Int64) if not request.spread else [None] * len(free),
                **{f"free_{name}": there[:, r] / QUANTUM for r, name in enumerate(resources)},
                **{f"lacks_{name}": lacks[:, r] / QUANTUM for r, name in enumerate(resources)},
                "why": words,
            },
            schema_overrides={"node": pl.Int64},
        )
        workload = self._simulation.workload
        name = str(workload.id[request.index])
        lasts = float(workload.duration[request.index])  # whatever agents are told
        known = Request(*request)._replace(duration=lasts)
        gang, parts = request.gang, ""
        if gang:
            room = ledger.room_for_parts(request, ledger.open_to(request))
            parts = f"Of its {gang.parts} parts {room} had room."
        return Why(known, name, self._simulation.now, answer, resources, frame, bool(ledger.tiers), parts)


def _nearest(free: Ints, request: Request) -> tuple[Ints, Ints, Ints]:
    """Find for every server the node that lacks least of a request, as a share of what it asks for.

    Returns the node int64 [servers], what is free there and what it lacks, both int64 [servers, resources]. A request
    that takes a part of every node has all of them.
    """
    demand = np.array(request.demand)
    if request.spread:
        lack = np.maximum(0, _parts(request, free.shape[1]) - free).sum(axis=1)
        return np.zeros(len(free), np.int64), free.sum(axis=1), lack
    lack = np.maximum(0, demand - free)
    node = (lack / np.maximum(demand, 1)).max(axis=2).argmin(axis=1)
    rows = np.arange(len(free))
    return node, free[rows, node], lack[rows, node]


def _parts(request: Request, nodes: int) -> Ints:
    """Return what each node gives to a spread request, int64 [nodes, resources]."""
    return np.array([part(request.demand, node, nodes) for node in range(nodes)])
