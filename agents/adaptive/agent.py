"""Follows the rule that does best in futures that resemble the recent past."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from binwright.agents import AGENTS
from binwright.agents.adaptive.race import Race
from binwright.agents.adaptive.resampling import Resampling
from binwright.agents.nested_agent import inner
from binwright.fabric.compiled.numa_futures import Futures
from binwright.fabric.network import NetworkView
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.past import Past
from binwright.simcore.types import Agent, Compiled, Floats, Placement, Refusal, Request, View

Candidate: TypeAlias = str | dict[str, Any]
Choosing: TypeAlias = Literal["best", "random"]
LOOSE: Candidate = {"best-fit": {"node": "loose"}}
HEURISTICS: tuple[Candidate, ...] = (
    *("best-fit", LOOSE, "first-fit", "balance-fit", "internal", "worst-fit", "dot-product", "alpha-evolve"),
)
LEARNED: tuple[Candidate, ...] = tuple(
    {"value-es": {"weights": weights}} for weights in ("large", "shapes", "filling", "mixed")
)
SEARCHED = {
    "searched(shapes)": "-(most_share_cpu * server_share_mem)",
    "searched(large)": "free_cpu - server_free_cpu - 10000 * lost((0.2 <= min(least_share_cpu, least_share_mem))"
    " + (2 * (0.4 <= min(least_share_cpu, least_share_mem)) + 4 * (0.8 <= min(least_share_cpu, least_share_mem))))",
    "searched(all)": "-other_share_mem - server_share_mem / 1000",
}
"""Rules that `binwright search` found, by the loads in which it did (docs/experiments/rules-found.md).

