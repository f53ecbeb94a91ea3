"""Places as SchedRL does, by the advantage of every place, of one network over the whole cluster; and trains it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from binwright.agents.heuristics.servers.candidates import candidates
from binwright.agents.learned.dqn import DQN
from binwright.agents.learned.dqn_update import Reals, Shape
from binwright.agents.learned.loop import Count
from binwright.agents.learned.mlp import dense, depth_and_width, size_of, untrained
from binwright.agents.learned.numa import check_size
from binwright.agents.learned.replay import NONE, Decisions, exploring, write
from binwright.agents.learned.weights import Learned, Tensors, find, fitting, read, regime_from
from binwright.agents.rules.scan import ScanAgent
from binwright.simcore.errors import UserError
from binwright.simcore.jit import kernel
from binwright.simcore.types import Amounts, Compiled, Floats, Ints, Placement, Request, View

HIDDEN, WIDTH = 2, 128
"""Layers that the two streams share, and their units, if nothing else is said."""


def trunk(capacity: Ints, width: int = WIDTH, hidden: int = HIDDEN) -> tuple[int, ...]:
    """Return the sizes of the shared layers, which see what is free, the demand, and whether it is spread."""
    return (capacity.size + capacity.shape[2] + 1, *(width,) * hidden)


@kernel
def best_of(
    free: Ints, capacity: Ints, demand: Amounts, spread: bool, weights: Floats, shape: Floats, codes: Ints
) -> int:
    """Return the candidate with the largest advantage, the first of equals.

    `weights` are what decisions need, `shape` how many shared layers there are, and their units.
    """
    servers, nodes, resources = free.shape
    hidden, width = int(shape[0]), int(shape[1])
    longest, count = max(width, free.size + resources + 1), 0
    x, y = np.empty(longest), np.empty(longest)
    for server in range(servers):
        for node in range(nodes):
            for r in range(resources):
                x[count] = free[server, node, r] / capacity[server, node, r]
                count += 1
    for r in range(resources):
        x[count] = demand[r] / capacity[0, 0, r]
        count += 1
    x[count] = spread
    count += 1
    at = 0
    for _ in range(hidden):
        at = dense(x, count, weights, at, y, width, True)
        x, y, count = y, x, width
    dense(x, count, weights, at, y, servers * nodes, False)
    best = codes[0]
    for code in codes:
        if y[code] > y[best]:
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


class SchedRL(Learned, ScanAgent):
    """The place with the largest advantage, by one network that sees the whole cluster.

    `weights` names shipped ones, `path` is a file that `binwright train` wrote. For the number of servers of the
    training only.
    """

    reference = "Sheng et al. 2022, Learning to schedule multi-NUMA virtual machines, Pattern Recognition 121, 108254"
    scan = staticmethod(sched_rl)
    any_size = False

    def __init__(self, weights: str = "huawei-10", path: str | None = None) -> None:
        self._file = find("sched-rl", weights, path)
        self.numbers = np.zeros(0), np.array([HIDDEN, WIDTH], np.float64), NONE

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Load the weights, and compile the kernel or load it."""
        check_servers(view)
        _, notes = read(self._file)
        self._trained = len(view.capacity)
        if notes.get("agent") == "sched-rl":
            check_size("sched-rl", notes.get("servers"), self._trained, self._file)
        depth, width = depth_and_width(notes.get("layers"), (HIDDEN + 1, WIDTH))
        layers = sizes(view.capacity, width, depth - 1)
        tensors = fitting(self._file, {"weights": (size_of(layers),)}, described(view, layers))
        self.numbers = tensors["weights"].astype(np.float64), np.array([depth - 1, width], np.float64), NONE
        self.regime = regime_from(notes)
        self.get_ready(view)

    def decide(self, view: View, request: Request) -> Placement | None:
        """Place the request where the kernel says, on a cluster of as many servers as in training."""
        check_size("sched-rl", self._trained, len(view.free), self._file)
        return super().decide(view, request)

    @property
    def compiled(self) -> Compiled:
        """The kernel and its numbers."""
        return Compiled(self.scan, self.numbers)


def sizes(capacity: Ints, width: int = WIDTH, hidden: int = HIDDEN) -> tuple[int, ...]:
    """Return the sizes of the layers that a decision needs."""
    return (*trunk(capacity, width, hidden), capacity.shape[0] * capacity.shape[1])


def described(view: View, layers: tuple[int, ...]) -> dict[str, Any]:
    """Return what the notes beside the weights say they were trained for."""
    servers, nodes, _ = view.capacity.shape
    return {
        "agent": "sched-rl",
        "resources": list(view.resources),
        "servers": servers,
        "nodes": nodes,
        "layers": list(layers),
    }


def check_servers(view: View) -> None:
    """Raise a `UserError` for servers that are not all alike."""
    if (view.capacity == 0).any() or (view.capacity != view.capacity[0, 0]).any():
        raise UserError(
            "sched-rl is for servers that are all alike, as are their nodes",
            key="agents",
            value="sched-rl",
            remedy="Take another agent, such as internal.",
        )


@dataclass
class SchedTrainer(DQN):
    """Dueling double DQN over all places.

    The two streams share `hidden` layers of `width` units; more settings are in `binwright.agents.learned.dqn`.
    """

    agent = "sched-rl"
    width: Count = WIDTH
    hidden: Count = HIDDEN

    def check(self, view: View) -> None:
        """Refuse servers that are not all alike."""
        check_servers(view)

    def make(self, rng: np.random.Generator) -> tuple[Shape, int, Floats]:
        """Return the network of a cluster like this: what a decision needs first, then the value of the state."""
        self._needed = sizes(self.view.capacity, self.width, self.hidden)
        weights = np.concatenate([untrained(self._needed, rng), untrained((self._needed[-2], 1), rng)])
        return Shape(self.hidden + 1, self.width, self.slots(), True), self._needed[0], weights

    def cells(self, decisions: Decisions) -> tuple[Ints, Ints, Ints]:
        """Value each place by its own output for what is free, the demand and whether it is spread."""
        capacity = self.view.capacity
        shares = decisions.free.reshape(len(decisions.code), capacity.size) / capacity.ravel()
        observed = np.column_stack([shares, decisions.demand / capacity[0, 0], decisions.spread])
        numbers = self.buffer.number(observed.astype(np.float32))[:, None]
        after = numbers * self.slots() + np.maximum(decisions.candidates.astype(np.int64), 0)
        return numbers[:, :0], after, np.zeros_like(after)

    def _deciding(self, network: Reals) -> Reals:
        return network[: size_of(self._needed)]

    def rule(self, network: Reals, trajectory: Floats) -> Compiled:
        """Return the agent's kernel with these weights."""
        shape = np.array([self.hidden, self.width], np.float64)
        return Compiled(sched_rl, (self._deciding(network).astype(np.float64), shape, trajectory))

    def slots(self) -> int:
        """Return how many places there are."""
        return self._needed[-1]

    def weights(self) -> tuple[Tensors, dict[str, Any]]:
        """Return the weights that a decision needs."""
        return {"weights": self._deciding(self.averaged_network).copy()}, described(self.view, self._needed)
