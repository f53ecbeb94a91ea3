"""A network as a file tells it, vertex by vertex, and the check that servers can use it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from binwright.fabric.topology import Topology, TopologyError, assemble, capacity

MOST_LEVELS = 60
"""Switches further from the servers count as this far, so that the pairs of levels fit an int8."""


@dataclass(slots=True)
class Graph:
    """What a file says: vertices by name, with the line of their first mention, in that order.

    `servers` is `None` as long as the file names none: then every vertex with exactly one link is a server.
    """

    file: Path
    lines: dict[str, int] = field(default_factory=dict)
    links: dict[tuple[str, str], int] = field(default_factory=dict)
    """(one end, other end) -> quanta; each link once, the ends as first given."""
    servers: set[str] | None = None
    near: dict[str, list[str]] = field(default_factory=dict)

    def vertex(self, name: str, line: int) -> None:
        if name not in self.lines:
            self.lines[name] = line
            self.near[name] = []

    def link(self, one: str, other: str, value: object, line: int) -> None:
        """Add a link, or say what is wrong with it."""
        problem = remedy = ""
        if one == other:
            problem, remedy = f"a link from {one!r} to itself", "Remove it."
        elif (one, other) in self.links or (other, one) in self.links:
            problem = f"a second link between {one!r} and {other!r}"
            remedy = "Give each link once, in either direction; join parallel links into one with their capacity."
        elif value is None or not str(value).strip():
            problem, remedy = f"the link {one!r} - {other!r} has no capacity", "Give every link one."
        if problem:
            raise TopologyError(problem, file=self.file, line=line, remedy=remedy)
        quanta = capacity(value, file=self.file, line=line, key=f"{one} - {other}")
        self.vertex(one, line)
        self.vertex(other, line)
        self.links[one, other] = quanta
        self.near[one].append(other)
        self.near[other].append(one)

    def server(self, name: str) -> None:
        """Say that a vertex is a server."""
        self.servers = self.servers or set()
        self.servers.add(name)

    def is_server(self, name: str) -> bool:
        """Tell whether the file calls a vertex a server; where it calls none so, whether it has exactly one link."""
        return len(self.near[name]) == 1 if self.servers is None else name in self.servers


def build(graph: Graph, name: str) -> Topology:
    """Build the topology of a graph; a `TopologyError` where servers cannot use it."""
    servers = {vertex: None for vertex in graph.lines if graph.is_server(vertex)}
    _check(graph, servers)
    level = _levels(graph, servers)
    several = [server for server in servers if len(graph.near[server]) > 1]
    racks = {graph.near[server][0] for server in servers if len(graph.near[server]) == 1}
    # sorted() keeps the order of equals: that of the file. A server with several links is its own rack.
    others = sorted(
        (vertex for vertex in graph.lines if vertex not in servers and vertex not in racks), key=level.__getitem__
    )
    switches = [*several, *(vertex for vertex in graph.lines if vertex in racks), *others]
    number = {vertex: place for place, vertex in enumerate(switches)}
    rack_of = [number.get(server, number.get(graph.near[server][0], -1)) for server in servers]
    number |= {server: len(switches) + place for place, server in enumerate(servers) if server not in number}
    levels = [min(level[vertex], MOST_LEVELS) for vertex in (*switches, *servers)]
    ends = [sorted((number[one], number[other]), key=lambda v: (levels[v], v)) for one, other in graph.links]
    own = {low: link for link, (low, _) in enumerate(ends)}
    return assemble(
        name,
        (*switches, *servers),
        rack_of,
        [own.get(len(switches) + place, -1) for place in range(len(servers))],
        [-1] * (len(several) + len(racks)),
        ends,
        list(graph.links.values()),
        levels,
    )


def _check(graph: Graph, servers: dict[str, None]) -> None:
    if not graph.links:
        raise TopologyError("has no links", file=graph.file)
    if not servers:
        remedy = "A vertex with exactly one link is a server; say otherwise which are." if graph.servers is None else ""
        raise TopologyError("has no servers", file=graph.file, remedy=remedy)
    for vertex, near in graph.near.items():
        if not near:
            kind = "server" if vertex in servers else "vertex"
            raise TopologyError(f"the {kind} {vertex!r} has no link", file=graph.file, line=graph.lines[vertex])
        if vertex in servers and (other := next((end for end in near if end in servers), None)):
            raise TopologyError(
                f"the link {vertex!r} - {other!r} joins two servers",
                file=graph.file,
                line=graph.lines[vertex],
                remedy="Put a switch between them: a server passes nothing on.",
            )


def _levels(graph: Graph, servers: dict[str, None]) -> dict[str, int]:
    """Hop from the nearest server; an error for what no server reaches through switches."""
    start = graph.near[next(iter(servers))][0]
    reached = {start}
    border = [start]
    for vertex in border:  # grows while it is walked
        for near in graph.near[vertex]:
            if near not in reached:
                reached.add(near)
                if near not in servers:
                    border.append(near)
    for vertex in graph.lines:
        if vertex not in reached:
            raise TopologyError(
                f"is not connected: no path through switches leads from {start!r} to {vertex!r}",
                file=graph.file,
                line=graph.lines[vertex],
            )
    level = dict.fromkeys(servers, 0)
    border = list(servers)
    for vertex in border:
        for near in graph.near[vertex]:
            if near not in level:
                level[near] = level[vertex] + 1
                border.append(near)
    return level
