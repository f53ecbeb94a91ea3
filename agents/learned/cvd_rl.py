"""Places as CVD-RL does, by which candidate leaves the cluster most worth in the eyes of a network; and trains it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from binwright.agents.heuristics.servers.candidates import Filter, candidates, counts
from binwright.agents.learned.dqn import DQN, DQNAgent, QNetwork
from binwright.agents.learned.loop import Count
from binwright.agents.learned.mlp import forward
from binwright.agents.learned.numa import check_servers
from binwright.agents.learned.replay import Decisions, exploring, write
from binwright.agents.learned.weights import find
from binwright.simcore.jit import kernel
from binwright.simcore.types import Amounts, Floats, Ints, View

NODES, RESOURCES = 2, 2
LAYERS, WIDTH = 6, 32
"""Of the network: layers with weights, and units of those between."""
BEST, INTERNAL, LOOKAHEAD, DECOMPOSITION, UNITS = range(5)
"""Places in `how`: candidates of Best-Fit and of `internal`; as 0 or 1 the other two operators; and last, if it
sees absolute sizes, the quanta of each resource that are 1 to the network."""


@kernel
def inputs(how: Floats) -> int:
    """Return how many numbers of a server the network sees."""
    amounts = NODES * RESOURCES if len(how) > UNITS else 0
    return amounts + (NODES * RESOURCES if how[LOOKAHEAD] > 0 else NODES * 2 * RESOURCES + RESOURCES + 1)


def sizes(how: Floats, servers: int) -> tuple[int, ...]:
    """Return the sizes of the layers of a network that sees one server, or without decomposition so many at once."""
    return (inputs(how) * (1 if how[DECOMPOSITION] else servers), *(WIDTH,) * (LAYERS - 1), 1)


@kernel
def server_features(
    free: Any, capacity: Ints, server: int, node: int, demand: Amounts, spread: bool, how: Floats, seen: Any, at: int
) -> int:
    """Write what the network sees of a server to seen[at:end]; returns `end`.

    The request goes to `node`, or to both if `spread`, or nowhere for node -1. Of each node it is the free shares, with
    the request there if it looks ahead; else those before and the shares that it takes, and at last the request: its
    shares of the first node, and whether it is spread. With units in `how`, amounts in these are seen, too. Which node
    is which makes no difference: the smaller numbers come first. `free` are quanta of any type.
    """
    ahead, units = how[LOOKAHEAD] > 0, how[UNITS:]
    absolute = len(units) > 0
    width = RESOURCES * (1 + (not ahead) + absolute)
    for n in range(NODES):
        for r in range(RESOURCES):
            takes = 0
            if node >= 0 and spread:
                takes = demand[r] // 2 + (n < demand[r] % 2)
            elif n == node:
                takes = demand[r]
            left, of = free[server, n, r], capacity[server, n, r]
            seen[at + n * width + r] = (left - takes if ahead else left) / of
            if not ahead:
                seen[at + n * width + RESOURCES + r] = takes / of
            if absolute:
                seen[at + (n + 1) * width - RESOURCES + r] = (left - takes if ahead else left) / units[r]
    for i in range(at, at + width):
        if seen[i] != seen[width + i]:
            if seen[i] > seen[width + i]:
                for j in range(at, at + width):
                    seen[j], seen[width + j] = seen[width + j], seen[j]
            break
    end = at + NODES * width
    if not ahead:
        for r in range(RESOURCES):
            seen[end + r] = demand[r] / (units[r] if absolute else capacity[server, 0, r])
        seen[end + RESOURCES] = spread
        end += RESOURCES + 1
    return end


@kernel
def action_features(free: Any, capacity: Ints, code: int, demand: Amounts, spread: bool, how: Floats, seen: Any) -> int:
    """Write what the network sees of a choice, one server, or undecomposed the cluster; returns how much that is."""
    chosen, end = code // NODES, 0
    if how[DECOMPOSITION] > 0:
        return server_features(free, capacity, chosen, code % NODES, demand, spread, how, seen, 0)
    for server in range(len(capacity)):
        node = code % NODES if server == chosen else -1
        end = server_features(free, capacity, server, node, demand, spread, how, seen, end)
    return end


@kernel
def best_of(
    free: Ints, capacity: Ints, demand: Amounts, spread: bool, weights: Floats, how: Floats, codes: Ints
) -> int:
    """Return the best candidate, the first of equals: by what its server gains, or undecomposed the cluster."""
    whole = how[DECOMPOSITION] == 0
    room = np.empty((2, max(WIDTH, inputs(how) * (len(capacity) if whole else 1))))
    best, best_gain, last, before = int(codes[0]), -np.inf, -1, 0.0
    for i in range(len(codes) if len(codes) > 1 else 0):
        server = codes[i] // NODES
        if not whole and server != last:
            count = server_features(free, capacity, server, -1, demand, spread, how, room[0], 0)
            last, before = server, forward(count, weights, LAYERS, WIDTH, 1, room)[0]
        count = action_features(free, capacity, codes[i], demand, spread, how, room[0])
        gain = forward(count, weights, LAYERS, WIDTH, 1, room)[0] - before
        if gain > best_gain:
            best, best_gain = int(codes[i]), gain
    return best


@kernel
def cvd_rl(
    free: Ints, capacity: Ints, demand: Amounts, spread: bool, weights: Floats, how: Floats, trajectory: Floats
) -> int:
    """Decide as a `Scan` with numbers: the network's, how to use it, and where to record it, if anywhere.

    With a `trajectory`, which changes, it takes another candidate now and then.
    """
    codes = candidates(free, capacity, demand, spread, int(how[BEST]), int(how[INTERNAL]))
    code = exploring(codes, trajectory)
    if code < 0 and len(codes):
        code = best_of(free, capacity, demand, spread, weights, how, codes)
    write(free, demand, spread, codes, code, trajectory)
    return code


class CvdRL(DQNAgent):
    """Of `k` candidates, two fifths by Best-Fit and the rest by `internal`, the one that leaves the cluster most worth.

    `weights` names shipped ones, or `untrained` with that `seed`; `path` is a file that `binwright train` wrote.
    `filter` says who names the candidates, and as `{best-fit: 4, internal: 3}` how many each; `k` is 5 where it does
    not. `lookahead` and `decomposition` are as the weights were trained. Any number of servers, each of two NUMA nodes;
    without decomposition the number of the training.
    """

    name = "cvd-rl"
    reference = "Sheng et al. 2025, Scalable Reinforcement Learning for Virtual Machine Scheduling, arXiv:2503.00537"
    scan = staticmethod(cvd_rl)

    def __init__(
        self,
        weights: str = "huawei-10",
        path: str | None = None,
        seed: int = 0,
        filter: Filter = "both",
        k: int | None = None,
        lookahead: bool = True,
        decomposition: bool = True,
    ) -> None:
        untrained = weights == "untrained" and path is None
        self._file, self._seed = None if untrained else find("cvd-rl", weights, path), seed
        self._candidates, self._operators, self.any_size = counts(filter, k), (lookahead, decomposition), decomposition

    def network(self, view: View, notes: Mapping[str, Any]) -> QNetwork:
        check_servers(view, self.name)
        (lookahead, decomposition), units = self._operators, notes.get("units", [])
        how = np.array([*self._candidates, lookahead, decomposition, *units], np.float64)
        shape = sizes(how, len(view.capacity))
        described = {
            "agent": self.name,
            "resources": list(view.resources),
            "lookahead": lookahead,
            "decomposition": decomposition,
            **({} if decomposition else {"servers": len(view.capacity)}),
            "layers": list(shape),
            **({"units": units} if units else {}),
        }
        return QNetwork(shape, how, described)


@dataclass
class CvdTrainer(DQN):
    """Double DQN on the sum of the servers' values after placing, among the candidates of the top-k filter.

    `filter`, `k`, `lookahead` and `decomposition` are as in the agent. With `sizes` absolute the network also sees how
    much is free, and so of which kind a server is; as measured by an average node of the training. More settings are in
    `binwright.agents.learned.dqn`.
    """

    agent = "cvd-rl"
    filter: Filter = "both"
    k: Count | None = None
    lookahead: bool = True
    decomposition: bool = True
    sizes: Literal["relative", "absolute"] = "relative"

    def new_agent(self) -> CvdRL:
        chosen = {name: getattr(self, name) for name in ("filter", "k", "lookahead", "decomposition")}
        return CvdRL("untrained", **chosen)

    @property
    def slots(self) -> int:
        """How many candidates the filter lets through, or how many places there are."""
        return sum(counts(self.filter, self.k)) or super().slots

    def network_for(self, view: View) -> QNetwork:
        units = [int(unit) for unit in view.capacity.mean(axis=(0, 1))] if self.sizes == "absolute" else []
        made = self.new_agent().network(view, {"units": units})
        return made._replace(notes=made.notes | {"filter": self.filter, "k": self.k})

    def cells(self, decisions: Decisions) -> tuple[Ints, Ints, Ints]:
        """Share all servers as they are, and exchange the chosen one; or else value the cluster after each choice."""
        capacity, candidates = self.view.capacity, np.maximum(decisions.candidates.astype(np.int64), 0)
        servers = len(capacity) if self.decomposition else 0
        observed = np.empty((len(candidates), servers + self.slots, self.described.sizes[0]), np.float32)
        of = decisions.free, decisions.demand, decisions.spread, candidates
        observe_all(*of, capacity, self.described.how, servers, observed)
        numbers = self.buffer.number(observed)
        shared, after = numbers[:, :servers], numbers[:, servers:]
        before = np.take_along_axis(shared, candidates // NODES, axis=1) if servers else np.zeros_like(after)
        return shared, after, before


@kernel
def observe_all(
    free: Floats, demands: Floats, spread: Floats, candidates: Ints, capacity: Ints, how: Floats, servers: int,
    observed: npt.NDArray[np.float32],
) -> None:  # fmt: skip
    """Write to observed [n, servers + slots, inputs] the `servers` as they are, and each candidate's after the choice.

    With 0 servers it is the whole cluster after each choice.
    """
    for b in range(len(free)):
        demand, both = (int(demands[b, 0]), int(demands[b, 1])), spread[b] > 0
        for server in range(servers):
            server_features(free[b], capacity, server, -1, demand, both, how, observed[b, server], 0)
        for i in range(candidates.shape[1]):
            action_features(free[b], capacity, candidates[b, i], demand, both, how, observed[b, servers + i])
