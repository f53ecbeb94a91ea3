"""`python -m benchmarks.mixed [--seeds N] [--learned FOLDER] [--page]`: who sends requests to the wrong kind of server.

Plays the scenario mixed with its servers in the order in which they are written, and turned round, a minute in all; and
mixed-learned with agents that learned there, whose trainings are in the folder (results/mixed-learned unless it says
otherwise) or are made there first, half an hour of CPU. Prints a table of each; with `--page` into
docs/experiments/mixed.md.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from binwright.agents import AGENTS
from binwright.agents.learned.common.tensors import read, write
from binwright.agents.learned.numa.mlp import untrained
from binwright.analysis.compare.statistics import mean_interval
from binwright.scenarios.build.cluster import kinds_of
from binwright.scenarios.build.world import adapt_agent, build_world
from binwright.scenarios.learn.training import train
from binwright.scenarios.schema.load import load_scenario
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.play import play
from binwright.simcore.record import PLACED
from binwright.simcore.rng import stream
from binwright.simcore.types import QUANTUM, Agent, Floats

PAGE = Path(__file__).parents[1] / "docs/experiments/mixed.md"
RULES = ("first-fit", "best-fit", "internal", "dot-product", "random", "balance-fit", "worst-fit")
LARGE = 100 * QUANTUM
"""Memory of a request from which on only servers of the kind `KIND` hold it."""
KIND = "memory"
CVD: dict[str, Any] = {"filter": "none", "warm": [0.0], "discount": 0.995, "annealed": 200, "averaged": 0.01}
VALUE: dict[str, Any] = {"pairs": 8, "episodes": 24, "pool": 60, "warm": [0.0]}
LEARNED: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "cvd-rl by shares": ("cvd-rl", CVD | {"sizes": "relative"}, {"filter": "none"}),
    "cvd-rl by sizes": ("cvd-rl", CVD | {"sizes": "absolute"}, {"filter": "none"}),
    "value-es by shares": ("value-es", VALUE | {"sizes": 0}, {}),
    "value-es by sizes": ("value-es", VALUE | {"sizes": 5}, {}),
}
"""Of each agent that learns the settings of its trainer, and its own options."""
TRAININGS: dict[str, dict[str, Any]] = {
    "cvd-rl": {"iterations": 450, "validation": {"every": 45, "episodes": 30}, "seeds": 5},
    "value-es": {"iterations": 40, "validation": {"every": 10, "episodes": 30}, "seeds": 3},
}
PAIRS = [("cvd-rl by sizes", "cvd-rl by shares"), ("value-es by sizes", "value-es by shares")]
TEXT = """# Which rules send requests to the wrong kind of server?

The scenario `mixed` has 8 servers with four NUMA nodes of 256 GB, 20 with two of 90 GB, and 30 with one of 64 GB. One
request in twelve asks for 120 GB, which only the first kind has. Without learning, no rule keeps the first kind free:
only the order does, for `first-fit`. `best-fit`, `internal` and `balance-fit` fill it with more requests that fit
elsewhere than chance (`random`) does.

    python -m benchmarks.mixed --page

Means over {seeds} seeds with half of the 95 % t interval: accepted large requests, and cpu of the first kind held
by requests that fit elsewhere, as a share of all the time.

"""
TEXT_LEARNED = """
## Agents that learn

