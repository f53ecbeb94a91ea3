"""Makes Gymnasium environments of simulations that are stepped together, in networks and on servers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from binwright.agents.policy import observed
from binwright.agents.world import World
from binwright.fabric.compiled.many import Flags, NumaEpisodes, NumaShown, check_overflow
from binwright.fabric.compiled.many_networks import NetworkEpisodes
from binwright.fabric.compiled.numa_loop import placement_of
from binwright.fabric.run.simulation import Simulation
from binwright.simcore.errors import UserError
from binwright.simcore.types import Floats, Ints, Request, Workload


class RuledEpisodes:
    """Does what `NumaEpisodes` does for the simulations of a world with rules: a place that they forbid looks full.

    `shown` (`NumaShown`) is what is to be seen, `over` bool [count] says which simulations are over.
    """

    def __init__(self, world: World, shown: NumaShown) -> None:
        check_overflow(world.overflow.mode)
        self.shown, self._world = shown, world
        self.over: Flags = np.ones(len(shown.mask), np.bool_)
        self._runs: dict[int, Simulation] = {}
        self._offered: dict[int, Request] = {}
        self._worth: dict[int, Floats] = {}

    def reset(self, simulation: int, workload: Workload, worth: Floats) -> None:
        """Start one simulation again, on an empty cluster, with these requests; `worth` float64 [n] rewards them."""
        self._runs[simulation] = Simulation(workload, self._world.ledger(0), self._world.overflow)
        self._worth[simulation], self.over[simulation] = worth, False
        self.shown.placed[simulation] = False
        self._advance(simulation)

    def step(self, answers: Ints) -> None:
        """Answer the requests on offer, `answers` int64 [count]; a place that the mask forbids refuses the request.

        Changes `shown`. Simulations that are over do not change, and have no reward.
        """
        shown = self.shown
        for i, place in enumerate(answers.tolist()):
            shown.rewards[i], shown.placed[i] = 0.0, False
            if not self.over[i]:
                run, request = self._runs[i], self._offered[i]
                if 0 <= place < shown.mask.shape[1] and shown.mask[i, place]:
                    run.answer(placement_of(place, request, run.view.free.shape[1]))
                    shown.rewards[i], shown.placed[i] = self._worth[i][request.index], True
                else:
                    run.answer(None)
                self._advance(i)
            shown.ended[i] = self.over[i]

    def _advance(self, i: int) -> None:
        """Let the clock go on to the next request that fits somewhere, or to the end, and show it."""
        run, shown = self._runs[i], self.shown
        while (request := run.advance()) is not None:
            seen = observed(run.view, request)
            if seen["mask"].any():
                self._offered[i] = request
                shown.free[i], shown.request[i], shown.mask[i] = seen["free"], seen["request"], seen["mask"]
                return
            run.answer(None)
        self.over[i] = True
        shown.free[i] = run.view.everything_free / np.maximum(run.view.capacity, 1)
        shown.request[i], shown.mask[i] = 0.0, False


Seen: TypeAlias = dict[str, npt.NDArray[Any]]
Buffers: TypeAlias = Mapping[str, npt.NDArray[Any]]
"""Arrays of the caller's, by name: what is seen, `rewards` and `terminations`."""


class EpisodeBatch(ABC):
    """Steps the simulations of a world together. All arrays have the simulation as their first axis.

    `boxes` are the spaces of what one environment sees, by name. `seen` is what is seen, `info` what a step says
    besides, `rewards` float64 and `ended` bool what came of the last step: every step writes to the same arrays, and
    only what changed, so nobody else may write there. They are the caller's where `buffers` has them.
    """

    world: World
    episodes: NetworkEpisodes | NumaEpisodes | RuledEpisodes
    info: Seen

    def __init__(self, boxes: Mapping[str, spaces.Box], actions: int, count: int, buffers: Buffers | None) -> None:
        left = dict(buffers or {})
        self.space: Any = spaces.Dict(dict(boxes))
        self.actions, self.count = actions, count
        self.choices: Ints = np.zeros(count, np.int64)
        self.seen = {name: _array(left, name, (count, *box.shape), box.dtype) for name, box in boxes.items()}
        self.rewards: Floats = _array(left, "rewards", (count,), np.float64)
        self.ended: Flags = _array(left, "terminations", (count,), np.bool_)
        if left:
            remedy = f"Known: {', '.join([*boxes, 'rewards', 'terminations'])}."
            raise UserError("no such buffers", key="buffers", value=sorted(left), remedy=remedy)

    @abstractmethod
    def act(self) -> None:
        """Step all simulations with `choices`, and show what they are then; those that are over do not change."""

    @abstractmethod
    def reset(self, simulation: int, seed: int) -> None:
        """Begin the scenario's own episode of a seed, and show its beginning."""

    def begin(self, simulation: int, rng: np.random.Generator, seed: int | None) -> None:
        """Begin the scenario's own episode of a seed; without a seed, one that no small seed has."""
        self.reset(simulation, int(rng.integers(2**31, 2**62)) if seed is None else seed)


