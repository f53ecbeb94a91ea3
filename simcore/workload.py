"""All requests of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from binwright.simcore.gangs import Gangs
from binwright.simcore.lifetime_info import LifetimeInfo
from binwright.simcore.memmap import DEMANDS, blocks
from binwright.simcore.roles import Roles
from binwright.simcore.types import QUANTUM, Floats, Ints, VirtualNetwork


class Use(Protocol):
    """Says what share of what it asks for a request uses, on a grid of time.

    Step k is the time from `k * step` to before `(k + 1) * step`, in seconds of the run's clock. It answers the same to
    the same question, in whatever order it is asked. Rows are those of the workload, see `Simulation.source` for
    requests that were sent back.
    """

    @property
    def step(self) -> float: ...

    def at(self, requests: Ints, step: int) -> Floats:
        """Return the shares in one step, float64 [requests, resources], from 0; 1 is all that was asked for."""
        ...

    def during(self, request: int, first: int, last: int) -> Floats:
        """Return the shares of one request in the steps from `first` to before `last`, float64 [steps, resources]."""
        ...

    def take(self, rows: Ints) -> Self:
        """Return the use of the requests of these rows, in this order."""
        ...


@dataclass(frozen=True)
class Workload:
    """All requests of a run, in order of arrival.

    `arrival` float64 [n] ascending, from 0; `duration` float64 [n], inf for never ending; `demand` int64
    [n, resources] quanta; `id` [n], the name of each request in its source (int64 or str); `bandwidth` int64 [n]
    quanta between the servers of a request, `None` when no request needs any; `networks` [n] where the requests are
    virtual networks, `demand` being the sums over their machines. `models` str [n] names the models of devices that
    each may take, as in `A100|V100`, empty for any; `None` when no request names any. Of the requests the first
    `usual`, or all, tell what kinds of requests there usually are. `roles` say what the requests are to rules of
    placement; `None` when they are nothing to these. `labels` are words str [n] for people, such as the tenant of each
    request: agents do not see them. `foresight` is what agents may know of `duration`; `None` when that is the truth.

    The first requests may run already when the run begins: `age` float64 [m] says of the first m for how long, and
    their `duration` is what is left. Where `watched` float64 [n] is given, it says of those whose end is not known, and
    whose `duration` is inf therefore, for how long they were seen to run. `requested` float64 [n] is how long
    users said that requests would stay, NaN where they did not. `priority` int64 [n], the higher the more urgent, is
    `None` where all are equal. `gangs` say which requests have several parts, of which `demand` is that of each.
    `origin` is when arrivals begin, in seconds of the trace's own clock. `use` says what share of what they ask for
    requests use; `None` when each uses all of it, all the time.
    """

    resources: tuple[str, ...]
    arrival: Floats
    duration: Floats
    demand: Ints
    id: npt.NDArray[Any]
    bandwidth: Ints | None = None
    networks: Sequence[VirtualNetwork] | None = None
    models: npt.NDArray[np.str_] | None = None
    usual: int | None = None
    roles: Roles | None = None
    labels: Mapping[str, npt.NDArray[np.str_]] = field(default_factory=dict)
    foresight: LifetimeInfo | None = None
    age: Floats | None = None
    watched: Floats | None = None
    requested: Floats | None = None
    priority: Ints | None = None
    origin: float = 0.0
    gangs: Gangs | None = None
    use: Use | None = None

    @property
    def running(self) -> int:
        """How many requests, the first ones, run already when the run begins."""
        return 0 if self.age is None else len(self.age)

    @property
    def expected(self) -> Floats:
        """What agents are told of how long requests stay, seconds float64 [n]; NaN where it is hidden."""
        return self.duration if self.foresight is None else self.foresight.expected

    @classmethod
    def of_units(
        cls,
        arrival: npt.ArrayLike,
        duration: npt.ArrayLike,
        demand: Mapping[str, npt.ArrayLike],
        bandwidth: npt.ArrayLike | None = None,
    ) -> Workload:
        """Make a workload from plain numbers: seconds, and units of each resource, in the cluster's order of resources.

        One number stands for all requests, of whatever but `arrival`; ids are 0, 1, 2, ...
        """
        times = np.asarray(arrival, np.float64)
        n = len(times)

        def column(values: npt.ArrayLike) -> Ints:
            return np.rint(np.broadcast_to(np.asarray(values, np.float64), n) * QUANTUM).astype(np.int64)

        return cls(
            tuple(demand),
            times,
            np.broadcast_to(np.asarray(duration, np.float64), n).copy(),
            np.stack([column(values) for values in demand.values()], axis=1),
            np.arange(n),
            None if bandwidth is None else column(bandwidth),
        )

    def __len__(self) -> int:
        return len(self.arrival)

    def take(self, rows: Ints) -> Workload:
        """Return the requests of these rows, in this order, those that run already first."""

        def taken(column: Any) -> Any:
            return column[rows] if isinstance(column, np.ndarray) else None if column is None else column.take(rows)

        columns = ("arrival", "duration", "demand", "id", "bandwidth", "models", "watched", "requested", "priority")
        known = self.foresight
        if known is not None:
            ask = known.ask
            again = None if ask is None else lambda row, first, elapsed: ask(int(rows[row]), first, elapsed)
            known = LifetimeInfo(known.expected[rows], again)
        return replace(
            self,
            **{name: taken(getattr(self, name)) for name in (*columns, "roles", "gangs", "use")},
            networks=self.networks and [self.networks[row] for row in rows.tolist()],
            labels={name: words[rows] for name, words in self.labels.items()},
            age=None if self.age is None else self.age[rows[rows < self.running]],
            foresight=known,
        )

    def leads(self, rows: Ints) -> Ints:
        """Leave out the rows, int64 [n], that are parts of gangs but for the first of each: requests are left."""
        first = None if self.gangs is None else self.gangs.first
        return rows if first is None else rows[first[rows] == rows]

    @property
    def in_parts(self) -> Workload:
        """The same with a row for every part of a gang."""
        if self.gangs is None or self.gangs.first is not None:
            return self
        rows, gangs = self.gangs.expanded()
        usual = None if self.usual is None else int(self.gangs.parts[: self.usual].sum())
        return replace(self.take(rows), gangs=gangs, usual=usual)

    @cached_property
    def flavours(self) -> tuple[Ints, Ints]:
        """Distinct demands int64 [k, resources] in ascending order, and how often each occurs, int64 [k]."""
        distinct = [
            _distinct(self.demand[rows], np.broadcast_to(1, rows.stop - rows.start))
            for rows in blocks(len(self), most=DEMANDS)
        ]
        return _distinct(*map(np.concatenate, zip(*distinct, strict=True))) if len(distinct) > 1 else distinct[0]


def _distinct(demand: Ints, count: Ints) -> tuple[Ints, Ints]:
    """Return the distinct rows of int64 [n, resources] in ascending order, and of each the sum of `count` int64 [n]."""
    # As np.unique(axis=0), which compares rows as bytes and takes six times as long.
    order = np.lexsort(demand.T[::-1])
    ordered = demand[order]
    first = np.flatnonzero(np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1)))
    return ordered[first], np.add.reduceat(count[order], first)
