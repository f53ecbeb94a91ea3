"""Places as SchedRL does, by the advantage of every place, of one network over the whole cluster; and trains it."""

from dataclasses import dataclass

import numpy as np

from binwright.agents.learned.dqn import DQN, DQNAgent, QNetwork
from binwright.agents.learned.mlp import forward
from binwright.agents.learned.replay import Decisions, exploring_scan
from binwright.agents.learned.weights import described, find
from binwright.simcore.errors import UserError
from binwright.simcore.jit import kernel
from binwright.simcore.types import Amounts, Floats, Ints, View

HIDDEN, WIDTH = 2, 128
"""Layers that the two streams share, and their units."""


@kernel
def best_of(
    free: Ints, capacity: Ints, demand: Amounts, spread: bool, weights: Floats, how: Floats, codes: Ints
) -> int:
    """Return the candidate with the largest advantage, the first of equals; `weights` are what decisions need."""
    servers, nodes, resources = free.shape
    room, end = np.empty((2, max(WIDTH, free.size + resources + 1))), free.size + resources
    room[0, : free.size] = (free / capacity).ravel()
    for r in range(resources):
        room[0, free.size + r] = demand[r] / capacity[0, 0, r]
    room[0, end] = spread
    advantages = forward(end + 1, weights, HIDDEN + 1, WIDTH, servers * nodes, room)
    return int(codes[advantages[codes].argmax()])


class SchedRL(DQNAgent):
    """The place with the largest advantage, by one network that sees the whole cluster.

    `weights` names shipped ones, `path` is a file that `binwright train` wrote. For the number of servers of the
    training only.
    """

    name = "sched-rl"
    reference = "Sheng et al. 2022, Learning to schedule multi-NUMA virtual machines, Pattern Recognition 121, 108254"
    scan = staticmethod(exploring_scan(best_of))
    any_size = False

    def __init__(self, weights: str = "huawei-10", path: str | None = None) -> None:
        self._file = find("sched-rl", weights, path)

    def network(self, view: View) -> QNetwork:
        servers, nodes, resources = view.capacity.shape
        if (view.capacity == 0).any() or (view.capacity != view.capacity[0, 0]).any():
            problem = "sched-rl is for servers that are all alike, as are their nodes"
            raise UserError(problem, key="agents", remedy="Take another agent, such as internal.")
        sizes = (view.capacity.size + resources + 1, *(WIDTH,) * HIDDEN, servers * nodes)
        of = described(self.name, view, servers=servers, nodes=nodes, layers=list(sizes))
        return QNetwork(sizes, np.zeros(2), of)


@dataclass
class SchedTrainer(DQN):
    """Dueling double DQN over all places."""

    agent = "sched-rl"
    dueling = True

    def new_agent(self) -> SchedRL:
        return SchedRL()

    def cells(self, decisions: Decisions) -> tuple[Ints, Ints, Ints]:
        """Value each place by its own output for what is free, the demand and whether it is spread."""
        capacity = self.view.capacity
        shares = decisions.free.reshape(len(decisions), capacity.size) / capacity.ravel()
        observed = np.column_stack([shares, decisions.demand / capacity[0, 0], decisions.spread])
        numbers = self.buffer.number(observed.astype(np.float32))[:, None]
        after = numbers * self.slots + np.maximum(decisions.candidates.astype(np.int64), 0)
        return numbers[:, :0], after, np.zeros_like(after)
