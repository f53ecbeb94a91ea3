"""Which agents are for which clusters."""

from binwright.agents import AGENTS
from binwright.agents.heuristics.networks.common import NetworkAgent
from binwright.agents.heuristics.random_fit import Feasible

ANYWHERE = {"solver"}
_KINDS = NetworkAgent | Feasible
_NEEDING = {name for name in AGENTS if issubclass(AGENTS.load(name), _KINDS)} - {"random"}
IN_NETWORKS = sorted(_NEEDING | ANYWHERE)
ONE_SIZE = {name for name in AGENTS if not AGENTS.load(name).any_size}
EMBEDDING = {name for name in AGENTS if AGENTS.load(name).embeds}
"""For virtual networks; those that are `ANYWHERE` also for others."""
ON_DEVICES = {name for name in AGENTS if AGENTS.load(name).on_devices}
"""For servers with devices only."""
ON_SERVERS = sorted(set(AGENTS) - _NEEDING - (EMBEDDING - ANYWHERE) - ONE_SIZE - ON_DEVICES)
ON_TWO_NODES = {"cvd-rl", "value-es", "hindsight", "padrl"}
"""For servers of two nodes and two resources only."""
ON_ANY_SERVERS = sorted(set(ON_SERVERS) - ON_TWO_NODES)
