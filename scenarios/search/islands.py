"""Genetic programming: islands of formulas that race on paired seeds, and the constants of the best ones by CMA-ES."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from binwright.agents.formulas.algebra import constants, ranking, with_constants, written
from binwright.agents.formulas.parse import Term, constant, expression
from binwright.scenarios.learn.cma import Cma
from binwright.scenarios.search.plays import Plays
from binwright.scenarios.search.proposals import RuleProposer, heuristics, rounded
from binwright.simcore.errors import UserError
from binwright.simcore.rng import stream
from binwright.simcore.types import Floats, Ints

ELITES, CHILDREN, FIRST_CHILDREN = 10, 18, 54
"""Rules that an island keeps, and that are proposed on it in a generation, and in the first one."""
KEPT, FEWEST, STAGES = 3, 4, 4
"""In a race one of so many rules goes on to so many times as many seeds; how many seeds and stages there are."""
MIGRATION = 4
"""Generations after which the best rule of an island goes to the next one."""
PRICE = 0.005
"""What a step costs a rule, in standard errors of a mean over all seeds of the search."""
SHARE = 0.8
"""The part of the budget that genetic programming has; the constants have the rest."""
TUNED, POPULATION, SIGMA, FACTOR = 3, 9, 0.15, 4.0
"""How many rules have their constants searched, how (see `scenarios.learn.cma`), and by which factor either way."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A formula that was played on all seeds of the search: the objective on each, float64 [seeds], and its mean."""

    text: str
    size: int
    values: Floats = field(repr=False, compare=False)
    score: float


class State(NamedTuple):
    """Says how far a search is: the best rule so far, and its mean as `Plays.shown` has it."""

    generation: int
    evaluations: int
    seconds: float
    best: Rule
    shown: float


