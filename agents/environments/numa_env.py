"""Shows NUMA servers as a Gymnasium environment: one step is the answer to one request."""

from __future__ import annotations

from typing import Literal

import numpy as np
from gymnasium import spaces

from binwright.agents.environments.stepping import EpisodeBatch
from binwright.agents.world import World
from binwright.fabric.compiled.many import NumaEpisodes, NumaShown
from binwright.simcore.errors import UserError


class NumaBatch(EpisodeBatch):
    """Requests for servers with NUMA nodes, answered one by one.

    An action is server * nodes + node; a spread request takes a server by its first node. What the observation's `mask`
    forbids (it is `info["action_mask"]`, too) refuses the request. Requests that fit nowhere are refused on the way;
    with overflow `stop` a refusal ends the episode. `reset(seed=7)` offers the requests that the scenario has for seed
    7. The `reward` for a request placed is 1 (`one`), or what it takes of the cluster's first resource, as a share
    (`delta`).
    """

    episodes: NumaEpisodes

    def __init__(self, world: World, count: int, reward: Literal["one", "delta"] = "one") -> None:
        if reward not in ("one", "delta"):
            raise UserError("no such reward", key="reward", value=reward, remedy="Give one, or delta.")
        ledger = world.ledger(0)
        if ledger.network is not None or world.pacing or world.ruled:
            problem = "requests are answered one by one here, without network, pacing and rules of placement"
            remedy = "Take these out of the scenario; binwright/Fabric-v0 is for networks."
            raise UserError(problem, key="cluster", remedy=remedy)
        servers, nodes, resources = ledger.cluster.capacity.shape
        boxes: dict[str, spaces.Box] = {
            "free": spaces.Box(0, 1, (servers, nodes, resources), np.float32),
            "request": spaces.Box(0, nodes, (resources + 1,), np.float32),
            "mask": spaces.Box(0, 1, (servers * nodes,), np.int8),
        }
        super().__init__(boxes, servers * nodes, count)
        self.world, self._reward = world, reward
        self.info = {"placed": np.zeros(count, np.bool_)}
        seen, mask = self.seen, self.seen["mask"].view(np.bool_)
        shown = NumaShown(seen["free"], seen["request"], mask, self.rewards, self.ended, self.info["placed"])
        self.episodes = NumaEpisodes(ledger, world.overflow.mode, shown)
        self._total = ledger.cluster.capacity[:, :, 0].sum()

    def act(self) -> None:
        """Choose a place in every simulation."""
        self.episodes.step(self.choices)

    def reset(self, simulation: int, seed: int) -> None:
        """Begin an episode, in which nothing is placed yet."""
        workload = self.world.draw(seed)
        worth = workload.demand[:, 0] / self._total if self._reward == "delta" else np.ones(len(workload))
        self.episodes.reset(simulation, workload, worth)
