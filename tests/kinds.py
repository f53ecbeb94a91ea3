"""Which agents are for which clusters."""

from __future__ import annotations

from agents import AGENTS
from agents.heuristics.feasible import Feasible
from agents.heuristics.network import NetworkAgent

IN_NETWORKS = sorted(name for name in AGENTS if issubclass(AGENTS.load(name), NetworkAgent | Feasible))
ON_SERVERS = sorted(set(AGENTS) - set(IN_NETWORKS))
