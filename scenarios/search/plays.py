"""Plays formulas on seeds: as fast as the scenario allows, on all cores, and with a journal to go on from."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from io import FileIO
from math import nan
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from binwright.agents.formulas.agent import Formula
from binwright.agents.formulas.algebra import written
from binwright.agents.formulas.parse import Term, expression
from binwright.agents.formulas.program import LOST, best_place, program
from binwright.fabric.compiled.numa_replay import Replay
from binwright.scenarios.batch.journal import line_of, rows_of
from binwright.scenarios.build.world import build_world
from binwright.scenarios.evaluation.evaluator import APART
from binwright.scenarios.evaluation.prepared import AgentFactory, PreparedScenario
from binwright.scenarios.learn.tune import FIRST
from binwright.scenarios.schema.scenario import Scenario
from binwright.scenarios.search.proposals import heuristics
from binwright.simcore.cores import usable_cpus
from binwright.simcore.errors import RunError
from binwright.simcore.types import Compiled, Floats

CALIBRATION = 64
"""Seeds of which the values of Best-Fit say how large differences are, where several scenarios are searched."""
KEPT, BYTES = 2**29, 150
"""Bytes of requests that are kept ready to be played again, and about how many a request takes."""


class Player:
    """Plays formulas in a scenario. Where it can, a run is taken back to its start instead of being set up anew."""

    def __init__(self, scenario: Scenario, metric: str) -> None:
        self._prepared, self._resources = PreparedScenario(scenario, metric), scenario.resources
        world = build_world(scenario)  # which keeps no requests
        ending = {"scheduled": ("drop", "stop"), "acceptance": ("drop",)}.get(metric, ())
        slow = world.warm_start or world.ruled or world.grows_by or world.not_compiled(Formula(), None)
        self._quick = world.overflow.mode in ending and not slow
        self._counted = metric == "scheduled"
        self.nodes: int = world.ledger(0).view.free.shape[1]

        def replay(seed: int) -> tuple[Replay, int]:
            simulation: Any = world.simulation(seed, compiled=True)
            return Replay(simulation), 1 if self._counted else len(simulation.workload)

        self._replay = lru_cache(max(16, KEPT // (len(world.draw(0)) * BYTES)))(replay)
        self._slowly(expression("0"), 0)  # whoever cannot play here says so
        self.sign = self._prepared.sign

    def values(self, rules: Sequence[str], seeds: Sequence[int]) -> list[list[float]]:
        """Play formulas on the requests of each seed: a list per formula. Other threads must have other seeds.

        NaN is of one that scores no number wherever a request fits.
        """
        formulas = [expression(rule) for rule in rules]
        if not self._quick:
            return [[self._slowly(one, seed) for seed in seeds] for one in formulas]
        programs: list[Any] = [program(one, self._resources) for one in formulas]
        found = [[nan] * len(seeds) for _ in rules]
        for column, seed in enumerate(seeds):
            replay, of = self._replay(seed)
            for row, one in enumerate(programs):
                placed = replay.placed(Compiled(best_place, tuple(one)))
                found[row][column] = nan if one.stack[-1][LOST] else placed / of
                one.stack[-1] = 0
        return found

    def _slowly(self, formula: Term, seed: int) -> float:
        made = AgentFactory(partial(Formula.of, formula))
        try:
            value = self._prepared.value(made, seed)
        except RunError:
            return nan
        return nan if any(agent.numbers[2][-1][LOST] for agent in made.agents) else value


class Plays:
    """Plays rules on the seeds of a split, and notes all of it in a journal, from which it goes on.

    The objective, of which more is better, is of one scenario the metric, with a minus where less of it is better; of
    several the mean over them of how many standard deviations of Best-Fit's values it is above Best-Fit's mean. `done`
    counts plays of a rule on a seed of a scenario, `seconds` how long they took, before an interruption too.
    """

    def __init__(self, scenarios: Sequence[Scenario], metric: str, jobs: int | None, journal: FileIO) -> None:
        self.scenarios, self.metric, self._jobs = scenarios, metric, jobs or usable_cpus()
        head, *known = rows_of(Path(str(journal.name)))[0]
        self._journal, self._known, self._read = journal, deque(known), len(line_of(head).encode())
        self._players = [Player(one, metric) for one in scenarios]
        self.sign, self.nodes = self._players[0].sign, max(one.nodes for one in self._players)
        self.done, self.seconds, self._centre, self._scale = 0, 0.0, np.array(0.0), np.array(1.0)
        if len(scenarios) > 1:
            base = self._values([written(heuristics(scenarios[0].resources)["best-fit"])], range(CALIBRATION), "search")
            self._centre, spread = base.mean(axis=2, keepdims=True), base.std(axis=2, keepdims=True)
            self._scale = np.where(spread > 0, spread, 1.0)

    def objective(self, rules: Sequence[str], at: Sequence[int], split: str = "search") -> Floats:
        """Play rules on seeds number `at` of a split; returns the objective, float64 [rules, at]."""
        found: Floats = (self.sign * (self._values(rules, at, split) - self._centre) / self._scale).mean(axis=0)
        return found

    def shown(self, objective: float) -> float:
        """Return the metric of a mean of the objective, where there is one scenario."""
        return objective * self.sign if len(self.scenarios) == 1 else objective

    def _values(self, rules: Sequence[str], at: Sequence[int], split: str) -> Floats:
        """Return the metric, float64 [scenarios, rules, at]: from the journal, as far as it is of the same search."""
        asked = {"rules": list(rules), "at": list(at), "split": split}
        self.done += len(rules) * len(at) * len(self.scenarios)
        if self._known and all(self._known[0][key] == value for key, value in asked.items()):
            row = self._known.popleft()
            self.seconds = row["seconds"]
            self._read += len(line_of(row).encode())
            return np.array(row["values"], float)
        if self._read:  # what comes now takes the place of a line that was cut short, or of how a shorter search ended
            self._journal.truncate(self._read)
            self._known.clear()
            self._read = 0
        began = monotonic()
        values = self._played(rules, [FIRST + APART * (split == "validation") + one for one in at])
        self.seconds += monotonic() - began
        row = {"run": str(self.done), **asked, "values": values.tolist(), "seconds": self.seconds}
        self._journal.write(line_of(row).encode())
        return values

    def _played(self, rules: Sequence[str], seeds: Sequence[int]) -> Floats:
        """Divide the seeds of every scenario among threads, and play all rules on each."""
        found, hands = np.full((len(self.scenarios), len(rules), len(seeds)), nan), min(len(seeds), self._jobs)
        parts = [(one, first) for one in range(len(self.scenarios)) for first in range(hands)]
        with ThreadPoolExecutor(self._jobs) as pool:
            values = pool.map(lambda part: self._players[part[0]].values(rules, seeds[part[1] :: hands]), parts)
            answers = list(zip(parts, values, strict=True))
        for (one, first), some in answers:
            found[one][:, first::hands] = some
        return found
