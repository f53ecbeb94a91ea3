"""Plays a run again to tell why a request got its answer, and what was refused for which reason."""

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
from binwright.simcore.agent_calls import answer_all, describe_request, raised
from binwright.simcore.errors import UserError
from binwright.simcore.extras import pl
from binwright.simcore.record import IMPOSSIBLE, PENDING, QUEUE, QUOTA, REJECTED, SPREAD
from binwright.simcore.rng import stream
from binwright.simcore.types import QUANTUM, Agent, Ints, Request, part
from binwright.simcore.workload import Workload
from binwright.workloads.traces.check import LABELS

ROOM = "room"
"""What is said of a server where nothing stood in the way."""


@dataclass(frozen=True, slots=True)
class Why:
    """Tells what a request met when its agent was first asked about it.

    `answer` says in words what became of it. `servers` has a row per server: `server`, the `node` that lacks least
    (null where the request takes a part of every node), of every resource what is `free_<resource>` there and what it
    `lacks_<resource>`, in units, and `why`: `room`, what lacks, or what kept the request out whatever is free.
    """

    request: Request
    id: str
    time: float
    answer: str
    resources: tuple[str, ...]
    servers: pl.DataFrame
    networked: bool = False


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
        simulation = world.simulation(run.seed)
        request, answer = simulation.request(row), "impossible: no server could hold it, even empty"
        return replace(_look(simulation, request, simulation.view.capacity), time=request.arrival, answer=answer)
    if row < simulation.offered:
        remedy = f"The agent's own requests begin at row {simulation.offered}."
        raise UserError("came during the warm start", key="--request", value=wanted, remedy=remedy)
    world.begin(simulation, run.seed, luck)
    agent.start(simulation.view, luck("agent"))
    return _until_answered(simulation, agent, row)


class RefusedRequests(NamedTuple):
    """Holds what a run refused.

    A request that was interrupted and sent back counts once, as refused if it got no place again. `reasons` has a row
    per reason: `reason`, how many `requests`, when the `first` and the `last` of them came, in seconds, and `ids` of
    some that never had a place though their agent was asked. `kinds` has a row per kind of request: the demand in
    units, a column per resource, the `group` where there are groups, how many were `offered`, and how many `refused`.

    `labels` has a row per `label` and `value` of it, such as each tenant: how many were `offered`, how many `refused`,
    and how many are `expected`: so many would be if each were refused as often as all of its kind. Who is refused more
    than that is treated worse than the others, and does not only ask for more.

    `waits` has a row per request that was placed after its arrival, the longest wait first: its `id`, what it asked for
    as in `kinds`, when it came (`arrival`) and how long it waited (`wait`), in seconds.
    """

    reasons: pl.DataFrame
    kinds: pl.DataFrame
    labels: pl.DataFrame
    waits: pl.DataFrame


