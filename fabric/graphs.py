"""Networks from files: the links, as CSV. Nothing is built before everything has been checked."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

from binwright.fabric.topology import Topology, TopologyError, assemble, capacity
from binwright.simcore.errors import suggest, unread

MOST_LEVELS = 60
"""Switches further from the servers count as this far, so that the pairs of levels fit an int8."""


@dataclass(slots=True)
class Graph:
    """Holds the links of a file, and its vertices in the order of their first mention."""

    file: Path
    lines: dict[str, int] = field(default_factory=dict)
    """The line of each vertex's first mention."""
    near: dict[str, list[str]] = field(default_factory=dict)
    links: dict[tuple[str, str], int] = field(default_factory=dict)
    """(one end, other end) -> quanta."""

    def link(self, a: str, b: str, value: object, line: int) -> None:
        """Add a link of a capacity as a user wrote it, or say what is wrong with it."""
        problem = ""
        if not a or not b or a == b:
            problem = f"a link has two ends, and not {a!r} and {b!r}"
        elif (a, b) in self.links or (b, a) in self.links:
            problem = f"a second link between {a!r} and {b!r}: give each once, parallel ones with their sum"
        elif value is None or not str(value).strip():
            problem = f"the link {a!r} - {b!r} has no capacity"
        if problem:
            raise TopologyError(problem, file=self.file, line=line, remedy="Correct the line, or remove it.")
        self.links[a, b] = capacity(value, file=self.file, line=line, key=f"{a} - {b}")
        for end, far in ((a, b), (b, a)):
            self.lines.setdefault(end, line)
            self.near.setdefault(end, []).append(far)

    def hops(self, sources: Iterable[str]) -> dict[str, int]:
        """Count the hops to every vertex from the nearest of some; vertices that none reaches are left out."""
        hops = dict.fromkeys(sources, 0)
        ahead = list(hops)
        for vertex in ahead:  # grows while it is walked
            for near in self.near[vertex]:
                if near not in hops:
                    hops[near] = hops[vertex] + 1
                    ahead.append(near)
        return hops


def read(path: str | Path, name: str | None = None) -> Topology:
    """Read the network in a `.csv` file; it is called as the file, unless a name is given.

    The file has a header and the columns `a`, `b` (the ends of a link) and `capacity` (units, or a number with bps to
    Tbps); others are ignored, but for `server`, which is refused, and so are directions. A vertex with exactly one link
    is a server, every other one a switch. Servers, and the switches of a level, are numbered in the order of their
    first mention. There are no pods.
    """
    path = Path(path)
    graph = Graph(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as text:
            rows = csv.reader(text, strict=True)
            header = [column.strip() for column in next(rows, [])]
            for column in ("a", "b", "capacity"):
                if column not in header:
                    raise TopologyError(f"has no column {column!r}", file=path, line=1, remedy=suggest(column, header))
            if "server" in header:
                remedy = "A vertex with exactly one link is a server: give every server one, and take the column out."
                raise TopologyError("has a column 'server', which is gone", file=path, line=1, remedy=remedy)
            for cells in rows:
                if any(cell.strip() for cell in cells):
                    row = dict(zip(header, map(str.strip, cells), strict=False))
                    graph.link(row.get("a", ""), row.get("b", ""), row.get("capacity"), rows.line_num)
    except csv.Error as error:
        raise TopologyError(f"is not CSV: {error}", file=path, line=rows.line_num) from None
    except OSError as error:
        problem, remedy = unread(error, path, "Give a readable file.")
        raise TopologyError(problem, file=path, remedy=remedy) from None
    except UnicodeDecodeError:
        raise TopologyError("is not UTF-8 text", file=path) from None
    return build(graph, name or path.stem)


def build(graph: Graph, name: str) -> Topology:
    """Build the topology of a graph; a `TopologyError` where servers cannot use it."""
    servers = [vertex for vertex, near in graph.near.items() if len(near) == 1]
    problem, reached = "" if servers else "has no servers", graph.hops([*graph.near][:1])
    if wrong := [vertex for vertex in graph.near if vertex not in reached]:
        problem = f"is not connected: no path leads from {next(iter(reached))!r} to {wrong[0]!r}"
    elif wrong := [server for server in servers if len(graph.near[graph.near[server][0]]) == 1]:
        problem = f"the link {wrong[0]!r} - {graph.near[wrong[0]][0]!r} joins two servers"
    if problem:
        remedy = "A vertex with exactly one link is a server; switches connect them all."
        line = graph.lines[wrong[0]] if wrong else None
        raise TopologyError(problem, file=graph.file, line=line, remedy=remedy)
    level = graph.hops(servers)
    racks = {graph.near[server][0] for server in servers}
    # sorted() keeps the order of equals: that of the file.
    upper = sorted((vertex for vertex in graph.near if level[vertex] and vertex not in racks), key=level.__getitem__)
    vertices = [*(vertex for vertex in graph.near if vertex in racks), *upper, *servers]
    number, switches = {vertex: place for place, vertex in enumerate(vertices)}, len(vertices) - len(servers)
    levels = [min(level[vertex], MOST_LEVELS) for vertex in vertices]
    ends = {link: sorted(map(number.__getitem__, link), key=lambda v: (levels[v], v)) for link in graph.links}
    links = sorted(ends, key=lambda link: low if (low := ends[link][0]) >= switches else inf)  # servers' own come first
    return assemble(
        name,
        tuple(vertices),
        [number[graph.near[server][0]] for server in servers],
        [-1] * len(racks),
        [ends[link] for link in links],
        [graph.links[link] for link in links],
        levels,
    )
