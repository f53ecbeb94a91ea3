"""Networks from files: the links, as CSV. Nothing is built before everything has been checked."""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components, dijkstra

from binwright.fabric.topology import Topology, TopologyError, capacity
from binwright.simcore.errors import suggest, unread

MOST_LEVELS = 60
"""Switches further from the servers count as this far, so that the pairs of levels fit an int8."""
REMEDY = "A vertex with exactly one link is a server; switches connect them all."


def read(path: str | Path, name: str | None = None) -> Topology:
    """Read the network in a `.csv` file; it is called as the file, unless a name is given.

    The file has a header and the columns `a`, `b` (the ends of a link) and `capacity` (units, or a number with bps to
    Tbps); others are ignored, but for `server`, which is refused, and so are directions. A vertex with exactly one link
    is a server, every other one a switch. Servers, and the switches of a level, are numbered in the order of their
    first mention. There are no pods.
    """
    path, links = Path(path), dict[tuple[str, str], int]()
    try:
        for line, (a, b, value) in _rows(path):
            if not a or not b or a == b:
                problem = f"a link has two ends, and not {a!r} and {b!r}"
            elif (a, b) in links or (b, a) in links:
                problem = f"a second link between {a!r} and {b!r}: give each once, parallel ones with their sum"
            else:
                problem = "" if value else f"the link {a!r} - {b!r} has no capacity"
            if problem:
                raise TopologyError(problem, file=path, line=line, remedy="Correct the line, or remove it.")
            links[a, b] = capacity(value, file=path, line=line, key=f"{a} - {b}")
    except OSError as error:
        problem, remedy = unread(error, path, "Give a readable file.")
        raise TopologyError(problem, file=path, remedy=remedy) from None
    except UnicodeDecodeError:
        raise TopologyError("is not UTF-8 text", file=path) from None
    return of_links(links, name or path.stem, path)


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the line of every link in a file, and its `a`, `b` and `capacity`, empty where there is none."""
    with path.open(encoding="utf-8-sig", newline="") as text:
        rows, columns = csv.reader(text, strict=True), ("a", "b", "capacity")
        try:
            header = [column.strip() for column in next(rows, [])]
            for column in columns:
                if column not in header:
                    raise TopologyError(f"has no column {column!r}", file=path, line=1, remedy=suggest(column, header))
            if "server" in header:
                remedy = "A vertex with exactly one link is a server: give every server one, and take the column out."
                raise TopologyError("has a column 'server', which is gone", file=path, line=1, remedy=remedy)
            for cells in rows:
                if any(cell.strip() for cell in cells):
                    row = dict(zip(header, map(str.strip, cells), strict=False))
                    yield rows.line_num, [row.get(column, "") for column in columns]
        except csv.Error as error:
            raise TopologyError(f"is not CSV: {error}", file=path, line=rows.line_num) from None


def of_links(links: Mapping[tuple[str, str], int], name: str, file: Path | None = None) -> Topology:
    """Build the topology of links between two ends, with their quanta; a `TopologyError` where servers cannot use it.

    `file` is where they stand.
    """
    names = [*dict.fromkeys(end for link in links for end in link)]
    number = {end: place for place, end in enumerate(names)}
    ends = np.array([[number[a], number[b]] for a, b in links], np.int64).reshape(-1, 2)
    is_server = np.bincount(ends.ravel(), minlength=len(names)) == 1
    if not is_server.any():
        raise TopologyError("has no servers", file=file, remedy=REMEDY)
    graph = csr_matrix((np.ones(len(ends)), ends.T), (len(names), len(names)))
    parts, part = connected_components(graph, directed=False)
    if parts > 1:
        problem = f"is not connected: no path leads from {names[0]!r} to {names[(part != part[0]).argmax()]!r}"
        raise TopologyError(problem, file=file, remedy=REMEDY)
    if is_server[ends].all(axis=1).any():
        raise TopologyError(f"the link {names[0]!r} - {names[1]!r} joins two servers", file=file, remedy=REMEDY)
    hops = dijkstra(graph, directed=False, indices=np.flatnonzero(is_server), unweighted=True, min_only=True)
    order = np.lexsort((hops, is_server))  # racks, which are nearest, then other switches, and servers at the end
    level, switches = np.minimum(hops[order], MOST_LEVELS).astype(np.int64), int((~is_server).sum())
    ends = np.argsort(order)[ends]
    ends = np.take_along_axis(ends, np.argsort(level[ends] * len(names) + ends, axis=1), axis=1)
    own = np.where(ends[:, 0] >= switches, ends[:, 0], len(names))
    ordered = np.argsort(own, kind="stable")  # servers' own links come first
    ends = ends[ordered]
    return Topology(
        name,
        [names[vertex] for vertex in order.tolist()],
        ends[: len(names) - switches, 1],
        np.full((level == 1).sum(), -1),
        ends,
        np.array([*links.values()], np.int64)[ordered],
        level,
    )
