"""Makes Gymnasium environments of simulations that are stepped together, in networks and on servers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeAlias

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from agents.world import World
from fabric.compiled.network_episodes import NetworkEpisodes
from fabric.compiled.numa_episodes import NumaEpisodes
from simcore.vocabulary import Floats, Ints

Seen: TypeAlias = dict[str, npt.NDArray[Any]]


class Face(ABC):
    """Shows the simulations of a world as environments do.

    Subclasses have `world`, `episodes`, and how many `actions` there are.
    """

    world: World
    episodes: NetworkEpisodes | NumaEpisodes
    actions: int

    @abstractmethod
    def space(self) -> Any:
        """Return the space of one environment's observations."""

    @abstractmethod
    def seen(self) -> Seen:
        """Return copies of what is seen, with the simulation as the first axis."""

    @abstractmethod
    def act(self, actions: Ints) -> Floats:
        """Step all simulations with `actions` int64 [count]; returns the rewards [count]."""

    @abstractmethod
    def told(self, seen: Seen) -> Seen:
        """Return what `info` says of the last step besides what is `seen`: copies, the simulation as first axis."""

    def begin(self, simulation: int, rng: np.random.Generator, seed: int | None) -> None:
        """Begin the scenario's own episode of a seed; without a seed, one that no small seed has."""
        drawn = int(rng.integers(2**31, 2**62)) if seed is None else seed
        self.episodes.reset(simulation, self.world.draw(drawn))


class FaceEnv(gymnasium.Env[Seen, np.int64]):
    """Shows one simulation as a Gymnasium environment."""

    def __init__(self, face: Face, render_mode: None) -> None:
        self.render_mode = render_mode
        self._face, self._ready = face, False
        self.observation_space = face.space()
        self.action_space = spaces.Discrete(face.actions)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Seen, dict[str, Any]]:
        """Start an episode."""
        super().reset(seed=seed)
        self._face.begin(0, self.np_random, seed)
        self._ready = True
        return self._shown()

    def step(self, action: np.int64) -> tuple[Seen, float, bool, bool, dict[str, Any]]:
        """Take the action."""
        if not self._ready:
            raise gymnasium.error.ResetNeeded("call reset() first")
        reward = float(self._face.act(np.array([action], np.int64))[0])
        over = bool(self._face.episodes.over[0])
        self._ready = not over
        seen, info = self._shown()
        return seen, reward, over, False, info

    def _shown(self) -> tuple[Seen, dict[str, Any]]:
        """Return what is seen and told, single numbers as plain ones."""
        seen = self._face.seen()
        told = self._face.told(seen)
        info = {name: array[0] if array.ndim > 1 else array[0].item() for name, array in told.items()}
        return {name: array[0] for name, array in seen.items()}, info


class FaceVector(VectorEnv[Seen, npt.NDArray[np.int64], npt.NDArray[Any]]):
    """Shows many simulations that are stepped in one compiled call. One that is over begins again in the next step."""

    def __init__(self, face: Face, render_mode: None) -> None:
        self.render_mode = render_mode
        self.metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}
        self._face, self.num_envs = face, face.episodes.count
        self.single_observation_space = face.space()
        self.single_action_space = spaces.Discrete(face.actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Seen, dict[str, Any]]:
        """Start all episodes; environment i has seed + i, or the i-th of the seeds."""
        super().reset(seed=seed if isinstance(seed, int) else None)
        seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed or [None] * self.num_envs
        for i, own in enumerate(seeds):
            self._face.begin(i, self.np_random, own)
        seen = self._face.seen()
        return seen, self._face.told(seen)

    def step(
        self, actions: npt.NDArray[np.int64]
    ) -> tuple[Seen, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """Take an action in every simulation."""
        face = self._face
        again = np.flatnonzero(face.episodes.over)
        rewards = face.act(np.asarray(actions, np.int64))
        rewards[again] = 0.0
        for i in again.tolist():
            face.begin(i, self.np_random, None)
        seen = face.seen()
        return seen, rewards, face.episodes.over, np.zeros(self.num_envs, np.bool_), face.told(seen)
