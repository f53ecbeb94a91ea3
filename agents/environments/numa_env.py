"""Shows NUMA servers as a Gymnasium environment: one step is the answer to one request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
from gymnasium import spaces

from agents.environments.stepping import Face, FaceEnv, FaceVector, Seen
from agents.world import World
from fabric.compiled.numa_episodes import NumaEpisodes
from fabric.network import NetworkLedger
from simcore.errors import UserError
from simcore.vocabulary import QUANTUM, Floats, Ints

Reward: TypeAlias = Literal["one", "delta", "income"]
HOUR = 3600.0


class _Face(Face):
    """Shows episodes on servers. Their places are the actions; `prices` are per hour of a unit, by resource."""

    episodes: NumaEpisodes

    def __init__(self, world: World, count: int, reward: Reward, prices: Mapping[str, float]) -> None:
        if reward not in ("one", "delta", "income"):
            remedy = "Give one, delta or income."
            raise UserError("no such reward", key="reward", value=reward, remedy=remedy)
        if reward == "income" and not prices:
            raise UserError("there are no prices", key="prices", remedy="Give the scenario `prices`.")
        ledger = world.ledger(0)
        if isinstance(ledger, NetworkLedger) or world.pacing:
            remedy = "Take a scenario without network and pacing; binwright/Fabric-v0 is for networks."
            raise UserError("nodes of servers are chosen here as requests arrive", key="cluster", remedy=remedy)
        self.world, self._reward = world, reward
        self.episodes = NumaEpisodes(ledger.cluster, world.overflow.mode, count)
        self.actions = self.episodes.mask.shape[1]
        self._placed = np.zeros(count, np.bool_)
        self._most = ledger.cluster.capacity.max(axis=(0, 1))
        self._prices = np.array([prices.get(name, 0.0) for name in ledger.view.resources]) / QUANTUM / HOUR

    def space(self) -> Any:
        """Return the space of one environment's observations."""
        _, nodes, resources = self.episodes.cluster.capacity.shape
        return spaces.Dict(
            {
                "free": spaces.Box(0, 1, (self.actions // nodes, nodes, resources), np.float32),
                "request": spaces.Box(0, nodes, (resources + 1,), np.float32),
                "mask": spaces.Box(0, 1, (self.actions,), np.int8),
            }
        )

    def seen(self) -> Seen:
        """Return copies of what is seen, with the simulation as the first axis."""
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

    def begin(self, simulation: int, rng: np.random.Generator, seed: int | None) -> None:
        """Begin an episode, in which nothing is placed yet."""
        super().begin(simulation, rng, seed)
        self._placed[simulation] = False

    def act(self, actions: Ints) -> Floats:
        """Choose a place in every simulation; returns the rewards."""
        episodes, many = self.episodes, self.episodes.many
        at = np.arange(episodes.count), episodes.row.copy()
        self._placed = episodes.step(actions)
        if self._reward == "one":
            worth = np.ones(episodes.count)
        elif self._reward == "delta":
            worth = many.demand[at][:, 0] / episodes.total[0]
        else:
            worth = (many.demand[at] @ self._prices) * many.duration[at]
        return np.where(self._placed, worth, 0.0)

    def told(self, seen: Seen) -> Seen:
        """Return what may be answered next, and whether the last request was placed."""
        return {"action_mask": seen["mask"], "placed": self._placed.copy()}


class NumaEnv(FaceEnv):
    """Requests for servers with NUMA nodes, answered one by one.

    An action is server * nodes + node; a spread request takes a server by its first node. What the observation's `mask`
    forbids (it is `info["action_mask"]`, too) refuses the request. Requests that fit nowhere are refused on the way;
    with overflow `stop` a refusal ends the episode. `reset(seed=7)` offers the requests that the scenario has for
    seed 7.

    `reward` for a request placed: `one`; `delta`, what it takes of the cluster's first resource, as a share; `income`,
    at the scenario's prices over its whole holding period.
    """

    def __init__(
        self, world: World, reward: Reward = "one", prices: Mapping[str, float] | None = None, render_mode: None = None
    ) -> None:
        super().__init__(_Face(world, 1, reward, prices or {}), render_mode)


class NumaVector(FaceVector):
    """Many `NumaEnv`s stepped in one compiled call. One that is over begins anew in the next step."""

    def __init__(
        self,
        world: World,
        num_envs: int = 1,
        reward: Reward = "one",
        prices: Mapping[str, float] | None = None,
        render_mode: None = None,
    ) -> None:
        super().__init__(_Face(world, num_envs, reward, prices or {}), render_mode)