Of the candidates that nobody named, those of `LEARNED` and `SEARCHED` are left out where they cannot run.
"""
KEPT = 0.8
"""How much the futures of one mark count at the next one."""
SAFE = 0
"""The number of the rule that is followed where no other is ahead of it."""
GROWTH = 0.6
"""The share of the requests that were seen after which the next mark comes."""
DIFFERENT = 4
"""In so many futures another rule must differ, before it is followed."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Says which `rule` was followed from a mark on, at `time` seconds and after so many `requests`.

    It was `ahead` of the `other` rule with a standard error of `error`: of the one that it took over from, or else of
    the best other one, which may be ahead by too little to take over. `unit` is `%` of requests placed in all where
    the run ends with the first that fits nowhere; `requests` placed, or `s` waited less by all together, elsewhere.
    `futures` were played for that, with so many `decisions`.
    """

    requests: int
    time: float
    rule: str
    other: str
    ahead: float
    error: float
    unit: str
    futures: int
    decisions: int


class Adaptive(Agent):
    """Follows, of several rules, the one that does best in futures that resemble the recent past.

    At its marks it estimates from the last `memory` requests what may come, plays all `candidates` in such futures of
    at most `horizon` requests from the present state on, and follows the best one from then on. The first mark is after
    `first` requests; later ones when these have grown by three fifths, or by `every`. Every mark may take `budget`
    decisions in futures. Another rule has to be ahead of the one that is followed, and of `safe` for as long as it is
    followed, by `hysteresis` standard errors.

    Candidates are agents, as a name or {name: {option: value}}, and formulas. Without any, they are heuristics, and the
    shipped weights of value-es where these can run. It follows `safe`, by default best-fit with `node: loose`, until
    the first mark, and where no rule is clearly ahead of it. With `choice: random`, a control, it follows any one.
    """

    reference = "ours: rollouts on bootstrapped futures, as in Bertsekas and Castanon 1999 (rollout algorithms)"
    reviews = True
    remembers = ("_chosen", "_left", "_race.scores", "_race.weights", "_numbers")

    def __init__(
        self,
        candidates: list[str | dict[str, Any]] | None = None,
        safe: str | dict[str, Any] | None = None,
        first: int = 16,
        every: int = 2000,
        budget: int = 150_000,
        horizon: int = 4000,
        memory: int = 1000,
        hysteresis: float = 1.0,
        choice: Choosing = "best",
    ) -> None:
        for key, value, least in (
            *(("first", first, 2), ("every", every, 1), ("budget", budget, 1), ("horizon", horizon, 1)),
            *(("memory", memory, 2), ("hysteresis", hysteresis, 0)),
        ):
            if value < least:
                raise UserError("is too little", key=key, value=value, remedy=f"Give {least} or more.")
        if choice not in get_args(Choosing):
            raise UserError("unknown choice", key="choice", value=choice, remedy=suggest(choice, get_args(Choosing)))
        self._choice = choice
        self._first, self._every, self._budget = first, every, budget
        self._horizon, self._memory, self._hysteresis = horizon, memory, hysteresis
        wanted = HEURISTICS + LEARNED if candidates is None else candidates
        named = {label_of(one): one for one in (LOOSE if safe is None else safe, *wanted)}
        self._optional = set()
        if candidates is None:
            named |= SEARCHED
            self._optional = set(named)
        self.candidates = {label: _made(one) for label, one in named.items()}
        self._labels = list(self.candidates)
        self.any_size = all(agent.any_size for agent in self.candidates.values())
        self._chosen, self._left = 0, first
        self.choices: list[Choice] = []
        """What was chosen, at every mark."""

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Start all candidates, and follow the safe one."""
        if isinstance(view, NetworkView) or view.past is None:
            raise UserError(
                "adaptive plays futures of servers only, without links and devices",
                key="agents",
                remedy="Take an agent for these, such as best-home or fgd.",
            )
        self._labels = []
        for label, agent in self.candidates.items():
            try:
                agent.start(view, rng)
                if agent.compiled is None or agent.reviews:
                    remedy = "Name agents that are one kernel, such as best-fit, or formulas without the time."
                    raise UserError("does not decide by one kernel", key="candidates", value=label, remedy=remedy)
            except UserError:
                if label not in self._optional or not self._labels:
                    raise
                continue
            self._labels.append(label)
        self._chosen, self._left, self._rng, self.choices = 0, self._first, rng, []
        self._race = Race(len(self._labels), KEPT)

    def _rule(self, number: int) -> Compiled:
        found = self.candidates[self._labels[number]].compiled
        assert found is not None
        return found

    @property
    def _numbers(self) -> tuple[tuple[Floats, ...], ...]:
        """What its candidates remember."""
        return tuple(self._rule(number).weights for number in range(len(self._labels)))

    @property
    def compiled(self) -> Compiled | None:
        """The kernel of the rule that it follows now."""
        return self.candidates[self._labels[self._chosen]].compiled

    def decide(self, view: View, request: Request) -> Placement | Refusal | None:
        """Place the request where the rule that it follows says."""
        if not self._left:
            self._left = self.review(view)
        self._left -= 1
        return self.candidates[self._labels[self._chosen]].decide(view, request)

    def review(self, view: View) -> int:
        """Choose a rule at a mark; returns after how many decisions the next one is."""
        past: Past | None = view.past(self._memory) if view.past else None
        if past is None or len(past.gaps) < self._first:
            return self._first
        if self._choice == "random":
            self._chosen = int(self._rng.integers(len(self._labels)))
        else:
            self._choose(view, past)
        return max(1, min(self._every, int(past.answered * GROWTH)))

    def _clearly_ahead(self, rule: int, other: int) -> bool:
        """Tell whether a rule is ahead of another one by enough to be followed instead."""
        ahead, error = self._race.ahead(rule, other)
        return ahead > self._hysteresis * error and self._race.different(rule, other) >= DIFFERENT

    def _choose(self, view: View, past: Past) -> None:
        mode = "stop" if past.overflow == "expand" else past.overflow
        futures = Futures(view.capacity, view.everything_free, past, mode, self._horizon)
        drawn, taken = Resampling(past, self._horizon), -1

        def play(future: int, rule: int) -> tuple[float, int]:
            nonlocal taken
            if future != taken:
                futures.take(drawn.draw(self._rng))
                taken = future
            played = futures.play(self._rule(rule))
            if mode == "stop":
                return 100 * log(past.answered + played.placed), played.decisions
            return -played.waited if mode == "wait" else played.placed, played.decisions

        race, before = self._race, self._chosen
        left, count, decisions = race.run(before, play, self._budget)
        best = race.best([before, *left])
        follow = best if self._clearly_ahead(best, before) else before
        if not self._clearly_ahead(follow, SAFE):
            follow = SAFE
        others = [rule for rule in (left if len(left) > 1 else range(len(self._labels))) if rule != follow]
        other = race.best(others or [follow]) if follow == before else before
        ahead, error = race.ahead(follow, other)
        self._chosen = follow
        labels = self._labels[self._chosen], self._labels[other]
        unit = {"stop": "%", "wait": "s"}.get(mode, "requests")
        self.choices.append(Choice(past.answered, view.now, *labels, ahead, error, unit, count, decisions))


def label_of(one: Candidate) -> str:
    """Write a candidate shortly."""
    if isinstance(one, str):
        return one
    return ", ".join(f"{name}({', '.join(map(str, (options or {}).values()))})" for name, options in one.items())


def _made(one: Candidate) -> Agent:
    if isinstance(one, Mapping):
        if len(one) != 1:
            remedy = "Write a name, or {name: {option: value}}."
            raise UserError("is not an agent", key="candidates", value=one, remedy=remedy)
        [[name, options]] = one.items()
        return inner(name, options, ("candidates", "candidates"))
    return inner(one, None, ("candidates", "candidates")) if one in set(AGENTS) else inner("formula", {"score": one})
