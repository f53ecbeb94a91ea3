"""Shows NUMA servers as a Gymnasium environment: one step is the answer to one request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import numpy as np
from gymnasium import spaces

from binwright.agents.environments.stepping import Buffers, EpisodeBatch, RuledEpisodes
from binwright.agents.world import World
from binwright.fabric.compiled.many import NumaEpisodes, NumaShown
from binwright.simcore.errors import UserError
from binwright.simcore.ordered_sums import rows_dot
from binwright.simcore.types import QUANTUM, Floats, Workload

Reward: TypeAlias = Literal["one", "delta", "income"]
HOUR = 3600.0


class NumaBatch(EpisodeBatch):
    """Requests for servers with NUMA nodes, answered one by one.

    An action is server * nodes + node; a spread request takes a server by its first node. What the observation's `mask`
    forbids (it is `info["action_mask"]`, too) refuses the request. Requests that fit nowhere are refused on the way;
    with overflow `stop` a refusal ends the episode. A server that rules of placement keep the request from looks full.
    `reset(seed=7)` offers the requests that the scenario has for seed 7. Many are stepped in one compiled call, but
    with rules of placement, where the engine plays one after another.

    `reward` for a request placed: `one`; `delta`, what it takes of the cluster's first resource, as a share; `income`,
    at `prices` per hour of a unit, by resource, over its whole holding period.
    """

    episodes: NumaEpisodes | RuledEpisodes

    def __init__(
        self,
        world: World,
        count: int,
        buffers: Buffers | None,
        reward: Reward = "one",
        prices: Mapping[str, float] | None = None,
    ) -> None:
        if reward not in ("one", "delta", "income"):
            raise UserError("no such reward", key="reward", value=reward, remedy="Give one, delta or income.")
        if reward == "income" and not prices:
            raise UserError("there are no prices", key="prices", remedy="Give the scenario `prices`.")
        ledger = world.ledger(0)
        if ledger.network is not None or world.pacing:
            remedy = "Take a scenario without network and pacing; binwright/Fabric-v0 is for networks."
            raise UserError("nodes of servers are chosen here as requests arrive", key="cluster", remedy=remedy)
        servers, nodes, resources = ledger.cluster.capacity.shape
        boxes: dict[str, spaces.Box] = {
            "free": spaces.Box(0, 1, (servers, nodes, resources), np.float32),
            "request": spaces.Box(0, nodes, (resources + 1,), np.float32),
            "mask": spaces.Box(0, 1, (servers * nodes,), np.int8),
        }
        super().__init__(boxes, servers * nodes, count, buffers)
        self.world, self._reward = world, reward
        self.info = {"placed": np.zeros(count, np.bool_)}
        seen, mask = self.seen, self.seen["mask"].view(np.bool_)
        shown = NumaShown(seen["free"], seen["request"], mask, self.rewards, self.ended, self.info["placed"])
        if world.ruled:
            self.episodes = RuledEpisodes(world, shown)
        else:
            self.episodes = NumaEpisodes(ledger, world.overflow.mode, shown)
        self._total = ledger.cluster.capacity[:, :, 0].sum()
        self._prices = np.array([(prices or {}).get(name, 0.0) for name in ledger.view.resources]) / QUANTUM / HOUR

    def act(self) -> None:
        """Choose a place in every simulation."""
        self.episodes.step(self.choices)

    def reset(self, simulation: int, seed: int) -> None:
        """Begin an episode, in which nothing is placed yet."""
        workload = self.world.draw(seed)
        self.episodes.reset(simulation, workload, self._worth(workload))

    def _worth(self, workload: Workload) -> Floats:
        """Return the rewards for placing each of the requests, float64 [n]."""
        worth: Floats = np.ones(len(workload))
        if self._reward == "delta":
            worth = workload.demand[:, 0] / self._total
        elif self._reward == "income":
            worth = rows_dot(workload.demand, self._prices) * workload.duration
        return worth
