"""Shows a network as a Gymnasium environment: one step is the choice of one server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
from gymnasium import spaces

from binwright.agents.environments.observation import Observer, edge_index
from binwright.agents.environments.stepping import EpisodeBatch
from binwright.agents.world import World
from binwright.fabric.compiled.many_networks import NetworkEpisodes
from binwright.simcore.errors import UserError

Rewards: TypeAlias = Mapping[str, float]
REWARDS: Rewards = {"placed": 10.0, "rejected": -10.0, "choice": 0.0}
"""For a request placed, for one rejected, and for every choice."""


class FabricBatch(EpisodeBatch):
    """Requests for several servers of a network, answered one server at a time.

    An action is a server. Choosing one that the observation's `mask` forbids (nothing free, or chosen already; it is
    `info["action_mask"]`, too) fails the request. With `mask="feasible"` servers without a working route to those
    chosen are forbidden, too. `reset(seed=7)` offers the requests that the scenario has for seed 7. `info` counts what
    a step placed and rejected.
    """

    episodes: NetworkEpisodes

    def __init__(
        self,
        world: World,
        count: int,
        mask: Literal["any", "feasible"] = "any",
        rewards: Rewards = REWARDS,
    ) -> None:
        if mask not in ("any", "feasible"):
            raise UserError("no such mask", key="mask", value=mask, remedy="Give any, or feasible.")
        if unknown := rewards.keys() - REWARDS.keys():
            remedy = f"Known: {', '.join(REWARDS)}."
            raise UserError("no such reward", key="rewards", value=sorted(unknown), remedy=remedy)
        self.world, self.episodes = world, world.episodes(count, feasible=mask == "feasible")
        topology, resources = self.episodes.view.topology, len(self.episodes.view.resources)
        servers, vertices = topology.servers, topology.switches + topology.servers
        ends = edge_index(topology).T

        def box(shape: tuple[int, ...], dtype: Any = np.float32, high: float = 1) -> spaces.Box:
            return spaces.Box(0, high, shape, dtype)

        boxes = {
            "nodes": box((vertices, resources + 1)),
            "links": box((ends.shape[1], 1)),
            "edges": box(ends.shape, np.int32, vertices - 1),
            "chosen": box((servers,), np.int8),
            "mask": box((servers,), np.int8),
            "cluster": box((resources + 1,)),
        }
        super().__init__(boxes, servers, count)
        self.episodes.state = self.episodes.state._replace(mask=self.seen["mask"].view(np.bool_))
        self.seen["edges"][:] = ends
        self.info = {"placed": self.episodes.state.result[:, 0], "rejected": self.episodes.state.result[:, 1]}
        arrays = {name: self.seen[name] for name in ("nodes", "cluster", "chosen")}
        arrays |= {"edges": self.seen["links"][:, :, 0], "rewards": self.rewards, "ended": self.ended}
        worth = np.array([{**REWARDS, **rewards}[name] for name in REWARDS], np.float64)
        self._observer = Observer(self.episodes, False, worth, **arrays)

    def act(self) -> None:
        """Choose a server in every simulation."""
        self.episodes.step(self.choices)
        self._observer.show(0, self.count, True)

    def reset(self, simulation: int, seed: int) -> None:
        """Begin an episode, and show its first request."""
        self.episodes.reset(simulation, self.world.draw(seed))
        self._observer.bind()
        self._observer.show(simulation, simulation + 1, False)
