"""Places as SchedRL does, by the advantage of every place, of one network over the whole cluster; and trains it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from binwright.agents.heuristics.servers.candidates import candidates
from binwright.agents.learned.dqn import DQN, DQNAgent, QNetwork
from binwright.agents.learned.loop import Count
from binwright.agents.learned.mlp import depth_and_width, forward
from binwright.agents.learned.replay import Decisions, exploring, write
from binwright.agents.learned.weights import find
from binwright.simcore.errors import UserError
from binwright.simcore.jit import kernel
from binwright.simcore.types import Amounts, Floats, Ints, View

HIDDEN, WIDTH = 2, 128
"""Layers that the two streams share, and their units, if nothing else is said."""


@kernel
def best_of(
    free: Ints, capacity: Ints, demand: Amounts, spread: bool, weights: Floats, shape: Floats, codes: Ints
) -> int:
    """Return the candidate with the largest advantage, the first of equals.

    `weights` are what decisions need, `shape` how many shared layers there are, and their units.
    """
    servers, nodes, resources = free.shape
    hidden, width, count = int(shape[0]), int(shape[1]), 0
    room = np.empty((2, max(width, free.size + resources + 1)))
    x = room[0]
    for server in range(servers):
        for node in range(nodes):
            for r in range(resources):
                x[count] = free[server, node, r] / capacity[server, node, r]
                count += 1
    for r in range(resources):
        x[count] = demand[r] / capacity[0, 0, r]
        count += 1
    x[count] = spread
    advantages = forward(count + 1, weights, hidden + 1, width, servers * nodes, room)
    best = codes[0]
    for code in codes:
        if advantages[code] > advantages[best]:
            best = code
    return int(best)


@kernel
def sched_rl(
    free: Ints, capacity: Ints, demand: Amounts, spread: bool, weights: Floats, shape: Floats, trajectory: Floats
) -> int:
    """Decide as a `Scan` with numbers, for the cluster of the training only.

    With a `trajectory`, which changes, it takes another place now and then, and records what it did.
    """
    codes = candidates(free, capacity, demand, spread, 0, 0)
    code = exploring(codes, trajectory)
    if code < 0 and len(codes):
        code = best_of(free, capacity, demand, spread, weights, shape, codes)
    write(free, demand, spread, codes, code, trajectory)
    return code


def q_network(view: View, hidden: int, width: int) -> QNetwork:
    """Describe a network whose shared layers see what is free, the demand, and whether it is spread."""
    servers, nodes, resources = view.capacity.shape
    if (view.capacity == 0).any() or (view.capacity != view.capacity[0, 0]).any():
        raise UserError(
            "sched-rl is for servers that are all alike, as are their nodes",
            key="agents",
            value="sched-rl",
            remedy="Take another agent, such as internal.",
        )
    sizes = (view.capacity.size + resources + 1, *(width,) * hidden, servers * nodes)
    notes = {
        "agent": "sched-rl",
        "resources": list(view.resources),
        "servers": servers,
        "nodes": nodes,
        "layers": list(sizes),
    }
    return QNetwork(sizes, np.array([hidden, width], np.float64), notes)


class SchedRL(DQNAgent):
    """The place with the largest advantage, by one network that sees the whole cluster.

    `weights` names shipped ones, `path` is a file that `binwright train` wrote. For the number of servers of the
    training only.
    """

    name = "sched-rl"
    reference = "Sheng et al. 2022, Learning to schedule multi-NUMA virtual machines, Pattern Recognition 121, 108254"
    scan = staticmethod(sched_rl)
    any_size = False

    def __init__(self, weights: str = "huawei-10", path: str | None = None) -> None:
        self._file = find("sched-rl", weights, path)

    def network(self, view: View, notes: Mapping[str, Any]) -> QNetwork:
        """Describe the network that the agent takes of weights with these notes."""
        layers, width = depth_and_width(notes.get("layers"), (HIDDEN + 1, WIDTH))
        return q_network(view, layers - 1, width)


@dataclass
class SchedTrainer(DQN):
    """Dueling double DQN over all places.

    The two streams share `hidden` layers of `width` units; more settings are in `binwright.agents.learned.dqn`.
    """

    agent = "sched-rl"
    scan = staticmethod(sched_rl)
    dueling = True
    width: Count = WIDTH
    hidden: Count = HIDDEN

    def network_for(self, view: View) -> QNetwork:
        """Describe the network of a cluster like this."""
        return q_network(view, self.hidden, self.width)

    def cells(self, decisions: Decisions) -> tuple[Ints, Ints, Ints]:
        """Value each place by its own output for what is free, the demand and whether it is spread."""
        capacity = self.view.capacity
        shares = decisions.free.reshape(len(decisions), capacity.size) / capacity.ravel()
        observed = np.column_stack([shares, decisions.demand / capacity[0, 0], decisions.spread])
        numbers = self.buffer.number(observed.astype(np.float32))[:, None]
        after = numbers * self.slots + np.maximum(decisions.candidates.astype(np.int64), 0)
        return numbers[:, :0], after, np.zeros_like(after)
