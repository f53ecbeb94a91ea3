"""`agents`, `workloads` and `topology`: what there is to choose from."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Container
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin

from binwright.commands.console import entry, file_to_draw, new_table, out, show
from binwright.simcore.errors import UserError
from binwright.simcore.registry import Registry


def agents(asked: Namespace) -> int:
    """`binwright agents [--for FILE]`."""
    from binwright.agents import AGENTS

    if asked.sets and not asked.scenario:
        raise UserError("has no scenario to change", key="--set", remedy="Name the scenario with --for FILE.")
    unsuited = {}
    if asked.scenario:
        from binwright.scenarios.run.check import suited

        unsuited = {name: why for name, why in suited(asked.scenario, asked.sets).items() if why}
    _list(AGENTS, unsuited)
    if unsuited:
        out.print("[bold]Cannot run it as they are[/]")
    for name, why in unsuited.items():
        entry(name, why)
    return 0


def scenarios(asked: Namespace) -> int:
    """`binwright scenarios`."""
    import yaml

    from binwright.scenarios.schema.load import shipped

    for name, file in shipped().items():
        entry(name, str(yaml.safe_load(file.read_text("utf-8")).get("description", "")))
    return 0


def movers(asked: Namespace) -> int:
    """`binwright movers`."""
    from binwright.agents import MOVERS

    _list(MOVERS)
    return 0


def _list(registry: Registry, but: Container[str] = ()) -> None:
    """List what is registered, with its options."""
    from inspect import signature
    from typing import get_type_hints

    for name in sorted(registry):
        if name in but:
            continue
        kind = registry.load(name)
        hints = get_type_hints(kind.__init__)
        options = (
            f"{option}: {_words(hints[option]) if get_args(hints.get(option)) else parameter.default}"
            for option, parameter in signature(kind).parameters.items()
        )
        entry(name, (kind.__doc__ or "").splitlines()[0], reference=kind.reference, options=", ".join(options))


def check(asked: Namespace) -> int:
    """Answer `binwright agents check AGENT`."""
    from binwright.checker import agent_of, check_agent

    spec = agent_of(_value(asked.agent, "AGENT"))
    show(str(check_agent(spec.name, **spec.options)))
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


def workloads(asked: Namespace) -> int:
    """`binwright workloads [DEMAND...]`."""
    from itertools import groupby

    if asked.demands:
        return _draw_demands(asked)
    if asked.draw or asked.sets:
        raise UserError("no demand to draw", remedy=_DRAW)

    from binwright.workloads import catalogue

    for kind, entries in groupby(catalogue(), key=lambda entry: entry.kind):
        out.print(f"[bold]{kind}[/]")
        for found in entries:
            entry(found.name, found.summary, reference=found.reference)
    return 0


_DRAW = "Write for example `binwright workloads uniform azure-like --draw demands.png`."


def _draw_demands(asked: Namespace) -> int:
    """Draw the densities of demands, each as the workload of a scenario on the smallest published fabric."""
    from binwright.scenarios.build.world import build_world
    from binwright.scenarios.schema.load import scenario_from

    if not asked.draw:
        raise UserError("is missing", key="--draw", remedy=_DRAW)
    target = file_to_draw("--draw", asked.draw)
    options = dict(map(_option, asked.sets))
    held = {} if "load" in options else {"holding": 30}
    labels = [_label(text) for text in asked.demands]
    scenarios = {
        label if labels.count(label) == 1 else text: scenario_from(
            {
                "name": "demands",
                "cluster": {"network": {"topology": "alpha"}, "node": {"cpu": 10, "mem": 10}},
                "workload": {"requests": 20_000, **held, **options, "demand": _value(text, text)},
                "agents": ["tetris"],
            }
        )
        for label, text in zip(labels, asked.demands, strict=True)
    }
    from binwright.analysis.figures.densities import draw

    draw({text: build_world(scenario).draw(0) for text, scenario in scenarios.items()}, target)
    show(f"Drawing: {asked.draw}")
    return 0


def _label(text: str) -> str:
    """`openb` for `{openb: {path: ...}}`."""
    value = _value(text, text)
    return str(next(iter(value))) if isinstance(value, dict) and value else text


def topology(asked: Namespace) -> int:
    """`binwright topology NAME`."""
    from binwright.fabric.topology import tier_rows
    from binwright.fabric.topology import topology as build

    options = dict(map(_option, asked.sets))
    target = file_to_draw("--draw", asked.draw) if asked.draw else None
    file = Path(asked.name)
    if file.is_file() or file.suffix.lower() in (".csv", ".graphml"):
        network = build("file", path=file, **options)
    else:
        network = build(asked.name, **options)
    racks = f"{network.racks} racks, {network.switches} switches, {network.links} links"
    show(f"{network.name}: {network.servers} servers, {racks}")
    table = new_table("tier", ">switches above", ">links", ">each", ">total", ">oversubscription")
    for tier in tier_rows(network):
        each = f"{tier.smallest:g}" if tier.smallest == tier.largest else f"{tier.smallest:g} to {tier.largest:g}"
        over = "-" if tier.oversubscription is None else f"{tier.oversubscription:.3g} : 1"
        table.add_row(tier.tier, str(tier.switches), str(tier.links), each, f"{tier.total:g}", over)
    out.print(table)
    if asked.parts:
        for number, (low, high) in enumerate(network.link_ends.tolist()):
            show(f"link {number}: {network.names[low]} - {network.names[high]}")
        for number in range(network.switches):
            show(f"switch {number}: {network.names[number]}")
    if asked.draw:
        from binwright.analysis.figures.network_map import draw

        draw(network, target)
        show(f"Drawing: {asked.draw}")
    return 0


def _option(text: str) -> tuple[str, Any]:
    """`k=4` as an option; the value is YAML."""
    name, equals, value = text.partition("=")
    if not equals:
        raise UserError("is not an option", key=f"--set {text}", remedy="Write --set option=value.")
    return name, _value(value, f"--set {text}")


def _value(text: str, key: str) -> Any:
    """Read a text as YAML."""
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        raise UserError("is not a YAML value", key=key) from None
