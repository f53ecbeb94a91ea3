"""How is the code laid out? `python -m benchmarks.house [FOLDER]` prints files, lines, floors and rings by package.

A module stands one floor above the highest of those that it imports; deferred imports and type-only ones count.
Modules that import one another in a circle stand on one floor. FOLDER is a checkout, by default this one.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx

PACKAGES = ("simcore", "workloads", "fabric", "agents", "analysis", "scenarios", "binwright")


def imported(source: str, module: str, is_package: bool) -> Iterator[str]:
    """Yield everything that a module imports, wherever it does so: `from a import b` counts as a.b."""
    here = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = here[: len(here) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def graph_of(root: Path) -> Any:
    """Build the graph of all modules below the packages: an edge leads to what is imported; `lines` by module."""
    files = {
        ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): file
        for package in PACKAGES
        for file in sorted((root / package).rglob("*.py"))
    }
    graph = nx.DiGraph()
    for module, file in files.items():
        source = file.read_text("utf-8")
        graph.add_node(module, lines=source.count("\n"), flat=f"{file.parent.relative_to(root)}")
        for name in imported(source, module, file.name == "__init__.py"):
            while name and name not in files:
                name = name.rpartition(".")[0]
            if name and name != module:
                graph.add_edge(module, name)
    return graph


def row(graph: Any, package: str) -> str:
    """Describe a package, with what is below it, as a row of the table."""
    names = [name for name in graph if name == package or name.startswith(f"{package}.")]
    inside = graph.subgraph(names)
    rings = [ring for ring in nx.strongly_connected_components(inside) if len(ring) > 1]
    floors = nx.dag_longest_path_length(nx.condensation(inside)) + 1
    folders: dict[str, int] = {}
    for name in names:
        folders[graph.nodes[name]["flat"]] = folders.get(graph.nodes[name]["flat"], 0) + 1
    most = max(graph.nodes[name]["lines"] for name in names)
    circles = ", ".join(str(len(ring)) for ring in rings) or "none"
    return f"| {package} | {len(names)} | {max(folders.values())} | {floors} | {circles} | {most} |"


def main() -> None:
    """Print the table."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("folder", nargs="?", type=Path, default=Path(__file__).resolve().parents[1])
    graph = graph_of(asked.parse_args().folder)
    print("| package | files | most in a folder | floors | rings (modules) | longest module |")
    print("| --- | --- | --- | --- | --- | --- |")
    for package in (*PACKAGES[:4], "agents.heuristics", "agents.learned", "agents.solver", *PACKAGES[4:]):
        print(row(graph, package))


if __name__ == "__main__":
    main()
