"""Do 95 % intervals over seeds of one trace cover the truth? By simulation, with traces that have bursts.

Every trace is drawn anew from one process, and replicated by windows with random starts, in a narrow range or anywhere,
by windows apart, and by moving blocks of the trace put together anew. A way is honest when its intervals contain the
mean over windows of many other traces 95 times of 100: for the acceptance of first-fit, and for its difference to
worst-fit. Prints; fails never.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from agents.heuristics.servers.first_fit import FirstFit
from agents.heuristics.servers.worst_fit import WorstFit
from analysis.compare.statistics import differences, mean_interval
from fabric.cluster import NEVER, Cluster
from fabric.ledger import Ledger
from simcore.engine import Simulation
from simcore.play import play
from simcore.record import PLACED
from simcore.rng import stream
from simcore.rules import Overflow
from simcore.types import QUANTUM, Floats, Ints, Workload
from workloads.traces.mapped import Columns, structured
from workloads.windows import ApartRows, RandomRow, Window, select

ROWS, REQUESTS, BLOCK = 3600, 300, 60
"""Of a trace; of a window; of a moving block."""
SEEDS, MORE = 10, 40
"""Of an experiment: as many as there is room for windows apart, nearly, and more than that."""
TRACES, TRUTH = 200, 3000
"""Experiments, and windows of other traces for the truth."""
SPELL = 30
"""How many requests a burst has on average, and the quiet between two."""
SERVERS, CORES = 10, 8


def trace(rng: np.random.Generator, rows: int) -> Columns:
    """Draw requests in bursts and between them: more of them at a time in bursts, and larger ones."""
    turns = rng.random(rows) < 1 / SPELL
    burst = (np.cumsum(turns) + rng.integers(2)) % 2 == 1
    gaps = rng.exponential(np.where(burst, 1.0, 4.0))
    sizes = np.where(burst, rng.choice([1, 2, 6], rows), rng.choice([1, 2, 3], rows))
    columns = {"arrival": np.cumsum(gaps), "lifetime": rng.exponential(60.0, rows), "cpu": sizes.astype(float)}
    return structured(pl.DataFrame({"id": np.arange(rows), **columns}))


def accepted(workload: Workload) -> list[float]:
    """Measure the acceptance of first-fit and of worst-fit."""
    found = []
    for agent in (FirstFit(), WorstFit()):
        capacity = np.full((SERVERS, 1, 1), CORES * QUANTUM)
        ledger = Ledger(Cluster(("cpu",), capacity, (NEVER,), capacity[0]))
        simulation = Simulation(workload, ledger, Overflow("drop"))
        agent.start(simulation.view, stream(0, "agent"))
        play(simulation, agent)
        found.append(float((simulation.record.outcome[: len(workload)] == PLACED).mean()))
    return found


def windows(window: Window) -> Callable[[Columns, int], Workload]:
    """Make what selects the requests that a seed meets of a trace through a window."""
    return lambda table, seed: select(table, window, ("cpu",), seed)


def blocks(requests: int) -> Callable[[Columns, int], Workload]:
    """Make what draws as many requests of a trace in blocks from anywhere, with the gaps before and between them."""

    def draw(table: Columns, seed: int) -> Workload:
        rng = stream(seed, "blocks")
        starts = rng.integers(1, len(table) - BLOCK + 1, -(-requests // BLOCK))
        rows: Ints = (starts[:, None] + np.arange(BLOCK)).reshape(-1)[:requests]
        gaps = table["arrival"][rows] - table["arrival"][rows - 1]
        demand = np.rint(table["cpu"][rows] * QUANTUM).astype(np.int64)[:, None]
        return Workload(("cpu",), np.cumsum(gaps) - gaps[0], table["lifetime"][rows], demand, np.arange(requests))

    return draw


LAST = ROWS - REQUESTS
NARROW, WIDE, APART = RandomRow(0, 200), RandomRow(0, LAST), ApartRows(0, LAST)
WAYS = {
    f"random starts 0 to 200, {SEEDS} seeds": (windows(Window(NARROW, REQUESTS)), SEEDS),
    f"random starts 0 to {LAST}, {SEEDS} seeds": (windows(Window(WIDE, REQUESTS)), SEEDS),
    f"random starts 0 to {LAST}, {MORE} seeds": (windows(Window(WIDE, REQUESTS)), MORE),
    f"windows apart, {SEEDS} seeds": (windows(Window(APART, REQUESTS)), SEEDS),
    f"moving blocks, {SEEDS} seeds": (blocks(REQUESTS), SEEDS),
    f"moving blocks, {MORE} seeds": (blocks(REQUESTS), MORE),
}
"""How a seed's requests are drawn from a trace, and how many seeds there are."""


def truth(count: int) -> Floats:
    """Average the acceptance of both agents, and the difference, over windows of as many traces, float64 [3]."""
    rng = np.random.default_rng(1)
    window = Window(REQUESTS, REQUESTS)
    found = np.array([accepted(select(trace(rng, 2 * REQUESTS), window, ("cpu",), 0)) for _ in range(count)])
    mean: Floats = np.append(found, found[:, :1] - found[:, 1:], axis=1).mean(axis=0)
    return mean


def covered(way: str, mean: Floats, traces: int) -> tuple[float, float]:
    """How often the interval of first-fit's acceptance contains its mean, and that of the difference its own."""
    rng = np.random.default_rng(2)
    draw, seeds = WAYS[way]
    hits = np.zeros(2)
    for _ in range(traces):
        table = trace(rng, ROWS)
        both = np.array([accepted(draw(table, seed)) for seed in range(seeds)]).T
        for number, (values, wanted) in enumerate(((both[0], mean[0]), (differences(both[0], both[1]), mean[2]))):
            middle, half = mean_interval(values)
            hits[number] += abs(middle - wanted) <= half
    first, second = (hits / traces).tolist()
    return first, second


def main() -> None:
    """Print the coverage of every way."""
    mean = truth(TRUTH)
    print(f"{TRACES} traces of {ROWS} rows, {REQUESTS} requests a seed; truth {mean.round(4).tolist()}")
    print(f"{'':36}{'first-fit':>11}{'difference':>12}")
    for name in WAYS:
        first, second = covered(name, mean, TRACES)
        print(f"{name:36}{100 * first:>10.0f}%{100 * second:>11.0f}%", flush=True)


if __name__ == "__main__":
    main()
