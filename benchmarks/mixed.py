"""`python -m benchmarks.mixed [--seeds N] [--page]`: which rules send requests to the wrong kind of server.

Plays the scenario mixed with its servers in the order in which they are written, and turned round, a minute in all.
Prints a table of each; with `--page` into docs/experiments/mixed.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from agents import AGENTS
from analysis.compare.statistics import mean_interval
from scenarios.build.cluster import kinds_of
from scenarios.build.world import build_world, fitted
from scenarios.schema.load import load_scenario
from scenarios.schema.scenario import Scenario
from simcore.play import play
from simcore.record import PLACED
from simcore.rng import stream
from simcore.vocabulary import QUANTUM

PAGE = Path(__file__).parents[1] / "docs/experiments/mixed.md"
RULES = ("first-fit", "best-fit", "internal", "dot-product", "random", "balance-fit", "worst-fit")
LARGE = 100 * QUANTUM
"""Memory of a request from which on only servers of the kind `KIND` hold it."""
KIND = "memory"
TEXT = """# Which rules send requests to the wrong kind of server?

`python -m benchmarks.mixed --page` measured this and wrote the page. The scenario `mixed` has three kinds of servers: 8
with four NUMA nodes of 256 GB, 20 with two of 90 GB, and 30 with one of 64 GB. One request in twelve asks for 120 GB,
which only the first kind has; all others fit anywhere. Entries are means over {seeds} seeds with half of the 95 % t
interval: the share of the requests that is accepted, the same of the large ones, and how much of the cpu of the first
kind requests hold that could lie elsewhere, as a share of all the time. `random` is the control: it prefers no kind.

`first-fit` goes by the order alone: it is the best here where the kind to be kept is written last, and by far the worst
where it comes first. `best-fit` and `internal` look at cpu, and fill these nodes with more strangers than chance does,
in either order. `balance-fit` looks for servers whose nodes differ, which a server of one node never does, and so takes
the first kind before all others. `dot-product` and `worst-fit` keep no more of it free than chance does: of these rules
none knows that a kind is to be kept.

"""


def measured(scenario: Scenario, rule: str, seed: int) -> tuple[float, float, float]:
    """Play a run; returns the percentages accepted, of all and of the large, and of the first kind's cpu taken."""
    world = build_world(scenario)
    ledger = world.ledger(seed)
    simulation, agent = world.simulation(seed, ledger), fitted(world, AGENTS.load(rule)())
    agent.start(simulation.view, stream(seed, "agent"))
    play(simulation, agent)
    record, workload = simulation.record, simulation.workload
    placed = record.outcome[: len(workload)] == PLACED
    large = workload.demand[:, workload.resources.index("mem")] > LARGE
    here = np.array(kinds_of(scenario, seed)[0]) == KIND
    strangers = placed & ~large & here[record.server[: len(workload)]]
    held = (workload.demand[:, 0] * workload.duration)[strangers].sum()
    there = ledger.view.capacity[here, :, 0].sum() * simulation.now
    return 100 * placed.mean(), 100 * placed[large].mean(), 100 * held / there


def table(scenario: Scenario, seeds: Sequence[int]) -> str:
    """Play all rules on all seeds; returns a table in Markdown."""
    rows = [f"| agent | accepted, % | of the large, % | cpu of `{KIND}` held by others, % |", "| --- |" + " --- |" * 3]
    for rule in RULES:
        columns = np.array([measured(scenario, rule, seed) for seed in seeds]).T
        cells = [f"{mean:.2f} ± {half:.2f}" for mean, half in map(mean_interval, columns)]
        rows.append(f"| {rule} | {' | '.join(cells)} |")
    return "\n".join(rows)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables, or write the page."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--seeds", type=int, default=10)
    asked.add_argument("--page", action="store_true")
    given = asked.parse_args(argv)
    written = load_scenario("mixed")
    groups = (written.cluster.groups or ())[::-1]
    turned = written.model_copy(update={"cluster": written.cluster.model_copy(update={"groups": groups})})
    seeds = range(given.seeds)
    parts = ["## As they are written", table(written, seeds), "## Turned round: small servers first"]
    text = TEXT.format(seeds=len(seeds)) + "\n\n".join([*parts, table(turned, seeds)]) + "\n"
    if given.page:
        PAGE.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
