"""`python -m benchmarks.gpus_left [--lists FOLDER] [--seeds N] [--page]`: GPUs held while a cluster fills.

Plays the experiments of FGD with its own requests and numbers of servers, and fgd/departures, and compares what every
agent holds with what FGD holds, on the same seeds, from half full to overflowing. FOLDER has the publication's other
lists of pods, as openb_pod_list_gpushare100.csv: github.com/alibaba/clusterdata, cluster-trace-gpu-v2023/csv. Takes ten
minutes. With `--page` it writes docs/experiments/gpus.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import process_time

import numpy as np

from binwright.agents import AGENTS
from binwright.agents.world import World
from binwright.analysis.compare.statistics import mean_interval
from binwright.fabric.device_ledger import DeviceLedger
from binwright.scenarios.build.world import adapt_agent, build_world
from binwright.scenarios.schema.load import load_scenario
from binwright.simcore.engine import Simulation
from binwright.simcore.play import play
from binwright.simcore.record import PLACED
from binwright.simcore.rng import stream
from binwright.simcore.types import QUANTUM, Workload

PAGE = Path(__file__).parents[1] / "docs/experiments/gpus.md"
LISTS = ("gpuspec33", "gpushare100", "multigpu50")
UNTIL = 1.3
Options = dict[str, int]
RULES: dict[str, tuple[str, Options]] = {
    "fgd": ("fgd", {}),
    "gpu-lookahead": ("gpu-lookahead", {}),
    "gpu-lookahead, next: 0": ("gpu-lookahead", {"next": 0}),
    "gpu-lookahead, next: 1000": ("gpu-lookahead", {"next": 1000}),
    "gpu-lookahead, 1 future": ("gpu-lookahead", {"futures": 1}),
    "gpu-best-fit": ("gpu-best-fit", {}),
    "gpu-random": ("gpu-random", {}),
}
SORTED = "fgd, largest first"
FILLS = (50, 60, 70, 80, 90, 95, 100, 110, 130)
"""Percent of the GPUs that pods have asked for so far."""
SHOWN = (50, 90, 100, 130)
"""The fills that the tables have."""
TEXT = """# How many GPUs are held while a cluster fills?

