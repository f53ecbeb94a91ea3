"""`python -m benchmarks.lifetimes [--out FOLDER] [--page]`: what lifetimes are worth, over the noise of predictions.

Runs the scenarios below lifetimes/, about a quarter of an hour of CPU, and
prints by how much agents that ask for lifetimes differ from one that does not, on the same seeds; with `--page` into
docs/experiments/lifetimes.md. Runs that are in FOLDER already are not computed again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from binwright.analysis.compare.statistics import differences, mean_interval
from binwright.analysis.figures.chosen_style import style
from binwright.analysis.figures.style import heading, legend, looks, new, save, tidy
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.schema.load import load_scenario

PAGE = Path(__file__).parents[1] / "docs/experiments/lifetimes.md"
FIGURE = PAGE.parent / "figures/lifetimes.svg"
METRICS = {
    "allocation_cpu": ("cpu allocated, points", 100.0),
    "acceptance": ("accepted, points", 100.0),
    "servers_used": ("servers used", 1.0),
}


@dataclass(frozen=True)
class Case:
    """Says what a scenario compares: agents that ask, one that does not, and by what."""

    title: str
    base: str
    agents: tuple[str, ...]
    metrics: tuple[str, ...]
    says: str = ""


NETWORK = """`nara` and `best-home` with `reject` ask how long requests stay; 128 requests want
servers and bandwidth in the network alpha. nara learned, and best-home was tuned, where the truth was known. With
"declining" it may refuse what fits. Demands hardly ever repeat, so there is no survival table.

Declining gains where the noise is at most sigma 0.5; at sigma 1 no gain can be told, and at sigma 2 it is worse than to
take whatever fits. `nara` decides the same whatever it knows.

"""
FRAGMENTING = """Requests for whole nodes and servers arrive among small ones, some of which stay for hours and lie in
the way. This load was made to show what lifetimes can be worth; memoryless ones, and small requests only, show
where they are worth little.

"""
MEMORYLESS = """There are large requests, but all lifetimes have one exponential distribution.

"""
ASKING = ("nilas", "lava")
SHOWN = ("allocation_cpu", "servers_used")
CASES = {
    "huawei": Case("The Huawei trace", "best-fit", ASKING, SHOWN),
    "fragmenting": Case("A fragmenting load", "best-fit", ASKING, SHOWN, FRAGMENTING),
    "small": Case("Small requests only", "best-fit", ASKING, SHOWN),
    "memoryless": Case("Memoryless lifetimes", "best-fit", ASKING, SHOWN, MEMORYLESS),
    "network": Case(
        "Agents that learned, in a network",
        "best-home",
        ("best-home declining", "nara"),
        ("acceptance",),
        NETWORK,
    ),
}
ON_SERVERS = ("huawei", "fragmenting", "small", "memoryless")
KEY = "knowledge.lifetimes"
TEXT = """# What are lifetimes worth?

