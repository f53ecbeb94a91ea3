"""Shows scenarios as Gymnasium environments, many stepped together: one step is a server of a network, or an answer."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from binwright.agents.environments.observation import Observer
from binwright.agents.world import World
from binwright.fabric.compiled.many import NumaEpisodes
from binwright.fabric.compiled.many_networks import NetworkEpisodes
from binwright.simcore.errors import UserError
from binwright.simcore.types import Flags, Ints

Seen: TypeAlias = dict[str, npt.NDArray[Any]]


class EpisodeBatch(ABC):
    """Steps the simulations of a world together. All arrays have the simulation as their first axis.

    `space` and `actions` are those of one environment. `seen` is what is seen, from 0 to 1 or to what `largest` says,
    `info` how many requests the last step placed and rejected: every step writes to the same arrays, and only what
    changed, so nobody else may write there.
    """

    episodes: NetworkEpisodes | NumaEpisodes

    def __init__(self, world: World, actions: int, seen: Seen, largest: Mapping[str, int]) -> None:
        self.world, self.actions, self.seen = world, actions, seen
        boxes = {name: (largest.get(name, 1), array.shape[1:], array.dtype.type) for name, array in seen.items()}
        self.space: Any = spaces.Dict({name: spaces.Box(0, *box) for name, box in boxes.items()})
        self.choices: Ints = np.zeros(self.episodes.count, np.int64)

    @property
    def info(self) -> Seen:
        result = self.episodes.many.result
        return {"placed": result[:, 0], "rejected": result[:, 1]}

    def shown(self) -> tuple[Seen, Seen]:
        """Return copies of what is seen, and of `info`, which has the mask, too."""
        seen, info = ({name: array.copy() for name, array in part.items()} for part in (self.seen, self.info))
        return seen, {**info, "action_mask": seen["mask"]}

    def act(self) -> None:
        """Step all simulations with `choices`, and show what they are then; those that are over do not change."""
        self.episodes.step(self.choices)

    @abstractmethod
    def reset(self, simulation: int, seed: int) -> None:
        """Begin the scenario's own episode of a seed, and show its beginning."""

    def begin(self, simulation: int, rng: np.random.Generator, seed: int | None) -> None:
        """Begin the scenario's own episode of a seed; without a seed, one that no small seed has."""
        self.reset(simulation, int(rng.integers(2**31, 2**62)) if seed is None else seed)


class NumaBatch(EpisodeBatch):
    """Requests for servers with NUMA nodes, answered one by one.

    An action is server * nodes + node; a spread request takes a server by its first node. What the observation's `mask`
    forbids refuses the request. Requests that fit nowhere are refused on the way; with overflow `stop` a refusal ends
    the episode. The `reward` for a request placed is 1 (`one`), or its share of the cluster's first resource (`delta`).
    """

    episodes: NumaEpisodes

    def __init__(self, world: World, count: int, reward: Literal["one", "delta"] = "one") -> None:
        if reward not in ("one", "delta"):
            raise UserError("no such reward", key="reward", value=reward, remedy="Give `one` or `delta`.")
        ledger = world.ledger(0)
        if ledger.network is not None or world.pacing or world.ruled:
            problem = "requests are answered one by one here, without network, pacing and rules of placement"
            remedy = "Take these out of the scenario; binwright/Fabric-v0 is for networks."
            raise UserError(problem, key="cluster", remedy=remedy)
        self._reward, self.episodes = reward, NumaEpisodes(ledger, world.overflow.mode, count)
        (servers, nodes, _), shown = ledger.cluster.capacity.shape, self.episodes.state
        seen: Seen = {"free": shown.free, "request": shown.request, "mask": shown.mask.view(np.int8)}
        super().__init__(world, servers * nodes, seen, {"request": nodes})
        self._total = ledger.cluster.capacity[:, :, 0].sum()

    def reset(self, simulation: int, seed: int) -> None:
        workload = self.world.draw(seed)
        worth = workload.demand[:, 0] / self._total if self._reward == "delta" else np.ones(len(workload))
        self.episodes.reset(simulation, workload, worth)


class FabricBatch(EpisodeBatch):
    """Requests for several servers of a network, answered one server at a time.

    An action is a server. Choosing one that the observation's `mask` forbids (nothing free, or chosen already) fails
    the request; with `mask="feasible"` servers without a working route to those chosen are forbidden, too. A request
    placed earns 10, one rejected -10.
    """

    episodes: NetworkEpisodes

    def __init__(self, world: World, count: int, mask: Literal["any", "feasible"] = "any") -> None:
        if mask not in ("any", "feasible"):
            raise UserError("no such mask", key="mask", value=mask, remedy="Give any, or feasible.")
        self.episodes = world.episodes(count, feasible=mask == "feasible")
        topology, self._observer = self.episodes.view.topology, Observer(self.episodes)
        shown = self._observer.shown
        seen: Seen = {
            "nodes": shown.nodes,
            "links": shown.edges[:, :, None],
            "edges": np.repeat(topology.link_ends.T[None].astype(np.int32), count, 0),
            "chosen": shown.chosen,
            "mask": self.episodes.state.mask.view(np.int8),
            "cluster": shown.cluster,
        }
        super().__init__(world, topology.servers, seen, {"edges": topology.switches + topology.servers - 1})

    def act(self) -> None:
        super().act()
        self._observer.show(0, self.episodes.count)

    def reset(self, simulation: int, seed: int) -> None:
        self.episodes.reset(simulation, self.world.draw(seed))
        self._observer.show(simulation, simulation + 1)


