"""How long agents last on NUMA servers, beside Best-Fit and `internal`: python -m benchmarks.learned AGENT...

The protocol is that of `benchmarks.value`, and so are the episodes. Agents are written as in a scenario:

    python -m benchmarks.learned cvd-rl random-top '{cvd-rl: {weights: untrained, filter: none}}' --servers 10
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import yaml

from agents import AGENTS
from benchmarks.internal import SETTINGS, SPLIT, WARM, gain
from benchmarks.value import BASE, cluster_of, replays_of
from fabric.ledger import Ledger
from simcore.vocabulary import Agent, Compiled, Floats


def made(specs: Sequence[str]) -> list[Agent]:
    """Agents by their name, or {name: options}."""
    found = []
    for spec in specs:
        parsed: Any = yaml.safe_load(spec)
        name, options = (parsed, {}) if isinstance(parsed, str) else next(iter(parsed.items()))
        found.append(AGENTS.load(name)(**options))
    return found


def ready(agents: Sequence[Agent], servers: int, episode: int) -> list[Compiled]:
    """Their rules, with the random stream of an episode where they have one."""
    view = Ledger(cluster_of(servers)).view
    for agent in agents:
        agent.start(view, np.random.default_rng([7, episode]))
    return [rule for agent in agents if (rule := agent.compiled)]


def lengths(
    trace: npt.NDArray[np.float64], specs: Sequence[str], setting: tuple[int, int, int], episodes: Sequence[int]
) -> tuple[Floats, Floats]:
    """Count requests placed, float64 [agents, warm starts, episodes], and the seconds that each agent took for them."""
    agents = made(specs)
    result, seconds = np.empty((len(agents), len(WARM), len(episodes))), np.zeros(len(agents))
    for number, episode in enumerate(episodes):
        for j, replay in enumerate(replays_of(trace, setting, episode)):
            for i, rule in enumerate(ready(agents, setting[0], episode)):
                before = process_time()
                result[i, j, number] = replay.placed(rule)
                seconds[i] += process_time() - before
    return result, seconds


def main() -> None:
    """Print a table for each setting, in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agents", nargs="+")
    parser.add_argument("--trace", default="../shared/traces/huawei-east-1.csv")
    parser.add_argument("--design", action="store_true", help="on the rows for training")
    parser.add_argument("--episodes", type=int, default=250)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--servers", type=int, nargs="*", default=[10])
    options = parser.parse_args()
    whole = pl.read_csv(options.trace).select("at", "lt", "cpu", "mem").to_numpy().astype(np.float64)
    trace = whole[:SPLIT] if options.design else whole[SPLIT:]
    specs = [*BASE, *options.agents]
    for setting in (one for one in SETTINGS if one[0] in options.servers):
        parts = np.array_split(np.arange(options.episodes), options.jobs)
        with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
            found = list(pool.map(partial(lengths, trace, specs, setting), [part.tolist() for part in parts]))
        placed = np.concatenate([part for part, _ in found], axis=2)
        rate = placed.sum(axis=(1, 2)) / sum(seconds for _, seconds in found)
        base, other = placed[:2]
        means = "/".join(f"{mean:.0f}" for mean in base.mean(axis=1))
        print(f"\n{setting[0]} servers, {options.episodes} episodes; best-fit places {means}, {rate[0]:,.0f}/s\n")
        warm = [f"warm {share:.0%}" for share in WARM]
        print("|", " | ".join(["agent", *warm, "all over best-fit", "over internal", "requests/s"]), "|")
        print("|", " | ".join(["---"] * (5 + len(WARM))), "|")
        for spec, length, speed in zip(specs[1:], placed[1:], rate[1:], strict=True):
            cells = [gain(length[j], base[j]) for j in range(len(WARM))]
            cells += [gain(length.sum(axis=0), than.sum(axis=0)) for than in (base, other)]
            print("|", " | ".join([spec, *cells, f"{speed:,.0f}"]), "|")


if __name__ == "__main__":
    main()
