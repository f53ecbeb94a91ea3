"""Scenarios as text that people go on with: short keys, units, and a comment where something was guessed."""

from collections.abc import Iterable, Mapping
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from binwright.simcore.errors import UserError
from binwright.simcore.files import replacing
from binwright.simcore.units import LARGEST, measure_of
from binwright.workloads.arrivals import Poisson
from binwright.workloads.generators import Synthetic
from binwright.workloads.lifetimes import Empirical

SIZES = (1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)
"""Units that a server may have of a resource; beyond them, thousands."""
MOST = 40
"""Servers, so that a first run is quick to look at; larger ones are taken instead, as far as there are any."""


class DraftServers(NamedTuple):
    """How many equal servers, and the units of each resource that each has."""

    number: int
    node: dict[str, float]


def servers_for(peak: Mapping[str, float], largest: Mapping[str, float]) -> DraftServers:
    """Choose servers that together have about what runs at the peak, and each of them room for every request.

    Of the first resource a server has the smallest size that takes four of the largest requests, or the peak on `MOST`
    servers; of others as much as goes with that at the peak.
    """
    first = next(name for name in peak if peak[name] > 0)
    wanted = max(4 * largest[first], peak[first] / MOST)
    node = {first: _size(min(wanted, max(largest[first], 256)) if largest[first] <= 256 else wanted)}
    for name in peak:
        if name != first:
            node[name] = _size(max(largest[name], peak[name] / peak[first] * node[first])) if peak[name] else 0.0
    node = {name: min(node[name], LARGEST) for name in peak}
    number = max(ceil(peak[name] / node[name]) for name in peak if node[name])
    return DraftServers(max(number, 2), node)


def _size(units: float) -> float:
    for size in SIZES:
        if size >= units:
            return float(size)
    return float(ceil(units / 1000) * 1000)


AGENTS = ("first-fit", "best-fit", "worst-fit", "dot-product")


def _yaml(key: str, value: Any) -> str:
    return yaml.safe_dump({key: value}, default_flow_style=None, sort_keys=False, width=100, allow_unicode=True).strip()


def amounts(units: Mapping[str, float]) -> dict[str, Any]:
    """Write units of resources as people do: `16`, `64 GB`."""
    result: dict[str, Any] = {}
    for name, amount in units.items():
        base = measure_of(name).base
        plain = int(amount) if float(amount).is_integer() else float(f"{amount:.12g}")
        result[name] = f"{plain} {base}" if base == "GB" else plain
    return result


def generated(spec: Synthetic) -> dict[str, Any]:
    """Return `workload:` of requests that are drawn, as `binwright.workloads.describe.fit` makes them."""
    flavours = []
    for flavour in spec.flavours:
        assert isinstance(flavour.lifetimes, Empirical)
        assert flavour.lifetimes.quantiles
        demand = {name: amount for name, amount in flavour.demand.items() if amount}
        quantiles = [float(f"{seconds:.6g}") for seconds in flavour.lifetimes.quantiles]
        flavours.append(
            {"weight": flavour.weight, **amounts(demand), "lifetimes": {"empirical": {"quantiles": quantiles}}}
        )
    assert isinstance(spec.arrivals, Poisson)
    arrivals = spec.arrivals.model_dump(mode="json", exclude_defaults=True)
    return {"requests": spec.requests, "arrivals": {"poisson": arrivals}, "flavours": flavours}


def scenario_text(
    about: str,
    servers: DraftServers | Mapping[str, Any],
    workload: Mapping[str, Any],
    *,
    notes: Iterable[str] = (),
    agents: Iterable[Any] = AGENTS,
    replications: int = 1,
) -> str:
    """Write a whole scenario; `notes` stand above the workload."""
    lines = [f"# {about}"]
    if isinstance(servers, DraftServers):
        lines.append("# A guess, about what runs at the peak: put your own servers here.")
        servers = {"servers": servers.number, "node": amounts(servers.node)}
    lines.append(_yaml("cluster", servers))
    lines += [f"# {' '.join(note.split())}" for note in notes]
    lines.append(_yaml("workload", workload))
    lines.append("overflow: drop  # a request that fits nowhere is lost; wait: it waits in a line; stop: the run ends")
    lines.append(_yaml("agents", list(agents)))
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
