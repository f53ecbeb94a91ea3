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
from binwright.fabric.compiled.many import Flags, NumaEpisodes, NumaShown
from binwright.fabric.compiled.many_networks import NetworkEpisodes
from binwright.simcore.errors import UserError
from binwright.simcore.types import Floats, Ints

Seen: TypeAlias = dict[str, npt.NDArray[Any]]


class EpisodeBatch(ABC):
    """Steps the simulations of a world together. All arrays have the simulation as their first axis.

    `boxes` are the spaces of what one environment sees, by name. `seen` is what is seen, `info` what a step says
    besides, `rewards` float64 and `ended` bool what came of the last step: every step writes to the same arrays, and
    only what changed, so nobody else may write there.
    """

    world: World
    episodes: NetworkEpisodes | NumaEpisodes
    info: Seen

    def __init__(self, boxes: Mapping[str, spaces.Box], actions: int, count: int) -> None:
        self.space: Any = spaces.Dict(dict(boxes))
        self.actions, self.count = actions, count
        self.choices: Ints = np.zeros(count, np.int64)
        self.seen: Seen = {name: np.zeros((count, *box.shape), box.dtype) for name, box in boxes.items()}
        self.rewards: Floats = np.zeros(count)
        self.ended: Flags = np.zeros(count, np.bool_)

    @abstractmethod
    def act(self) -> None:
        """Step all simulations with `choices`, and show what they are then; those that are over do not change."""

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
        self.episodes.step(self.choices)

    def reset(self, simulation: int, seed: int) -> None:
        workload = self.world.draw(seed)
        worth = workload.demand[:, 0] / self._total if self._reward == "delta" else np.ones(len(workload))
        self.episodes.reset(simulation, workload, worth)


class FabricBatch(EpisodeBatch):
    """Requests for several servers of a network, answered one server at a time.

    An action is a server. Choosing one that the observation's `mask` forbids (nothing free, or chosen already) fails
    the request; with `mask="feasible"` servers without a working route to those chosen are forbidden, too. A request
    placed earns 10, one rejected -10. `info` counts what a step placed and rejected.
    """

    episodes: NetworkEpisodes

    def __init__(self, world: World, count: int, mask: Literal["any", "feasible"] = "any") -> None:
        if mask not in ("any", "feasible"):
            raise UserError("no such mask", key="mask", value=mask, remedy="Give any, or feasible.")
        self.world, self.episodes = world, world.episodes(count, feasible=mask == "feasible")
        topology, resources = self.episodes.view.topology, len(self.episodes.view.resources)
        servers, vertices = topology.servers, topology.switches + topology.servers
        ends = topology.link_ends.T

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
        self.info = {"placed": self.episodes.state.result[:, 0], "rejected": self.episodes.state.result[:, 1]}
        self._observer = Observer(self.episodes)
        shown, self.rewards, self.ended = self._observer.shown, self._observer.rewards, self._observer.ended
        self.seen |= {"nodes": shown.nodes, "links": shown.edges[:, :, None], "chosen": shown.chosen}
        self.seen |= {"cluster": shown.cluster, "mask": self.episodes.state.mask.view(np.int8)}
        self.seen["edges"][:] = ends

    def act(self) -> None:
        self.episodes.step(self.choices)
        self._observer.show(0, self.count, True)

    def reset(self, simulation: int, seed: int) -> None:
        self.episodes.reset(simulation, self.world.draw(seed))
        self._observer.show(simulation, simulation + 1, False)


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
        over = batch.ended.item()
        self._ready = not over
        seen, info = self._shown()
        return seen, batch.rewards.item(), over, False, info

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
            self.batch.ended[i] = False
        return self._shown()

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
            batch.rewards[i], batch.ended[i] = 0.0, batch.episodes.over[i]
        seen, info = self._shown()
        return seen, batch.rewards.copy(), batch.ended.copy(), self._never.copy(), info

    def _shown(self) -> tuple[Seen, dict[str, Any]]:
        seen = {name: array.copy() for name, array in self.batch.seen.items()}
        info = {name: array.copy() for name, array in self.batch.info.items()}
        return seen, {**info, "action_mask": seen["mask"]}