`python -m benchmarks.lifetimes --page` measured this and wrote the page. `nilas` and `lava` know in six ways how long
requests stay, and choose by best-fit where that decides nothing ([rules](../guides/lifetimes.md)). Every entry is the
mean difference from best-fit (from `best-home` [in a network](#agents-that-learned-in-a-network)) on the same requests,
with half of its 95 % t interval over the seeds; bold where the interval does not hold 0. Nothing is corrected for the
number of entries.

What lifetimes are worth depends on the load. They gain where long-lived small requests would lie in the way of large
ones. Where all requests are small, or none stays much longer than the others, they add nothing to what is allocated,
and `lava` loses some; where lifetimes are memoryless `nilas` still needs fewer servers.

- **known**: how long each request will stay. **sigma**: that times a factor whose logarithm is normal.
- **survival**: the median of requests of the same demand that stayed as long, from other rows or another seed.
- **shuffled**: the control, the lifetime of another request, so that only the mix is right.

All but `known` are asked again about requests that have outlived their prediction, so the control, too, learns what
stays for long. Windows of the trace overlap: their intervals are [somewhat too narrow](coverage.md).

![Gain over best-fit by what agents know](figures/lifetimes.svg)
"""


def known(value: str) -> str:
    """Name what agents know at a point, by the value of the swept key."""
    if value == "known":
        return value
    [(name, options)] = json.loads(value)["predicted"].items()
    return f"sigma {options['sigma']:g}" if name == "noise" else str(name)


def gains(runs: pl.DataFrame, agent: str, base: str, metric: str) -> dict[str, tuple[float, float]]:
    """Compute an agent's mean difference from the base and half of its interval, for all that is known."""
    found = {}
    for (value,), at_point in runs.group_by(KEY, maintain_order=True):
        of = [at_point.filter(pl.col("agent") == name).sort("seed")[metric].to_numpy() for name in (agent, base)]
        gained = METRICS[metric][1] * differences(*of)
        mean, half = mean_interval(gained)
        found[known(str(value))] = float(mean), float(half)
    return found


def table(case: Case, runs: pl.DataFrame) -> str:
    """Write all gains in one scenario as a table in Markdown."""
    base = runs.filter(pl.col("agent") == case.base).unique("seed")
    seeds, requests = len(base), base["offered"].to_numpy().mean()
    metrics = {name: METRICS[name] for name in case.metrics}
    means = ", ".join(f"{what} {times * base[name].to_numpy().mean():.2f}" for name, (what, times) in metrics.items())
    heads = [f"{agent}: {what}" for what, _ in metrics.values() for agent in case.agents]
    rows: dict[str, list[str]] = {}
    for metric in metrics:
        for agent in case.agents:
            for name, (mean, half) in gains(runs, agent, case.base, metric).items():
                text = f"{mean:+.2f} ± {half:.2f}"
                rows.setdefault(name, []).append(f"**{text}**" if abs(mean) > half else text)
    lines = [f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items()]
    said = f"{seeds} seeds of {requests:,.0f} requests. {case.base.capitalize()}: {means}.\n"
    return "\n".join([said, f"| knows | {' | '.join(heads)} |", f"|---|{'---|' * len(heads)}", *lines])


def draw(results: dict[str, pl.DataFrame]) -> Any:
    """Draw the gain in allocated cpu of both agents on servers, a panel for each scenario."""
    with style():
        figure, first = new("page", 4.6), CASES[ON_SERVERS[0]]
        look = looks([first.base, *first.agents])
        for ax, name in zip(figure.subplots(2, 2, sharex=True, sharey=True).flat, ON_SERVERS, strict=True):
            tidy(ax, grid="y")
            for shift, agent in enumerate(first.agents):
                found = gains(results[name], agent, first.base, "allocation_cpu")
                at = np.arange(len(found)) + 0.16 * shift - 0.08
                mean, half = np.array(list(found.values())).T
                colour, marker = look[agent]
                ax.errorbar(at, mean, half, color=colour, marker=marker, markersize=4, linewidth=0, elinewidth=1.0)
                ax.set_xticks(range(len(found)), [*found], rotation=25)
            ax.axhline(0, color="0.4", linewidth=0.8)
            ax.set_title(CASES[name].title, fontsize=8)
        for ax in figure.axes[::2]:
            ax.set_ylabel("cpu allocated, points over best-fit", fontsize=7)
        heading(figure, "What lifetimes are worth, by what agents know of them")
        legend(figure, first.agents, look)
        return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Run what is missing, and print the tables or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--page", action="store_true", help="write docs/experiments/lifetimes.md and its figure")
    parser.add_argument("--seeds", type=int, help="instead of as many as the scenarios say")
    asked = parser.parse_args(argv)
    results = {}
    for name in CASES:
        over = [] if asked.seeds is None else [f"replications={asked.seeds}"]
        done = Batch(load_scenario(f"lifetimes/{name}", over), asked.out / f"lifetimes-{name}").run()
        if len(done.failed):
            raise SystemExit(f"runs failed: {done.failed['error'][0]}")
        results[name] = done.runs
    tables = "\n".join(
        f"\n## {case.title}\n\n{case.says}{table(case, results[name])}"
        for name, case in CASES.items()
        if name != "small"  # the figure shows it, and the text says that nothing is gained there
    )
    if not asked.page:
        print(tables)
        return
    PAGE.write_text(f"{TEXT}{tables}\n", "utf-8")
    with style():
        save(draw(results), FIGURE)
    print(f"wrote {PAGE} and {FIGURE}")


if __name__ == "__main__":
    main()
