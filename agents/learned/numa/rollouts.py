"""Plays compiled episodes from warm starts, many rules in each, for learners on servers with NUMA nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from binwright.agents import AGENTS
from binwright.agents.world import World
from binwright.fabric.compiled.numa_replay import Replay
from binwright.fabric.ledger import Ledger
from binwright.fabric.run.play import play_compiled
from binwright.fabric.run.simulation import Simulation
from binwright.simcore.cores import usable_cpus
from binwright.simcore.errors import UserError
from binwright.simcore.options import check_options
from binwright.simcore.rng import stream
from binwright.simcore.rules import Overflow
from binwright.simcore.types import Agent, Compiled, Floats, Ints

DISCRIMINATIVE = 0.02
"""An episode teaches something in which the best of some rules places so much more than the worst."""


def check_worlds(agent: str, *worlds: World) -> None:
    """Raise a `UserError` for worlds that compiled episodes are not for."""
    for world in worlds:
        if world.overflow.mode not in ("drop", "stop") or world.pacing:
            remedy = "Write `overflow: stop`, and no pacing."
            raise UserError(f"{agent} does not learn with it", key="overflow", remedy=remedy)


def rules_of(names: Sequence[str]) -> list[Compiled]:
    """Return the rules of these agents, each of which must be compiled."""
    return [AGENTS.load(name)().compiled for name in names]


def replays_of(world: World, seeds: Sequence[int], shares: Sequence[float]) -> list[Replay]:
    """Return replays of every seed's requests from each of these shares on.

    They are of the resource of the world's warm start, filled by its agent or by every rule itself; without one, of the
    first resource, filled by Best-Fit.
    """
    warm, found = world.warm_start, []
    for seed in seeds:
        workload = world.draw(seed)
        for share in shares:
            ledger = world.ledger(0)
            resource = ledger.view.resources.index(warm.resource) if warm else 0
            simulation = Simulation(workload, ledger, Overflow("drop"), compiled=True)
            if warm and warm.agent is None:
                simulation.overflow = world.overflow
                found.append(Replay(simulation, (resource, share)))
                continue
            agent = warm.agent() if warm and warm.agent else AGENTS.load("best-fit")()
            agent.start(ledger.view, stream(seed, "warm-start"))
            wanted = share * int(ledger.view.capacity[:, :, resource].sum())
            largest = int(workload.demand[:, resource].max(initial=1))
            play_compiled(simulation, agent, partial(_missing, ledger, resource, wanted, largest))
            simulation.overflow = world.overflow
            found.append(Replay(simulation))
    return found


def _missing(ledger: Ledger, resource: int, wanted: float, largest: int) -> int:
    """Return after how many more placements, at least, so much of a resource is used; 0 once it is."""
    left = wanted - int(ledger.used()[resource])
    return max(1, int(left // largest)) if left > 0 else 0


def discriminative_episodes(
    world: World, seeds: Ints, warm: Sequence[float], rules: Sequence[Compiled]
) -> tuple[list[Replay], Floats]:
    """Return the episodes in which these rules differ, and what each places in them, float64 [rules, episodes].

    Most episodes end at one burst of demand whoever decides, and teach nothing.
    """
    found: list[Replay] = []
    lengths = []
    for seed in seeds.tolist():
        replays = replays_of(world, [seed], warm)
        placed = play_all(replays, rules)
        tells = np.ptp(placed, axis=0) > DISCRIMINATIVE * placed.min(axis=0)
        found += [replay for replay, some in zip(replays, tells, strict=True) if some]
        lengths.append(placed[:, tells])
    if not found:
        raise UserError(
            "there is nothing to learn: all rules place as many requests in every training episode",
            key="train.episodes",
            remedy="Give more requests, fewer servers, or a larger `pool`.",
        )
    return found, np.concatenate(lengths, axis=1)


def play_all(replays: Sequence[Replay], rules: Sequence[Compiled]) -> Floats:
    """Count the requests placed, float64 [rules, replays], on all processors. Each replay has copies of the rules."""
    placed = np.empty((len(rules), len(replays)))

    def play_one(number: int) -> None:
        copies = [rule._replace(weights=tuple(part.copy() for part in rule.weights)) for rule in rules]
        placed[:, number] = [replays[number].placed(copy) for copy in copies]

    with ThreadPoolExecutor(usable_cpus()) as pool:
        list(pool.map(play_one, range(len(replays))))
    return placed


def gains(placed: Floats, base: Floats, warm: Sequence[float]) -> dict[str, float]:
    """Return how much more is placed than by another rule: ratios of means, in all and for every warm start.

    Both `placed` and `base` are float64 [episodes], with the warm starts in turn.
    """
    shares = placed.reshape(-1, len(warm)).mean(axis=0) / base.reshape(-1, len(warm)).mean(axis=0)
    ratio = np.log(np.maximum(placed, 1) / np.maximum(base, 1))
    each = {f"gain_{share:.0%}": float(gain - 1) for share, gain in zip(warm, shares, strict=True)}
    return {"gain": float(shares.mean() - 1), "log_gain": float(ratio.mean()), **each}


def compiled_agent(said: str | Mapping[str, Any]) -> Agent:
    """Make the agent of a name or {name: options}; raises a `UserError` if it is not for compiled episodes."""
    [[name, options]] = [(said, {})] if isinstance(said, str) else said.items()
    kind = AGENTS.load(name)
    agent: Agent = kind(**check_options(kind, options, (name,)))
    if agent.compiled is None:
        remedy = "Name one that is, such as internal."
        raise UserError("is not an agent for compiled episodes", value=name, remedy=remedy)
    return agent


class HeldOut:
    """Holds the episodes of validation, and how many requests the agent `against` places in them."""

    def __init__(self, world: World, warm: Sequence[float], against: str | Mapping[str, Any]) -> None:
        agent = compiled_agent(against)
        agent.start(world.ledger(0).view, stream(0, "train", "against"))
        assert agent.compiled
        self._world, self._warm, self._other = world, warm, agent.compiled
        self._kept: tuple[list[int], list[Replay], Floats] | None = None

    def gains(self, rule: Compiled, seeds: Sequence[int]) -> dict[str, float]:
        """Return how much more a rule places in the episodes of these seeds."""
        if self._kept is None or self._kept[0] != list(seeds):
            replays = replays_of(self._world, seeds, self._warm)
            self._kept = list(seeds), replays, play_all(replays, [self._other])[0]
        _, replays, base = self._kept
        return gains(play_all(replays, [rule])[0], base, self._warm)
