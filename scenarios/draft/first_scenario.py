"""A first scenario: of whose requests, how many servers, of what size."""

from collections.abc import Mapping, Sequence
from math import exp
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from binwright.scenarios.draft.request_source import asked_of
from binwright.scenarios.draft.text import DraftServers, amounts, scenario_text
from binwright.scenarios.run.check import check_scenario
from binwright.scenarios.schema.cluster import ClusterSpec
from binwright.scenarios.schema.explain import explain
from binwright.scenarios.schema.load import scenario_from
from binwright.scenarios.schema.yaml_source import Source
from binwright.simcore.errors import UserError

LOAD = 0.95
"""Of what the servers have, that generated requests ask for on average: then agents differ."""
_SHARES = ((1 / 32, 1 / 64, 6), (1 / 16, 1 / 8, 3), (1 / 4, 1 / 4, 2), (1 / 2, 1 / 4, 1))
"""What the generated flavours ask for: of a server's first resource, of its others, and how often."""
_MEDIAN, _SIGMA = 1800.0, 1.5


def node_of(text: str) -> dict[str, float]:
    """Read what a server has, as in `cpu: 40, mem: 90 GB`."""
    try:
        node = yaml.safe_load("{" + text.strip().removeprefix("{").removesuffix("}") + "}")
    except yaml.YAMLError:
        remedy = "Write it like cpu: 40, mem: 90 GB."
        raise UserError("does not say what a server has", key="node", value=text, remedy=remedy) from None
    cluster: ClusterSpec = _checked("cluster", ClusterSpec, {"servers": 1, "node": node})
    assert cluster.node is not None
    return cluster.node


def _checked(key: str, kind: Any, value: Any) -> Any:
    """Read what a key of a scenario says; refuses it as a scenario does."""
    try:
        return TypeAdapter(dict[str, kind]).validate_python({key: value})[key]
    except ValidationError as error:
        raise explain(error, Source(None, {key: value})) from None


def begin(requests: str | None, servers: int | None, node: Mapping[str, float] | None, folder: Path) -> str:
    """Write a scenario to lie in a folder; it is checked. `requests` is a file or a trace, or else they are generated.

    Servers that are not given are guessed where there is a file, or ten usual ones.
    """
    if requests:
        source = asked_of(requests)
        drafted = source.servers
        if servers or node:
            drafted = _own(drafted, servers, node, source.resources)
        text = source.text(folder, drafted)
    else:
        cluster = DraftServers(servers or 10, dict(node or {"cpu": 64.0, "mem": 256.0}))
        text = scenario_text(
            "How do agents compare on these servers?",
            _cluster(cluster.number, cluster.node),
            _generated(cluster),
            notes=[
                f"Generated requests, which ask for {LOAD:.0%} of the servers on average. With --requests FILE,",
                "`binwright init` takes those of a CSV of yours.",
            ],
            replications=10,
        )
    data = yaml.safe_load(text)
    if "path" in data["workload"]:
        data["workload"]["path"] = str((folder / data["workload"]["path"]).resolve())
    check_scenario(scenario_from(data))
    return text


def _own(
    drafted: DraftServers | Mapping[str, Any],
    servers: int | None,
    node: Mapping[str, float] | None,
    resources: Sequence[str],
) -> dict[str, Any]:
    """Put the servers that are asked for in place of guessed ones; refuses those without what requests ask for."""
    if not isinstance(drafted, DraftServers):
        key, remedy = "servers" if servers else "node", "Leave that out, and change the scenario."
        raise UserError("these requests come with servers of their own", key=key, remedy=remedy)
    if node and (missing := [name for name in resources if name not in node]):
        remedy = f"The resources of these requests: {', '.join(resources)}."
        raise UserError(f"lacks {', '.join(missing)}, which the requests ask for", key="node", remedy=remedy)
    return _cluster(servers or drafted.number, node or drafted.node)


def _cluster(number: int, node: Mapping[str, float]) -> dict[str, Any]:
    return {"servers": number, "node": amounts(node)}


def _generated(servers: DraftServers) -> dict[str, Any]:
    """Return a workload of small, middle and large requests, which come as often as the load wants."""
    flavours, total = [], sum(weight for *_, weight in _SHARES)
    shares = dict.fromkeys(servers.node, 0.0)
    for first, others, weight in _SHARES:
        demand = {name: others if place else first for place, name in enumerate(servers.node)}
        demand = {name: _rounded(part * servers.node[name]) for name, part in demand.items()}
        for name, units in demand.items():
            shares[name] += weight / total * units / (servers.node[name] or 1.0)
        flavours.append({**amounts({name: units for name, units in demand.items() if units}), "weight": weight})
    every = _MEDIAN * exp(_SIGMA**2 / 2) * max(shares.values()) / (LOAD * servers.number)
    return {
        "requests": 3000,
        "arrivals": {"poisson": {"every": f"{every:.3g} s"}},
        "flavours": flavours,
        "lifetimes": {"lognormal": {"median": "30 min", "sigma": _SIGMA}},
    }


def _rounded(units: float) -> float:
    return float(round(units)) if units >= 1 else float(f"{units:.3g}")
