"""How much longer `value-es` lasts than the agents it is measured against: python -m benchmarks.value [--trace FILE].

The protocol of `benchmarks.internal`: superposed windows with random starts, the same for all agents; the first request
that fits nowhere ends an episode. Rows 0-49,999 were for training and choosing; the default are the rows after them.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
import numpy.typing as npt
import polars as pl

from agents import AGENTS
from benchmarks.internal import SETTINGS, SPLIT, WARM, gain
from fabric.cluster import NEVER, Cluster
from fabric.compiled.numa_replay import Replay
from fabric.compiled.numa_run import CompiledSimulation, play_compiled
from fabric.ledger import Ledger
from simcore.rules import Overflow
from simcore.vocabulary import QUANTUM, Agent, Compiled, Floats, Workload

BASE = ("best-fit", "internal")


def workload_of(trace: npt.NDArray[np.float64], servers: int, windows: int, rows: int, episode: int) -> Workload:
    """Draw requests as `benchmarks.internal` does; `trace` float64 [n, 4] has at, lt, cpu and mem."""
    starts = np.random.default_rng([servers, episode]).integers(0, len(trace) - rows + 1, windows)
    picked = starts[:, None] + np.arange(rows)
    arrival = (trace[picked, 0] - trace[starts, 0][:, None]).ravel()
    order = np.argsort(arrival, kind="stable")
    part = trace[picked.ravel()[order]]
    demand = part[:, 2:].astype(np.int64) * QUANTUM
    return Workload(("cpu", "mem"), arrival[order], part[:, 1].copy(), demand, np.arange(len(order)))


def rules_of(agents: Sequence[tuple[str, str | None]]) -> list[Compiled]:
    """By name, and the name or the file of the weights where there is one."""
    view = Ledger(cluster_of(1)).view
    rules = []
    for name, path in agents:
        kind = AGENTS.load(name)
        weights = {} if path is None else {"path": path} if path.endswith(".safetensors") else {"weights": path}
        agent: Agent = kind(**weights)
        agent.start(view, np.random.default_rng(0))
        assert agent.compiled
        rules.append(agent.compiled)
    return rules


def cluster_of(servers: int) -> Cluster:
    """Two nodes of 40 cores and 90 GB each; memory above 10 GB is spread."""
    capacity = np.tile(np.array([40, 90]) * QUANTUM, (servers, 2, 1))
    return Cluster(("cpu", "mem"), capacity, (NEVER, 10 * QUANTUM), capacity[0])


def lengths(
    trace: npt.NDArray[np.float64],
    agents: Sequence[tuple[str, str | None]],
    setting: tuple[int, int, int],
    episodes: Sequence[int],
) -> Floats:
    """Count requests placed, float64 [agents, warm starts, episodes]."""
    rules = rules_of(agents)
    result = np.empty((len(rules), len(WARM), len(episodes)))
    for number, episode in enumerate(episodes):
        for j, replay in enumerate(replays_of(trace, setting, episode)):
            result[:, j, number] = [replay.placed(rule) for rule in rules]
    return result


def replays_of(trace: npt.NDArray[np.float64], setting: tuple[int, int, int], episode: int) -> list[Replay]:
    """Make an episode from every warm start."""
    servers, best_fit = setting[0], AGENTS.load("best-fit")()
    workload = workload_of(trace, *setting, episode)
    replays = []
    for share in WARM:
        ledger = Ledger(cluster_of(servers))
        simulation = CompiledSimulation(workload, ledger, Overflow("drop"))
        wanted = share * servers * 80 * QUANTUM

        def missing(ledger: Ledger = ledger, wanted: float = wanted) -> int:
            left = wanted - int(ledger.used()[0])
            return max(1, int(left // (64 * QUANTUM))) if left > 0 else 0

        play_compiled(simulation, best_fit, missing)
        simulation.overflow = Overflow("stop")
        replays.append(Replay(simulation))
    return replays


def main() -> None:
    """Print a table for each setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trace", default="../shared/traces/huawei-east-1.csv")
    parser.add_argument("--design", action="store_true")
    parser.add_argument("--episodes", type=int, default=400)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--servers", type=int, nargs="*", default=[10, 20, 50])
    parser.add_argument("--weights", nargs="*", default=[], help="names or files instead of the default weights")
    options = parser.parse_args()
    whole = pl.read_csv(options.trace).select("at", "lt", "cpu", "mem").to_numpy().astype(np.float64)
    trace = whole[:SPLIT] if options.design else whole[SPLIT:]
    agents = [(name, None) for name in BASE] + [("value-es", path) for path in options.weights or [None]]
    for setting in (one for one in SETTINGS if one[0] in options.servers):
        parts = np.array_split(np.arange(options.episodes), options.jobs)
        with ProcessPoolExecutor(options.jobs) as pool:
            found = list(pool.map(partial(lengths, trace, agents, setting), [part.tolist() for part in parts]))
        base, other, *ours = np.concatenate(found, axis=2)
        print(f"{setting[0]} servers; warm start {', '.join(f'{w:.0%}' for w in WARM)}, all")
        print(f"  {'best-fit':34}", *(f"{mean:>16.0f}" for mean in base.mean(axis=1)))
        for name, length, than in (
            ("internal over best-fit", other, base),
            *(
                (f"{path or 'value-es'} over best-fit", length, base)
                for (_, path), length in zip(agents[2:], ours, strict=True)
            ),
            *(
                (f"{path or 'value-es'} over internal", length, other)
                for (_, path), length in zip(agents[2:], ours, strict=True)
            ),
        ):
            cells = [gain(length[j], than[j]) for j in range(len(WARM))]
            print(
                f"  {name[-34:]:34}", *(f"{cell:>16}" for cell in (*cells, gain(length.sum(axis=0), than.sum(axis=0))))
            )


if __name__ == "__main__":
    main()
