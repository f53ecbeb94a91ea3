"""Networks from files: GraphML, or an edge list as CSV. Nothing is built before everything has been checked."""

from __future__ import annotations

import csv
from pathlib import Path
from xml.parsers import expat

from binwright.fabric.graph import Graph, build
from binwright.fabric.topology import Topology, TopologyError
from binwright.simcore.errors import suggest, unread


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
    reader = {".csv": _read_csv, ".graphml": _read_graphml}.get(path.suffix.lower())
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


class _GraphML:
    """Follows expat through a file: the standard library's element trees do not keep the lines."""

    def __init__(self, path: Path) -> None:
        self.graph = Graph(path)
        self._keys: dict[str, tuple[str, str]] = {}  # id -> (what it is for, its name)
        self._defaults: dict[tuple[str, str], str] = {}
        self._open: list[str] = []
        self._owner: tuple[str, dict[str, str], int] | None = None  # the node or edge that is open
        self._data: dict[str, str] = {}
        self._key: tuple[str, str] = ("", "")
        self._text: list[str] | None = None
        self._edges: list[tuple[str, str, str | None, int]] = []
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters

    def wrong(self, problem: str, remedy: str = "") -> TopologyError:
        return TopologyError(problem, file=self.graph.file, line=self.parser.CurrentLineNumber, remedy=remedy)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(" ")[2]
        if not self._open and tag != "graphml":
            raise self.wrong(f"is not GraphML: it begins with <{tag}>")
        if tag == "hyperedge" or (tag == "graph" and "graph" in self._open):
            raise self.wrong(f"<{tag}> is not supported here", "Use plain nodes and edges of a single graph.")
        needed = {"node": ("id",), "edge": ("source", "target"), "key": ("id",), "data": ("key",)}.get(tag, ())
        for attribute in needed:
            if attribute not in attributes:
                raise self.wrong(f"a <{tag}> has no {attribute}")
        if tag == "key":
            key = attributes["id"]
            self._key = self._keys[key] = (attributes.get("for", "all"), attributes.get("attr.name", key))
        elif tag in ("node", "edge"):
            self._owner, self._data = (tag, attributes, self.parser.CurrentLineNumber), {}
        elif tag == "data":
            key = attributes["key"]
            if key not in self._keys:
                raise self.wrong(f"there is no <key> {key!r}", "Declare the keys above the graph.")
            self._key = self._keys[key]
        if tag in ("data", "default"):
            self._text = []
        self._open.append(tag)

    def characters(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def end(self, tag: str) -> None:
        tag = self._open.pop()
        if tag in ("data", "default") and self._text is not None:
            text, self._text = "".join(self._text).strip(), None
            if tag == "default":
                self._defaults[self._key] = text
            elif self._owner is not None:
                self._data[self._key[1]] = text
        elif tag in ("node", "edge") and self._owner is not None:
            (kind, attributes, line), self._owner = self._owner, None
            if kind == "node":
                self._node(attributes["id"], line)
            else:
                self._edges.append((attributes["source"], attributes["target"], self._value(kind, "capacity"), line))

    def _value(self, kind: str, name: str) -> str | None:
        default = self._defaults.get((kind, name), self._defaults.get(("all", name)))
        return self._data.get(name, default)

    def _node(self, name: str, line: int) -> None:
        if name in self.graph.lines:
            raise self.wrong(f"a second node {name!r}")
        self.graph.vertex(name, line)
        said = (self._value("node", "server") or "").lower()
        if said not in ("", "0", "1", "false", "true"):
            raise self.wrong(f"node {name!r}: server is {said!r}", "Write true or false.")
        if said in ("1", "true"):
            self.graph.server(name)

    def finish(self) -> Graph:
        """Edges may come before their nodes, so they are taken last."""
        for one, other, value, line in self._edges:
            for end in (one, other):
                if end not in self.graph.lines:
                    raise TopologyError(
                        f"an edge leads to {end!r}, which is not a node", file=self.graph.file, line=line
                    )
            self.graph.link(one, other, value, line)
        return self.graph


def _read_graphml(path: Path) -> Graph:
    """Read a graph from a GraphML file; a `TopologyError` names the line of a mistake."""
    reader = _GraphML(path)
    try:
        reader.parser.Parse(path.read_bytes(), True)
    except expat.ExpatError as error:
        raise TopologyError(
            f"is not well-formed XML: {expat.ErrorString(error.code)}", file=path, line=error.lineno
        ) from None
    return reader.finish()
