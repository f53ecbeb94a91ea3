"""The solver as an agent, and servers for it."""

import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any

import numpy as np
import pytest

from binwright.agents import AGENTS, solver
from binwright.agents.solver.backends import attempt, cpu, vectors
from binwright.agents.solver.local import construct, polish, search, state  # construct copies kernels
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.agents.solver.model.source import function_of
from binwright.simcore import rng
from binwright.simcore.jit import is_kernel
from binwright.simcore.types import QUANTUM, Agent, View
from tests.reference import random
from tests.reference.utilisation import evaluate
from tests.support import ROOT
from tests.support.views import view_of

TEMPLATES = ROOT / "binwright" / "agents" / "solver" / "templates"
"""The folder of the templates that are shipped."""
NAMED = """
TABLE NODE FROM "nodes.csv" COLUMN "name" AS node
TABLE ZONE FROM "nodes.csv" COLUMN "zone" AS zone
TABLE HAS FROM "nodes.csv" COLUMN "cpu"
TABLE POD FROM "pods.csv" COLUMN "name" AS pod
TABLE APP FROM "pods.csv" COLUMN "app" AS app
TABLE NEEDS FROM "pods.csv" COLUMN "cpu"
TABLE HOME FROM "pods.csv" COLUMN "node" AS node
BALLS len(POD) AS pod
BINS len(NODE) AS node
RESOURCES CPU[n in BINS] => HAS[n], COPIES[a in len(app), z in len(zone)] => 1
procedure UTILFN(BALL, BIN, ALLOC)
    UTIL.CPU[BIN] += NEEDS[BALL]
    if APP[BALL] >= 0 UTIL.COPIES[APP[BALL], ZONE[BIN]] += 1 end
end
"""
"""Pods on nodes, by names."""


def problem(
    text: str,
    *,
    balls: int | None = None,
    bins: int | str | None = None,
    resources: Mapping[str, Any] | None = None,
    tables: Mapping[str, Any] | None = None,
    now: Sequence[int | None] | None = None,
) -> Problem:
    """Make a problem from UTILFN's text, and the rest as values: capacities are numbers, texts, or arrays."""
    head = [f"{word} {count}" for word, count in (("BALLS", balls), ("BINS", bins)) if count is not None]
    options = dict(tables or {})
    for name, capacity in (resources or {}).items():
        if np.ndim(capacity):
            table = f"_{name.partition('[')[0]}"
            options[table] = capacity
            capacity = f"{table}[{', '.join(re.findall(r'([A-Za-z_]+) in', name))}]"
        head.append(f"RESOURCES {name} => {capacity}")
    return solver.problem(" ".join([*head, text]), tables=options, now=now)


def changed(problem: Problem, now: Any, moves: int | None = None, drain: Iterable[int] = ()) -> Problem:
    """Make a problem anew: where the balls are now, how many may move, and what is to be empty."""
    other: Problem = problem.source.changed(now, moves, drain).problem()
    return other


def started(view: View, seed: int = 0, **options: Any) -> Agent:
    """Start a solver with these options on a cluster."""
    agent: Agent = AGENTS.load("solver")(**options)
    agent.start(view, rng.stream(seed, "agent"))
    return agent


@contextmanager
def nothing_compiled() -> Iterator[None]:
    """Let no kernel be there until the end: CP-SAT and plain Python are through small problems before."""
    over = threading.Event()

    def waiting(*_: object) -> Iterator[None]:
        over.wait()
        yield None

    with pytest.MonkeyPatch.context() as patch:
        for what in ("backends.cpu.attempts", "local.search.attempts", "local.polish.improved"):
            patch.setattr(f"binwright.agents.solver.{what}", waiting)
        try:
            yield
        finally:  # or a test that fails would never end
            over.set()


@contextmanager
def plain_kernels() -> Iterator[None]:
    """Run searches in plain Python until the end: for a few balls that takes less time than to compile them."""
    numbers = {  # numpy refuses the negative keys that numba wraps around
        "stream": lambda *key: np.uint64(random.stream(*map(int, key))),
        "below": lambda *key: random.below(*map(int, key)),
    }
    with pytest.MonkeyPatch.context() as patch:
        for module in (attempt, construct, vectors, cpu, state, search, polish):
            for name, function in [*vars(module).items()]:
                if is_kernel(function):
                    patch.setattr(module, name, numbers.get(name, function.py_func))
        for module in (cpu, polish):
            patch.setattr(module, "compiled", lambda source, name, *_: function_of(source, name))
        yield


def servers(count: int = 6) -> View:
    """Build a view of servers of two nodes, which are in use by different amounts."""
    free = np.random.default_rng(3).integers(2, 10, (count, 2, 2)) * QUANTUM
    return view_of(free.tolist(), np.full((count, 2, 2), 10 * QUANTUM).tolist())


def right(inputs: Problem, places: Sequence[int]) -> bool:
    """Tell whether an allocation of all balls keeps every rule, by the definition."""
    pins = zip(inputs.pins.tolist(), places, strict=True)
    bins_of = [[{places[ball] for ball in members} for members, chance in sets if chance == MICRO]
               for sets in (inputs.friends, inputs.foes)]  # fmt: skip
    if any(pin not in (NULL, place) for pin, place in pins) or any(len(at) > 1 for at in bins_of[0]):
        return False
    used, rejected = evaluate(inputs, places)
    over = np.array(used) > inputs.capacity
    many = (over[inputs.soft_group == group].sum() > most for group, most in enumerate(inputs.soft_allowed))
    above = (np.array(used) > inputs.ceiling).any()
    return not (rejected or above or any(many) or any(len(at) == 1 for at in bins_of[1]))


def stated(word: str, sets: Iterable[Iterable[int]]) -> str:
    """Write sets of balls: a declaration of this word for each."""
    return " ".join(f"{word} {', '.join(map(str, members))}" for members in sets)


def possible(inputs: Problem) -> bool:
    """Tell whether any allocation of all balls keeps every rule."""
    return any(right(inputs, places) for places in product(range(inputs.bins), repeat=inputs.balls))
