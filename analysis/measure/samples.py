"""Looks at the cluster now and then while a run goes on."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from binwright.analysis.measure.finished_run import FinishedRun
from binwright.analysis.measure.stays import added_at, outages_of, reservations
from binwright.fabric.ledger import Ledger
from binwright.fabric.run.simulation import Simulation
from binwright.simcore.extras import pl
from binwright.simcore.types import Floats, Ints

MOST = 128
"""At most so many samples are kept of a run, and half as many at least."""
SAMPLED = ("time", "decisions", "changes", "servers", "in_use", "waiting", "free", "used", "stranded", "capacity")


class Sampler:
    """Keeps a row for every look at the cluster.

    It has time, decisions, changes and servers so far, servers in use, requests waiting, and quanta free, used,
    stranded and installed per resource.

    It is the `watch` of `play`, or a callback of its `Watchers`. When there are too many rows, every second one goes
    and the pace halves: runs of any length are covered evenly. Nothing is kept before request `first` is due, with
    which measuring begins, nor while requests that were sent back at this instant have no answer and cannot wait.
    """

    def __init__(self, simulation: Simulation, ledger: Ledger, first: int = 0) -> None:
        self._simulation = simulation
        self._ledger = ledger
        self._first = first
        flavours, _ = simulation.workload.flavours
        flavours = flavours[ledger.possible(flavours)]
        spread = ledger.spreads(flavours)
        # Where any flavour fits, one of the smallest does.
        self._flavours = np.concatenate([smallest(flavours[spread]), smallest(flavours[~spread])])
        self._rows: list[Sequence[Any]] = []
        self._stride = 1

    def __call__(self) -> int:
        """Take a sample, if it is time; returns after how many decisions to take the next."""
        if (early := self._simulation.before(self._first)) > 0:
            return early
        return 1 if self._simulation.within_instant else self.look()

    def look(self) -> int:
        """Take a sample; returns after how many decisions to take the next."""
        simulation, view = self._simulation, self._simulation.view
        in_use, free, used, stranded = self._ledger.look(self._flavours)
        so_far = len(simulation.record.sequence), len(simulation.changes), len(view.capacity)
        amounts = free, used, stranded, self._ledger.installed.sum(axis=(0, 1))
        self._rows.append((simulation.now, *so_far, in_use, simulation.waiting, *map(np.copy, amounts)))
        if len(self._rows) > MOST:
            del self._rows[1::2]
            self._stride *= 2
        return self._stride

    def columns(self) -> dict[str, Any]:
        """Return the samples as columns.

        They are `time` float64 [k], `decisions`, `changes`, `servers`, `in_use`, `waiting` int64 [k]; `free`, `used`,
        `stranded` and `capacity` int64 [k, resources] quanta.
        """
        return {name: np.array(column) for name, column in zip(SAMPLED, zip(*self._rows, strict=True), strict=True)}


def smallest(flavours: Ints) -> Ints:
    """Keep those of the demands [k, resources], in ascending order, that are nowhere larger than another one."""
    minimal = flavours[:0]
    for flavour in flavours:
        if not (minimal <= flavour).all(axis=1).any():
            minimal = np.concatenate([minimal, flavour[None]])
    return minimal


Shares = npt.NDArray[np.float32]


def states(run: FinishedRun, begin: float) -> pl.DataFrame:
    """Return a row per moment from `begin` on: the state after all that happened until then.

    `time` in seconds; as lists of float32 a share of each server's capacity in `used_<resource>`, and in networks,
    whose ledger has to remember, of each link's in `links`. Null is out of service.
    """
    simulation, lay = run.simulation, run.places
    times = np.unique(np.linspace(begin, max(begin, simulation.now), MOST))
    capacity = simulation.view.capacity.sum(axis=1)
    added, out = added_at(simulation), {kind: outages_of(simulation, kind) for kind in ("server", "link")}

    def down(kind: str, moment: int) -> Ints:
        now = pl.lit(times[moment])
        return out[kind].filter(pl.col("start") <= now, now < pl.col("end"))["server"].to_numpy()

    used = []
    for moment, now in enumerate(_held(times, lay.start, lay.end, lay.server, lay.amounts, len(capacity))):
        servers = int((added <= times[moment]).sum())
        used.append(_shares(capacity[:servers], now[:servers]))
        used[-1][down("server", moment)] = np.nan
    columns: dict[str, Any] = {"time": times}
    columns |= {f"used_{name}": _lists([shares[:, r] for shares in used]) for r, name in enumerate(run.resources)}
    if (network := simulation.ledger.network) is not None:
        topology, links = network.topology, []
        reserved = reservations(simulation, run.held, run.start, run.end)
        for moment, now in enumerate(_held(times, *reserved, topology.links)):
            links.append(_shares(topology.link_capacity, now[:, 0]))
            links[-1][down("link", moment)] = np.nan
        columns["links"] = _lists(links)
    return pl.DataFrame(columns)


def _held(times: Floats, start: Floats, end: Floats, where: Ints, amounts: Ints, size: int) -> Iterator[Ints]:
    """Yield at each time what is held in each of `size` places, int64 [size, k]; always the same array.

    From `start` [h] until `end` [h], `amounts` [h, k] are held at `where` [h].
    """
    opened, closed = np.searchsorted(times, start), np.searchsorted(times, end)
    now = np.zeros((size, amounts.shape[1]), np.int64)
    for moment in range(len(times)):
        np.add.at(now, where[opened == moment], amounts[opened == moment])
        np.subtract.at(now, where[closed == moment], amounts[closed == moment])
        yield now


def _shares(capacity: Ints, used: Ints) -> Shares:
    """Divide what is used by what is there, float32 of the same shape; 0 of nothing."""
    return (used / np.maximum(capacity, 1)).astype(np.float32)


def _lists(rows: list[Shares]) -> pl.Series:
    return pl.Series([pl.Series(row, nan_to_null=True) for row in rows], dtype=pl.List(pl.Float32))
