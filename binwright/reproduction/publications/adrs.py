"""ADRS (Cheng and others 2025): programs that language models evolve; of its case studies Prism, models on GPUs."""

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from time import monotonic

import numpy as np

from binwright.reproduction.claims import Value
from binwright.reproduction.experiment import Key
from binwright.simcore.extras import need
from binwright.simcore.types import Ints

MEMORY = 80
"""Of a GPU."""
CASES = 50
SECONDS = 0.3, 60.0
"""For a first placement of a case, and for the proof that none is better: half a second, twice 3 s on two cores."""
CLOSE = 1e-6
"""The share by which a better placement would have to be better."""

BEST, BETTER = (
    files("binwright.reproduction").joinpath("publications", f"{name}.alloc").read_text("utf-8")
    for name in ("prism", "prism-better")
)
"""A GPU keeps a pressure, in `BETTER`, if its load + pressure * size is at most pressure * 80. GPUs are alike, so they
have the order of their models: the one that needs most is on GPU 0, the next one on GPU 0 or 1."""


def prism(quick: bool) -> Mapping[Key, Value]:
    """Score the evaluator's baseline and our solver: 1 + 1 / the mean of the largest pressure, and for ours a bound."""
    need("ortools", "solver", what="The proof that no placement is better")
    each = [(pressure(of, greedy(gpus, of)), *solved(gpus, of)) for gpus, of in cases(CASES)]
    scores = [Value(round(1 + 1 / mean, 2), None, None, 1) for mean in np.mean(each, axis=0).tolist()]
    names = (("human", "score"), ("solver", "score"), ("solver", "proven bound"))
    return {("cases=50", *name): score for name, score in zip(names, scores, strict=True)}


def cases(number: int) -> Iterator[tuple[int, Ints]]:
    """Draw the evaluator's cases: the GPUs, and [models, 3] what each model has of size, requests and latency bound."""
    draw = np.random.RandomState(42)
    for _ in range(number):
        gpus = int(draw.randint(5, 10))
        yield gpus, np.array([[draw.randint(*ends) for ends in ((10, 30), (1, 10), (5, 10))] for _ in range(2 * gpus)])


def pressure(models: Ints, places: Sequence[int]) -> float:
    """Find the largest pressure of a GPU: the load of its models over the memory that they leave."""
    load, size = (np.bincount(places, weights) for weights in (models[:, 1] / models[:, 2], models[:, 0]))
    return float((load / (MEMORY - size)).max())


def greedy(gpus: int, models: Ints) -> list[int]:
    """Put models, by descending load, where the pressure is least."""
    load, left, places = np.zeros(gpus), np.full(gpus, MEMORY), np.zeros(len(models), np.int64)
    for model in np.argsort(-models[:, 1] / models[:, 2], kind="stable"):
        gpu = places[model] = np.where(left >= models[model, 0], load / left, np.inf).argmin()
        load[gpu] += models[model, 1] / models[model, 2]
        left[gpu] -= models[model, 0]
    return [int(place) for place in places]


def solved(gpus: int, models: Ints) -> tuple[float, float]:
    """Find a placement's pressure, and one that no placement is below."""
    from binwright.agents.solver import problem
    from binwright.agents.solver.solving.exact import Proof, prove
    from binwright.agents.solver.solving.solve import solve

    size, rate, slo = models.T
    tables, load = {"SIZE": size, "RATE": rate, "SLO": slo}, rate / slo
    best = solve(problem(BEST, params={"GPUS": gpus}, tables=tables), time=SECONDS[0])
    result, end = Proof(best.alloc, False, ()), monotonic() + SECONDS[1]
    while result.alloc is not None:
        least = pressure(models, result.alloc)
        lower = least * (1 - CLOSE)
        tables["RANK"] = np.argsort(np.argsort(-load - lower * size, kind="stable"))
        better = problem(BETTER, params={"GPUS": gpus, "PRESSURE": f"{1000 * lower:.6f}"}, tables=tables)
        result = prove(better, lambda: monotonic() > end)
    return least, lower if result.impossible else float(load.sum() / (MEMORY * gpus - size.sum()))
