"""GraphML, as far as a network needs it: nodes, edges, their data and the defaults."""

from __future__ import annotations

from pathlib import Path
from xml.parsers import expat

from fabric.graph import Graph
from fabric.topology import TopologyError


class _Reader:
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


def read_graphml(path: Path) -> Graph:
    """Read a graph from a GraphML file; a `TopologyError` names the line of a mistake."""
    reader = _Reader(path)
    try:
        reader.parser.Parse(path.read_bytes(), True)
    except expat.ExpatError as error:
        raise TopologyError(
            f"is not well-formed XML: {expat.ErrorString(error.code)}", file=path, line=error.lineno
        ) from None
    return reader.finish()
