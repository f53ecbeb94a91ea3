"""Trains agents on servers with NUMA nodes: plays compiled episodes from warm starts, many rules in each."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import inf
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import AfterValidator, Field

from binwright.agents import AGENTS
from binwright.agents.learned.loop import TRAINING, Count, Trainer
from binwright.agents.world import World
from binwright.fabric.compiled import numa_loop as loop
from binwright.fabric.compiled.numa_decisions import placement_of
from binwright.fabric.run.play import fill
from binwright.fabric.run.simulation import Simulation
from binwright.simcore.cores import usable_cpus
from binwright.simcore.errors import UserError
from binwright.simcore.record import PLACED
from binwright.simcore.rng import stream
from binwright.simcore.types import Agent, Compiled, Floats, Ints, Request, View

NODES = 2
DISCRIMINATIVE = 0.02
"""An episode teaches something in which the best of some rules places so much more than the worst."""
SIMPLE = ("best-fit", "internal", "first-fit", "balance-fit")
"""Rules that tell discriminative episodes from others, the first so many of them."""
SHARES = 0.0, 0.3, 0.5
SAMPLED = 20
"""Training episodes whose requests are looked at where all are too many."""


def rules_of(names: Sequence[str]) -> list[Compiled]:
    """Return the rules of these agents, each of which must be compiled."""
    return [AGENTS.load(name)().compiled for name in names]


def compiled_agent(name: str) -> str:
    """Return the name of an agent; raises a `UserError` if it is not for compiled episodes."""
    if AGENTS.load(name)().compiled is None:
        remedy = "Name one that is, such as internal."
        raise UserError("is not an agent for compiled episodes", value=name, remedy=remedy)
    return name


def check_servers(view: View, agent: str) -> None:
    """Raise a `UserError` unless every server has two nodes with some of two resources each."""
    if view.capacity.shape[1:] != (NODES, 2) or (view.capacity == 0).any():
        problem = f"{agent} is for servers of two NUMA nodes that have both of two resources"
        raise UserError(problem, key="agents", remedy="Take another agent, such as internal.")


class Replay:
    """Plays the rest of a compiled run with one rule after another, each time from where the run is now.

    It is for runs of overflow `drop` or `stop` in which nothing else happens. Only one thread may use it at a time.

    With `warm`, a resource and a share, every rule first fills the cluster itself, skipping what fits nowhere, until
    that share of the resource is in use; with a `filler` this rule does so, for all. What is placed until then does
    not count.
    """

    def __init__(
        self, simulation: Simulation, warm: tuple[int, float] | None = None, filler: Compiled | None = None
    ) -> None:
        self.simulation, self._warm = simulation, warm
        self.first = len(simulation.record.sequence)
        """How many requests were answered before what was played last, its warm start included."""
        self._start = self._snapshot()
        if filler:
            self._begin(filler)
            self._warm, self._start = None, self._snapshot()

    def _snapshot(self) -> list[tuple[Any, Any]]:
        """Pair every array that an answer depends on with a copy of it."""
        state = self.simulation.state
        waiting, ends = slice(state.at[loop.FIRST], state.at[loop.LAST]), slice(state.at[loop.ENDS])
        arrays = state.free, state.left, state.at, state.clock, state.answers
        parts = state.line[waiting], state.due[ends], state.holder[ends]
        return [(array, array.copy()) for array in (*arrays, *parts)]

    def _restore(self, snapshot: list[tuple[Any, Any]]) -> None:
        for array, before in snapshot:
            array[:] = before
        state = self.simulation.state
        state.holds[state.holder[: state.at[loop.ENDS]]] = loop.HOLDS
        state.log[0] += len(state.log)  # any server may have changed

    def _begin(self, by: Compiled) -> None:
        """Go back to the start, and have a rule fill the cluster, unless it is filled."""
        self._restore(self._start)
        if self._warm:
            go = self.simulation.loop.go

            def play(watch: Callable[[], int]) -> None:
                while (answers := watch()) and go(by, answers) == answers:
                    pass

            fill(self.simulation, *self._warm, play)
            self.first = len(self.simulation.record.sequence)

    def _placed(self) -> int:
        record = self.simulation.record
        return int((record.outcome[record.sequence[self.first :]] == PLACED).sum())

    def placed(self, rule: Compiled, by: Compiled | None = None) -> int:
        """Count the requests that a rule places from the start of the replay to its end.

        Where rules fill the cluster themselves, `by` does so, by default a copy of the rule.
        """
        self._begin(by or copied(rule))
        self.simulation.loop.go(rule)
        return self._placed()

    def staying(self) -> Ints:
        """Return which answers of what was played last are still in place at its end: their numbers, int64 [any]."""
        record, state = self.simulation.record, self.simulation.state
        answered = record.sequence[self.first :]
        never = (self.simulation.workload.duration[answered] == inf) & (record.outcome[answered] == PLACED)
        return np.flatnonzero(never | np.isin(answered, state.holder[: state.at[loop.ENDS]]))

    def follow(self, rule: Compiled, answers: int) -> Request | None:
        """Return the request on offer after that many answers of a rule; `None` when the run is over before."""
        self._begin(copied(rule))
        self.simulation.loop.go(rule, answers)
        return self.simulation.advance()

    def tried(self, codes: Sequence[int], rule: Compiled) -> Ints:
        """Count the requests placed in all, int64 [codes], when the request on offer gets each of these answers.

        A rule answers all later ones. The request stays on offer.
        """
        start, simulation, placed = self._snapshot(), self.simulation, np.zeros(len(codes), np.int64)
        for number, code in enumerate(codes):
            request = simulation.advance()
            assert request is not None
            simulation.answer(placement_of(code, request, simulation.view.capacity.shape[1]))
            simulation.loop.go(rule)
            placed[number] = self._placed()
            self._restore(start)
        return placed


def copied(rule: Compiled) -> Compiled:
    """Return a rule with numbers of its own, for one that changes them."""
    return rule._replace(weights=tuple(part.copy() for part in rule.weights))


def replays_of(world: World, seeds: Sequence[int], shares: Sequence[float]) -> list[Replay]:
    """Return replays of every seed's requests from each of these shares on.

    They are of the resource of the world's warm start, filled by its agent or by every rule itself; without one, of the
    first resource, filled by Best-Fit.
    """
    warm, replays = world.warm_start, []
    for seed in seeds:
        workload = world.draw(seed)
        for share in shares:
            simulation, filler = Simulation(workload, world.ledger(0), world.overflow, compiled=True), None
            resource = simulation.view.resources.index(warm.resource) if warm else 0
            if warm is None or warm.agent is not None:
                agent = warm.agent() if warm and warm.agent else AGENTS.load("best-fit")()
                agent.start(simulation.view, stream(seed, "warm-start"))
                filler = agent.compiled
            replays.append(Replay(simulation, (resource, share), filler))
    return replays


def play_all(replays: Sequence[Replay], rules: Sequence[Compiled]) -> Floats:
    """Count the requests placed, float64 [rules, replays], on all processors. Each replay has copies of the rules."""

    def play(replay: Replay) -> list[int]:
        return [replay.placed(copied(rule)) for rule in rules]

    with ThreadPoolExecutor(usable_cpus()) as pool:
        placed = np.array(list(pool.map(play, replays)), float)
    return placed.reshape(len(replays), len(rules)).T.copy()


@dataclass
class NumaTrainer(Trainer):
    """Prepares episodes for training and validation.

    Training has the requests of `pool` seeds, from shares of `warm` on: so much of the first resource is filled before,
    by Best-Fit or as the scenario's warm start says, which also says the share where `warm` does not. Without either
    they are 0, .3 and .5. What is validated is how much more is placed than by the agent `against`.
    """

    score = "gain"
    warms = True
    agent: ClassVar[str]
    """What the agent is called."""

    pool: Count = 250
    warm: Annotated[tuple[Annotated[float, Field(ge=0, lt=1)], ...], Field(min_length=1)] | None = None
    against: Annotated[str, AfterValidator(compiled_agent)] = "best-fit"

    @abstractmethod
    def used(self) -> Compiled:
        """Return the rule of the agent as it would be used."""

    def check(self, view: View) -> None:
        check_servers(view, self.agent)

    def begin(self, training: World, validation: World, seed: int) -> None:
        self._training, self._seed = training, seed
        self._judged: dict[Any, tuple[list[Replay], Floats]] = {}
        self.view = training.ledger(0).view
        for world in (training, validation):
            if world.overflow.mode not in ("drop", "stop") or world.pacing:
                remedy = "Write `overflow: stop`, and no pacing."
                raise UserError(f"{self.agent} does not learn with it", key="overflow", remedy=remedy)
            if world.ruled:
                problem = f"{self.agent} does not learn with {world.ruled}"
                raise UserError(problem, key="train", remedy="Take the rules out of the scenario to learn in.")
            self.check(world.ledger(0).view)
        self.shares = self.warm or ((training.warm_start.until,) if training.warm_start else SHARES)
        rival: Agent = AGENTS.load(self.against)()
        rival.start(validation.ledger(0).view, stream(0, "train", "against"))
        assert rival.compiled
        self.rival = rival.compiled
        self._seeds = TRAINING + stream(seed, "train", "episodes").integers(2**40, size=self.pool)

    def discriminative_episodes(self, rules: Sequence[Compiled]) -> tuple[list[Replay], Floats]:
        """Return the episodes in which these rules differ, and what each places in them, float64 [rules, episodes].

        Most episodes end at one burst of demand whoever decides, and teach nothing.
        """
        discriminative, lengths = list[Replay](), []
        for seed in self._seeds.tolist():
            replays = replays_of(self._training, [seed], self.shares)
            placed = play_all(replays, rules)
            differ = np.ptp(placed, axis=0) > DISCRIMINATIVE * placed.min(axis=0)
            discriminative += [replay for replay, differs in zip(replays, differ, strict=True) if differs]
            lengths.append(placed[:, differ])
        if not discriminative:
            problem = "there is nothing to learn: all rules place as many requests in every training episode"
            remedy = "Give more requests, fewer servers, or a larger `pool`."
            raise UserError(problem, key="train.episodes", remedy=remedy)
        return discriminative, np.concatenate(lengths, axis=1)

    def validate(self, world: World, seeds: Sequence[int]) -> dict[str, float]:
        """Return how much more is placed than by `against`: ratios of means, in all and by share."""
        key = id(world), tuple(seeds)
        if key not in self._judged:
            replays = replays_of(world, seeds, self.shares)
            self._judged[key] = replays, play_all(replays, [self.rival])[0]
        replays, base = self._judged[key]
        placed = play_all(replays, [self.used()])[0]
        means, others = (each.reshape(-1, len(self.shares)).mean(axis=0) for each in (placed, base))
        with np.errstate(divide="ignore", invalid="ignore"):  # where the other agent places nothing
            gains = means / others
        each = {f"gain_{share:.0%}": float(gain - 1) for share, gain in zip(self.shares, gains, strict=True)}
        return {"gain": float(gains.mean() - 1), **each}
