"""`list KIND`: what there is to choose from; and `agents check`."""

import json
from argparse import Namespace
from collections.abc import Iterable
from itertools import groupby
from types import NoneType
from typing import Any, get_args, get_origin

from binwright.commands.console import entry, new_table, note, out, print_line, read_yaml
from binwright.parser import KINDS
from binwright.simcore.errors import UserError
from binwright.simcore.registry import Registry

START = ("first-fit", "best-fit", "worst-fit", "dot-product")
"""The agents to begin with."""
AGENT_GROUPS = {
    "Servers": "agents.heuristics.servers",
    "Lifetimes": "agents.heuristics.lifetimes",
    "GPUs": "agents.heuristics.devices",
    "Networks": "agents.heuristics.networks",
    "Virtual clusters": "agents.heuristics.virtual",
    "Learned": "agents.learned",
    "Others": "",
}
"""Headings of the other agents, and the packages below `binwright` that they stand for."""


def list_kind(args: Namespace) -> int:
    """Answer `binwright list [KIND [NAME]]`."""
    if args.kind is None:
        for kind in KINDS:
            entry(kind, globals()[f"_{kind}"].__doc__)
        print_line("`binwright list KIND` lists them.")
        return 0
    names = [] if args.name is None else [args.name]
    if names and args.kind not in ("agents", "topology"):
        raise UserError("takes no name", key=args.kind, value=args.name, remedy="Leave it out.")
    globals()[f"_{args.kind}"](*names)
    return 0


def _agents(name: str = "") -> None:
    """List all agents in groups, or the one of a name."""
    from binwright.agents import AGENTS

    if name:
        AGENTS.load(name)
        _registered(AGENTS, [name])
        return

    def group(agent: str) -> str:
        return next(heading for heading, package in AGENT_GROUPS.items() if package in AGENTS.home(agent))

    out.print("[bold]Start with these[/]")
    _registered(AGENTS, START)
    headings = list(AGENT_GROUPS)
    others = sorted(set(AGENTS) - set(START), key=lambda agent: (headings.index(group(agent)), agent))
    for heading, agents in groupby(others, group):
        out.print(f"[bold]{heading}[/]")
        _registered(AGENTS, agents)


def _movers() -> None:
    """List the movers, who choose what moves where while it runs."""
    from binwright.agents import MOVERS

    _registered(MOVERS, sorted(MOVERS))


def _registered(registry: Registry, names: Iterable[str]) -> None:
    """List what is registered under these names, with its options."""
    from inspect import signature
    from typing import get_type_hints

    for name in names:
        kind = registry.load(name)
        hints = get_type_hints(kind.__init__)
        options = (
            f"{option}: {_words(hints[option]) if get_args(hints.get(option)) else str(each.default) or '(empty)'}"
            for option, each in signature(kind).parameters.items()
        )
        entry(name, kind.__doc__ or "", reference=kind.reference, options=", ".join(options))


def _scenarios() -> None:
    """List the scenarios that are shipped, in groups by their folders."""
    import yaml

    from binwright.scenarios.schema.load import shipped
    from binwright.scenarios.schema.yaml_source import LIBRARY

    files = sorted(shipped().items(), key=lambda item: ("/" in item[0], item[0]))
    for folder, group in groupby(files, key=lambda item: item[0].rpartition("/")[0]):
        if folder:
            out.print(f"[bold]{folder}[/]")
        for name, file in group:
            entry(name, str(yaml.safe_load(file.read_text("utf-8")).get("description", "")))
    print_line(f"Their files are in {LIBRARY}")


def _workloads() -> None:
    """List traces, arrivals, lifetimes, predictors and demands by name."""
    from binwright.workloads import ARRIVALS, LIFETIMES, PREDICTORS, TRACES, WORKLOADS
    from binwright.workloads.demands import DEMANDS

    registries = (WORKLOADS, TRACES, ARRIVALS, LIFETIMES, PREDICTORS, DEMANDS)
    result = [(registry.kind, name, registry.load(name)) for registry in registries for name in registry]
    for of, name, kind in result:
        summary = getattr(kind, "summary", "") or kind.__doc__ or "-"
        entry(name, str(summary), kind=of, reference=getattr(kind, "reference", "-"))


