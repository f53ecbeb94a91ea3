"""Shows a line of jobs as a Gymnasium environment: one step chooses who is next."""

from __future__ import annotations

from math import inf
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces

from binwright.agents.availability import ClusterAvailability
from binwright.agents.environments.stepping import Seen
from binwright.agents.nested_agent import inner
from binwright.agents.running import Running
from binwright.agents.waiting_jobs import FEATURES, LONGEST, WINDOW, observed, visible
from binwright.agents.world import World
from binwright.simcore.engine import Simulation
from binwright.simcore.errors import UserError
from binwright.simcore.rng import stream
from binwright.simcore.types import Placement, Request

NOBODY = (0, 1, 1, 1, 1, 1, 1, 0)
"""What is seen of a job that is not there."""


class QueueEnv(gymnasium.Env[Seen, np.int64]):
    """The batch queue of RLScheduler: one job after another is chosen, and the next one when it has started.

    It sees up to `window` jobs, `jobs` float32 [window, 8]: how long each has waited, in parts of 12 h, and takes, of
    `longest` seconds; its share of the first resource; four ones, for what logs of other machines say; and whether it
    fits now. `mask` says which slots hold a job, in order of arrival; where more wait, those with the least time and
    the least of the first resource by turns. An action is a slot, an empty one the first job.

    `agent` places. Until the chosen job fits, nobody else starts, or with `backfilling: easy` who fits and is over
    before it could start. The reward is less the mean bounded slowdown of all jobs, at the end, and 0 before.
    `reset(seed=7)` offers the jobs that the scenario has for seed 7.
    """

    def __init__(
        self,
        world: World,
        agent: str = "first-fit",
        backfilling: Literal["none", "easy"] = "none",
        window: int = WINDOW,
        longest: float = LONGEST,
        render_mode: None = None,
    ) -> None:
        if not world.overflow.one_by_one:
            remedy = "Write `overflow: {wait: {together: 100000, one_by_one: true}}`."
            raise UserError("jobs are chosen here after every event", key="overflow", remedy=remedy)
        if world.hidden or world.ruled or world.devices or world.networked or world.gangs:
            remedy = "Take plain servers, and write `knowledge: {lifetimes: known}`, or how they are predicted."
            raise UserError("jobs are chosen here by how long they take", key="knowledge.lifetimes", remedy=remedy)
        if backfilling not in ("none", "easy"):
            remedy = "Give none or easy."
            raise UserError("unknown backfilling", key="backfilling", value=backfilling, remedy=remedy)
        self.render_mode, self._world, self._window, self._longest = render_mode, world, window, longest
        self._agent, self._passing = inner(agent, None), backfilling == "easy"
        jobs, mask = spaces.Box(0, 1, (window, FEATURES), np.float32), spaces.Box(0, 1, (window,), np.int8)
        self.observation_space: Any = spaces.Dict({"jobs": jobs, "mask": mask})
        self.action_space = spaces.Discrete(window)
        self._seen: list[Request] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Seen, dict[str, Any]]:
        """Start an episode."""
        super().reset(seed=seed)
        seed = int(self.np_random.integers(2**31, 2**62)) if seed is None else seed
        self._run = self._world.simulation(seed)
        self._running = Running()
        self._agent.start(self._run.view, stream(seed, "agent"))
        self._run.advance()
        return self._shown()

    def step(self, action: np.int64) -> tuple[Seen, float, bool, bool, dict[str, Any]]:
        """Start the job in a slot, however long it takes until it fits."""
        if not self._seen:
            raise gymnasium.error.ResetNeeded("call reset() first")
        run, view = self._run, self._run.view
        chosen, until = self._seen[action if action < len(self._seen) else 0], None
        while not self._start(chosen):
            if self._passing:
                if until is None:
                    promised = ClusterAvailability(view, self._running.look(view)).earliest(chosen)
                    until = promised[0].start if promised else inf
                for other in [one for one in run.offer if one is not chosen and view.now + one.duration < until]:
                    self._start(other)
            run.offer.clear()
            if run.advance() is None:
                break  # it is refused everywhere
        if not run.offer:
            run.advance()
        seen, info = self._shown()
        return seen, 0.0 if run.offer else -slowdown(run), not run.offer, False, info

    def _start(self, request: Request) -> bool:
        """Start a job if it gets a place; tell whether it did."""
        answer = self._agent.decide(self._run.view, request)
        if not isinstance(answer, Placement):
            return False
        self._run.answer(answer, request)
        return True

    def _shown(self) -> tuple[Seen, dict[str, Any]]:
        run, window = self._run, self._window
        self._seen = seen = visible(run.offer, window)
        jobs, mask = np.array([NOBODY] * window, np.float32), np.arange(window) < len(seen)
        jobs[mask] = observed(run.view, seen, self._longest)
        found: Seen = {"jobs": jobs, "mask": mask.astype(np.int8)}
        return found, {"action_mask": found["mask"]}


def slowdown(run: Simulation) -> float:
    """Average the bounded slowdown over the jobs that a run has placed."""
    placed = np.flatnonzero(run.record.server[: len(run.workload)] >= 0)
    time, wait = run.workload.duration[placed], run.record.decided[placed] - run.workload.arrival[placed]
    return float(np.maximum(1.0, (wait + time) / np.maximum(time, 10.0)).mean()) if len(placed) else 0.0
