"""Places as CVD-RL does, by which candidate leaves the cluster most worth in the eyes of a network; and trains it."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from binwright.agents.heuristics.servers.candidates import MIXED, Filter, counts
from binwright.agents.learned.dqn import DQN, DQNAgent, QNetwork
from binwright.agents.learned.mlp import forward
from binwright.agents.learned.numa import check_servers
from binwright.agents.learned.replay import Decisions, exploring_scan
from binwright.agents.learned.weights import described, find
from binwright.fabric.servers import share
from binwright.simcore.jit import kernel
from binwright.simcore.record import SPREAD
from binwright.simcore.types import Amounts, Floats, Ints, Reals, View

NODES, RESOURCES = 2, 2
LAYERS, WIDTH = 6, 32
"""Of the network: layers with weights, and units of those between."""
LOOKAHEAD, DECOMPOSITION = 2, 3
"""Places in `how` of these operators, as 0 or 1; before them are how many candidates two rules name."""


@kernel
def inputs(how: Floats, servers: int) -> int:
    """Return how many numbers the network sees: of one server, or without decomposition of so many at once."""
    of_server = NODES * RESOURCES if how[LOOKAHEAD] > 0 else NODES * 2 * RESOURCES + RESOURCES + 1
    return of_server if how[DECOMPOSITION] > 0 else of_server * servers


def sizes(how: Floats, servers: int) -> tuple[int, ...]:
    """Return the sizes of the network's layers."""
    return (inputs(how, servers), *(WIDTH,) * (LAYERS - 1), 1)


@kernel
def server_features(
    free: Any, capacity: Ints, server: int, node: int, demand: Amounts, spread: bool, how: Floats, seen: Any
) -> int:
    """Write what the network sees of a server to seen[:end]; returns `end`.

    The request goes to `node`, or to both if `spread`, or nowhere for node -1. Of each node it is the free shares, with
    the request there if it looks ahead; else those before and the shares that it takes, and at last the request: its
    shares of the first node, and whether it is spread. Which node is which makes no difference: the smaller numbers
    come first. `free` are quanta of any type.
    """
    ahead = how[LOOKAHEAD] > 0
    width = RESOURCES * (1 + (not ahead))
    for n in range(NODES):
        for r in range(RESOURCES):
            takes = share(demand[r], SPREAD if spread else node, n, NODES) if node >= 0 else 0
            left, of = free[server, n, r], capacity[server, n, r]
            seen[n * width + r] = (left - takes if ahead else left) / of
            if not ahead:
                seen[n * width + RESOURCES + r] = takes / of
    for i in range(width):
        if seen[i] != seen[width + i]:
            if seen[i] > seen[width + i]:
                for j in range(width):
                    seen[j], seen[width + j] = seen[width + j], seen[j]
            break
    end = NODES * width
    if not ahead:
        for r in range(RESOURCES):
            seen[end + r] = demand[r] / capacity[server, 0, r]
        seen[end + RESOURCES] = spread
        end += RESOURCES + 1
    return end


@kernel
def choice_features(free: Any, capacity: Ints, code: int, demand: Amounts, spread: bool, how: Floats, seen: Any) -> int:
    """Write to seen[:end] what the network sees of a choice, its server, or undecomposed the cluster; returns `end`."""
    chosen, end = code // NODES, 0
    first, last = (chosen, chosen + 1) if how[DECOMPOSITION] > 0 else (0, len(capacity))
    for server in range(first, last):
        node = code % NODES if server == chosen else -1
        end += server_features(free, capacity, server, node, demand, spread, how, seen[end:])
    return end


@kernel
def best_of(
    free: Ints, capacity: Ints, demand: Amounts, spread: bool, weights: Floats, how: Floats, codes: Ints
) -> int:
    """Return the best candidate, the first of equals: by what its server gains, or undecomposed the cluster's value."""
    room = np.empty((2, max(WIDTH, inputs(how, len(capacity)))))
    best, best_gain, last, before = int(codes[0]), -np.inf, -1, 0.0
    for i in range(len(codes) if len(codes) > 1 else 0):
        server = codes[i] // NODES
        if how[DECOMPOSITION] > 0 and server != last:
            count = server_features(free, capacity, server, -1, demand, spread, how, room[0])
            last, before = server, forward(count, weights, LAYERS, WIDTH, 1, room)[0]
        count = choice_features(free, capacity, codes[i], demand, spread, how, room[0])
        gain = forward(count, weights, LAYERS, WIDTH, 1, room)[0] - before
        if gain > best_gain:
            best, best_gain = int(codes[i]), gain
    return best