class BatchEnv(gymnasium.Env[Seen, np.int64]):
    """Shows one simulation of a kind of batch as a Gymnasium environment; other options are those of the batch."""

    def __init__(
        self, batch_of: Callable[..., EpisodeBatch], world: World, *, render_mode: None = None, **options: Any
    ) -> None:
        self.render_mode = render_mode
        self.batch = batch = batch_of(world, 1, **options)
        self._ready = False
        self.observation_space, self.action_space = batch.space, spaces.Discrete(batch.actions)
        self._seen = {name: array[0] for name, array in batch.seen.items()}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Seen, dict[str, Any]]:
        super().reset(seed=seed)
        self.batch.begin(0, self.np_random, seed)
        self._ready = True
        return self._shown()

    def step(self, action: np.int64) -> tuple[Seen, float, bool, bool, dict[str, Any]]:
        if not self._ready:
            raise gymnasium.error.ResetNeeded("call reset() first")
        batch = self.batch
        batch.choices[0] = action
        batch.act()
        over = batch.episodes.over.item()
        self._ready = not over
        seen, info = self._shown()
        return seen, batch.episodes.many.rewards.item(), over, False, info

    def action_masks(self) -> Flags:
        """Tell which actions are allowed now, bool [actions], as `MaskablePPO` of sb3-contrib asks."""
        masks: Flags = self._seen["mask"].astype(np.bool_)
        return masks

    def _shown(self) -> tuple[Seen, dict[str, Any]]:
        seen = {name: array.copy() for name, array in self._seen.items()}
        info = {name: array.item() for name, array in self.batch.info.items()}
        return seen, {**info, "action_mask": seen["mask"]}


class BatchVector(VectorEnv[Seen, npt.NDArray[np.int64], npt.NDArray[Any]]):
    """Shows many simulations of a kind of batch, stepped together; one that is over begins again in the next step."""

    def __init__(
        self,
        batch_of: Callable[..., EpisodeBatch],
        world: World,
        num_envs: int = 1,
        *,
        render_mode: None = None,
        **options: Any,
    ) -> None:
        self.render_mode, self.num_envs = render_mode, num_envs
        self.metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}
        self.batch = batch = batch_of(world, num_envs, **options)
        self.single_observation_space, self.single_action_space = batch.space, spaces.Discrete(batch.actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._never = np.zeros(num_envs, np.bool_)
        self._rngs: list[np.random.Generator] = []
        """One for each environment, which the seeds of its further episodes are drawn from; empty before `reset`."""

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Seen, dict[str, Any]]:
        """Start all episodes; environment i has seed + i, or the i-th of the seeds."""
        count = self.num_envs
        if seed is None or isinstance(seed, int | np.integer):
            seeds = [None if seed is None else int(seed) + i for i in range(count)]
        else:
            seeds = [None if each is None else int(each) for each in seed]
        if len(seeds) != count:
            remedy = f"Give one number, or a list of {count}."
            raise UserError("are not as many as the environments", key="seed", value=seeds, remedy=remedy)
        self._rngs = self._rngs or [np.random.default_rng() for _ in range(count)]
        for i, each in enumerate(seeds):
            if each is not None:
                self._rngs[i], _ = seeding.np_random(each)
            self.batch.begin(i, self._rngs[i], each)
        return self.batch.shown()

    def step(
        self, actions: npt.NDArray[np.int64]
    ) -> tuple[Seen, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        batch, actions = self.batch, np.asarray(actions)
        if actions.shape != self._never.shape or actions.dtype.kind not in "iu":
            remedy = f"Give a whole number for each of the {self.num_envs} environments."
            raise UserError("are not one for each environment", key="actions", value=actions.tolist(), remedy=remedy)
        if not self._rngs:
            raise gymnasium.error.ResetNeeded("call reset() first")
        again = np.flatnonzero(batch.episodes.over).tolist()
        batch.choices[:] = actions
        batch.act()
        for i in again:
            batch.begin(i, self._rngs[i], None)
        seen, info = batch.shown()
        return seen, batch.episodes.many.rewards.copy(), batch.episodes.over.copy(), self._never.copy(), info
