"""`python -m benchmarks.moves [--out FOLDER] [--page]`: what moves are worth, by mover and by how many there may be.

Measures every mover on snapshots of clusters in use, and runs the scenarios moves/worth-hourly and moves/worth-room:
twenty minutes of CPU, most of it for 1,000 servers and for making room. With `--page` it writes
docs/experiments/moves.md and its figure. What is in FOLDER already is not computed again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.moves_snapshots import CASES, LIMITS, MOVERS, OPTIMUM, OWN, falls, measured
from binwright.analysis.compare.statistics import differences, mean_interval
from binwright.analysis.figures.chosen_style import style
from binwright.analysis.figures.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    VERMILLION,
    heading,
    new,
    save,
    tidy,
)
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.schema.load import load_scenario
from binwright.simcore.types import Floats

PAGE = Path(__file__).parents[1] / "docs/experiments/moves.md"
FIGURE = PAGE.parent / "figures/moves.svg"
SINGLE, GROUPS = list(MOVERS)[:2]
LOOKS = {
    SINGLE: (BLUE, "o"),
    GROUPS: (GREEN, "D"),
    "vmr": (VERMILLION, "s"),
    "vmr and 8 samples": (PURPLE, "^"),
    OWN: (ORANGE, "p"),
    "control: at random": (GREY, "v"),
    OPTIMUM: (BLACK, "x"),
}
METRICS = {
    "allocation_cpu": ("cpu allocated, points", 100.0),
    "acceptance": ("accepted, points", 100.0),
    "servers_used": ("servers used", 1.0),
}
SHOWN = (50,)
"""The limits of moves that the tables have."""
COUNTED = {"moves": "moves", "moved": "GB moved"}
TEXT = """# What are moves worth?

`python -m benchmarks.moves --page` measured this and wrote the page. Every average has half of its 95 % t interval over
seeds. [Movers](../guides/movers.md) plan, and [runs](../guides/moves.md) carry plans out.

## Snapshots: the rate of fragments

A run by best-fit stops at half of its requests, and every mover gets the same cluster and a limit of moves. The **rate
of fragments** (VMR2L) is the share of all free cores that requests of 16 cores cannot use, node by node. Entries say by
how much the rate falls; every plan was carried out move by move.

Single moves run out at once, since best-fit leaves no node one request short of room. vmr is near the best possible on
clusters like those it learned on. On 280 and 1,000 servers groups and vmr gain the same; on the Huawei trace groups are
better, unless vmr learned on that trace.

- **greedy**: at each step the best move (`defragment`), single or in groups of up to 4 that leave one node together.
- **vmr**: learned on 24 servers and other seeds in 94 s of CPU; on the trace on 6 servers and earlier rows in 128 s.
  With **samples** it takes the best of 8 more plans.
- **controls**: the untrained network, and a random choice; both stop at the move with the fewest fragments.
- **the best possible**: CP-SAT's proof, or its bound after 30 s, for any choice of so many moves in any order.

VMR2L's published fall is from .555 to .29 with 50 moves on 280 servers, on data that cannot be shipped.

