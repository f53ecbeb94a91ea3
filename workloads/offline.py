"""Offline placement: sets of virtual machines that are all known at once, to be packed onto few equal servers.

**PgRank, ClkBot and ImgProc are fitted.** The publication (Rai, Bhagwan and Guha, "Generalized Resource Allocation for
the Cloud", SoCC 2012) gives the number of virtual machines and their average demands, nothing more. The correlations,
spreads and largest demands below were chosen so that the lower bound and the three heuristics come near what it
reports for its own, unpublished inputs. That is a calibration: how many servers a heuristic needs here is no evidence
about the publication, and other seeds differ from seed 1 by a few servers.

The other instances are of public kinds: `ct1` to `ct10` are classes of random two-dimensional instances after Caprara
and Toth, "Lower bounds and algorithms for the 2-dimensional vector packing problem", Discrete Applied Mathematics 111,
2001; `planted` cuts full bins into pieces, so that the number of bins needed is known. Those with one dimension are in
`binwright.workloads.literature`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from binwright.simcore.errors import WorkloadError, suggest
from binwright.simcore.types import QUANTUM, Floats, Ints, Workload
from binwright.workloads import literature, published_items

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
        missing = [name for name in self.resources if name not in resources]
        if missing:
            remedy = f"Give the servers {', '.join(self.resources)}."
            raise WorkloadError(f"{self.name} asks for {missing[0]}", key="workload.offline", remedy=remedy)
        count = len(self.demand[:most])
        demand = np.zeros((count, len(resources)), np.int64)
        demand[:, [resources.index(name) for name in self.resources]] = self.demand[:most]
        return Workload(resources, np.zeros(count), np.full(count, np.inf), demand, np.arange(count))


@dataclass(frozen=True, slots=True)
class Heavy:
    """A class of machines of which no two fit onto one server: more than half of resource `key` each."""

    key: int
    count: int
    low: float
    high: float
    sigma: float
    """Spread of the other machines' demand for the key resource."""
    shift: tuple[float, ...]
    """How far the heavy machines' other demands lie from the rest, in standard deviations."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A published input: its averages as published, the rest fitted."""

    machines: int
    mean: tuple[float, ...]
    rho: tuple[float, ...]
    """Correlation of a demand's logarithm with a factor that a machine's demands have in common."""
    sigma: tuple[float, ...]
    top: tuple[float, ...]
    """Largest demand."""
    heavy: Heavy | None = None

    def draw(self, rng: np.random.Generator) -> Floats:
        """Demand float64 [machines, resources] as shares of a server."""
        normal = rng.standard_normal((self.machines, 1 + len(SERVER)))
        mean, rho = np.array(self.mean) / SERVER, np.array(self.rho)
        score = rho * normal[:, :1] + np.sqrt(1 - rho * rho) * normal[:, 1:]
        heavy = self.heavy
        if heavy:
            score[: heavy.count] += np.array(heavy.shift)
        share: Floats = np.exp(np.array(self.sigma) * score)
        for _ in range(50 if heavy else 30):
            share = np.minimum(share * (mean / share.mean(axis=0)), np.array(self.top))
        if heavy:
            share[:, heavy.key] = self._key(rng, heavy, float(mean[heavy.key]))
            rng.shuffle(share)
        return share

    def _key(self, rng: np.random.Generator, heavy: Heavy, mean: float) -> Floats:
        above = rng.uniform(heavy.low, heavy.high, heavy.count)
        rest = np.exp(heavy.sigma * rng.standard_normal(self.machines)[heavy.count :])
        remaining = (mean * self.machines - above.sum()) / len(rest)
        for _ in range(50):
            rest = np.minimum(rest * (remaining / rest.mean()), 0.49)
        return np.concatenate([above, rest])


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
            key=2,
            count=420,
            low=0.5005,
            high=0.858176881,
            sigma=0.750818976,
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
            key=0,
            count=1403,
            low=0.500862641,
            high=0.551298516,
            sigma=0.931512046,
            shift=(-1.228078554, 1.818699485, -1.811882506, 0.991875059, 1.090138956),
        ),
    ),
}


def _uniform(low: int, high: int) -> Callable[[np.random.Generator, int], Ints]:
    return lambda rng, machines: rng.integers(low, high, (machines, 2), endpoint=True)