`mixed-learned` is a quarter of `mixed` with servers of two nodes. `cvd-rl` (`filter: none`) and `value-es` learned
there [in two ways](../guides/numa-learning.md#kinds-of-servers): *by shares* of a server's own nodes, and *by sizes*,
which are free amounts for `cvd-rl` and counts of the five sizes that still fit for `value-es`. There are five trainings
of `cvd-rl` (450 iterations) and three of `value-es` (40); `untrained` and `random` are controls.

By sizes, `value-es` accepts more than by shares and more than every rule, but its untrained start already does:
training adds nothing. For `cvd-rl`, sizes gain nothing that could be shown: its trainings differ more than the two ways
do, and neither is above chance. Intervals of differences are over trainings, or over
pairs of them. """


def measured(scenario: Scenario, made: Callable[[], Agent], seed: int) -> tuple[float, float]:
    """Play a run; returns the percentages of large requests accepted, and of the first kind's cpu taken by others."""
    world = build_world(scenario)
    ledger = world.ledger(seed)
    simulation, agent = world.simulation(seed, ledger), adapt_agent(world, made())
    agent.start(simulation.view, stream(seed, "agent"))
    play(simulation, agent)
    record, workload = simulation.record, simulation.workload
    placed = record.outcome[: len(workload)] == PLACED
    large = workload.demand[:, workload.resources.index("mem")] > LARGE
    here = np.array(kinds_of(scenario, seed)[0]) == KIND
    strangers = placed & ~large & here[record.server[: len(workload)]]
    held = (workload.demand[:, 0] * workload.duration)[strangers].sum()
    there = ledger.view.capacity[here, :, 0].sum() * simulation.now
    return 100 * placed[large].mean(), 100 * held / there


def played(scenario: Scenario, made: Mapping[str, Callable[[], Agent]], seeds: Sequence[int]) -> dict[str, Floats]:
    """Play all agents on all seeds; returns what `measured` does of each, float64 [2, seeds]."""
    return {name: np.array([measured(scenario, each, seed) for seed in seeds]).T for name, each in made.items()}


def table(found: Mapping[str, Floats], first: str = "agent") -> str:
    """Return a table in Markdown of what was measured, a row for each name."""
    rows = [
        f"| {first} | of the large, % | cpu of `{KIND}` held by others, % |",
        "|---|---|---|",
    ]
    for name, columns in found.items():
        cells = [f"{mean:.2f} ± {half:.2f}" for mean, half in map(mean_interval, columns)]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def trained(folder: Path, name: str) -> dict[str, Callable[[], Agent]]:
    """Return the agents of a training, and of the weights with which it began; trains in the folder what is missing."""
    agent, settings, options = LEARNED[name]
    changes = {"agent": {agent: settings}, **TRAININGS[agent]}
    scenario = load_scenario("mixed-learned", [f"train.{key}={json.dumps(value)}" for key, value in changes.items()])
    train(scenario, folder / name, watch=lambda row: print(f"{name}: {row['step']}", end="\r"))
    made: dict[str, Callable[[], Agent]] = {}
    for seed in range(TRAININGS[agent]["seeds"]):
        best = folder / name / f"seed-{seed}" / "best.safetensors"
        made[f"{name}, training {seed}"] = partial(AGENTS.load(agent), path=str(best), **options)
    if agent == "value-es":
        return made | {f"{name}, untrained": partial(AGENTS.load(agent), path=str(best), untrained=True)}
    notes = read(best)[1]
    first = folder / name / "untrained.safetensors"
    write(first, {"weights": untrained(notes["layers"], stream(0, "train", "weights"))}, notes)
    return made | {f"{name}, untrained": partial(AGENTS.load(agent), path=str(first), **options)}


def learned(folder: Path, seeds: Sequence[int]) -> str:
    """Play the rules and the agents that learned; returns tables in Markdown."""
    scenario = load_scenario("mixed-learned")
    made: dict[str, Callable[[], Agent]] = {rule: AGENTS.load(rule) for rule in RULES}
    for name in LEARNED:
        made |= trained(folder, name)
    found = played(scenario, made, seeds)
    each = {name: [found[one].mean(axis=1) for one in found if one.startswith(f"{name}, training")] for name in LEARNED}
    over = {name: np.array(means).T for name, means in each.items()}
    control = found["random"].mean(axis=1, keepdims=True)
    against = {f"{name} - random": means - control for name, means in over.items()}
    against |= {f"{one} - {other}": over[one] - over[other] for one, other in PAIRS}
    shown = {name: columns for name, columns in found.items() if ", training" not in name}
    return f"{table(shown)}\n\n{table(against, 'difference')}"


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables, or write the page."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--seeds", type=int, default=10)
    asked.add_argument("--learned", type=Path, default=Path("results/mixed-learned"))
    asked.add_argument("--page", action="store_true")
    given = asked.parse_args(argv)
    written = load_scenario("mixed")
    groups = (written.cluster.groups or ())[::-1]
    turned = written.model_copy(update={"cluster": written.cluster.model_copy(update={"groups": groups})})
    seeds = range(given.seeds)
    made = {rule: AGENTS.load(rule) for rule in RULES}
    parts = ["## As they are written", table(played(written, made, seeds)), "## Turned round: small servers first"]
    parts += [table(played(turned, made, seeds)), TEXT_LEARNED.strip(), learned(given.learned, seeds)]
    text = TEXT.format(seeds=len(seeds)) + "\n\n".join(parts) + "\n"
    if given.page:
        PAGE.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