![By how much the rate of fragments falls, over the limit of moves](figures/moves.svg)
"""


def entry(values: Floats, digits: int = 3, sign: str = "") -> str:
    """Write a mean with half of its interval, bold where that does not hold 0."""
    mean, half = mean_interval(values)
    text = f"{mean:{sign}.{digits}f} ± {half:.{digits}f}"
    return f"**{text}**" if sign and abs(mean) > half else text


def snapshot_table(title: str, rows: list[dict[str, Any]]) -> str:
    """Write what movers came to on the snapshots of a case, as a section in Markdown."""
    names = [name for name in [*MOVERS, OWN, OPTIMUM] if any(row["mover"] == name for row in rows)]
    seeds = {row["seed"]: row for row in rows}.values()
    requests = np.mean([row["requests"] for row in seeds])
    before = entry(np.array([row["before"] for row in seeds]))
    lines = [
        f"\n### {title}\n",
        f"{len(seeds)} snapshots, {requests:,.0f} requests run on average; the rate is {before} before.\n",
        f"| mover | {' | '.join(f'{limit} moves' for limit in SHOWN)} | seconds of CPU for {LIMITS[-1]} |",
        f"|---|{'---|' * (len(SHOWN) + 1)}",
    ]
    for name in names:
        last = [row for row in rows if (row["mover"], row["limit"]) == (name, LIMITS[-1])]
        seconds = np.mean([row["seconds"] for row in last])
        cells = [entry(falls(rows, name, limit)) for limit in SHOWN]
        lines.append(f"| {name} | {' | '.join(cells)} | {seconds:.2g} |")
    learned = [name for name in ("vmr", OWN) if name in names]
    for name in learned:
        cells = [entry(falls(rows, name, limit) - falls(rows, GROUPS, limit), 3, "+") for limit in SHOWN]
        lines.append(f"| {name}, less {GROUPS} | {' | '.join(cells)} | |")
    return "\n".join(lines)


def draw(results: dict[str, list[dict[str, Any]]]) -> Any:
    """Draw by how much the rate falls over the limit of moves, a panel for each case and a line for each mover."""
    with style():
        figure = new("page", 4.6)
        for ax, (name, rows) in zip(figure.subplots(2, 2).flat, results.items(), strict=True):
            tidy(ax, grid="y")
            for mover, (colour, marker) in LOOKS.items():
                found = [falls(rows, mover, limit) for limit in LIMITS]
                if len(found[0]):
                    mean, half = np.array([mean_interval(values) for values in found]).T
                    line = {"color": colour, "marker": marker, "markersize": 4, "linewidth": 1.0, "elinewidth": 0.8}
                    ax.errorbar(LIMITS, mean, half, label=mover, **line)
            ax.set_title(CASES[name].title, fontsize=8)
            ax.set_xlabel("limit of moves", fontsize=7)
            ax.set_ylim(bottom=0)
        for ax in figure.axes[::2]:
            ax.set_ylabel("fall of the rate of fragments", fontsize=7)
        heading(figure, "Gain over the limit of moves, by mover")
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=7)
        return figure


def said(value: str) -> str:
    """Name a mover as in the scenario, by the value of the swept key."""
    mover = json.loads(value)["mover"] if value != "null" else "no moves"
    if isinstance(mover, str):
        return mover
    [(name, options)] = mover.items()
    return f"{name}, {', '.join(f'{key}: {value}' for key, value in options.items())}"


def hourly_table(runs: pl.DataFrame) -> str:
    """Write what every mover changes, as a table in Markdown."""
    groups = {str(key[0]): rows.sort("seed") for key, rows in runs.group_by("rescheduling", maintain_order=True)}
    base = groups["null"]
    counted = [name for name in COUNTED if name in runs.columns]
    heads = [what for what, _ in METRICS.values()] + [f"{COUNTED[name]} per run" for name in counted]
    means = ", ".join(f"{what} {times * base[name].to_numpy().mean():.2f}" for name, (what, times) in METRICS.items())
    lines = [
        f"{len(base)} seeds of {base['offered'].to_numpy().mean():,.0f} requests. Without moves: {means}.\n",
        f"| mover | {' | '.join(heads)} |",
        f"|---|{'---|' * len(heads)}",
    ]
    for value, rows in groups.items():
        if value == "null":
            continue
        cells = [
            entry(times * differences(rows[name].to_numpy(), base[name].to_numpy()), 2, "+")
            for name, (_, times) in METRICS.items()
        ]
        cells += [f"{rows[name].to_numpy().mean():,.0f}" for name in counted]
        lines.append(f"| {said(value)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def room_table(runs: pl.DataFrame) -> str:
    """Write how much longer runs are with moves that make room, as a table in Markdown."""
    points = {str(value): rows for (value,), rows in runs.group_by("overflow", maintain_order=True)}
    stop, *others = points
    others = others[::2]  # at most one move, and three
    heads = [f"at most {json.loads(value)['make_room']['moves']}" for value in others]
    heads += ["more requests, at most 3", "moves per run, at most 3"]
    lines = [f"| agent | requests placed | {' | '.join(heads)} |", f"|---|---|{'---|' * len(heads)}"]
    for (agent,), base in points[stop].group_by("agent", maintain_order=True):
        placed = base.sort("seed")["scheduled"].to_numpy()
        cells = []
        for value in others:
            more = points[value].filter(pl.col("agent") == agent).sort("seed")
            ratio = np.log(more["scheduled"].to_numpy() / placed)
            mean, half = mean_interval(ratio)
            middle, low, high = (100 * (exp(value) - 1) for value in (mean, mean - half, mean + half))
            text = f"{middle:+.1f} % ({low:+.1f} to {high:+.1f})"
            text = f"**{text}**" if mean > half else text
            typical = 100 * (exp(np.median(ratio)) - 1)
            cells.append(f"{text}, median {typical:+.1f} %, {np.mean(ratio > 0):.0%} longer")
        cells.append(entry(differences(more["scheduled"].to_numpy(), placed), 0, "+"))
        cells.append(f"{more['moves'].to_numpy().mean():,.1f}")
        lines.append(f"| {agent} | {entry(placed.astype(np.float64), 0)} | {' | '.join(cells)} |")
    return "\n".join(lines)


HOURLY = """
## Whole runs: twenty moves an hour

Best-fit places requests for a few cores, a whole node or both nodes of a server, some of which stay for long ([the
load](lifetimes.md#a-fragmenting-load)); every hour a mover may move 20 of them, in no time. Entries are differences to
no moves on the same seeds, bold where the interval does not hold 0. The goal matters more than the mover: room for
requests of 16 cores is no room for those of 40.

"""
ROOM = """
## Whole runs: making room

Ten servers, half full at the start, take requests of the Huawei trace until the first that fits nowhere, unless moves
make room for it (`overflow: {make_room: {moves: 3, then: stop}}`, exhaustive search). Entries are geometric means of
the ratio of lengths with their intervals, the median, and the share of seeds with longer runs. A single burst ends most
runs, so the median gains nothing; the mean comes from the few that outlive a burst.

"""


def run(name: str, out: Path) -> pl.DataFrame:
    """Run a scenario, and return its runs."""
    done = Batch(load_scenario(f"moves/worth-{name}"), out / name).run()
    if len(done.failed):
        raise SystemExit(f"runs failed: {done.failed['error'][0]}")
    return done.runs


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what is missing, and print the tables or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/moves"))
    parser.add_argument("--page", action="store_true", help="write docs/experiments/moves.md and its figure")
    asked = parser.parse_args(argv)
    results = measured(asked.out)
    text = "\n".join(snapshot_table(CASES[name].title, rows) for name, rows in results.items() if name != "large")
    text += f"\n{HOURLY}{hourly_table(run('hourly', asked.out))}\n{ROOM}{room_table(run('room', asked.out))}"
    if not asked.page:
        print(text)
        return
    PAGE.write_text(f"{TEXT}{text}\n", "utf-8")
    with style():
        save(draw(results), FIGURE)
    print(f"wrote {PAGE} and {FIGURE}")


if __name__ == "__main__":
    main()
