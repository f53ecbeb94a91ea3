"""Offline placement: sets of virtual machines that are all known at once, to be packed onto few equal servers.

**PgRank, ClkBot and ImgProc are fitted.** The publication (Rai, Bhagwan and Guha, "Generalized Resource Allocation for
the Cloud", SoCC 2012) gives the number of virtual machines and their average demands, nothing more. The correlations,
spreads and largest demands below were chosen so that the lower bound and the three heuristics come near what it
reports for its own, unpublished inputs. That is a calibration: how many servers a heuristic needs here is no evidence
about the publication, and other seeds differ from seed 1 by a few servers.

The others are those of FunSearch (Romera-Paredes and others, Nature 625, 2024), in its order:

- `binpack1` to `binpack4` (OR1 to OR4 there): the 20 published instances each of the OR-Library's files of these names,
  Beasley, "OR-Library: distributing test problems by electronic mail", Journal of the Operational Research Society 41,
  1990. The items of each file are the first ones of the next.
- `weibull-5k`: five instances, published in github.com/google-deepmind/funsearch (CC BY 4.0).
- `weibull-10k`, `weibull-100k`: drawn, since the instances are not published. The text has items of a Weibull
  distribution of scale 45 and shape 3, cut off at 100 and rounded. Those that are published are rounded down.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from binwright.simcore.errors import UserError, WorkloadError, suggest
from binwright.simcore.types import QUANTUM, Floats, Ints
from binwright.simcore.units import amount, quanta
from binwright.simcore.workload import Workload
from binwright.workloads.csv_files import contents, read_text
from binwright.workloads.traces.cells import amounts, report

RESOURCES = ("cpu", "mem", "disk", "net_out", "net_in")
SERVER = np.array([1.0, 16, 50, 128, 128])
"""A server of 8 cores (cpu 1.0), 16 GB, 50 MB/s disk, 128 MB/s network each way."""


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

    def requests(self, resources: tuple[str, ...]) -> Workload:
        """Make requests of all at time 0, never ending, on servers with these resources.

        Of resources that the machines do not know they need nothing.
        """
        if missing := [name for name in self.resources if name not in resources]:
            remedy = f"Give the servers {', '.join(self.resources)}."
            raise WorkloadError(f"{self.name} asks for {missing[0]}", key="workload.offline", remedy=remedy)
        count = len(self.demand)
        demand = np.zeros((count, len(resources)), np.int64)
        demand[:, [resources.index(name) for name in self.resources]] = self.demand
        return Workload(resources, np.zeros(count), np.full(count, np.inf), demand, np.arange(count))


FITTED: Mapping[str, Mapping[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "offline_fitted.yaml").read_text(encoding="utf-8")
)
"""The inputs of Wrasse: their averages as published, the rest fitted. `rho` is the correlation of a demand's logarithm
with a factor that a machine's demands have in common, `top` the largest demand. Of `heavy` machines no two fit onto one
server: more than half of resource `key` each. Its `sigma` is the spread of the other machines' demand for that, and
`shift` how far the heavy machines' other demands lie from the rest, in standard deviations.
"""


def _fitted(fit: Mapping[str, Any], rng: np.random.Generator) -> Ints:
    """Draw the demands of a fitted input, millionths of a server int64 [machines, resources]."""
    machines, heavy = fit["machines"], fit.get("heavy")
    normal = rng.standard_normal((machines, 1 + len(SERVER)))
    mean, rho = np.array(fit["mean"]) / SERVER, np.array(fit["rho"])
    score = rho * normal[:, :1] + np.sqrt(1 - rho * rho) * normal[:, 1:]
    if heavy:
        score[: heavy["count"]] += np.array(heavy["shift"])
    share: Floats = np.exp(np.array(fit["sigma"]) * score)
    for _ in range(50 if heavy else 30):
        share = np.minimum(share * (mean / share.mean(axis=0)), np.array(fit["top"]))
    if heavy:
        above = rng.uniform(heavy["low"], heavy["high"], heavy["count"])
        rest = np.exp(heavy["sigma"] * rng.standard_normal(machines)[heavy["count"] :])
        remaining = (float(mean[heavy["key"]]) * machines - above.sum()) / len(rest)
        for _ in range(50):
            rest = np.minimum(rest * (remaining / rest.mean()), 0.49)
        share[:, heavy["key"]] = np.concatenate([above, rest])
        rng.shuffle(share)
    return np.rint(share * QUANTUM).astype(np.int64)


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


NAMES = (*FITTED, *ITEMS)


def machines(name: str, seed: int = 1) -> Machines:
    """Draw the machines of a name and a seed."""
    if name not in NAMES:
        raise WorkloadError("unknown offline input", key="input", value=name, remedy=suggest(name, NAMES))
    if seed < 0:
        raise WorkloadError("is not a seed", key="seed", value=seed, remedy="Give a whole number from 0.")
    if name in FITTED:
        demand = _fitted(FITTED[name], np.random.default_rng(seed))
        return Machines(name, RESOURCES, demand, np.full(len(RESOURCES), QUANTUM))
    items, room = items_of(name, seed)
    return Machines(name, ("size",), items[:, None] * QUANTUM, np.array([room * QUANTUM]))


SUFFIXES = (".txt", ".bpp")
MOST = 1_000_000
"""Balls, and the largest number of a file."""
NAME = "name"
"""The column of a CSV file that says what machines are called."""


def read_instance(file: Path) -> Machines:
    """Read an instance of BPPLIB: the number of balls, what a bin holds, then the size of every ball."""
    remedy, numbers = "Formats: page 'Offline placement'.", list[int]()
    for line, text in enumerate(contents(file).decode("utf-8-sig").splitlines(), 1):
        for word in text.split():
            if not (word.isdecimal() and len(word) < 20 and int(word) <= MOST):
                problem = f"is no whole number up to {MOST:,}"
                raise WorkloadError(problem, file=file, line=line, value=word, remedy=remedy)
            numbers.append(int(word))
    if (count := len(numbers) - 2) < 1 or count != numbers[0]:
        problem = f"has {count:,} balls, and its first number says {numbers[0]:,}" if count > 0 else "has no balls"
        raise WorkloadError(problem, file=file, remedy=remedy)
    balls, capacity = np.array(numbers[2:], np.int64)[:, None], np.array(numbers[1:2], np.int64)
    return Machines(file.name, ("size",), balls * QUANTUM, capacity * QUANTUM)


def read_csv(file: Path, server: str) -> Machines:
    """Read a column per resource, a row per machine; `server` says what a server has of each: `cpu=8,mem=16 GB`.

    Other columns are not read, but for `name`. Numbers are in the resource's unit, or name their own.
    """
    room: dict[str, float] = {}
    for entry in server.split(","):
        name, equals, text = (part.strip() for part in entry.partition("="))
        if not equals or name in room:
            raise WorkloadError("is not a capacity", key="server", value=entry, remedy="Write cpu=8,mem=16, each once.")
        try:
            room[name] = amount(name, text)
        except UserError as error:
            raise WorkloadError(error.problem, key="server", value=text, remedy=error.remedy) from None
    table = read_text(file, frozenset(room))
    if table.is_empty():
        raise WorkloadError("has no machines", file=file, remedy="Give a row per machine, below the header.")
    demand = []
    for name, most in room.items():
        units = amounts(table, name, file, name, 1.0)
        for problem, wrong in (
            ("is no amount", ~(units >= 0).fill_null(value=False)),
            (f"this machine asks for more than a server has: {most:g}", units > most),
        ):
            if wrong.any():
                remedy = "Give an amount, and larger servers (--server) if they are, or take the machine out."
                report(table, wrong, file, name, problem, remedy, table[name].filter(wrong)[0])
        demand.append(np.rint(units.to_numpy() * QUANTUM).astype(np.int64))
    named = NAME in table.columns and NAME not in room
    names = tuple(table[NAME].fill_null("").to_list()) if named else None
    capacity = np.array([quanta(units) for units in room.values()], np.int64)
    return Machines(file.name, tuple(room), np.column_stack(demand), capacity, names)
