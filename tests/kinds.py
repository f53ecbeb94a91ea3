"""Which agents are for which clusters."""

from __future__ import annotations

from agents import AGENTS
from agents.heuristics.feasible import Feasible
from agents.heuristics.network import NetworkAgent
from agents.learned.choosing import Choosing
from agents.learned.fabric_rl.agent import FabricRL

ANYWHERE = {"solver"}
_NEEDING = {name for name in AGENTS if issubclass(AGENTS.load(name), NetworkAgent | Feasible | Choosing | FabricRL)}
IN_NETWORKS = sorted(_NEEDING | ANYWHERE)
ON_SERVERS = sorted(set(AGENTS) - _NEEDING)
"""Of these, `value-es` is for servers of two nodes and two resources only."""
ON_ANY_SERVERS = sorted(set(ON_SERVERS) - {"value-es"})
