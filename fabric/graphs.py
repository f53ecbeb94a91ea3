"""Networks from files: GraphML, or an edge list as CSV. Nothing is built before everything has been checked."""

from __future__ import annotations

import csv
from pathlib import Path

from fabric.graph import Graph, build
from fabric.graphml import read_graphml
from fabric.topology import Topology, TopologyError
from simcore.errors import suggest, unread


def read(path: str | Path, name: str | None = None) -> Topology:
    """Read the network in a `.graphml` or `.csv` file; it is called as the file, unless a name is given.

    A CSV has a header and the columns `a`, `b` (the ends of a link) and `capacity` (units, or a number with bps to
    Tbps); a fourth, `server`, repeats the end that is a server, or is empty. In GraphML an edge has a `capacity`, and
    a node may have `server` = true. Where nothing says what a server is, every vertex with exactly one link is one.
    Everything else in the file is ignored, and so are directions.

    Servers, and the switches of a level, are numbered in the order of their first mention. A server may have several
    links, each to a switch; no path leads through a server. There are no pods.
    """
    path = Path(path)
    reader = {".csv": _read_csv, ".graphml": read_graphml}.get(path.suffix.lower())
    if reader is None:
        raise TopologyError("is not a .graphml or .csv file", file=path)
    try:
        graph = reader(path)
    except OSError as error:
        problem, remedy = unread(error, path, "Give a readable file.")
        raise TopologyError(problem, file=path, remedy=remedy) from None
    except UnicodeDecodeError:
        raise TopologyError("is not UTF-8 text", file=path) from None
    return build(graph, name or path.stem)


def _read_csv(path: Path) -> Graph:
    graph = Graph(path)
    with path.open(encoding="utf-8-sig", newline="") as text:
        rows = csv.reader(text, strict=True)
        try:
            header = [column.strip() for column in next(rows, [])]
            for column in ("a", "b", "capacity"):
                if column not in header:
                    raise TopologyError(f"has no column {column!r}", file=path, line=1, remedy=suggest(column, header))
            for row in rows:
                if any(cell.strip() for cell in row):
                    _take_row(graph, dict(zip(header, map(str.strip, row), strict=False)), rows.line_num)
        except csv.Error as error:
            raise TopologyError(f"is not CSV: {error}", file=path, line=rows.line_num) from None
    return graph


def _take_row(graph: Graph, row: dict[str, str], line: int) -> None:
    one, other, server = row["a"], row.get("b", ""), row.get("server", "")
    if not one or not other:
        raise TopologyError("a link has two ends, a and b", file=graph.file, line=line)
    if server and server not in (one, other):
        raise TopologyError(
            f"the server is neither {one!r} nor {other!r}",
            file=graph.file,
            line=line,
            value=server,
            remedy="The column server repeats the end that is a server, or is empty.",
        )
    graph.link(one, other, row.get("capacity"), line)
    if server:
        graph.server(server)
