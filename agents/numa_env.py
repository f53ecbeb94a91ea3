"""The Gymnasium face of compiled episodes on NUMA servers: one step is the answer to one request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeAlias

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from agents.world import World
from fabric.network import NetworkLedger
from fabric.numa_many import NumaEpisodes
from simcore.errors import UserError
from simcore.vocabulary import QUANTUM, Floats

Seen: TypeAlias = dict[str, npt.NDArray[Any]]
Reward: TypeAlias = Literal["one", "delta", "income"]
HOUR = 3600.0


class _Face:
    """What one environment and many have in common. `prices` per hour of a unit, by resource."""

    def __init__(self, world: World, count: int, reward: Reward, prices: Mapping[str, float]) -> None:
        if reward not in ("one", "delta", "income"):
            remedy = "Give one, delta or income."
            raise UserError("no such reward", key="reward", value=reward, remedy=remedy)
        if reward == "income" and not prices:
            raise UserError("there are no prices", key="prices", remedy="Give the scenario `prices`.")
        ledger = world.ledger()
        if isinstance(ledger, NetworkLedger) or world.pacing:
            remedy = "Take a scenario without network and pacing; binwright/Fabric-v0 is for networks."
            raise UserError("nodes of servers are chosen here as requests arrive", key="cluster", remedy=remedy)
        self._world, self._reward = world, reward
        self.episodes = NumaEpisodes(ledger.cluster, world.overflow.mode, count)
        self.places = self.episodes.mask.shape[1]
        self._most = ledger.cluster.capacity.max(axis=(0, 1))
        self._prices = np.array([prices.get(name, 0.0) for name in ledger.view.resources]) / QUANTUM / HOUR

    def space(self) -> Any:
        """Of one environment's observations."""
        _, nodes, resources = self.episodes.cluster.capacity.shape
        return spaces.Dict(
            {
                "free": spaces.Box(0, 1, (self.places // nodes, nodes, resources), np.float32),
                "request": spaces.Box(0, nodes, (resources + 1,), np.float32),
                "mask": spaces.Box(0, 1, (self.places,), np.int8),
            }
        )

    def begin(self, simulation: int, rng: np.random.Generator, seed: int | None) -> None:
        """The scenario's own episode of a seed; without one any that no small seed names."""
        drawn = int(rng.integers(2**31, 2**62)) if seed is None else seed
        self.episodes.reset(simulation, self._world.draw(drawn))

    def seen(self) -> Seen:
        """Copies, with the simulation as the first axis."""
        episodes, many = self.episodes, self.episodes.many
        every = np.arange(episodes.count)
        there = np.maximum(many.capacity, 1)
        asked = many.demand[every, episodes.row] / np.maximum(self._most, 1)
        request = np.column_stack([asked, many.spread[every, episodes.row]])
        request[episodes.over] = 0.0
        return {
            "free": (many.free / there).astype(np.float32),
            "request": request.astype(np.float32),
            "mask": episodes.mask.astype(np.int8),
        }

    def step(self, actions: npt.NDArray[np.int64]) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """The rewards [count], and which requests were placed."""
        episodes, many = self.episodes, self.episodes.many
        at = np.arange(episodes.count), episodes.row.copy()
        placed = episodes.step(actions)
        if self._reward == "one":
            worth = np.ones(episodes.count)
        elif self._reward == "delta":
            worth = many.demand[at][:, 0] / episodes.total[0]
        else:
            worth = (many.demand[at] @ self._prices) * many.duration[at]
        return np.where(placed, worth, 0.0), placed


class NumaEnv(gymnasium.Env[Seen, np.int64]):
    """Requests for servers with NUMA nodes, answered one by one.

    An action is server * nodes + node; a spread request takes a server by its first node. What the observation's `mask`
    forbids (it is `info["action_mask"]`, too) refuses the request. Requests that fit nowhere are refused on the way;
    with overflow `stop` a refusal ends the episode. `reset(seed=7)` offers the requests that the scenario has for
    seed 7.

    `reward` for a request placed: `one`; `delta`, what it takes of the cluster's first resource, as a share; `income`,
    at the scenario's prices over its whole holding period.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}  # type: ignore[misc]

    def __init__(
        self, world: World, reward: Reward = "one", prices: Mapping[str, float] | None = None, render_mode: None = None
    ) -> None:
        self.render_mode = render_mode
        self._face = _Face(world, 1, reward, prices or {})
        self.observation_space = self._face.space()
        self.action_space = spaces.Discrete(self._face.places)
        self._ready = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Seen, dict[str, Any]]:
        """Start an episode."""
        super().reset(seed=seed)
        self._face.begin(0, self.np_random, seed)
        self._ready = not self._face.episodes.over[0]
        seen = self._first()
        return seen, {"action_mask": seen["mask"], "placed": False}

    def step(self, action: np.int64) -> tuple[Seen, float, bool, bool, dict[str, Any]]:
        """Answer the request."""
        if not self._ready:
            raise gymnasium.error.ResetNeeded("call reset() first")
        rewards, placed = self._face.step(np.array([action], np.int64))
        over = bool(self._face.episodes.over[0])
        self._ready = not over
        seen = self._first()
        return seen, float(rewards[0]), over, False, {"action_mask": seen["mask"], "placed": bool(placed[0])}

    def _first(self) -> Seen:
        return {name: array[0] for name, array in self._face.seen().items()}


class NumaVector(VectorEnv[Seen, npt.NDArray[np.int64], npt.NDArray[Any]]):
    """Many `NumaEnv`s stepped in one compiled call. One that is over begins anew in the next step."""

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": [],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        world: World,
        num_envs: int = 1,
        reward: Reward = "one",
        prices: Mapping[str, float] | None = None,
        render_mode: None = None,
    ) -> None:
        self.render_mode = render_mode
        self.num_envs = num_envs
        self._face = _Face(world, num_envs, reward, prices or {})
        self.single_observation_space = self._face.space()
        self.single_action_space = spaces.Discrete(self._face.places)
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
        seen = self._face.seen()
        return seen, {"action_mask": seen["mask"], "placed": np.zeros(self.num_envs, np.bool_)}

    def step(
        self, actions: npt.NDArray[np.int64]
    ) -> tuple[Seen, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """Answer a request each."""
        episodes = self._face.episodes
        again = np.flatnonzero(episodes.over)
        rewards, placed = self._face.step(np.asarray(actions, np.int64))
        for i in again:
            self._face.begin(int(i), self.np_random, None)
        seen = self._face.seen()
        info = {"action_mask": seen["mask"], "placed": placed}
        return seen, rewards, episodes.over, np.zeros(self.num_envs, np.bool_), info