def refused(run: Run) -> RefusedRequests:
    """Play a run to its end, and count what it refused."""
    world = build_world(run.scenario)
    over, *_ = play_run(run, world, *agents_of(run, world), sampled=False)
    first, simulation = over.first, over.simulation
    record, requests = simulation.record, simulation.as_workload()
    rows = np.arange(first, simulation.offered)
    rows = requests.leads(rows[record.outcome[rows] != PENDING])
    back = np.arange(len(simulation.workload), record.rows)  # those that were interrupted and sent back
    back, last = back[np.isin(record.outcome[back], (REJECTED, IMPOSSIBLE))], np.arange(simulation.offered)
    last[record.sources(back)] = back
    answers = last[rows]
    no = np.isin(record.outcome[answers], (REJECTED, IMPOSSIBLE))
    reasons = np.array([*record.reasons, "no server could hold it, even empty"], object)
    by: dict[str, Any] = {name: requests.demand[rows, r] / QUANTUM for r, name in enumerate(requests.resources)}
    if requests.roles is not None:
        by["group"] = [requests.roles.all[role].group for role in requests.roles.of[rows].tolist()]
    columns = {
        **by,
        **{f"{LABELS}{name}": words[rows] for name, words in requests.labels.items()},
        "id": [str(name) for name in requests.id[rows].tolist()],
        "arrival": requests.arrival[rows],
        "wait": record.decided[rows] - requests.arrival[rows],
        "no": no,
        "ran": answers != rows,
        "reason": reasons[np.where(record.outcome[answers] == IMPOSSIBLE, -1, record.reason[answers])].tolist(),
    }
    frame, unasked = pl.DataFrame(columns), pl.col("reason").str.contains(f"^({QUOTA}|{QUEUE})")
    kinds = frame.group_by([*by], maintain_order=True).agg(
        pl.len().alias("offered"), pl.col("no").sum().alias("refused")
    )
    by_reason = (
        frame.filter("no")
        .group_by("reason", maintain_order=True)
        .agg(
            pl.len().alias("requests"),
            pl.col("arrival").min().alias("first"),
            pl.col("arrival").max().alias("last"),
            pl.col("id").filter(~pl.col("ran") & ~unasked).head(3).alias("ids"),
        )
    )
    largest_first: Any = {"descending": True, "maintain_order": True}
    return RefusedRequests(
        by_reason.sort("requests", **largest_first),
        kinds.sort("refused", **largest_first),
        _by_label(frame.with_columns(pl.col("no").mean().over([*by]).alias("expected"))),
        frame.filter(~pl.col("no"), pl.col("wait") > 0)
        .select("id", *by, "arrival", "wait")
        .sort("wait", **largest_first),
    )


def _by_label(frame: pl.DataFrame) -> pl.DataFrame:
    """Count what was offered and refused by the values of each label, those first that are refused more than others."""
    words = dict.fromkeys(("label", "value"), pl.String())
    schema = pl.Schema({**words, "offered": pl.UInt32(), "refused": pl.UInt32(), "expected": pl.Float64()})
    tables = [pl.DataFrame(schema=schema)]
    for name in (each for each in frame.columns if each.startswith(LABELS)):
        counted = frame.group_by(pl.col(name).alias("value"), maintain_order=True).agg(
            pl.len().alias("offered"), pl.col("no").sum().alias("refused"), pl.col("expected").sum()
        )
        more = (pl.col("refused") - pl.col("expected")).round(6)
        counted = counted.sort(more, "offered", descending=True, maintain_order=True)
        tables.append(counted.select(pl.lit(name.removeprefix(LABELS)).alias("label"), *list(schema)[1:]).cast(schema))
    return pl.concat(tables)


def _row(workload: Workload, wanted: str) -> int:
    """Find the row of a request by its id, or by `row 12`."""
    word, _, number = wanted.partition(" ")
    if word == "row" and number.isdigit():
        if int(number) < len(workload):
            return int(number)
        remedy = f"Rows are 0 to {len(workload) - 1}."
        raise UserError("there is no such row", key="--request", value=wanted, remedy=remedy)
    rows = np.flatnonzero(workload.id.astype(np.str_) == wanted)
    if not len(rows):
        remedy = f"They are {workload.id[0]} to {workload.id[-1]}, in order of arrival; `row 12` is the thirteenth."
        raise UserError("no request of this run has this id", key="--request", value=wanted, remedy=remedy)
    return int(rows[0])


def _until_answered(simulation: Simulation, agent: Agent, row: int) -> Why:
    """Let an agent answer until a row has its answer, and look at the servers when it is asked about it first."""
    view, seen = simulation.view, None
    while (request := simulation.advance()) is not None:
        mine = next((each for each in simulation.offer or (request,) if each.index == row), None)
        if mine is not None and seen is None:
            seen = _look(simulation, mine, view.everything_free)
        if simulation.offer:
            answer_all(agent, view, simulation.offer, simulation.answer)
        else:
            try:
                placement = agent.decide(view, request)
            except Exception as error:
                raise raised(agent, error, describe_request(request, view.resources)) from error
            simulation.answer(placement)
        if seen is not None and simulation.record.outcome[row] != PENDING and not simulation.preempting:
            break
    if seen is None:
        problem = "the run ended before it was offered to the agent"
        if simulation.record.outcome[row] != PENDING:
            arrival = simulation.request(row).arrival
            problem = f"{_became(simulation, row, arrival)}, before it was offered to the agent"
        remedy = "Without --request all reasons are counted."
        raise UserError(problem, key="--request", value=str(simulation.workload.id[row]), remedy=remedy)
    return replace(seen, answer=_became(simulation, row, seen.request.arrival))


