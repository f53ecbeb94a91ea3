"""The solver as an agent: each request is an allocation problem, stated by a template and searched anew."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import as_file, files
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from agents import AGENTS
from agents.solver.front import specification, text_of
from fabric.filling import begin, choose, filling
from fabric.network import NetworkView, Provisioned, span
from fabric.routing import Routes, find_path
from simcore.errors import UserError
from simcore.jit import kernel, prepared
from simcore.units import TIME
from simcore.vocabulary import QUANTUM, Agent, Floats, Ints, Placement, Refusal, Request, View, part

if TYPE_CHECKING:
    from agents.solver.online import Online

MOST = 10_000
"""Attempts and pieces."""


class Solver(Agent):
    """What the solver finds for a template in the allocation language, one request at a time.

    `path` is a template of your own. `attempts` limits the search, and so does `deadline`, with which results depend on
    the machine. `pieces` of each resource are what a request in a network is cut into. `params` are the template's.
    `fallback` is another agent, a name or {name: {option: value}}, that is asked where nothing is found.
    """

    reference = "Rai, Bhagwan, Guha 2012, Generalized resource allocation for the cloud, SoCC; this use of it is ours"

    def __init__(
        self,
        path: str | None = None,
        attempts: int = 32,
        deadline: float | str | None = None,
        pieces: int = 16,
        params: dict[str, float] | None = None,
        fallback: str | dict[str, Any] | None = None,
    ) -> None:
        for key, value in (("attempts", attempts), ("pieces", pieces)):
            if not 1 <= value <= MOST:
                raise UserError("is out of range", key=key, value=value, remedy=f"Give 1 to {MOST:,}.")
        self.path = path
        self.attempts, self.pieces, self.params = attempts, pieces, dict(params or {})
        try:
            self.deadline = None if deadline is None else TIME.parse(deadline)
        except UserError as error:
            raise UserError(error.problem, key="deadline", value=deadline, remedy=error.remedy) from None
        self.fallback = None if fallback is None else _agent(fallback)

    _model: _Servers | _Network

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Compile the template for this cluster."""
        self._seed = int(rng.integers(2**62))
        self._model = _Network(self, view) if isinstance(view, NetworkView) else _Servers(self, view)
        if self.fallback is not None:
            self.fallback.start(view, rng)

    def decide(self, view: View, request: Request) -> Placement | Refusal | None:
        """The cheapest answer that is found, or what the fallback says."""
        if len(view.free) != self._model.servers:  # the cluster has grown
            self._model = _Servers(self, view)
        self._seed += 1
        answer = self._model.answer(view, request, self._seed)
        return self.fallback.decide(view, request) if answer is None and self.fallback is not None else answer

    def online(
        self,
        template: str,
        params: Mapping[str, int],
        tables: Mapping[str, Any],
        varying: Mapping[str, int],
        balls: int,
        bins: int,
    ) -> Online:
        """The template with this cluster's values; `varying` has the tables that change and their largest entries."""
        with as_file(files("agents.solver").joinpath("templates", f"{template}.alloc")) as shipped:
            file = shipped if self.path is None else Path(self.path)
            text = text_of(file)
        # lark is looked for before modules that need it are imported.
        declared = specification(text, file=file).declared
        from agents.solver.online import Online

        for name in self.params:
            if name in params:
                remedy = "Leave it out: it is a size of the cluster."
                raise UserError(f"{name} is given by the agent", key="params", value=self.params, remedy=remedy)
        given = {**self.params, **{name: value for name, value in params.items() if name in declared}}
        return Online(text, file, given, tables, {name: (0, most) for name, most in varying.items()}, balls, bins)


class _Servers:
    """Servers with NUMA nodes: the request is one ball; server * nodes + node is a bin."""

    def __init__(self, agent: Solver, view: View) -> None:
        self.servers, nodes, kinds = view.capacity.shape
        self.agent, self.nodes = agent, nodes
        self.most = view.capacity.sum(axis=1).max(axis=0).tolist()
        self.online = agent.online(
            "numa",
            {"SERVERS": self.servers, "NODES": nodes, "KINDS": kinds},
            {
                "FREE": _units(view.capacity),
                "CAPACITY": _units(view.capacity),
                "DEMAND": np.zeros((1, kinds)),
                "PART": np.zeros((1, nodes, kinds)),
                "SPREAD": np.zeros(1, np.int64),
            },
            {"FREE": int(view.capacity.max()), "DEMAND": max(self.most), "PART": max(self.most), "SPREAD": 1},
            balls=1,
            bins=self.servers * nodes,
        )

    def answer(self, view: View, request: Request, seed: int) -> Placement | None:
        """Where the request goes."""
        demand, online, agent = request.demand, self.online, self.agent
        if any(amount > most for amount, most in zip(demand, self.most, strict=True)):
            return None
        online.write("FREE", view.free)
        online.write("DEMAND", demand)
        online.write("SPREAD", request.spread)
        if request.spread:
            online.write("PART", [part(demand, node, self.nodes) for node in range(self.nodes)])
        found = online.find(seed, agent.attempts, agent.deadline)
        if found is None:
            return None
        server, node = divmod(int(found[0]), self.nodes)
        return request.across(server, self.nodes) if request.spread else request.on(server, node)