def _traces() -> None:
    """List the known traces: whether they are here, and where to get them."""
    from binwright.workloads import TRACES
    from binwright.workloads.traces.library import find

    for name in TRACES:
        kind = TRACES.load(name)
        try:
            place = str(find(name))
        except UserError:
            place = "no"
        entry(name, kind.summary, here=place, source=kind.source, licence=kind.licence)


def _metrics() -> None:
    """List the metrics, which are columns of tables and of runs.parquet."""
    from binwright.analysis.measure.definition import describe

    for metric in describe(["<resource>"], ["<tier>"]):
        entry(metric.name, metric.meaning, better=metric.better)


def _figures() -> None:
    """List the kinds of figures, and what each needs."""
    from binwright.analysis.figures import FIGURES
    from binwright.analysis.figures.kind import kind_named

    for name in FIGURES:
        try:
            kind = kind_named(name)
            entry(name, kind.meaning, needs=kind.needs)
        except UserError as error:
            entry(name, error.problem)


def _devices() -> None:
    """List the OpenCL devices of this machine, and which can be used."""
    from binwright.agents.solver.backends.opencl import INSTALL, opencl_devices

    known = opencl_devices()
    for device in known:
        entry(device.name, f"cannot be used: {device.reason}" if device.reason else "can be used")
    if all(device.reason for device in known):
        print_line(f"No OpenCL device can be used.\n{INSTALL}")


def _schema() -> None:
    """Print the JSON schema of scenario files."""
    from binwright.scenarios.schema.json_schema import json_schema

    print(json.dumps(json_schema(), indent=2))
    note("Editors complete a scenario whose first line is: # yaml-language-server: $schema=PATH")


def _topology(name: str = "") -> None:
    """List the topologies, or the tiers of one, and its links and switches by number."""
    from pydantic import ValidationError

    from binwright.fabric.topology import TOPOLOGIES
    from binwright.scenarios.schema.explain import explain
    from binwright.scenarios.schema.network import TopologyChoice
    from binwright.scenarios.schema.yaml_source import Source
    from binwright.simcore.types import QUANTUM

    if not name:
        for each in TOPOLOGIES:
            entry(each, TOPOLOGIES.load(each).__doc__ or "")
        return
    try:
        network = TopologyChoice.model_validate(read_yaml("NAME", name)).built
    except ValidationError as error:
        raise explain(error, Source(None, {})) from None
    racks = f"{network.racks} racks, {network.switches} switches, {network.links} links"
    print_line(f"{network.name}: {network.servers} servers, {racks}")
    table = new_table("tier", ">links", ">smallest", ">largest", ">total")
    for number, tier in enumerate(network.tiers):
        widths = network.link_capacity[network.link_tier == number] / QUANTUM
        table.add_row(tier, str(len(widths)), *(f"{amount:g}" for amount in (widths.min(), widths.max(), widths.sum())))
    out.print(table)
    for number, (low, high) in enumerate(network.link_ends.tolist()):
        print_line(f"link {number}: {network.names[low]} - {network.names[high]}")
    for number in range(network.switches):
        print_line(f"switch {number}: {network.names[number]}")


def check(args: Namespace) -> int:
    """Answer `binwright agents check AGENT`."""
    from binwright.checker import agent_of, check_agent
    from binwright.commands.progress import StatusLine

    spec = agent_of(read_yaml("AGENT", args.agent))
    with StatusLine("agents check", detail=f"{spec.label} plays in small worlds"):
        check = check_agent(spec.name, **spec.options)
    print_line(str(check))
    return 0


def _words(hint: Any) -> str:
    """Write what an option may be, as it stands in YAML: `first | last | none`, `{str: any}`."""
    parts = get_args(hint)
    if get_origin(hint) is dict:
        return f"{{{_words(parts[0])}: {_words(parts[1])}}}"
    if parts:
        return " | ".join(map(_words, parts))
    if hint in (NoneType, Any):
        return "none" if hint is NoneType else "any"
    return hint.__name__ if isinstance(hint, type) else str(hint)
