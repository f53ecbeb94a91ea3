"""`python -m benchmarks.rescheduling [--out FOLDER] [--page]`: what moves every so often are worth in whole runs.

Runs the scenarios moves/worth-whole, fgd/descheduling and fgd/descheduling-departures: about ten minutes of CPU. With
`--page` it writes docs/experiments/rescheduling.md. Runs that are in FOLDER already are not computed again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from math import exp
from pathlib import Path

import numpy as np
import polars as pl

from analysis.compare.statistics import differences, mean_interval
from benchmarks.moves import entry, said
from scenarios.batch.batch import Batch
from scenarios.schema.load import load_scenario

PAGE = Path(__file__).parents[1] / "docs/experiments/rescheduling.md"
SCENARIOS = {"whole": "moves/worth-whole", "full": "fgd/descheduling", "departures": "fgd/descheduling-departures"}
KEY = "rescheduling"
FULL = {
    "allocation_gpu_end": ("GPUs left, points", -100.0),
    "acceptance": ("pods accepted, points", 100.0),
    "fragmented_gpu": ("free GPUs in fragments, points", 100.0),
}
DEPARTURES = {
    "allocation_gpu": ("GPUs allocated, points", 100.0),
    "acceptance": ("pods accepted, points", 100.0),
    "fragmented_gpu": ("free GPUs in fragments, points", 100.0),
}
TEXT = """# What is rescheduling worth in whole runs?

`python -m benchmarks.rescheduling --page` measured this and wrote the page. Every so often a mover may move some of
what runs, in no time and at no cost: [how that is said](../guides/moves.md), [who moves](../guides/movers.md). All
differences are from no moves on the same seeds, with half of the 95 % t interval over the seeds; bold where the
interval does not hold the case of no gain. Nothing is corrected for the number of entries.

## Ten servers until the first refusal

The [protocol of the Huawei trace](moves.md#whole-runs-making-room): ten servers, half full at the start, take requests,
placed by best-fit, until the first one that fits nowhere. Every five minutes a mover may move 1, 3 or 10 of those that
run. Entries say by how much runs are longer, as the mean of the ratio (geometric, with its interval). The last row is a
control: `vmr` chooses without preference among all moves. A single burst ends many of these runs, whoever decides.

How to read it: with these seeds no mover's gain can be told from none, however many moves it has. The windows of the
seeds overlap, so that the intervals are too narrow rather than too wide. What helps in these runs is to [make
room](moves.md#whole-runs-making-room) for the very request that would end them: that takes two moves in a whole run.

"""
GPUS = """

## A GPU cluster that fills up

`fgd/default`: on the 1,213 GPU servers of the openb trace pods arrive that ask for 130 % of the GPUs, and none leaves,
with the publication's order of pods and servers for the seeds 42 to 46. FGD places them. After every 200 pods some of
those that run may move: [`deschedule`](../guides/movers.md#deschedule) has those go that FGD's descheduling would
evict, to where FGD, or another agent, places them. With `victims: random` any pods are asked about; with `gpu-random`
they go anywhere. {left}

How to read it: to ask FGD again about pods that run leaves less over, and for that it hardly matters which pods. FGD's
choice soon finds no pod that is to move, so that chance, which always finds some, moves more and gains more; with 4
moves at a time they gain the same. To move pods anywhere gains nothing. The most that is gained here is what
[`gpu-lookahead`](gpus.md#the-default-pods) gains without moving anything.

"""
LEAVING = """

## A GPU cluster where pods leave again

`fgd/departures`: pods stay as long as they did, and come so close together that they ask for more than there is. Every
200 s, with a clock that runs 170 times as fast, 20 may move. The windows of the seeds have the same pods in another
mix, so that the intervals tell of chance in the mix only.

How to read it: with as many moves, FGD's choice of pods gains more than chance; but a tenth of a point is little.

"""


def run(name: str, out: Path) -> pl.DataFrame:
    """Run a scenario, and return its runs."""
    done = Batch(load_scenario(SCENARIOS[name]), out / name).run()
    if len(done.failed):
        raise SystemExit(f"runs failed: {done.failed['error'][0]}")
    return done.runs


def points(runs: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
    """Split runs into those without moves, and those of every other value of the swept key."""
    found = {str(value): rows.sort("seed") for (value,), rows in runs.group_by(KEY, maintain_order=True)}
    return found.pop("null"), found


def longer(rows: pl.DataFrame, base: pl.DataFrame) -> str:
    """Write by how much runs are longer than those of the same seeds without moves."""
    mean, half = mean_interval(np.log(rows["scheduled"].to_numpy() / base["scheduled"].to_numpy()))
    middle, low, high = (100 * (exp(value) - 1) for value in (mean, mean - half, mean + half))
    text = f"{middle:+.1f} % ({low:+.1f} to {high:+.1f})"
    return f"**{text}**" if abs(mean) > half else text


def whole_table(runs: pl.DataFrame) -> str:
    """Write how much longer runs are with so many moves every time, as a table in Markdown."""
    base, others = points(runs)
    movers: dict[str, dict[int, pl.DataFrame]] = {}
    for value, rows in others.items():
        movers.setdefault(said(value), {})[json.loads(value)["moves"]] = rows
    numbers = [*next(iter(movers.values()))]
    heads = [f"at most {number}" for number in numbers] + [f"moves per run, at most {number}" for number in numbers]
    placed = entry(base["scheduled"].to_numpy().astype(np.float64), 0)
    lines = [
        f"{len(base)} seeds; {placed} requests are placed without moves.\n",
        f"| mover | {' | '.join(heads)} |",
        f"| --- |{' --- |' * len(heads)}",
    ]
    for mover, by_number in movers.items():
        cells = [longer(by_number[number], base) for number in numbers]
        cells += [f"{by_number[number]['moves'].to_numpy().mean():,.0f}" for number in numbers]
        lines.append(f"| {mover} | {' | '.join(cells)} |")
    return "\n".join(lines)


def gains_table(runs: pl.DataFrame, metrics: dict[str, tuple[str, float]]) -> str:
    """Write what every mover changes, as a table in Markdown."""
    base, others = points(runs)
    heads = [what for what, _ in metrics.values()] + ["moves per run", "seconds per plan"]
    lines = [f"| mover | at most | {' | '.join(heads)} |", f"| --- | --- |{' --- |' * len(heads)}"]
    for value, rows in others.items():
        cells = [
            entry(times * differences(rows[name].to_numpy(), base[name].to_numpy()), 2, "+")
            for name, (_, times) in metrics.items()
        ]
        cells += [f"{rows['moves'].to_numpy().mean():,.0f}", f"{rows['plan_ms'].to_numpy().mean() / 1000:.2f}"]
        lines.append(f"| {said(value)} | {json.loads(value)['moves']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> None:
    """Run what is missing, and print the tables or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/rescheduling"))
    parser.add_argument("--page", action="store_true", help="write docs/experiments/rescheduling.md")
    asked = parser.parse_args(argv)
    whole, full, departures = (run(name, asked.out) for name in SCENARIOS)
    left = 100 * (1 - points(full)[0]["allocation_gpu_end"].to_numpy().mean())
    text = TEXT + whole_table(whole) + GPUS.format(left=f"Without moves {left:.2f} % of the GPUs are left in the end.")
    text += gains_table(full, FULL) + LEAVING + gains_table(departures, DEPARTURES) + "\n"
    if not asked.page:
        print(text)
        return
    PAGE.write_text(text, "utf-8")
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