def _became(simulation: Simulation, row: int, arrival: float) -> str:
    """Say what became of a row, which arrived then, and what features did to it."""
    record, gangs = simulation.record, simulation.workload.gangs
    outcome, decided = record.outcome[row], record.decided[row]
    number, reason = simulation.gangs.lacked.get(row, (0, ""))
    lacked = f": part {number + 1} found no place: {reason}" if reason else ""
    by_features = "".join(f"; {each}" for feature in features() for each in feature.why(simulation, row))
    if outcome == PENDING:
        return f"still waiting when the run ended{lacked}{by_features}"
    later = f", {duration(decided - arrival)} after its arrival" if decided > arrival else ""
    if outcome == REJECTED:
        return f"refused{later}{lacked or f': {record.reasons[record.reason[row]]}'}"
    node = "" if record.node[row] == SPREAD else f", node {record.node[row]}"
    place = "in the network" if simulation.ledger.tiers else f"on server {record.server[row]}{node}"
    if gangs is not None and gangs.parts[row] > 1:
        rows = np.flatnonzero(gangs.first == row)
        rows = rows[record.outcome[rows] != REJECTED]
        place = f"with {len(rows)} parts on servers {', '.join(map(str, np.unique(record.server[rows]).tolist()))}"
    return f"placed {place}{later}{by_features}"


def _look(simulation: Simulation, request: Request, free: Ints) -> Why:
    """Look at what every server has for a request; `free` int64 [servers, nodes, resources] is not changed."""
    resources, ledger, workload = simulation.view.resources, simulation.ledger, simulation.workload
    node, nearest, lacks = _nearest(free, request)
    out, words = ledger.excluded(request), list[str]()
    for server, lacking in enumerate((lacks > 0).tolist()):
        short = ", ".join(name for name, lack in zip(resources, lacking, strict=True) if lack)
        words.append(out.get(server) or (f"lacks {short}" if short else ROOM))
    columns = {
        "server": np.arange(len(free)),
        "node": pl.Series([None] * len(free) if request.spread else node, dtype=pl.Int64),
        **{f"free_{name}": nearest[:, r] / QUANTUM for r, name in enumerate(resources)},
        **{f"lacks_{name}": lacks[:, r] / QUANTUM for r, name in enumerate(resources)},
        "why": words,
    }
    # Whatever agents are told of how long it lasts.
    known = Request(*request)._replace(duration=float(workload.duration[request.index]))
    name, networked = str(workload.id[request.index]), bool(ledger.tiers)
    return Why(known, name, simulation.now, "", resources, pl.DataFrame(columns), networked)


def _nearest(free: Ints, request: Request) -> tuple[Ints, Ints, Ints]:
    """Find for every server the node that lacks least of a request, as a share of what it asks for.

    Returns the node int64 [servers], what is free there and what it lacks, both int64 [servers, resources]. A request
    that takes a part of every node has all of them.
    """
    demand, nodes = np.array(request.demand), free.shape[1]
    if request.spread:
        parts = np.array([part(request.demand, node, nodes) for node in range(nodes)])
        return np.zeros(len(free), np.int64), free.sum(axis=1), np.maximum(0, parts - free).sum(axis=1)
    lack = np.maximum(0, demand - free)
    node = (lack / np.maximum(demand, 1)).max(axis=2).argmin(axis=1)
    rows = np.arange(len(free))
    return node, free[rows, node], lack[rows, node]
