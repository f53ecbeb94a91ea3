"""The small worlds that `binwright.check_agent` lets an agent play, each with something that agents get wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from binwright.scenarios.schema.load import scenario_from
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.types import Form

SEED = 0
"""Of the requests, and of what the agent draws."""

NETWORK = "a network"
"""The world whose requests take servers and bandwidth."""

_CPU_MEM = [
    {"cpu": 1, "mem": "2 GB", "weight": 4},
    {"cpu": 3, "mem": "4 GB", "weight": 2},
    {"cpu": 4, "mem": "12 GB"},
]
_CPU_MEM_GPU = [{"cpu": 1, "mem": "2 GB"}, {"cpu": 2, "mem": "4 GB", "gpu": 1}, {"cpu": 4, "mem": "12 GB", "gpu": 2}]
_PARTS: list[dict[str, Any]] = [
    {"cpu": 1, "gpu": 0.6, "weight": 3},
    {"cpu": 2, "mem": "2 GB"},
    {"cpu": 1, "gpu": 1},
    {"cpu": 4, "gpu": 2},
]
_TWO_NODES = {"nodes": 2, "node": {"cpu": 8, "mem": "16 GB"}, "spread_above": {"mem": "8 GB"}}
_FABRIC = {
    "fabric": {
        "racks": 4,
        "servers_per_rack": 3,
        "racks_per_pod": 2,
        "fabric_switches": 2,
        "uplinks": 1,
        "capacities": [1, 1, 1],
    }
}
_TREE = {"tree": {"fanouts": [4, 3], "capacities": [1, 2]}}


def _arriving(
    every: str = "10 s", flavours: list[dict[str, Any]] = _CPU_MEM, lifetimes: str | None = "2 min"
) -> dict[str, Any]:
    """Describe 50 requests of these flavours; without `lifetimes` they never end."""
    lasting = {"exponential": {"mean": lifetimes}} if lifetimes else {"fixed": "never"}
    return {
        "requests": 50,
        "arrivals": {"poisson": {"every": every}},
        "flavours": flavours,
        "lifetimes": lasting,
    }


def _tenants(form: Form, options: Mapping[str, Any]) -> dict[str, Any]:
    """Describe virtual networks of this form on a small tree."""
    wanted = {"machines": {"uniform": [2, 8]}, "machine": {"slots": 1}, "bandwidth": ["50 Mbps", "200 Mbps"]}
    return {
        "cluster": {"network": {"topology": _TREE}, "node": {"slots": 4}},
        "workload": {"networks": {form: wanted | dict(options)}, "requests": 20, "lifetimes": {"fixed": "never"}},
        "agents": ["vm-first-fit"],
    }


WORLDS: Mapping[str, Mapping[str, Any]] = {
    "servers of one node": {
        "cluster": {"servers": 3, "node": {"cpu": 8, "mem": "16 GB"}},
        "workload": _arriving(),
    },
    "servers of two nodes": {
        "cluster": {"servers": 4, **_TWO_NODES},
        "workload": _arriving(),
    },
    "a single server": {
        "cluster": {"servers": 1, **_TWO_NODES},
        "workload": _arriving("30 s"),
    },
    "ten servers and a line that waits": {
        "cluster": {"servers": 10, **_TWO_NODES},
        "workload": _arriving("3 s"),
        "overflow": "wait",
    },
    "a cluster that is full": {
        "cluster": {"servers": 3, **_TWO_NODES},
        "workload": _arriving(lifetimes=None),
    },
    "servers of three resources, some without GPUs": {
        "cluster": {
            "nodes": 2,
            "groups": [
                {"count": 2, "node": {"cpu": 8, "mem": "16 GB", "gpu": 2}},
                {"count": 2, "node": {"cpu": 8, "mem": "16 GB", "gpu": 0}},
            ],
            "spread_above": {"mem": "8 GB"},
        },
        "workload": _arriving(flavours=_CPU_MEM_GPU),
    },
    "a cluster that grows": {
        "cluster": {"servers": 2, **_TWO_NODES},
        "workload": _arriving(lifetimes=None),
        "overflow": {"expand": {"by": 1, "limit": 6, "then": "drop"}},
    },
    "servers that fail": {
        "cluster": {
            "servers": 4,
            **_TWO_NODES,
            "failures": {
                "scheduled": [
                    {"at": "2 min", "server": 0, "repair_after": "3 min"},
                    {"at": "4 min", "server": 2, "repair_after": "1 min"},
                ],
                "on_failure": "requeue",
            },
        },
        "workload": _arriving(),
        "overflow": "wait",
    },
    "requests that are offered together": {
        "cluster": {"servers": 3, **_TWO_NODES},
        "workload": _arriving("3 s"),
        "overflow": {"wait": {"together": 4}},
    },
    "servers with devices": {
        "cluster": {
            "groups": [
                {"count": 2, "node": {"cpu": 8, "mem": "16 GB"}, "devices": {"count": 4, "model": "A100"}},
                {"count": 1, "node": {"cpu": 8, "mem": "16 GB"}, "devices": {"count": 1, "model": "T4"}},
                {"count": 1, "node": {"cpu": 8, "mem": "16 GB"}},
            ],
        },
        "workload": _arriving("20 s", flavours=_PARTS),
    },
    NETWORK: {
        "cluster": {"network": {"topology": _FABRIC}, "node": {"cpu": 10, "mem": 10}},
        "workload": {"demand": "uniform", "requests": 40, "holding": 12},
        "agents": ["tetris"],
    },
    "virtual clusters in a network": _tenants("hose", {}),
    "virtual data centres in a network": _tenants("pairs", {"density": 0.5}),
}


def scenario_of(world: str, agent: object = None, lifetimes: str = "known") -> Scenario:
    """Load a world as a scenario with this entry of `agents:`; without one, some agent stands there.

    `lifetimes` is what agents know of these.
    """
    scenario = {"name": "check", "overflow": "drop", "agents": ["first-fit"], **WORLDS[world]}
    scenario["knowledge"] = {"lifetimes": lifetimes}
    return scenario_from(scenario | ({"agents": [agent]} if agent is not None else {}))


def form_of(world: str) -> Form | None:
    """Tell which virtual networks are asked for in a world, if any are."""
    networks = WORLDS[world]["workload"].get("networks", ())
    return next(iter(networks), None)