def _array(left: Seen, name: str, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Take the caller's array of a name out of those that are left, or make a new one."""
    array = left.pop(name, None)
    if array is None:
        return np.zeros(shape, dtype)
    if array.shape != shape or array.dtype != dtype or not (array.flags.c_contiguous and array.flags.writeable):
        remedy = f"Give a C-contiguous array that can be written to: {np.dtype(dtype)} {list(shape)}."
        raise UserError("cannot be written to in place", key=f"buffers.{name}", value=list(array.shape), remedy=remedy)
    return array


class BatchEnv(gymnasium.Env[Seen, np.int64]):
    """Shows one simulation of a kind of batch as a Gymnasium environment; other options are those of the batch.

    With `in_place` every step returns the same arrays, written anew.
    """

    def __init__(
        self,
        batch_of: Callable[..., EpisodeBatch],
        world: World,
        *,
        in_place: bool = False,
        render_mode: None = None,
        **options: Any,
    ) -> None:
        self.render_mode = render_mode
        self.batch = batch = batch_of(world, 1, None, **options)
        self._in_place, self._ready = in_place, False
        self.observation_space, self.action_space = batch.space, spaces.Discrete(batch.actions)
        # Looked at once; and memoryviews read one number several times faster than numpy's indexing.
        self._seen = {name: array[0] for name, array in batch.seen.items()}
        self._info = [(name, array.data) for name, array in batch.info.items()]
        self._choices, self._act = batch.choices, batch.act
        self._reward: Any = batch.rewards.data
        self._ended: Any = batch.ended.data

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Seen, dict[str, Any]]:
        """Start an episode."""
        super().reset(seed=seed)
        self.batch.begin(0, self.np_random, seed)
        self._ready = True
        return self._shown()

    def step(self, action: np.int64) -> tuple[Seen, float, bool, bool, dict[str, Any]]:
        """Take the action."""
        if not self._ready:
            raise gymnasium.error.ResetNeeded("call reset() first")
        self._choices[0] = action
        self._act()
        over = self._ended[0]
        self._ready = not over
        seen, info = self._shown()
        return seen, self._reward[0], over, False, info

    def action_masks(self) -> Flags:
        """Tell which actions are allowed now, bool [actions], as `MaskablePPO` of sb3-contrib asks."""
        masks: Flags = self._seen["mask"].astype(np.bool_)
        return masks

    def _shown(self) -> tuple[Seen, dict[str, Any]]:
        """Return what is seen and the info, single numbers as plain ones."""
        seen = self._seen if self._in_place else {name: array.copy() for name, array in self._seen.items()}
        info = {name: numbers[0] for name, numbers in self._info}
        info["action_mask"] = seen["mask"]
        return seen, info