Pods that ask for 130 % of the GPUs arrive on the 1,213 GPU servers of the openb trace, and none leaves: the
[experiments of FGD](../guides/gpus.md#the-experiments-of-fgd), with the published order of pods and servers for the
seeds {first} to {last}. `gpu-lookahead` holds at least as many GPUs as FGD at every fill, and up to 6 points more where
pods name models.

    python -m benchmarks.gpus_left --lists FOLDER --page

The columns say which percentage of the GPUs has been asked for; the row of FGD has the percentage held then, and the
other rows the difference to FGD in points with half of the 95 % t interval, bold where it does not hold 0. The options
of `gpu-lookahead` were chosen on other seeds (142 to 144). Controls: `next: 0` counts only what stays unused in the
futures, `next: 1000` nearly only what the next request cannot take, `1 future` samples once, `gpu-random` chooses by
chance. `{sorted}` knows all pods beforehand: a bound of a kind for the last columns. gpuspec33, gpushare100 and
multigpu50 are the publication's other lists of pods.
"""


def cut(workload: Workload, total: float) -> Workload:
    """Leave out the last requests, those beyond `UNTIL` of so many GPUs."""
    asked = workload.demand[:, workload.resources.index("gpu")].cumsum()
    keep = int(np.searchsorted(asked, UNTIL * total * QUANTUM, side="right"))
    return taken(workload, np.arange(len(workload))[:keep])


def taken(workload: Workload, rows: np.typing.NDArray[np.int64]) -> Workload:
    """Return these requests in this order, arriving as the first ones do."""
    return replace(
        workload,
        arrival=workload.arrival[: len(rows)],
        duration=workload.duration[rows],
        demand=workload.demand[rows],
        id=workload.id[rows],
        models=None if workload.models is None else workload.models[rows],
        labels={},
    )


def held(world: World, workload: Workload, seed: int, rule: str) -> tuple[list[float], float]:
    """Play a run; returns the percentage of the GPUs that is held at each of FILLS, and the CPU seconds.

    Where pods leave, the list has one number: the share of the GPU hours asked for that is granted.
    """
    ledger = world.ledger(seed)
    assert isinstance(ledger, DeviceLedger)
    place, view = ledger.view.resource, ledger.view
    if rule == SORTED:
        each = np.minimum(workload.demand[:, place], QUANTUM)
        workload = taken(workload, np.argsort(-each, kind="stable"))
    name, options = RULES.get(rule, RULES["fgd"])
    simulation, agent = Simulation(workload, ledger), adapt_agent(world, AGENTS.load(name)(**options))
    agent.start(simulation.view, stream(seed, "agent"))
    before = process_time()
    play(simulation, agent)
    took = process_time() - before
    placed, demand = simulation.record.outcome == PLACED, workload.demand[:, place]
    if np.isfinite(workload.duration).any():
        hours = demand * workload.duration
        return [100 * float(hours[placed].sum() / hours.sum())], took
    total = int(view.capacity[:, 0, place].sum())
    rows = np.searchsorted(demand.cumsum(), [fill * total // 100 for fill in FILLS], side="right") - 1
    return (100 * np.where(placed, demand, 0).cumsum()[rows] / total).tolist(), took


def play_run(scenario: str, sets: Sequence[str], rule: str, seed: int) -> tuple[list[float], float]:
    """Play a run of a scenario; returns what `held` does."""
    world = build_world(load_scenario(scenario, list(sets)))
    workload, view = world.draw(seed), world.ledger(seed).view
    if scenario == "fgd/default":
        workload = cut(workload, view.capacity[:, 0, -1].sum() / QUANTUM)
    return held(world, workload, seed, rule)


def measured(sets: Sequence[str], rules: Sequence[str], seeds: Sequence[int], scenario: str = "fgd/default") -> str:
    """Play all rules on all seeds; returns a table in Markdown."""
    found = {rule: [play_run(scenario, sets, rule, seed) for seed in seeds] for rule in rules}
    heads, columns = ["granted, %"], [0]
    if scenario == "fgd/default":
        heads, columns = [f"{fill} %" for fill in SHOWN], [FILLS.index(fill) for fill in SHOWN]
    rows = [f"| agent | {' | '.join(heads)} | CPU seconds a run |", "|---|" + "---|" * (len(heads) + 1)]
    for rule, each in found.items():
        cells = []
        for column in columns:
            base = np.array([values[column] for values, _ in found["fgd"]])
            values = np.array([values[column] for values, _ in each])
            mean, half = mean_interval(values - base)
            gap = f"{mean:+.2f} ± {half:.2f}"
            cells.append(f"{values.mean():.2f}" if rule == "fgd" else f"**{gap}**" if abs(mean) > half else gap)
        rows.append(f"| {rule} | {' | '.join(cells)} | {np.mean([seconds for _, seconds in each]):.1f} |")
    print("\n".join(rows), flush=True)
    return "\n".join(rows)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables, or write the page."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--lists", type=Path, help="the folder with the other lists of pods")
    asked.add_argument("--seeds", type=int, default=10)
    asked.add_argument("--page", action="store_true")
    given = asked.parse_args(argv)
    seeds = range(42, 42 + given.seeds)
    every, few = [*RULES, SORTED], ["fgd", "gpu-lookahead", "gpu-lookahead, next: 0"]
    parts = [("The default pods", measured([], every, seeds))]
    for name in LISTS if given.lists else ():
        path = given.lists / f"openb_pod_list_{name}.csv"
        until = ["workload.inflate.until=2"] if name == "multigpu50" else []  # so were its servers numbered
        parts.append((f"The pods of {name}", measured([f"workload.path={path}", *until], few, seeds)))
    leaving = (
        f"Pods leave when they did: `fgd/departures`, seeds 0 to {min(given.seeds, 4) - 1}, whose windows overlap. "
        "*Granted* is the share of the GPU hours asked for that belongs to placed pods. `gpu-lookahead` knows no "
        "ends.\n\n"
    )
    table = measured([], few[:2], range(min(given.seeds, 4)), "fgd/departures")
    parts.append(("Pods that leave again", leaving + table))
    text = TEXT.format(first=seeds[0], last=seeds[-1], sorted=SORTED)
    text = "\n".join([text, *(f"## {name}\n\n{table}\n" for name, table in parts)])
    if given.page:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
