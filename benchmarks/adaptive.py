"""Is `adaptive` ever wrong? python -m benchmarks.adaptive [REGIME...] [--seeds N] [--page FILE].

How many requests it places before the first that fits nowhere, in regimes/*, beside each of its
candidates and a control that takes any of them at every mark, all on the same seeds.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np

from benchmarks.cvd import in_points, markdown, ratio
from benchmarks.regimes import options_of
from binwright.agents.adaptive.agent import HEURISTICS, Adaptive, label_of
from binwright.analysis.compare.statistics import ALPHA, differences, holm, mean_interval, paired_t
from binwright.fabric.compiled.numa_replay import Replay
from binwright.fabric.compiled.numa_run import CompiledSimulation, play_compiled
from binwright.scenarios.build.world import build_world
from binwright.scenarios.schema.load import load_scenario
from binwright.simcore.record import PLACED
from binwright.simcore.rng import stream
from binwright.simcore.types import Floats

RULES = [label_of(one) for one in HEURISTICS]
CONTROLS = ("adaptive", "any of its candidates")
FIRST, SEEDS, OTHERS = 5000, 80, range(2000, 2120)
"""The first seed of the comparison, how many there are, and those by which the best rule of a regime is picked."""
BEST = 5
"""Agents, at least, in the table of all regimes."""


class Run(NamedTuple):
    """Holds the requests that each agent placed with a seed, and for how many `adaptive` followed which rule."""

    placed: dict[str, int]
    followed: Counter[str]


def played(name: str, seed: int) -> Run:
    """Play `adaptive`, the control and all candidates with one seed."""
    world = build_world(load_scenario(f"regimes/{name}"))
    placed: dict[str, int] = {}
    followed: Counter[str] = Counter()
    for label, agent in zip(CONTROLS, (Adaptive(), Adaptive(choice="random")), strict=True):
        simulation = CompiledSimulation(world.draw(seed), world.ledger(0), world.overflow)
        agent.start(simulation.view, stream(seed, "agent"))
        play_compiled(simulation, agent)
        placed[label] = int((simulation.record.outcome == PLACED).sum())
        marks = [*(choice.requests for choice in agent.choices), placed[label]]
        for choice, until in zip(agent.choices, marks[1:], strict=True):
            followed[choice.rule] += until - choice.requests
    return Run(placed | by_candidates(name, seed), followed)


def by_candidates(name: str, seed: int) -> dict[str, int]:
    """Count what each candidate alone places with one seed."""
    world = build_world(load_scenario(f"regimes/{name}"))
    simulation = CompiledSimulation(world.draw(seed), world.ledger(0), world.overflow)
    replay, placed = Replay(simulation), {}
    for label, candidate in Adaptive().candidates.items():
        candidate.start(simulation.view, stream(seed, "agent"))
        assert candidate.compiled
        placed[label] = replay.placed(candidate.compiled)
    return placed


def lengths(runs: Sequence[Run], label: str) -> Floats:
    """Return what an agent placed, float64 [seeds]."""
    return np.array([run.placed[label] for run in runs], np.float64)


def best_of(others: Sequence[dict[str, int]], labels: Sequence[str]) -> str:
    """Return who of these placed most with other seeds."""
    return max(labels, key=lambda label: sum(placed[label] for placed in others))


def page(found: dict[str, list[Run]], others: dict[str, list[dict[str, int]]]) -> str:
    """Write the page: of `found`, where the best rules are picked by what candidates placed with other seeds."""
    heads = ["regime", "best heuristic", "`adaptive` over it", "best candidate", "`adaptive` over it"]
    rows = [[*heads, "followed most"]]
    shares: dict[str, list[Floats]] = {}
    apart: list[Floats] = []
    for name, runs in found.items():
        rule, best = best_of(others[name], RULES), best_of(others[name], list(others[name][0]))
        base = lengths(runs, rule)
        for label in runs[0].placed:
            shares.setdefault(label, []).append(lengths(runs, label) / base.mean() - 1)
        apart.append(differences(lengths(runs, CONTROLS[0]), base))
        beside = [in_points(*ratio(lengths(runs, CONTROLS[0]), lengths(runs, label))) for label in (rule, best)]
        followed = sum((run.followed for run in runs), Counter())
        most = ", ".join(f"{label} {100 * n / followed.total():.0f} %" for label, n in followed.most_common(2))
        rows.append([f"`{name}`", rule, beside[0], best, beside[1], most])
    over: dict[str, Floats] = {label: np.mean(each, axis=0) for label, each in shares.items()}
    table = [["agent", "over the best heuristic, mean of all regimes", "`adaptive` over it, in the same measure"]]
    ranked = sorted(over, key=lambda one: -float(over[one].mean()))
    for label in [*ranked[:BEST], *(one for one in ranked[BEST:] if one in CONTROLS)]:
        gain = in_points(*mean_interval(over[CONTROLS[0]] - over[label])) if label != CONTROLS[0] else ""
        table.append([label, f"{100 * over[label].mean():+.1f}", gain])
    told = holm(np.array([paired_t(each) for each in apart])) <= ALPHA
    gains = np.array([each.mean() for each in apart])
    says = VERDICT.format(above=(told & (gains > 0)).sum(), below=(told & (gains < 0)).sum(), regimes=len(found))
    seeds = len(next(iter(found.values())))
    return "\n\n".join([HEAD.format(seeds=seeds, others=len(OTHERS)), markdown(rows), says, markdown(table)]) + "\n"


HEAD = """# Adaptive: a choice that is never wrong?

How many requests does [`adaptive`](../guides/agents.md#which-agent-chooses-among-rules) place until the first that fits
nowhere, beside each of its candidates? {seeds} seeds of [fourteen loads](regimes.md), ten servers that are empty at the
start. It knows nothing of a load but the requests that it has met.

    python -m benchmarks.adaptive --seeds {seeds} --page docs/experiments/adaptive.md

Values are ratios of means less one, in %, paired by seed, with 95 % intervals. {others} other seeds say which rule is
best. *Any candidate* takes one by chance at every mark. The last column says for which share of requests a rule was
followed. What flatters `adaptive`: four of its candidates are networks that learned in loads of this table, and three
are rules that were [searched](rules-found.md) there, all on other seeds."""
VERDICT = """Corrected by Holm for {regimes} regimes, `adaptive` is significantly above the best heuristic in {above} of
them, and below it in {below}. Over all regimes together, where candidates that are not here place less:"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Play, and print or write the page, anew after every regime."""
    options, found, others = options_of(__doc__, arguments), {}, {}
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        for name in options.names:
            found[name] = list(pool.map(partial(played, name), range(FIRST, FIRST + (options.seeds or SEEDS))))
            others[name] = list(pool.map(partial(by_candidates, name), OTHERS))
            print(f"{name}: {len(found[name]):,} seeds", file=sys.stderr, flush=True)
            if options.page:
                options.page.write_text(page(found, others))
    if not options.page:
        print(page(found, others))


if __name__ == "__main__":
    main()
