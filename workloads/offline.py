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
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from binwright.simcore.errors import WorkloadError, suggest
from binwright.simcore.types import QUANTUM, Floats, Ints, Workload
from binwright.workloads import published_items

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
        """All, or the first so many, at time 0, never ending, on servers with these resources.

        Of resources that the machines do not know they need nothing.
        """
        if missing := [name for name in self.resources if name not in resources]:
            remedy = f"Give the servers {', '.join(self.resources)}."
            raise WorkloadError(f"{self.name} asks for {missing[0]}", key="workload.offline", remedy=remedy)
        count = len(self.demand[:most])
        demand = np.zeros((count, len(resources)), np.int64)
        demand[:, [resources.index(name) for name in self.resources]] = self.demand[:most]
        return Workload(resources, np.zeros(count), np.full(count, np.inf), demand, np.arange(count))


@dataclass(frozen=True, slots=True)
class Heavy:
    """A class of machines of which no two fit onto one server: more than half of resource `key` each.

    `sigma` is the spread of the other machines' demand for it, and `shift` how far the heavy machines' other demands
    lie from the rest, in standard deviations.
    """

    key: int
    count: int
    low: float
    high: float
    sigma: float
    shift: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Fitted:
    """A published input: its averages as published, the rest fitted.

    `rho` is the correlation of a demand's logarithm with a factor that a machine's demands have in common, `top` the
    largest demand.
    """

    machines: int
    mean: tuple[float, ...]
    rho: tuple[float, ...]
    sigma: tuple[float, ...]
    top: tuple[float, ...]
    heavy: Heavy | None = None

    def draw(self, rng: np.random.Generator) -> Floats:
        """Demand float64 [machines, resources] as shares of a server."""
        normal = rng.standard_normal((self.machines, 1 + len(SERVER)))
        mean, rho, heavy = np.array(self.mean) / SERVER, np.array(self.rho), self.heavy
        score = rho * normal[:, :1] + np.sqrt(1 - rho * rho) * normal[:, 1:]
        if heavy:
            score[: heavy.count] += np.array(heavy.shift)
        share: Floats = np.exp(np.array(self.sigma) * score)
        for _ in range(50 if heavy else 30):
            share = np.minimum(share * (mean / share.mean(axis=0)), np.array(self.top))
        if heavy:
            above = rng.uniform(heavy.low, heavy.high, heavy.count)
            rest = np.exp(heavy.sigma * rng.standard_normal(self.machines)[heavy.count :])
            remaining = (float(mean[heavy.key]) * self.machines - above.sum()) / len(rest)
            for _ in range(50):
                rest = np.minimum(rest * (remaining / rest.mean()), 0.49)
            share[:, heavy.key] = np.concatenate([above, rest])
            rng.shuffle(share)
        return share


FITTED = {
    "pgrank": Fitted(
        machines=474,
        mean=(0.16, 2.94, 7.67, 1.95, 2.03),
        rho=(0.95, -0.839101495, -0.043604738, 0.889001754, 0.794050081),
        sigma=(0.04914779, 0.645992389, 0.01735998, 0.17065981, 0.28207917),
        top=(0.747477938, 0.267608422, 0.343535926, 0.96654134, 0.467308861),
    ),
    "clkbot": Fitted(
        machines=885,
        mean=(0.14, 1.07, 19.69, 0.78, 1.22),
        rho=(0.544661211, -0.175600017, 0.150246021, -0.95, -0.144357017),
        sigma=(0.575014949, 0.380640358, 0.236658922, 0.10820817, 0.554068813),
        top=(0.980958608, 0.467168674, 0.653477689, 0.986103319, 0.62278861),
        heavy=Heavy(
            *(2, 420, 0.5005, 0.858176881, 0.750818976),
            shift=(0.100708198, -0.664250754, -0.35272956, -0.925902904, 0.533907818),
        ),
    ),
    "imgproc": Fitted(
        machines=2942,
        mean=(0.37, 0.35, 1.41, 0.92, 0.04),
        rho=(-0.2971197, -0.099466056, 0.065877102, -0.821207722, 0.86950972),
        sigma=(0.623890261, 0.20878251, 1.106612546, 0.657839943, 0.848185573),
        top=(0.318169722, 0.624165503, 0.618591092, 0.937211269, 0.714573542),
        heavy=Heavy(
            *(0, 1403, 0.500862641, 0.551298516, 0.931512046),
            shift=(-1.228078554, 1.818699485, -1.811882506, 0.991875059, 1.090138956),
        ),
    ),
}

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
NAMES = (*FITTED, *CLASSES, *BALLS, *published_items.NAMES)


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
        demand = np.rint(FITTED[name].draw(rng) * QUANTUM).astype(np.int64)
        return Machines(name, RESOURCES, demand, np.full(len(RESOURCES), QUANTUM))
    if name in BALLS:
        balls, room, draw = BALLS[name]
        sizes = draw(rng, balls)
    else:
        items, room = published_items.sizes(name, seed)
        sizes = items[:, None]
    return Machines(name, ("size",), sizes * QUANTUM, np.array([room * QUANTUM]))
