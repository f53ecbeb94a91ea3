"""`python -m benchmarks.gpus_left [--lists FOLDER] [--seeds N] [--out FILE] [--page]`: what a full cluster has left.

Plays the experiments of FGD with its own requests and numbers of servers, and fgd/departures, and compares what every
agent leaves with what FGD leaves, on the same seeds. FOLDER has the publication's other lists of pods, as
openb_pod_list_gpushare100.csv: github.com/alibaba/clusterdata, cluster-trace-gpu-v2023/csv. Takes a quarter of an hour.
Runs whose results are in FILE are not played again. With `--page` it writes docs/experiments/gpus.md.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np
import polars as pl

from agents import AGENTS
from agents.world import World
from analysis.compare.statistics import mean_interval
from fabric.device_ledger import DeviceLedger
from scenarios.build.world import build_world, fitted
from scenarios.schema.load import load_scenario
from simcore.engine import Simulation
from simcore.play import play
from simcore.record import PLACED
from simcore.rng import stream
from simcore.vocabulary import QUANTUM, Workload

PAGE = Path(__file__).parents[1] / "docs/experiments/gpus.md"
LISTS = ("gpuspec33", "gpushare100", "multigpu50")
UNTIL = 1.3
Options = dict[str, int]
RULES: dict[str, tuple[str, Options]] = {
    "fgd": ("fgd", {}),
    "gpu-lookahead": ("gpu-lookahead", {}),
    "gpu-lookahead, 1 future": ("gpu-lookahead", {"futures": 1}),
    "gpu-lookahead, 1 request": ("gpu-lookahead", {"length": 1}),
    "gpu-best-fit": ("gpu-best-fit", {}),
    "gpu-random": ("gpu-random", {}),
}
SORTED = "fgd, largest first"
TEXT = """# What is left of the GPUs when a cluster is full?

