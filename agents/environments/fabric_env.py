"""Shows a network as a Gymnasium environment: one step is the choice of one server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
from gymnasium import spaces

from agents.environments.observation import Features, Observer, edge_index
from agents.environments.stepping import Face, FaceEnv, FaceVector, Seen
from agents.world import World
from fabric.compiled.network_episodes import NetworkEpisodes
from simcore.errors import UserError
from simcore.vocabulary import Floats, Ints

Rewards: TypeAlias = Mapping[str, float]
REWARDS: Rewards = {"placed": 10.0, "rejected": -10.0, "choice": 0.0}
"""For a request placed, for one rejected, and for every choice."""


class _Face(Face):
    """Shows episodes in a network. The servers are the actions."""

    episodes: NetworkEpisodes

    def __init__(self, world: World, count: int, mask: str, rewards: Rewards) -> None:
        if mask not in ("any", "feasible"):
            raise UserError("no such mask", key="mask", value=mask, remedy="Give any, or feasible.")
        if unknown := rewards.keys() - REWARDS.keys():
            remedy = f"Known: {', '.join(REWARDS)}."
            raise UserError("no such reward", key="rewards", value=sorted(unknown), remedy=remedy)
        self.world = world
        self.episodes = world.episodes(count, feasible=mask == "feasible")
        self.look = Observer(self.episodes, Features())
        topology = self.episodes.view.topology
        self.actions = topology.servers
        self.edge_index = np.repeat(edge_index(topology).T[None], count, axis=0)
        self._rewards = {**REWARDS, **rewards}

    def space(self) -> Any:
        """Return the space of one environment's observations."""
        seen = self.look.seen

        def box(shape: tuple[int, ...], dtype: Any = np.float32, high: float = 1) -> spaces.Box:
            return spaces.Box(0, high, shape, dtype)

        vertices = seen.nodes.shape[1]
        return spaces.Dict(
            {
                "nodes": box(seen.nodes.shape[1:]),
                "links": box((*seen.edges.shape[1:], 1)),
                "edges": box(self.edge_index.shape[1:], np.int32, vertices - 1),
                "chosen": box((self.actions,), np.int8),
                "mask": box((self.actions,), np.int8),
                "cluster": box(seen.cluster.shape[1:]),
            }
        )

    def seen(self) -> Seen:
        """Return copies of what is seen, with the simulation as the first axis."""
        seen = self.look()
        return {
            "nodes": seen.nodes.copy(),
            "links": seen.edges[:, :, None].copy(),
            "edges": self.edge_index.copy(),
            "chosen": seen.nodes[:, -self.actions :, -1].astype(np.int8),
            "mask": self.episodes.state.mask.astype(np.int8),
            "cluster": seen.cluster.copy(),
        }

    def act(self, actions: Ints) -> Floats:
        """Choose a server in every simulation; returns the rewards."""
        self.episodes.step(actions)
        placed, rejected = self.episodes.state.result.T
        rewards = self._rewards
        earned: Floats = placed * rewards["placed"] + rejected * rewards["rejected"] + rewards["choice"]
        return earned

    def told(self, seen: Seen) -> Seen:
        """Return how many requests were placed and rejected in the last step."""
        placed, rejected = self.episodes.state.result.T.copy()
        return {"placed": placed, "rejected": rejected}


class FabricEnv(FaceEnv):
    """Requests for several servers of a network, answered one server at a time.

    An action is a server. Choosing one that the observation's `mask` forbids (nothing free, or chosen already) fails
    the request. With `mask="feasible"` servers without a working route to those chosen are forbidden, too.
    `reset(seed=7)` offers the requests that the scenario has for seed 7. `info` counts what a step placed and rejected.
    """

    def __init__(
        self,
        world: World,
        mask: Literal["any", "feasible"] = "any",
        rewards: Rewards = REWARDS,
        render_mode: None = None,
    ) -> None:
        super().__init__(_Face(world, 1, mask, rewards), render_mode)


class FabricVector(FaceVector):
    """Many `FabricEnv`s stepped in one compiled call. One that is over begins anew in the next step."""

    def __init__(
        self,
        world: World,
        num_envs: int = 1,
        mask: Literal["any", "feasible"] = "any",
        rewards: Rewards = REWARDS,
        render_mode: None = None,
    ) -> None:
        super().__init__(_Face(world, num_envs, mask, rewards), render_mode)
