"""The model of rigid jobs of Lublin and Feitelson, with the parameters that its authors' program has.

Uri Lublin and Dror Feitelson, "The workload on parallel supercomputers: modeling the characteristics of rigid jobs",
Journal of Parallel and Distributed Computing 63, 2003; the program is m_lublin99.c of the Parallel Workloads Archive.
It drops the fraction of a second of each arrival, but not from its place in the day, so that its days drift by hours in
a long log: here they do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import floor, log2
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import yaml
from pydantic import Field

from binwright.simcore.errors import WorkloadError
from binwright.simcore.fields import Amounts, Count, Model, Number, Quantity
from binwright.simcore.rng import stream
from binwright.simcore.types import QUANTUM, Floats, Ints, Workload
from binwright.simcore.units import SHARE
from binwright.workloads.generators import Columns

PUBLISHED: dict[str, list[float]] = yaml.safe_load(
    (Path(__file__).parent / "lublin_parameters.yaml").read_text(encoding="utf-8")
)
PROCESSORS = 128
"""Of the machine that the published `umed` and `uhi` are for."""
LONGEST = 12.0
"""The natural logarithm of the longest run time in seconds: what is longer is drawn again."""
WIDEST = 13.0
"""The same of the gap between arrivals, if every hour had its average share."""
BUCKETS, BUCKET = 48, 1800.0
"""Of the daily cycle, which begins at midnight: how many, and seconds of each."""
FIRST = 11
"""The half hour, the first being 1, at which the day's distribution begins."""
GRID = 20_000
"""Points at which averages are taken."""

Load: TypeAlias = Annotated[float, Quantity("load", replace(SHARE, largest=10), "70 %", above_zero=True)]
"""A share of the processors; more than all of them can be asked for."""


class Lublin(Model):
    """Jobs of the model of Lublin and Feitelson."""

    jobs: Literal["both", "batch", "interactive", "all"] = Field(
        default="both", description="Which classes; `all` has parameters that were fitted to all jobs together."
    )
    processor: Amounts = Field(
        default={"cpu": 1.0}, description="What a job asks for by processor.", examples=["{cpu: 1, mem: 2 GB}"]
    )
    load: Load | None = Field(
        default=None,
        description="The share of the processors that jobs would hold if all started at once; by default as published.",
        examples=["70 %"],
    )
    users: Count | None = Field(
        default=None,
        description="How many users there are: the label `tenant`. The k-th has a weight of 1/k.",
        examples=[50],
    )
    requested: Number | None = Field(
        default=None,
        description="Users ask for the run time times a factor, uniform from 1 to 1 + this (Mu'alem and Feitelson "
        "2001). By default nothing is known of requested times.",
        examples=[5],
    )

    summary: ClassVar[str] = "jobs of a parallel machine: batch and interactive, with a daily cycle."
    reference: ClassVar[str] = "Lublin and Feitelson 2003, The workload on parallel supercomputers, JPDC"

    def classes(self, processors: int) -> dict[str, JobClass]:
        """Make the classes of jobs for a machine of so many processors."""
        further = log2(processors / PROCESSORS)
        result = {}
        for column, name in enumerate(("batch", "interactive", "all")):
            if self.jobs == name or (self.jobs == "both" and name != "all"):
                published = {key: values[column] for key, values in PUBLISHED.items()}
                for key in ("umed", "uhi"):
                    published[key] = max(published[key] + further, published["ulow"])
                result[name] = JobClass(published, processors)
        return result

    def draw(self, n: int, resources: tuple[str, ...], total: Mapping[str, float], seed: int) -> Workload:
        """Draw `n` jobs for a cluster with these resources, of which all servers together have `total` units."""
        columns = Columns(seed, n)
        processors = min(floor(total.get(name, 0) / units) for name, units in self.processor.items() if units)
        if processors < 1:
            remedy = f"The cluster has {', '.join(f'{total.get(name, 0):g} {name}' for name in self.processor)}."
            raise WorkloadError("no processor has room", key="workload.lublin.processor", remedy=remedy)
        classes = self.classes(processors)
        rate = 1.0
        if self.load is not None:
            rate = self.load * processors / sum(each.busy() for each in classes.values())
        jobs = []
        for number, (name, each) in enumerate(classes.items()):
            arrivals = each.arrivals(each.gaps(columns.uniform("arrivals", name)) / rate)
            kind, stage, within, which, uniform = stream(seed, "workload", "jobs", name).random((n, 5)).T
            sizes = each.sizes(kind, stage, within)
            jobs.append((arrivals, each.run_times(sizes, which, uniform), sizes, np.full(n, number)))
        of_all = [np.concatenate(column) for column in zip(*jobs, strict=True)]
        first = np.argsort(of_all[0], kind="stable")[:n]
        arrival, duration, sizes, of = (column[first] for column in of_all)
        duration = np.floor(duration)  # whole seconds, as logs have, and the program
        demand = np.zeros((n, len(resources)), np.int64)
        for name, units in self.processor.items():
            demand[:, resources.index(name)] = sizes * round(units * QUANTUM)
        labels = {"queue": np.array([*classes])[of]}
        if self.users is not None:
            labels["tenant"] = columns.chosen("users", tuple(1 / user for user in range(1, self.users + 1))).astype(str)
        requested = None
        if self.requested is not None:
            requested = duration * (1 + self.requested * columns.uniform("requested"))
        return Workload(
            resources, np.floor(arrival), duration, demand, np.arange(n), labels=labels, requested=requested
        )