class Islands:
    """Searches by `plays` on so many `seeds`; everything that is drawn depends on `seed` alone.

    At `random`, a control, all proposals are new ones: nothing is varied or tuned, and no heuristic is known.
    """

    def __init__(self, plays: Plays, seeds: int, seed: int, islands: int, random: bool = False) -> None:
        self._plays, self._seeds, self._seed, self._random = plays, seeds, seed, random
        self._resources = plays.scenarios[0].resources
        self._rngs = [stream(seed, f"island {number}") for number in range(islands)]
        self._proposers = [RuleProposer(self._resources, plays.nodes, rng) for rng in self._rngs]
        self._order = stream(seed, "race")
        self._raced: set[str] = set()
        self._rules: dict[bytes, Rule] = {}
        self._elites: list[list[Rule]] = []
        self._generation, self._error = 0, 0.0

    @property
    def rules(self) -> list[Rule]:
        """Return the rules that were played on all seeds, the best first, less what their steps cost."""
        return sorted(self._rules.values(), key=self._worth, reverse=True)

    def _worth(self, rule: Rule) -> float:
        return rule.score - PRICE * self._error * rule.size

    def run(self, spent: Callable[[], float]) -> Iterator[State]:
        """Search until all is `spent` (1), and yield how far it is after every step."""
        known = [constant(0.0)] if self._random else list(heuristics(self._resources).values())
        whole = self._plays.objective(texts := list(map(written, known)), range(self._seeds))
        if not np.isfinite(whole).all(axis=1).any():
            remedy = "Take one that `binwright run` shows for this scenario, whatever its agents do."
            raise UserError("has no value in some or all runs", key="metric", value=self._plays.metric, remedy=remedy)
        self._error = float(np.nanmax(whole.std(axis=1))) / self._seeds**0.5
        for text, values in zip(texts, whole, strict=True):
            self._add(text, values)
        self._elites = [self.rules[:ELITES] for _ in self._rngs]
        yield self._state()
        while spent() < (1.0 if self._random else SHARE):
            self._advance(CHILDREN if self._generation else FIRST_CHILDREN)
            yield self._state()
        if not self._random:
            yield from self._tune(spent)

    def _state(self) -> State:
        best = max(self._rules.values(), key=self._worth)
        return State(self._generation, self._plays.done, self._plays.seconds, best, self._plays.shown(best.score))

    def _add(self, text: str, values: Floats) -> list[Rule]:
        """Note a rule that has been played on all seeds, if it has a score; of rules that place alike the shortest."""
        if not np.isfinite(values).all():
            return []
        rule, key = Rule(text, expression(text).size, values, float(values.mean())), values.tobytes()
        if key not in self._rules or rule.size < self._rules[key].size:
            self._rules[key] = rule
        return [rule]

    def _proposed(self, island: int, count: int) -> list[str]:
        """Propose rules that were not raced before."""
        proposer, rng, elites = self._proposers[island], self._rngs[island], self._elites[island]
        found: dict[str, None] = {}
        for _ in range(3 * count):
            if self._random or rng.random() < (0.05 if self._generation else 0.5):
                proposal = proposer.new()
            else:
                one, other = (elites[int(rng.integers(len(elites), size=2).min())] for _ in range(2))
                proposal = proposer.varied(expression(one.text), expression(other.text))
            if (text := written(proposal)) not in self._raced and len(found) < count:
                found[text] = None
        self._raced |= found.keys()
        return list(found)

    def _advance(self, count: int) -> None:
        """Race the children of every island against one another and against its elite, and keep the best."""
        racing = [self._proposed(island, count) for island in range(len(self._elites))]
        order, done = self._order.permutation(self._seeds), 0
        values = {text: np.full(self._seeds, np.nan) for some in racing for text in some}
        untils = [self._seeds // KEPT**stage for stage in range(STAGES)]
        for until in reversed([one for one in untils if one >= min(FEWEST, self._seeds)]):
            texts = list(dict.fromkeys(text for some in racing for text in some))
            if not texts:
                break
            now, done = order[done:until], until
            for text, more in zip(texts, self._plays.objective(texts, now.tolist()), strict=True):
                values[text][now] = more
            if until < self._seeds:
                racing = [self._left(island, some, values, order[:until]) for island, some in enumerate(racing)]
        self._generation += 1
        for island, some in enumerate(racing):
            self._keep(island, [rule for text in some for rule in self._add(text, values[text])])
        if self._generation % MIGRATION == 0:
            for island, rule in enumerate([elites[0] for elites in self._elites]):
                self._keep((island + 1) % len(self._elites), [rule])

    def _left(self, island: int, texts: Sequence[str], values: dict[str, Floats], seeds: Ints) -> list[str]:
        """Choose who goes on to the next stage: the best third of those that are not clearly below the elite."""
        last, means = self._elites[island][-1].values[seeds], {}
        for text in texts:
            more = values[text][seeds] - last
            if np.isfinite(more).all() and (self._random or more.mean() > -more.std() / len(seeds) ** 0.5):
                means[text] = float(more.mean())
        return sorted(means, key=lambda text: -means[text])[: max(1, len(texts) // KEPT)]

    def _keep(self, island: int, new: Sequence[Rule]) -> None:
        known = {key: self._rules[key] for rule in (*self._elites[island], *new) if (key := rule.values.tobytes())}
        self._elites[island] = sorted(known.values(), key=self._worth, reverse=True)[:ELITES]

    def _tune(self, spent: Callable[[], float]) -> Iterator[State]:
        """Search the constants of the best rules by CMA-ES."""
        searches: list[tuple[Term, Floats, Cma]] = []
        for formula in [one for rule in self.rules[: 2 * TUNED] if constants(one := expression(rule.text))][:TUNED]:
            numbers, rng = np.array(constants(formula)), stream(self._seed, f"constants {len(searches)}")
            searches.append((formula, numbers, Cma(np.full(len(numbers), 0.5), SIGMA, POPULATION, rng)))
        while searches:
            for formula, numbers, cma in searches:
                if spent() >= 1:
                    return
                points = cma.ask()
                tried = [
                    [rounded(float(one), 3) for one in numbers * FACTOR ** (2 * at - 1)] for at in (*points, cma.mean)
                ]
                texts = [written(ranking(with_constants(formula, some))) for some in tried]
                different = list(dict.fromkeys(texts))
                found = dict(zip(different, self._plays.objective(different, range(self._seeds)), strict=True))
                cma.tell(points, np.array([found[text].mean() for text in texts[:-1]]))
                for text, values in found.items():
                    self._add(text, values)
                yield self._state()