class _Network:
    """Servers in a network: the request's pieces, each of one resource, are balls; servers are bins.

    The solver chooses servers. What they give and the links between them follow from the rules of `fabric.filling`.
    """

    def __init__(self, agent: Solver, view: NetworkView) -> None:
        self.servers, nodes, kinds = view.capacity.shape
        topology, pieces = view.topology, agent.pieces
        self.agent, self.kinds = agent, kinds
        home, self.wires = topology.rack_of.astype(np.int64), topology.server_link.astype(np.int64)
        self.open, self.reach = np.zeros(self.servers, np.int64), np.zeros((topology.racks,) * 2, np.int64)
        self.pieces = np.zeros((kinds, pieces, kinds), np.int64)
        capacity = view.capacity.sum(axis=1)
        self.most = capacity.sum(axis=0).tolist()
        self.online = agent.online(
            "fabric",
            {"SERVERS": self.servers, "RACKS": topology.racks, "KINDS": kinds},
            {
                "FREE": _units(capacity),
                "CAPACITY": _units(capacity),
                "LARGEST": _units(np.maximum(capacity.max(axis=0), 1)),
                "RACK": home,
                "POD": topology.pod_of[home].astype(np.int64),
                "OPEN": self.open,
                "REACH": self.reach,
                "DEMAND": _units(self.pieces.reshape(-1, kinds)),
            },
            {"FREE": int(capacity.max()), "OPEN": 1, "REACH": 1, "DEMAND": max(self.most)},
            balls=kinds * pieces,
            bins=self.servers,
        )
        self.room = room = filling(view.routing, nodes, kinds)
        self.refusals = [Refusal(f"no path: {tier}") for tier in topology.tiers]
        routes, wires = view.routing.routes, view.link_free
        self.reaching = prepared(reaching, routes, wires, self.wires, 1, True, self.open, self.reach)
        self.begin = prepared(begin, room, (1,) * kinds)
        self.choose = prepared(choose, routes, wires, topology.link_tier, view.free, room, 1, 1, True)

    def answer(self, view: View, request: Request, seed: int) -> Provisioned | Refusal | None:
        """Which servers the request takes, and what follows from it."""
        assert isinstance(view, NetworkView)
        demand, online, agent = request.demand, self.online, self.agent
        if any(amount > most for amount, most in zip(demand, self.most, strict=True)):
            return None
        for r, amount in enumerate(demand):
            each, odd = divmod(amount, agent.pieces)
            self.pieces[r, :, r] = each
            self.pieces[r, :odd, r] += 1
        routes, bandwidth, weighted = view.routing.routes, request.bandwidth, view.weighted
        self.reaching(routes, view.link_free, self.wires, bandwidth, weighted, self.open, self.reach)
        online.write("FREE", view.free.sum(axis=1))
        online.write("OPEN", self.open)
        online.write("REACH", self.reach)
        online.write("DEMAND", self.pieces.reshape(-1, self.kinds))
        found = online.find(seed, agent.attempts, agent.deadline)
        if found is None:
            return None
        self.begin(self.room, demand)
        # Those that take most pieces first: the request may be complete without the last ones.
        counts = np.bincount(found, minlength=self.servers)
        tier = view.topology.link_tier
        for server in np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)].tolist():
            status = self.choose(routes, view.link_free, tier, view.free, self.room, server, bandwidth, weighted)
            if status < 0:
                return self.refusals[-1 - status]
            if status:
                break
        return self._placement(view)

    def _placement(self, view: NetworkView) -> Provisioned:
        room = self.room
        servers, shares, links, _ = room.counts.tolist()
        chosen = room.servers[:servers].tolist()
        places, amounts = room.places[:shares].tolist(), room.amounts[:shares].tolist()
        given = tuple((server, node, tuple(each)) for (server, node), each in zip(places, amounts, strict=True))
        nothing = ((chosen[0], 0, (0,) * self.kinds),)
        return Provisioned(given or nothing, tuple(room.links[:links].tolist()), servers, span(view.topology, chosen))


@kernel
def reaching(
    routes: Routes, link_free: Ints, wires: Ints, bandwidth: int, weighted: bool, open_: Ints, reach: Ints
) -> None:
    """Write which servers' own links have the bandwidth, `open_` [servers], and which racks have a path, `reach`
    [racks, racks]. `wires` [servers] are the own links, -1 for none."""
    for server in range(len(open_)):
        open_[server] = 1 if wires[server] < 0 or link_free[wires[server]] >= bandwidth else 0
    for one in range(len(reach)):
        for other in range(one + 1):
            there = find_path(routes, link_free, one, other, bandwidth, weighted) >= 0
            reach[one, other] = reach[other, one] = 1 if there else 0


def _units(quanta: Ints) -> Floats:
    """As the language counts: quantities, whose millionths are the quanta."""
    return quanta / QUANTUM


def _agent(given: str | dict[str, Any]) -> Agent:
    """The fallback."""
    if isinstance(given, dict) and len(given) != 1:
        raise UserError("is no agent", key="fallback", value=given, remedy="Write a name, or {name: {option: value}}.")
    [(name, options)] = given.items() if isinstance(given, dict) else [(given, {})]
    kind = AGENTS.load(name)
    try:
        signature(kind).bind(**(options or {}))
    except TypeError as error:
        known = ", ".join(signature(kind).parameters) or "none"
        raise UserError(f"{name}: {error}", key="fallback", value=given, remedy=f"Options: {known}.") from None
    made: Agent = kind(**(options or {}))
    return made
