"""Pages that are made from the code when the site is built (`make site`); MkDocs calls the hooks at the end."""

import argparse
import ast
import inspect
import posixpath
import re
from collections.abc import Iterator
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import binwright
from binwright.agents import AGENTS
from binwright.analysis.measure.definition import describe
from binwright.checker import AgentCheck, check_agent
from binwright.parser import parser

ROOT = Path(__file__).parent.parent
SERVERS = {
    "servers of one node": "servers",
    "servers of two nodes": "servers of two nodes",
    "ten servers and a line that waits": "ten servers of two nodes",
}
"""Which servers an agent takes that plays these worlds: the first one counts."""
NETWORKS = {
    "a network": "networks",
    "virtual clusters in a network": "virtual clusters",
    "virtual data centres in a network": "virtual data centres",
}


def agents_page() -> str:
    """Write every registered agent: its rule, where it comes from, the clusters that it takes, and its options."""
    lines = [
        "# Agents",
        "",
        "Generated from the registry of agents. The clusters are those in which `binwright agents check` sees it place "
        "something; [the guide](../place/agents.md) has the exact rules.",
    ]
    for name in sorted(AGENTS):
        kind = AGENTS.load(name)
        check = check_agent(name)
        lines += ["", f"## {name}", "", inspect.getdoc(kind) or "", ""]
        lines += [f"- From: {kind.reference}"] if kind.reference else []
        lines += [f"- Clusters: {', '.join(_clusters(check))}"]
        lines += ["- Compiled: its decisions can be part of a compiled run"] if check.compiled else []
        options = list(signature(kind).parameters.values())
        if options:
            lines += ["", "| option | type | default |", "|---|---|---|"]
            hints = get_type_hints(kind.__init__)
            lines += [f"| `{each.name}` | {_type(hints.get(each.name))} | {_default(each)} |" for each in options]
    return "\n".join(lines) + "\n"


def _clusters(check: AgentCheck) -> list[str]:
    """Say which clusters an agent takes, by the worlds that it plays."""
    servers = [kind for world, kind in SERVERS.items() if world in check.placed]
    return [*servers[:1], *(kind for world, kind in NETWORKS.items() if world in check.placed)]


def _type(hint: object) -> str:
    """Write a type as a cell of a table: its name, or the words that there are to choose from."""
    if get_origin(hint) is Literal:
        return ", ".join(f"`{word}`" for word in get_args(hint))
    return f"`{inspect.formatannotation(hint)}`".replace("typing.", "").replace("|", "\\|")


def _default(option: Parameter) -> str:
    if option.default is Parameter.empty:
        return "must be given"
    return "none" if option.default is None else f"`{option.default}`"


def metrics_page() -> str:
    """Write every metric that a table may show: what it means, and which way is better."""
    lines = [
        "# Metrics",
        "",
        "Generated from the metrics that tables know, in the order of their columns. `<resource>` and `<tier>` stand "
        "for each resource and each tier of links of the cluster. [Results](../results/results.md) has all columns of "
        "`runs.parquet`.",
        "",
        "| column | heading | better | meaning |",
        "|---|---|---|---|",
    ]
    for metric in describe(["<resource>"], ["<tier>"]):
        words = " | ".join((metric.heading, metric.better, metric.meaning)).replace("<", "&lt;")
        lines.append(f"| `{metric.name}` | {words} |")
    return "\n".join(lines) + "\n"


def commands_page() -> str:
    """Write every command with its options, as `--help` prints them."""
    lines = ["# Commands", "", "Generated from the parser behind `binwright --help`.", ""]
    for words, help_, command in _commands(parser(), "binwright"):
        lines += [f"## {' '.join(words)}", "", f"{help_[:1].upper()}{help_[1:]}.", "", "```text"]
        lines += [command.format_help().rstrip(), "```", ""]
    return "\n".join(lines)


def _commands(
    above: argparse.ArgumentParser, *words: str
) -> Iterator[tuple[tuple[str, ...], str, argparse.ArgumentParser]]:
    """Yield every command below a parser: its words, what it is for, and its own parser."""
    for action in above._actions:
        if isinstance(action, argparse._SubParsersAction):
            purposes = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, command in action.choices.items():
                yield (*words, name), purposes.get(name, ""), command
                yield from _commands(command, *words, name)


