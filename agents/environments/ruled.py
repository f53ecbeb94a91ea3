"""Steps simulations of servers with rules of placement, one after another: the engine plays each of them."""

from __future__ import annotations

import numpy as np

from agents.policy import observed
from agents.world import World
from fabric.compiled.numa_episodes import Flags, NumaShown, check_overflow
from fabric.compiled.numa_loop import placement_of
from simcore.engine import Simulation
from simcore.types import Floats, Ints, Request, Workload


class RuledEpisodes:
    """Does what `NumaEpisodes` does for the simulations of a world with rules: a place that they forbid looks full.

    `shown` (`NumaShown`) is what is to be seen, `over` bool [count] says which simulations are over.
    """

    def __init__(self, world: World, shown: NumaShown) -> None:
        check_overflow(world.overflow.mode)
        self.shown, self.count = shown, len(shown.mask)
        self.over: Flags = np.ones(self.count, np.bool_)
        self._world = world
        self._runs: dict[int, Simulation] = {}
        self._asked: dict[int, Request] = {}
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
                run, request = self._runs[i], self._asked[i]
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
                self._asked[i] = request
                shown.free[i], shown.request[i], shown.mask[i] = seen["free"], seen["request"], seen["mask"]
                return
            run.answer(None)
        self.over[i] = True
        shown.free[i] = run.view.everything_free / np.maximum(run.view.capacity, 1)
        shown.request[i], shown.mask[i] = 0.0, False