cvd_rl = exploring_scan(best_of)


class CvdRL(DQNAgent):
    """Of a few candidates of Best-Fit and `internal`, the one that leaves its server most worth.

    `weights` names shipped ones, or `untrained` with that `seed`; `path` is a file that `binwright train` wrote.
    `filter` says how many candidates each names; `lookahead` and `decomposition` are as the weights were trained. Any
    number of servers, each of two NUMA nodes; without decomposition the number of the training.
    """

    name = "cvd-rl"
    reference = "Sheng et al. 2025, Scalable Reinforcement Learning for Virtual Machine Scheduling, arXiv:2503.00537"
    scan = staticmethod(cvd_rl)

    def __init__(
        self,
        weights: str = "huawei-10",
        path: str | None = None,
        seed: int = 0,
        filter: Filter = MIXED,
        lookahead: bool = True,
        decomposition: bool = True,
    ) -> None:
        untrained = weights == "untrained" and path is None
        self._file, self._seed = None if untrained else find("cvd-rl", weights, path), seed
        self._candidates, self._operators, self.any_size = counts(filter), (lookahead, decomposition), decomposition

    def network(self, view: View) -> QNetwork:
        check_servers(view, self.name)
        lookahead, decomposition = self._operators
        how = np.array([*self._candidates, lookahead, decomposition], np.float64)
        shape = sizes(how, len(view.capacity))
        of_servers = {} if decomposition else {"servers": len(view.capacity)}
        operators = {"lookahead": lookahead, "decomposition": decomposition}
        return QNetwork(shape, how, described(self.name, view, **operators, **of_servers, layers=list(shape)))


@dataclass
class CvdTrainer(DQN):
    """Double DQN on the sum of the servers' values after placing, among the candidates of the top-k filter.

    `filter`, `lookahead` and `decomposition` are as in the agent.
    """

    agent = "cvd-rl"
    filter: Filter = field(default_factory=lambda: MIXED)
    lookahead: bool = True
    decomposition: bool = True

    def new_agent(self) -> CvdRL:
        return CvdRL("untrained", filter=self.filter, lookahead=self.lookahead, decomposition=self.decomposition)

    @property
    def slots(self) -> int:
        """How many candidates the filter lets through, or how many places there are."""
        return sum(counts(self.filter)) or super().slots

    def cells(self, decisions: Decisions) -> tuple[Ints, Ints, Ints]:
        """Share all servers as they are, and exchange the chosen one; or else value the cluster after each choice."""
        capacity, candidates = self.view.capacity, np.maximum(decisions.candidates.astype(np.int64), 0)
        servers = len(capacity) if self.decomposition else 0
        observed = np.empty((len(candidates), servers + self.slots, self.described.sizes[0]), np.float32)
        of = decisions.free, decisions.demand, decisions.spread, candidates
        observe_all(*of, capacity, self.described.how, observed)
        numbers = self.buffer.number(observed)
        shared, after = numbers[:, :servers], numbers[:, servers:]
        before = np.take_along_axis(shared, candidates // NODES, axis=1) if servers else np.zeros_like(after)
        return shared, after, before


@kernel
def observe_all(
    free: Floats, demands: Floats, spread: Floats, candidates: Ints, capacity: Ints, how: Floats,
    observed: Reals,
) -> None:  # fmt: skip
    """Write to observed [n, servers + slots, inputs] the servers as they are, and what is seen after each choice.

    Without decomposition there are 0 servers as they are.
    """
    servers = observed.shape[1] - candidates.shape[1]
    for b in range(len(free)):
        demand, both = (int(demands[b, 0]), int(demands[b, 1])), spread[b] > 0
        for server in range(servers):
            server_features(free[b], capacity, server, -1, demand, both, how, observed[b, server])
        for i, code in enumerate(candidates[b]):
            choice_features(free[b], capacity, code, demand, both, how, observed[b, servers + i])