def python_page() -> str:
    """Write what `import binwright` offers, with signatures and docstrings."""
    lines = ["# Python", "", "Generated from `binwright.__all__`. `import binwright as bw` is how pages here write it."]
    for name in binwright.__all__:
        lines += ["", f"## {name}", "", *_described(name, getattr(binwright, name))]
        if inspect.isclass(getattr(binwright, name)):
            for member, value in _members(getattr(binwright, name)):
                lines += ["", f"### {name}.{member}", "", *_described(f"{name}.{member}", value)]
    return "\n".join(lines) + "\n"


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the documented methods and properties that a class itself has."""
    for name, value in vars(kind).items():
        documented = isinstance(value, property) or inspect.isfunction(value)
        if documented and not name.startswith("_") and inspect.getdoc(value):
            yield name, value


def _described(name: str, value: Any) -> Iterator[str]:
    """Yield the signature of something, as code, and its docstring."""
    if isinstance(value, property):
        yield from ("```python", name, "```")
    else:
        try:
            text = re.sub(r"^\((self(, )?)", "(", str(signature(value)).replace("'", ""))
            text = re.sub(r"\b([a-z]\w*\.)+(?=[A-Z])", "", re.sub(r"<function <lambda> at \w+>", "...", text))
        except (TypeError, ValueError):
            text = "(...)"
        yield from ("```python", f"{name}{text}", "```")
    yield ""
    yield inspect.getdoc(value) or ""


def contributing_page() -> str:
    """Return CONTRIBUTING.md with its links as they are from docs/developers."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return re.sub(r"\]\(docs/([^)]*)\)", r"](../\1)", text)


def benchmarks_page() -> str:
    """Write what every module of benchmarks/ measures."""
    lines = [
        "# Benchmarks",
        "",
        "Generated from `benchmarks/`. `make bench` runs the first ones; all print what they find, and none fails on "
        "time. What they came to is below [Experiments](../experiments/index.md).",
    ]
    for file in sorted((ROOT / "benchmarks").glob("[a-z]*.py")):
        text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
        lines += ["", f"## {file.stem}", "", f"`python -m benchmarks.{file.stem}`", "", text]
    return "\n".join(lines) + "\n"


PAGES = {
    "reference/agents.md": agents_page,
    "reference/metrics.md": metrics_page,
    "reference/commands.md": commands_page,
    "reference/python.md": python_page,
    "developers/contributing.md": contributing_page,
    "developers/benchmarks.md": benchmarks_page,
}
"""What is made at build time, by its place below docs/."""
INSTEAD = {
    "CONTRIBUTING.md": "developers/contributing.md",
    "agents/__init__.py": "reference/agents.md",
    "analysis/measure/metrics": "reference/metrics.md",
}
"""The generated page to which the site links where the repository has only what the page is made from."""
_HELP = re.compile(r"`binwright ([a-z ]+) --help`")
_LINK = re.compile(r"\[([^\]]*)\]\(([^):#\s]+)(#[^)]*)?\)")


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages: MkDocs calls this when it has found the others."""
    from mkdocs.structure.files import File

    for path, page in PAGES.items():
        files.append(File.generated(config, path, content=page()))
    return files


def on_page_markdown(markdown: str, page: Any, **more: Any) -> str:
    """Link to the generated pages, and turn other links to files outside docs/, which the site lacks, into names."""
    folder = posixpath.dirname(page.file.src_uri)

    def named(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join("docs", folder, link[2]))
        if target in INSTEAD:
            return f"[{link[1]}]({posixpath.relpath(INSTEAD[target], folder)})"
        return link[0] if target.startswith("docs/") else f"{link[1]} (`{target}`)"

    def helped(command: re.Match[str]) -> str:
        place = posixpath.relpath("reference/commands.md", folder)
        return f"[{command[0]}]({place}#binwright-{command[1].replace(' ', '-')})"

    return _HELP.sub(helped, _LINK.sub(named, markdown))


def on_page_content(html: str, **more: Any) -> str:
    """Make empty heads of tables plain cells: a head without words is read aloud as nothing."""
    return html.replace("<th></th>", "<td></td>")