def _like(sign: int, low: int, high: int) -> Callable[[np.random.Generator, int], Ints]:
    """Make a class whose second demand is the first, or 120 less the first, give or take up to 10."""

    def draw(rng: np.random.Generator, machines: int) -> Ints:
        first = rng.integers(low, high, machines, endpoint=True)
        near = rng.integers(-10, 10, machines, endpoint=True)
        return np.column_stack([first, (first if sign > 0 else 120 - first) + near])

    return draw


CLASSES = {
    "ct1": (1000, _uniform(100, 400)),
    "ct2": (1000, _uniform(1, 1000)),
    "ct3": (1000, _uniform(200, 800)),
    "ct4": (1000, _uniform(50, 200)),
    "ct5": (1000, _uniform(25, 100)),
    "ct6": (150, _uniform(20, 100)),
    "ct7": (150, _like(1, 20, 100)),
    "ct8": (150, _like(-1, 20, 100)),
}
"""Capacity of both resources, and how demands are drawn. ct7's demands are alike, ct8's opposed."""

NINTH, TENTH, PLANTED = "ct9", "ct10", "planted"
OPEN = (*CLASSES, NINTH, TENTH, PLANTED)
"""Inputs with as many machines as are asked for."""
NAMES = (*FITTED, *OPEN, *literature.NAMES, *published_items.NAMES)


PIECES = 5
"""Machines of a planted instance that fill one server exactly."""


def machines(name: str, seed: int = 1, count: int | None = None) -> Machines:
    """Draw the machines of a name and a seed; `count` of them where the name leaves that open.

    Without `count` that is 200, or 201 where only multiples of three are.
    """
    if name not in NAMES:
        raise WorkloadError("unknown offline input", key="input", value=name, remedy=suggest(name, NAMES))
    if seed < 0:
        raise WorkloadError("is not a seed", key="seed", value=seed, remedy="Give a whole number from 0.")
    rng = np.random.default_rng(seed)
    if name not in OPEN and count is not None:
        remedy = f"Leave it out, or take one of {', '.join(OPEN)}."
        number = len(machines(name, seed).demand)
        raise WorkloadError(f"{name} has {number} machines", key="count", value=count, remedy=remedy)
    if name in (*literature.NAMES, *published_items.NAMES):
        sizes, room = literature.sizes(name, rng) if name in literature.NAMES else published_items.sizes(name, seed)
        return Machines(name, ("size",), sizes[:, None] * QUANTUM, np.array([room * QUANTUM]))
    if name in FITTED:
        demand = np.rint(FITTED[name].draw(rng) * QUANTUM).astype(np.int64)
        return Machines(name, RESOURCES, demand, np.full(len(RESOURCES), QUANTUM))
    count = (201 if name == TENTH else 200) if count is None else count
    if not 1 <= count <= WIDEST:
        raise WorkloadError("is not a count of machines", key="count", value=count, remedy=f"Give 1 to {WIDEST}.")
    if name == PLANTED:
        return Machines(name, ("a", "b"), _planted(rng, count), np.full(2, 1000 * QUANTUM))
    if name == NINTH:
        demand = rng.integers(100, 400, (count, 2), endpoint=True)
        total = demand.sum(axis=0)
        return Machines(name, ("a", "b"), demand * QUANTUM, -(-total // -(-total.max() // 1000)) * QUANTUM)
    if name == TENTH:
        if count % 3:
            remedy = "Give a multiple of 3: every three fill a server."
            raise WorkloadError("is not a count of machines", key="count", value=count, remedy=remedy)
        pairs = rng.integers(25, 50, (2, count // 3, 2), endpoint=True)
        demand = rng.permutation(np.concatenate([*pairs, 100 - pairs.sum(axis=0)]))
        return Machines(name, ("a", "b"), demand * QUANTUM, np.full(2, 100 * QUANTUM))
    capacity, draw = CLASSES[name]
    return Machines(name, ("a", "b"), draw(rng, count) * QUANTUM, np.full(2, capacity * QUANTUM))


def _planted(rng: np.random.Generator, count: int) -> Ints:
    """Servers of 1,000 x 1,000, each cut at random into `PIECES` machines; the last may be cut into fewer."""
    rows = []
    for first in range(0, count, PIECES):
        pieces = min(PIECES, count - first)
        cuts = np.sort(rng.choice(np.arange(1, 1000), (2, pieces - 1), replace=False), axis=1)
        rows.append(np.diff(cuts, axis=1, prepend=0, append=1000).T)
    return rng.permutation(np.concatenate(rows)) * QUANTUM