`python -m benchmarks.gpus_left --lists FOLDER --page` measured this and wrote the page. On the 1,213 GPU servers of the
openb trace pods arrive that ask for 130 % of the GPUs, and none leaves: the [experiments of
FGD](../guides/gpus.md#the-experiments-of-fgd), with the publication's order of pods and servers for the seeds {first}
to {last}. Entries are the percentage of the GPUs that nobody holds in the end, and behind it by how many points that is
more or less than FGD leaves on the same seeds, with half of the 95 % t interval; bold where the interval does not hold
0. Nothing is corrected for the number of entries.

[`gpu-lookahead`](../guides/gpus.md#which-agents-choose-devices) places every pod that fits, as all of these do. Its
futures and their length were chosen on other seeds (142 of the default pods, 1000 of gpushare100 and gpuspec33).
Controls: `1 future` lets one random course of events decide, `1 request` looks one request ahead, and `gpu-random`
chooses among the same places by chance. `{sorted}` is a bound of a kind: all pods are known beforehand, and those that
ask for most of a device come first. Who may choose among the pods leaves less than who takes them as they come; but no
agent here may.

The pods of the lists gpuspec33, gpushare100 and multigpu50 are the publication's others. Those of multigpu50 ask for
more than 130 % before any is repeated: the last ones are left out.
"""


def lists(folder: Path, into: Path) -> Iterator[tuple[str, Path]]:
    """Yield the lists of pods with a copy of each that has every column; those without times all come at once."""
    columns = {"gpu_spec": "", "qos": "", "pod_phase": "Running", "creation_time": 0, "deletion_time": 1}
    for name in LISTS:
        pods = pl.read_csv(folder / f"openb_pod_list_{name}.csv", schema_overrides={"gpu_spec": pl.String})
        missing = {column: value for column, value in {**columns, "scheduled_time": 0}.items() if column not in pods}
        copy = into / f"{name}.csv"
        pods.with_columns(pl.lit(value).alias(column) for column, value in missing.items()).sort(
            "creation_time", maintain_order=True
        ).write_csv(copy)
        yield name, copy


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


def left(world: World, workload: Workload, seed: int, rule: str) -> tuple[float, float]:
    """Play a run; returns the percentage of the GPUs that is left, and the CPU seconds."""
    ledger = world.ledger(seed)
    assert isinstance(ledger, DeviceLedger)
    if rule == SORTED:
        each = np.minimum(workload.demand[:, workload.resources.index("gpu")], QUANTUM)
        workload = taken(workload, np.argsort(-each, kind="stable"))
    name, options = RULES.get(rule, RULES["fgd"])
    simulation, agent = Simulation(workload, ledger), fitted(world, AGENTS.load(name)(**options))
    agent.start(simulation.view, stream(seed, "agent"))
    before = process_time()
    play(simulation, agent)
    took = process_time() - before
    free, place = ledger.view.free[:, 0], ledger.view.resource
    if np.isfinite(workload.duration).any():  # of what ends, the share of device hours that were asked for and refused
        hours = workload.demand[:, place] * workload.duration
        return 100 * float(1 - hours[simulation.record.outcome == PLACED].sum() / hours.sum()), took
    return 100 * float(free[:, place].sum() / ledger.view.capacity[:, 0, place].sum()), took


class Runs:
    """Plays runs, and keeps what they came to in a file, a line of JSON for each, if there is one."""

    def __init__(self, file: Path | None) -> None:
        self.file = file
        lines = file.read_text("utf-8").splitlines() if file and file.exists() else []
        self.known = {tuple(key): tuple(value) for key, value in map(json.loads, lines)}

    def __call__(self, scenario: str, sets: Sequence[str], pods: str, rule: str, seed: int) -> tuple[float, float]:
        """Return what `left` does."""
        key = pods, rule, seed
        if key not in self.known:
            world = build_world(load_scenario(scenario, list(sets)))
            workload, view = world.draw(seed), world.ledger(seed).view
            if scenario == "fgd/default":
                workload = cut(workload, view.capacity[:, 0, -1].sum() / QUANTUM)
            self.known[key] = left(world, workload, seed, rule)
            if self.file:
                with self.file.open("a", encoding="utf-8") as opened:
                    opened.write(json.dumps([key, self.known[key]]) + "\n")
        return self.known[key]


def measured(
    runs: Runs,
    pods: str,
    sets: Sequence[str],
    rules: Sequence[str],
    seeds: Sequence[int],
    scenario: str = "fgd/default",
) -> str:
    """Play all rules on all seeds; returns a table in Markdown."""
    found = {rule: [runs(scenario, sets, pods, rule, seed) for seed in seeds] for rule in rules}
    base = np.array(found["fgd"])[:, 0]
    rows = ["| agent | left, % | points more than FGD | CPU seconds a run |", "| --- | --- | --- | --- |"]
    for rule, each in found.items():
        values, seconds = np.array(each).T
        mean, half = mean_interval(values - base)
        gap = "" if rule == "fgd" else f"{mean:+.2f} ± {half:.2f}"
        gap = f"**{gap}**" if gap and abs(mean) > half else gap
        rows.append(f"| {rule} | {values.mean():.2f} | {gap} | {seconds.mean():.1f} |")
    print("\n".join(rows), flush=True)
    return "\n".join(rows)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables, or write the page."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--lists", type=Path, help="the folder with the other lists of pods")
    asked.add_argument("--seeds", type=int, default=5)
    asked.add_argument("--out", type=Path, help="the file with the results of single runs")
    asked.add_argument("--page", action="store_true")
    given = asked.parse_args(argv)
    seeds = range(42, 42 + given.seeds)
    runs = Runs(given.out)
    every, few = [*RULES, SORTED], ["fgd", "gpu-lookahead", "gpu-lookahead, 1 future"]
    parts = [("The default pods", measured(runs, "default", [], every, seeds))]
    with TemporaryDirectory() as folder:
        for name, path in lists(given.lists, Path(folder)) if given.lists else ():
            until = ["workload.inflate.until=2"] if name == "multigpu50" else []
            parts.append((f"The pods of {name}", measured(runs, name, [f"workload.path={path}", *until], few, seeds)))
    leaving = (
        "Pods stay as long as they did, and leave: `fgd/departures`, on seeds 0 to "
        f"{min(given.seeds, 4) - 1}, whose windows of the trace overlap. Left is here the share of the GPU hours asked "
        "for that is refused. The futures of `gpu-lookahead` know of no end. Of the same runs `binwright compare "
        "results/fgd-departures --baseline fgd --metric acceptance --metric allocation_gpu` says more.\n\n"
    )
    table = measured(runs, "departures", [], few[:2], range(min(given.seeds, 4)), "fgd/departures")
    parts.append(("Pods that leave again", leaving + table))
    text = TEXT.format(first=seeds[0], last=seeds[-1], sorted=SORTED)
    text = "\n".join([text, *(f"## {name}\n\n{table}\n" for name, table in parts)])
    if given.page:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