@dataclass(frozen=True)
class JobClass:
    """The distributions of one class of jobs: its `parameters` by name, for a machine of so many `processors`."""

    parameters: Mapping[str, float]
    processors: int

    def __getitem__(self, name: str) -> float:
        return self.parameters[name]

    def sizes(self, kind: Floats, stage: Floats, within: Floats) -> Ints:
        """Return processors int64 [n] from three uniforms of each job: which kind, which stage, where in it."""
        first = stage <= self["uprob"]
        low, high = np.where(first, self["ulow"], self["umed"]), np.where(first, self["umed"], self["uhi"])
        exponent = low + within * (high - low)
        power = kind <= self["serial_prob"] + self["pow2_prob"]
        exponent = np.where(power, np.minimum(np.floor(exponent + 0.5), floor(log2(self.processors))), exponent)
        result = np.minimum(np.floor(2**exponent + 0.5), self.processors)
        return np.where(kind <= self["serial_prob"], 1, result).astype(np.int64)

    def run_times(self, sizes: Ints, which: Floats, uniform: Floats) -> Floats:
        """Return seconds [n] from two uniforms of each job: which of the gammas, and where in it."""
        chosen = which <= self._share(sizes)
        logarithm = np.empty(len(sizes))
        for rows, number in ((chosen, 1), (~chosen, 2)):
            logarithm[rows] = self._logarithm(number, uniform[rows])
        return np.exp(logarithm)

    def gaps(self, uniform: Floats) -> Floats:
        """Return the time between arrivals, seconds [n], if every hour had its average share."""
        return np.exp(_quantile(self["aarr"] * self["arar"], self["barr"], WIDEST, uniform))

    @cached_property
    def day(self) -> Floats:
        """The jobs of each half hour from midnight, float64 [48], as multiples of the average."""
        edges = np.arange(FIRST, FIRST + BUCKETS + 1) - 0.5
        share: Floats = np.diff(_below(self["anum"], self["bnum"], edges))
        return np.roll(share / share.mean(), FIRST - 1)

    def arrivals(self, gaps: Floats) -> Floats:
        """Return when jobs with these gaps arrive, seconds [n] after midnight: more of them in busy hours."""
        days, within = np.divmod(np.cumsum(gaps) / BUCKET, BUCKETS)
        ends = np.append(0, np.cumsum(self.day))
        arrivals: Floats = (days * BUCKETS + np.interp(within, ends, np.arange(BUCKETS + 1))) * BUCKET
        return arrivals

    def busy(self) -> float:
        """Return how many processors jobs would hold in the long run if all started at once."""
        grid = (np.arange(GRID) + 0.5) / GRID
        first, second = (float(np.exp(self._logarithm(number, grid)).mean()) for number in (1, 2))
        serial, early = self["serial_prob"], self["uprob"]
        power = min(self["pow2_prob"], 1 - serial)
        work = 0.0
        for kind, of_kind in ((serial, serial), (serial + power, power), (1.0, 1 - serial - power)):
            for stage, of_stage in ((early, early), (1.0, 1 - early)):
                sizes = self.sizes(np.full(GRID, kind), np.full(GRID, stage), grid)
                share = self._share(sizes)
                work += of_kind * of_stage * float((sizes * (share * first + (1 - share) * second)).mean())
        return work / float(self.gaps(grid).mean())

    def _share(self, sizes: Ints) -> Floats:
        """Return how many jobs of these sizes, float64 [n] from 0 to 1, have run times of the first gamma.

        Who draws a time that is too long chooses again between the gammas.
        """
        share = np.clip(self["pa"] * sizes + self["pb"], 0, 1)
        first, second = (_below(self[f"a{number}"], self[f"b{number}"], LONGEST) for number in (1, 2))
        result: Floats = share * first / (share * first + (1 - share) * second)
        return result

    def _logarithm(self, number: int, uniform: Floats) -> Floats:
        return _quantile(self[f"a{number}"], self[f"b{number}"], LONGEST, uniform)


def _below(shape: float, scale: float, top: npt.ArrayLike) -> Any:
    """Return the probability that a gamma is below `top`."""
    from scipy.special import gammainc

    return gammainc(shape, np.asarray(top) / scale)


def _quantile(shape: float, scale: float, top: float, uniform: Floats) -> Floats:
    """Return what a gamma that is drawn until it is below `top` has at these uniforms, float64 [n]."""
    from scipy.special import gammaincinv

    result: Floats = scale * gammaincinv(shape, uniform * _below(shape, scale, top))
    return result
