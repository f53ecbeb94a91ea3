"""How full every server and every link is, now and then while a run goes on: what a replay shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from analysis.samples import KEPT, Sampler
from fabric.network import NetworkView
from simcore.engine import Simulation
from simcore.record import INTERRUPTED, PLACED
from simcore.vocabulary import Ints

if TYPE_CHECKING:
    import polars as pl

Shares = npt.NDArray[np.float32]


class StateSampler:
    """A `Sampler` that at the same moments keeps the use of every server and link. Meant as the `watch` of `play`.

    Requests before `first` are the warm start's and not counted. Memory: 4 bytes for each server and resource, and for
    each link, at each of at most `KEPT` moments.
    """

    def __init__(self, sampler: Sampler, simulation: Simulation, first: int) -> None:
        self._sampler = sampler
        self._simulation = simulation
        self._first = first
        self._counts: list[tuple[float, int, int, int]] = []
        self._allocated: list[Shares] = []
        self._used: list[Shares] = []
        self._links: list[Shares] = []
        self._changes = 0
        self._down: dict[str, set[int]] = {"server": set(), "link": set(), "switch": set()}

    def __call__(self) -> int:
        """Take a sample; returns after how many decisions to take the next."""
        simulation, view = self._simulation, self._simulation.view
        self._follow_changes()
        outcome = simulation.record.outcome[self._first : simulation.offered]
        accepted = int(((outcome == PLACED) | (outcome == INTERRUPTED)).sum())
        self._counts.append((simulation.now, len(outcome), accepted, simulation.waiting))
        down, capacity, free = list(self._down["server"]), view.capacity.sum(axis=1), view.free.sum(axis=1)
        used = shares(capacity, free)
        free[down] = capacity[down]
        self._allocated.append(shares(capacity.sum(axis=0), free.sum(axis=0)))
        used[down] = np.nan
        self._used.append(used)
        if isinstance(view, NetworkView):
            links = shares(view.link_capacity, view.link_free)
            links[list(self._down["link"])] = np.nan
            links[np.isin(view.topology.link_ends, list(self._down["switch"])).any(axis=1)] = np.nan
            self._links.append(links)
        if len(self._counts) > KEPT:  # as the sampler does, which has as many
            for rows in (self._counts, self._allocated, self._used, self._links):
                del rows[1::2]
        return self._sampler()

    def _follow_changes(self) -> None:
        changes = self._simulation.changes
        for change in changes[self._changes :]:
            if change.what == "failure":
                self._down[change.kind].add(change.subject)
            elif change.what == "repair":
                self._down[change.kind].remove(change.subject)
        self._changes = len(changes)

    def frame(self) -> pl.DataFrame:
        """A row per moment, as docs/report.md has them.

        `time` in seconds; requests `offered` and `accepted` so far, and `waiting`; `allocation_<resource>`, the share
        of what is installed; as lists of float32 a share of each server's capacity in `used_<resource>`, and in
        networks of each link's in `links`. Null is out of service.
        """
        import polars as pl

        columns: dict[str, Any]
        names = ("time", "offered", "accepted", "waiting")
        columns = dict(zip(names, map(np.array, zip(*self._counts, strict=True)), strict=True))
        resources = self._simulation.view.resources
        columns |= {f"allocation_{name}": np.array(self._allocated)[:, r] for r, name in enumerate(resources)}
        for r, name in enumerate(resources):
            columns[f"used_{name}"] = _lists([used[:, r] for used in self._used])
        if self._links:
            columns["links"] = _lists(self._links)
        return pl.DataFrame(columns)


def shares(capacity: Ints, free: Ints) -> Shares:
    """What is not free, as a share of what is there, float32 of the same shape; 0 of nothing."""
    return ((capacity - free) / np.maximum(capacity, 1)).astype(np.float32)


def _lists(rows: list[Shares]) -> pl.Series:
    import polars as pl

    return pl.Series([pl.Series(row, nan_to_null=True) for row in rows], dtype=pl.List(pl.Float32))