class BatchVector(VectorEnv[Seen, npt.NDArray[np.int64], npt.NDArray[Any]]):
    """Shows many simulations of a kind of batch, stepped together; other options are those of the batch.

    With `in_place` it returns the same arrays every time. `autoreset_mode` says when one that is over begins again, as
    in `gymnasium.vector.SyncVectorEnv`.
    """

    def __init__(
        self,
        batch_of: Callable[..., EpisodeBatch],
        world: World,
        num_envs: int = 1,
        *,
        in_place: bool = False,
        buffers: Buffers | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        render_mode: None = None,
        **options: Any,
    ) -> None:
        self.render_mode, self.num_envs = render_mode, num_envs
        try:
            self._mode = AutoresetMode(autoreset_mode)
        except ValueError:
            remedy = f"Give one of {', '.join(mode.value for mode in AutoresetMode)}."
            raise UserError("no such mode", key="autoreset_mode", value=autoreset_mode, remedy=remedy) from None
        self.metadata = {"render_modes": [], "autoreset_mode": self._mode}
        self.batch = batch = batch_of(world, num_envs, buffers, **options)
        self._in_place = in_place or buffers is not None
        self.single_observation_space, self.single_action_space = batch.space, spaces.Discrete(batch.actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._never = np.zeros(num_envs, np.bool_)
        self._rngs: list[np.random.Generator] = []
        """One for each environment, which the seeds of its further episodes are drawn from; empty before `reset`."""

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Seen, dict[str, Any]]:
        """Start all episodes; environment i has seed + i, or the i-th of the seeds.

        With `options={"reset_mask": mask}`, bool [num_envs], it starts only those.
        """
        count = self.num_envs
        if seed is None or isinstance(seed, int | np.integer):
            seeds = [None if seed is None else int(seed) + i for i in range(count)]
        else:
            seeds = [None if each is None else int(each) for each in seed]
        if len(seeds) != count:
            remedy = f"Give one number, or a list of {count}."
            raise UserError("are not as many as the environments", key="seed", value=seeds, remedy=remedy)
        mask = np.asarray((options or {}).get("reset_mask", np.ones(count, np.bool_)))
        if mask.shape != (count,) or mask.dtype != np.bool_ or not mask.any():
            remedy = f"Give an array of {count} truth values, one or more of them true."
            raise UserError("does not say what to start", key="options.reset_mask", value=mask.tolist(), remedy=remedy)
        self._rngs = self._rngs or [np.random.default_rng() for _ in range(count)]
        for i in np.flatnonzero(mask).tolist():
            if seeds[i] is not None:
                self._rngs[i], _ = seeding.np_random(seeds[i])
            self.batch.begin(i, self._rngs[i], seeds[i])
            self.batch.ended[i] = False
        return self._shown()

    def step(
        self, actions: npt.NDArray[np.int64]
    ) -> tuple[Seen, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """Take an action in every simulation."""
        batch, mode = self.batch, self._mode
        actions = np.asarray(actions)
        if actions.shape != self._never.shape or actions.dtype.kind not in "iu":
            remedy = f"Give a whole number for each of the {self.num_envs} environments."
            raise UserError("are not one for each environment", key="actions", value=actions.tolist(), remedy=remedy)
        if not self._rngs:
            raise gymnasium.error.ResetNeeded("call reset() first")
        if mode is AutoresetMode.DISABLED and batch.ended.any():
            remedy = 'reset(options={"reset_mask": terminations})'
            raise gymnasium.error.ResetNeeded(f"environments are over: call {remedy} first")
        again = np.flatnonzero(batch.episodes.over).tolist() if mode is AutoresetMode.NEXT_STEP else ()
        batch.choices[:] = actions
        batch.act()
        for i in again:
            batch.begin(i, self._rngs[i], None)
            batch.rewards[i], batch.ended[i] = 0.0, batch.episodes.over[i]
        final = self._begun() if mode is AutoresetMode.SAME_STEP and batch.ended.any() else {}
        seen, info = self._shown()
        rewards, ended = (batch.rewards, batch.ended) if self._in_place else (batch.rewards.copy(), batch.ended.copy())
        return seen, rewards, ended, self._never.copy(), info | final

    def action_masks(self) -> Flags:
        """Tell which actions are allowed now, bool [num_envs, actions]."""
        return self.batch.seen["mask"].astype(np.bool_)

    def _begun(self) -> dict[str, Any]:
        """Begin again what has ended; returns the last observations and infos, as `SyncVectorEnv` does."""
        batch, ended = self.batch, self.batch.ended.copy()
        observations, info = np.full(self.num_envs, None, dtype=object), dict[str, Any]()
        for name, array in [*batch.info.items(), ("action_mask", batch.seen["mask"])]:
            info[name], info[f"_{name}"] = np.zeros_like(array), ended.copy()
            info[name][ended] = array[ended]
        for i in np.flatnonzero(ended).tolist():
            observations[i] = {name: array[i].copy() for name, array in batch.seen.items()}
            batch.begin(i, self._rngs[i], None)
        return {"final_obs": observations, "_final_obs": ended, "final_info": info, "_final_info": ended.copy()}

    def _shown(self) -> tuple[Seen, dict[str, Any]]:
        """Return what is seen and the info."""
        seen, info = self.batch.seen, self.batch.info
        if not self._in_place:
            seen = {name: array.copy() for name, array in seen.items()}
            info = {name: array.copy() for name, array in info.items()}
        return seen, {**info, "action_mask": seen["mask"]}
