"""Scenarios as text that people go on with: short keys, units, and a comment where something was guessed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from scenarios.draft.servers import DraftServers
from simcore.errors import UserError
from simcore.files import replacing
from simcore.units import measure_of
from workloads.generators import Synthetic
from workloads.lifetimes import Empirical

AGENTS = ("first-fit", "best-fit", "worst-fit", "dot-product")
_WIDTH = 100


def flow(value: Any) -> str:
    """Write a value on one line of YAML."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{flow(str(key))}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, str) and re.search(r"[,\[\]{}:#\"\n]", value):
        return json.dumps(value, ensure_ascii=False)  # in quotes as YAML reads them, too
    text = yaml.safe_dump(value, default_flow_style=True, width=10**6, allow_unicode=True).strip()
    return text.removesuffix("\n...").removesuffix("...").strip()


def amounts(units: Mapping[str, float]) -> dict[str, Any]:
    """Write units of resources as people do: `16`, `64 GB`."""
    found: dict[str, Any] = {}
    for name, amount in units.items():
        base = measure_of(name).base
        plain = int(amount) if float(amount).is_integer() else float(f"{amount:.12g}")
        found[name] = f"{plain} {base}" if base == "GB" else plain
    return found


def block(key: str, values: Mapping[str, Any]) -> str:
    """Write a mapping with a key on every line; what does not fit on one is broken up."""
    lines = [f"{key}:"]
    for name, value in values.items():
        line = f"  {name}: {flow(value)}"
        if len(line) <= _WIDTH or not isinstance(value, Mapping | list):
            lines.append(line)
        else:
            lines.append(f"  {name}:")
            items = value.items() if isinstance(value, Mapping) else ((None, item) for item in value)
            lines += [f"    {'-' if inner is None else f'{flow(str(inner))}:'} {flow(item)}" for inner, item in items]
    return "\n".join(lines)


def generated(spec: Synthetic) -> dict[str, Any]:
    """Return `workload:` of requests that are drawn, as `workloads.fit` makes them."""
    flavours = []
    for flavour in spec.flavours:
        assert isinstance(flavour.lifetimes, Empirical)
        assert flavour.lifetimes.quantiles
        asked = {name: amount for name, amount in flavour.demand.items() if amount}
        quantiles = [float(f"{seconds:.6g}") for seconds in flavour.lifetimes.quantiles]
        flavours.append(
            {"weight": flavour.weight, **amounts(asked), "lifetimes": {"empirical": {"quantiles": quantiles}}}
        )
    every = getattr(spec.arrivals, "every")  # noqa: B009  # of the one kind that is fitted
    return {"requests": spec.requests, "arrivals": {"poisson": {"every": f"{every:.6g} s"}}, "flavours": flavours}


def scenario_text(
    about: str,
    servers: DraftServers | Mapping[str, Any],
    workload: Mapping[str, Any],
    *,
    notes: Iterable[str] = (),
    overflow: str = "drop",
    agents: Iterable[Any] = AGENTS,
    replications: int = 1,
) -> str:
    """Write a whole scenario; `notes` stand above the workload."""
    lines = [f"# {about}"]
    if isinstance(servers, DraftServers):
        lines.append("# A guess, about what runs at the peak: put your own servers here.")
        servers = {"servers": servers.number, "node": amounts(servers.node)}
    lines.append(block("cluster", servers))
    lines += [f"# {' '.join(note.split())}" for note in notes]
    lines.append(block("workload", workload))
    waits = {"drop": "is lost", "wait": "waits in a line", "stop": "ends the run"}.get(overflow, "")
    lines.append(f"overflow: {overflow}" + (f"  # a request that fits nowhere {waits}" if waits else ""))
    lines.append(f"agents: {flow(list(agents))}")
    if replications > 1:
        lines.append(f"replications: {replications}")
    return "\n".join(lines) + "\n"


def write_new(file: str, text: str) -> None:
    """Write a scenario where there is no file yet."""
    target = Path(file)
    if target.exists():
        raise UserError("is there already", file=target, remedy="Name another file with --out, or remove this one.")
    with replacing(target) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
