"""Offline placement: sets of virtual machines that are all known at once, to be packed onto few equal servers.

**PgRank, ClkBot and ImgProc are fitted.** The publication (Rai, Bhagwan and Guha, "Generalized Resource Allocation for
the Cloud", SoCC 2012) gives the number of virtual machines and their average demands, nothing more. The correlations,
spreads and largest demands below were chosen so that the lower bound and the three heuristics come near what it
reports for its own, unpublished inputs. That is a calibration: how many servers a heuristic needs here is no evidence
about the publication, and other seeds differ from seed 1 by a few servers.

The others are drawn anew from published rules, since nobody has the streams of random numbers of their authors: they
are of the same kind, and not the same instances. `binwright.workloads.offline_files` reads the published files.

- `ct1` to `ct10`: random two-dimensional instances after Caprara and Toth, "Lower bounds and algorithms for the
  2-dimensional vector packing problem", Discrete Applied Mathematics 111, 2001.
- `u120` to `u1000` and the triplets `t60` to `t501`: Falkenauer, "A hybrid grouping genetic algorithm for bin packing",
  Journal of Heuristics 2, 1996. Triplets fill a bin of 1,000 exactly; every bin has three, so the optimum is known.

Those of FunSearch (Romera-Paredes and others, Nature 625, 2024) come in its order:

- `binpack1` to `binpack4` (OR1 to OR4 there): the 20 published instances each of the OR-Library's files of these names,
  Beasley, "OR-Library: distributing test problems by electronic mail", Journal of the Operational Research Society 41,
  1990. The items of each file are the first ones of the next.
- `weibull-5k`: five instances, published in github.com/google-deepmind/funsearch (CC BY 4.0).
- `weibull-10k`, `weibull-100k`: drawn, since the instances are not published. The text has items of a Weibull
  distribution of scale 45 and shape 3, cut off at 100 and rounded. Those that are published are rounded down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import yaml

from binwright.simcore.errors import WorkloadError, suggest
from binwright.simcore.types import QUANTUM, Floats, Ints, Workload

RESOURCES = ("cpu", "mem", "disk", "net_out", "net_in")
SERVER = np.array([1.0, 16, 50, 128, 128])
"""A server of 8 cores (cpu 1.0), 16 GB, 50 MB/s disk, 128 MB/s network each way."""
WIDEST = 10_000
"""Machines of a random class, at most: offline means that they fit into one search."""


@dataclass(frozen=True, slots=True, eq=False)
class Machines:
    """Virtual machines and the servers that they go onto."""

    name: str
    resources: tuple[str, ...]
    demand: Ints
    """[machines, resources], millionths of a unit: of a server for the fitted inputs, else whole numbers"""
    capacity: Ints
    """[resources]: of a server"""
    names: tuple[str, ...] | None = None
    """What the machines are called, if somebody has said it."""

    def requests(self, resources: tuple[str, ...], most: int | None = None) -> Workload:
        """Make requests of all, or the first so many, at time 0, never ending, on servers with these resources.

        Of resources that the machines do not know they need nothing.
        """
        if missing := [name for name in self.resources if name not in resources]:
            remedy = f"Give the servers {', '.join(self.resources)}."
            raise WorkloadError(f"{self.name} asks for {missing[0]}", key="workload.offline", remedy=remedy)
        count = len(self.demand[:most])
        demand = np.zeros((count, len(resources)), np.int64)
        demand[:, [resources.index(name) for name in self.resources]] = self.demand[:most]
        return Workload(resources, np.zeros(count), np.full(count, np.inf), demand, np.arange(count))


FITTED: Mapping[str, Mapping[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "offline_fitted.yaml").read_text(encoding="utf-8")
)
"""The inputs of Wrasse: their averages as published, the rest fitted. `rho` is the correlation of a demand's logarithm
with a factor that a machine's demands have in common, `top` the largest demand. Of `heavy` machines no two fit onto one
server: more than half of resource `key` each. Its `sigma` is the spread of the other machines' demand for that, and
`shift` how far the heavy machines' other demands lie from the rest, in standard deviations.
"""


def _fitted(given: Mapping[str, Any], rng: np.random.Generator) -> Ints:
    """Draw the demands of a fitted input, millionths of a server int64 [machines, resources]."""
    machines, heavy = given["machines"], given.get("heavy")
    normal = rng.standard_normal((machines, 1 + len(SERVER)))
    mean, rho = np.array(given["mean"]) / SERVER, np.array(given["rho"])
    score = rho * normal[:, :1] + np.sqrt(1 - rho * rho) * normal[:, 1:]
    if heavy:
        score[: heavy["count"]] += np.array(heavy["shift"])
    share: Floats = np.exp(np.array(given["sigma"]) * score)
    for _ in range(50 if heavy else 30):
        share = np.minimum(share * (mean / share.mean(axis=0)), np.array(given["top"]))
    if heavy:
        above = rng.uniform(heavy["low"], heavy["high"], heavy["count"])
        rest = np.exp(heavy["sigma"] * rng.standard_normal(machines)[heavy["count"] :])
        remaining = (float(mean[heavy["key"]]) * machines - above.sum()) / len(rest)
        for _ in range(50):
            rest = np.minimum(rest * (remaining / rest.mean()), 0.49)
        share[:, heavy["key"]] = np.concatenate([above, rest])
        rng.shuffle(share)
    return np.rint(share * QUANTUM).astype(np.int64)


Draw: TypeAlias = Callable[[np.random.Generator, int], Ints]
"""Draws the demands of so many machines in whole units, int64 [machines, resources]."""


def _uniform(low: int, high: int, resources: int = 2) -> Draw:
    return lambda rng, machines: rng.integers(low, high, (machines, resources), endpoint=True)


def _like(sign: int, low: int, high: int) -> Draw:
    """Make a class whose second demand is the first, or 120 less the first, give or take up to 10."""

    def draw(rng: np.random.Generator, machines: int) -> Ints:
        first = rng.integers(low, high, machines, endpoint=True)
        near = rng.integers(-10, 10, machines, endpoint=True)
        return np.column_stack([first, (first if sign > 0 else 120 - first) + near])

    return draw


def _halves(rng: np.random.Generator, machines: int) -> Ints:
    """Draw machines of which every three fill a server of 100."""
    pairs = rng.integers(25, 50, (2, machines // 3, 2), endpoint=True)
    return rng.permutation(np.concatenate([*pairs, 100 - pairs.sum(axis=0)]))


def _triplets(rng: np.random.Generator, count: int) -> Ints:
    """Cut bins of 1,000 into three: one of 380 to 490, one from 250 to half of what is left, and the rest."""
    first = rng.integers(380, 490, count // 3, endpoint=True)
    second = rng.integers(250, (1000 - first) // 2, endpoint=True)
    return rng.permutation(np.concatenate([first, second, 1000 - first - second]))[:, None]


NINTH, TENTH = "ct9", "ct10"
CLASSES: Mapping[str, tuple[int, Draw]] = {
    "ct1": (1000, _uniform(100, 400)),
    "ct2": (1000, _uniform(1, 1000)),
    "ct3": (1000, _uniform(200, 800)),
    "ct4": (1000, _uniform(50, 200)),
    "ct5": (1000, _uniform(25, 100)),
    "ct6": (150, _uniform(20, 100)),
    "ct7": (150, _like(1, 20, 100)),
    "ct8": (150, _like(-1, 20, 100)),
    NINTH: (1000, _uniform(100, 400)),
    TENTH: (100, _halves),
}
"""Capacity of both resources, and how demands are drawn. ct7's demands are alike, ct8's opposed; ct9's servers have as
much of the resource that is asked for less as goes with that. They have as many machines as are asked for.
"""
BALLS: Mapping[str, tuple[int, int, Draw]] = {
    **{f"u{count}": (count, 150, _uniform(20, 100, 1)) for count in (120, 250, 500, 1000)},
    **{f"t{count}": (count, 1000, _triplets) for count in (60, 120, 249, 501)},
}
"""The classes of one dimension: how many balls, what a bin holds, and how they are drawn."""
BINPACK = {"binpack1": 120, "binpack2": 250, "binpack3": 500, "binpack4": 1000}
DRAWN = {"weibull-10k": 10_000, "weibull-100k": 100_000}
ITEMS = (*BINPACK, "weibull-5k", *DRAWN)


def items_of(name: str, seed: int) -> tuple[Ints, int]:
    """Return the items of an instance, int64 [items], and what a bin holds; a seed beyond the last begins again."""
    if name in DRAWN:
        drawn = 45 * np.random.default_rng(seed).weibull(3, DRAWN[name])
        return np.clip(np.floor(drawn), 1, 100).astype(np.int64), 100
    with files("binwright.workloads").joinpath("published_items.npz").open("rb") as file, np.load(file) as published:
        if name not in BINPACK:
            parameters = published["weibull"]
            return parameters[seed % len(parameters)].astype(np.int64), 100
        number, count = seed % 20, BINPACK[name]
        return published["binpack"][number * count : (number + 1) * count].astype(np.int64), 150


NAMES = (*FITTED, *CLASSES, *BALLS, *ITEMS)


def machines(name: str, seed: int = 1, count: int | None = None) -> Machines:
    """Draw the machines of a name and a seed; `count` of them where the name leaves that open.

    Without `count` that is 200, or 201 where only multiples of three are.
    """
    if name not in NAMES:
        raise WorkloadError("unknown offline input", key="input", value=name, remedy=suggest(name, NAMES))
    if seed < 0:
        raise WorkloadError("is not a seed", key="seed", value=seed, remedy="Give a whole number from 0.")
    rng = np.random.default_rng(seed)
    if name in CLASSES:
        count = (201 if name == TENTH else 200) if count is None else count
        if not 1 <= count <= WIDEST or (name == TENTH and count % 3):
            remedy = f"Give 1 to {WIDEST}{', a multiple of 3' * (name == TENTH)}."
            raise WorkloadError("is not a count of machines", key="count", value=count, remedy=remedy)
        capacity, draw = CLASSES[name]
        demand, has = draw(rng, count), np.full(2, capacity)
        if name == NINTH:
            total = demand.sum(axis=0)
            has = -(-total // -(-total.max() // capacity))
        return Machines(name, ("a", "b"), demand * QUANTUM, has * QUANTUM)
    if count is not None:
        remedy = f"Leave it out, or take one of {', '.join(CLASSES)}."
        raise WorkloadError("this input has machines of its own", key="count", value=count, remedy=remedy)
    if name in FITTED:
        return Machines(name, RESOURCES, _fitted(FITTED[name], rng), np.full(len(RESOURCES), QUANTUM))
    if name in BALLS:
        balls, room, draw = BALLS[name]
        sizes = draw(rng, balls)
    else:
        items, room = items_of(name, seed)
        sizes = items[:, None]
    return Machines(name, ("size",), sizes * QUANTUM, np.array([room * QUANTUM]))
