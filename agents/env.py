"""The Gymnasium face of compiled episodes: one step is the choice of one server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeAlias

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from agents.observation import Observer, edge_index
from agents.world import World
from fabric.episodes import Episodes
from simcore.errors import UserError

Seen: TypeAlias = dict[str, npt.NDArray[Any]]
Rewards: TypeAlias = Mapping[str, float]
REWARDS: Rewards = {"placed": 10.0, "rejected": -10.0, "choice": 0.0}
"""For a request placed, for one rejected, and for every choice."""


class _Face:
    """What one environment and many have in common."""

    def __init__(self, world: World, count: int, mask: str, rewards: Rewards) -> None:
        if mask not in ("any", "feasible"):
            raise UserError("no such mask", key="mask", value=mask, remedy="Give any, or feasible.")
        if unknown := rewards.keys() - REWARDS.keys():
            remedy = f"Known: {', '.join(REWARDS)}."
            raise UserError("no such reward", key="rewards", value=sorted(unknown), remedy=remedy)
        self.world = world
        self.episodes: Episodes = world.episodes(count, feasible=mask == "feasible")
        self.look = Observer(self.episodes)
        topology = self.episodes.view.topology
        self.servers = topology.servers
        self.edge_index = np.repeat(edge_index(topology).T[None], count, axis=0)
        self._rewards = {**REWARDS, **rewards}

    def space(self) -> Any:
        """Of one environment's observations."""
        seen = self.look.seen

        def box(shape: tuple[int, ...], dtype: Any = np.float32, high: float = 1) -> spaces.Box:
            return spaces.Box(0, high, shape, dtype)

        vertices = seen.nodes.shape[1]
        return spaces.Dict(
            {
                "nodes": box(seen.nodes.shape[1:]),
                "links": box((*seen.edges.shape[1:], 1)),
                "edges": box(self.edge_index.shape[1:], np.int32, vertices - 1),
                "chosen": box((self.servers,), np.int8),
                "mask": box((self.servers,), np.int8),
                "cluster": box(seen.cluster.shape[1:]),
            }
        )

    def seen(self) -> Seen:
        """Copies, with the simulation as the first axis."""
        seen = self.look()
        return {
            "nodes": seen.nodes.copy(),
            "links": seen.edges[:, :, None].copy(),
            "edges": self.edge_index.copy(),
            "chosen": seen.nodes[:, -self.servers :, -1].astype(np.int8),
            "mask": self.episodes.state.mask.astype(np.int8),
            "cluster": seen.cluster.copy(),
        }

    def begin(self, simulation: int, rng: np.random.Generator, seed: int | None) -> None:
        """The scenario's own episode of a seed; without one any that no small seed names."""
        drawn = int(rng.integers(2**31, 2**62)) if seed is None else seed
        self.episodes.reset(simulation, self.world.draw(drawn))

    def earned(self) -> npt.NDArray[np.float64]:
        """The rewards of the last step [count]."""
        placed, rejected = self.episodes.state.result.T
        rewards = self._rewards
        earned: npt.NDArray[np.float64] = (
            placed * rewards["placed"] + rejected * rewards["rejected"] + rewards["choice"]
        )
        return earned


class FabricEnv(gymnasium.Env[Seen, np.int64]):
    """Requests for several servers of a network, answered one server at a time.

    An action is a server. Choosing one that the observation's `mask` forbids (nothing free, or chosen already) fails
    the request. With `mask="feasible"` servers without a working route to those chosen are forbidden, too.
    `reset(seed=7)` offers the requests that the scenario has for seed 7. `info` counts what a step placed and rejected.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}  # type: ignore[misc]

    def __init__(
        self,
        world: World,
        mask: Literal["any", "feasible"] = "any",
        rewards: Rewards = REWARDS,
        render_mode: None = None,
    ) -> None:
        self.render_mode = render_mode
        self._face = _Face(world, 1, mask, rewards)
        self.observation_space = self._face.space()
        self.action_space = spaces.Discrete(self._face.servers)
        self._ready = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Seen, dict[str, Any]]:
        """Start an episode."""
        super().reset(seed=seed)
        self._face.begin(0, self.np_random, seed)
        self._ready = True
        return self._first(), self._counts()

    def step(self, action: np.int64) -> tuple[Seen, float, bool, bool, dict[str, Any]]:
        """Choose a server."""
        if not self._ready:
            raise gymnasium.error.ResetNeeded("call reset() first")
        self._face.episodes.step(np.array([action], np.int64))
        over = bool(self._face.episodes.over[0])
        self._ready = not over
        return self._first(), float(self._face.earned()[0]), over, False, self._counts()

    def _first(self) -> Seen:
        return {name: array[0] for name, array in self._face.seen().items()}

    def _counts(self) -> dict[str, Any]:
        placed, rejected = self._face.episodes.state.result[0].tolist()
        return {"placed": placed, "rejected": rejected}


class FabricVector(VectorEnv[Seen, npt.NDArray[np.int64], npt.NDArray[Any]]):
    """Many `FabricEnv`s stepped in one compiled call. One that is over begins anew in the next step."""

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": [],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        world: World,
        num_envs: int = 1,
        mask: Literal["any", "feasible"] = "any",
        rewards: Rewards = REWARDS,
        render_mode: None = None,
    ) -> None:
        self.render_mode = render_mode
        self.num_envs = num_envs
        self._face = _Face(world, num_envs, mask, rewards)
        self.single_observation_space = self._face.space()
        self.single_action_space = spaces.Discrete(self._face.servers)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Seen, dict[str, Any]]:
        """Start all episodes; environment i has seed + i, or the i-th of the seeds."""
        super().reset(seed=seed if isinstance(seed, int) else None)
        seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed or [None] * self.num_envs
        for i, own in enumerate(seeds):
            self._face.begin(i, self.np_random, own)
        return self._face.seen(), self._counts()

    def step(
        self, actions: npt.NDArray[np.int64]
    ) -> tuple[Seen, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """Choose a server each."""
        episodes = self._face.episodes
        again = np.flatnonzero(episodes.over)
        episodes.step(np.asarray(actions, np.int64))
        rewards = self._face.earned()
        rewards[again] = 0.0
        for i in again:
            self._face.begin(int(i), self.np_random, None)
        return self._face.seen(), rewards, episodes.over, np.zeros(self.num_envs, np.bool_), self._counts()

    def _counts(self) -> dict[str, Any]:
        placed, rejected = self._face.episodes.state.result.T.copy()
        return {"placed": placed, "rejected": rejected}
