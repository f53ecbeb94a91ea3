"""A run that is over, as metrics see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from functools import cached_property, wraps
from itertools import chain
from math import floor
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from binwright.analysis.measure.contention import Contention, contention_of
from binwright.analysis.measure.costs.bill import Bill, Costs, bill_of
from binwright.analysis.measure.stays import OnTheWay, Order, Stays, on_the_way, stays
from binwright.fabric.run.simulation import Simulation
from binwright.simcore import memmap
from binwright.simcore.errors import RunError
from binwright.simcore.moves import Moved
from binwright.simcore.ordered_sums import dot, rows_dot
from binwright.simcore.record import INTERRUPTED, PLACED
from binwright.simcore.types import QUANTUM, Array, Flags, Floats, Ints, read_only
from binwright.workloads.labels import words_of

LARGE = 1 << 18
"""From so many rows on, what was computed for one metric is not kept for the next one."""


class column(cached_property[Array]):
    """Makes a property that is computed once, or again when it was forgotten, whose array nobody can write to."""

    def __init__(self, function: Callable[[Any], Array]) -> None:
        super().__init__(wraps(function)(lambda run: read_only(function(run))))


NOTHING = "no request that fits into the empty cluster was offered to the agent: there is nothing to measure"
FULL = (
    "request {} runs already at the start and fits nowhere, so that `overflow: stop` ended the run before the first "
    "arrival. Give it more servers, or another overflow; `workload: {{running: drop}}` leaves out what runs already"
)
HOUR = 3600.0


class FinishedRun:
    """Gives metrics what they compute from: arrays of a finished run, none of which can be written to.

    A row is a request of the workload, in order of arrival, or, after those, one that was sent back:

    - `arrival`, `duration` float64 [rows]: seconds; a duration may be infinite
    - `priority` int64 [rows]: the higher the more urgent
    - `demand` int64 [rows, resources]: quanta; `binwright.simcore.types.QUANTUM` of them are one unit
    - `outcome` int8 [rows]: PENDING, PLACED, REJECTED, IMPOSSIBLE or INTERRUPTED of `binwright.simcore.record`
    - `got_place` bool [rows]: placed, whether or not a failure cut the holding period short
    - `decided` float64 [rows]: when the answer came, NaN for never
    - `interruption` float64 [rows]: when a failure ended the holding period, NaN for never
    - `server` int32, `node` int8, `reason` int32, `origin` int32 [rows]: as in `binwright.simcore.record.Record`
    - `offered` int64 [n]: the rows that arrived after the warm start while the run lasted, of a gang that of its first
      part; `placed` those of them that got a place

    `resources` and `tiers` are the names of the cluster's resources and of its network's tiers of links; `capacity`
    int64 [servers, nodes, resources] is what is installed at the end, in quanta, overcommitted or not; `samples` are
    what `Sampler.columns` gives. `begin` and `finish` are the ends of the measured time: the arrival of row `first`,
    the first after the warm start, and the last decision. A metric of the last part of the requests gets the run from
    there on: `first` is then the first row of that part, while `since` is always the first after the warm start.
    `prices` are those of a unit for an hour, by resource, of which some priorities pay a share (`pays`); `costs` says
    what servers draw and cost, if anything does; `thought` is the agent's time in nanoseconds. `moving` has the moves,
    and is None where the scenario has none. `simulation` is all the rest, to be looked at only.
    """

    def __init__(
        self,
        simulation: Simulation,
        first: int,
        samples: Mapping[str, Any],
        thought: int,
        *,
        prices: Mapping[str, float] = MappingProxyType({}),
        costs: Costs | None = None,
        pays: Mapping[int, float] = MappingProxyType({}),
    ) -> None:
        if first == len(simulation.workload):
            raise RunError(NOTHING)
        if simulation.stopped and simulation.offered <= simulation.workload.running:
            raise RunError(FULL.format(simulation.workload.id[simulation.offered - 1]))
        self.simulation, self.thought = simulation, thought
        self.first = self.since = first
        self.moving = simulation.moving
        self.samples = {name: read_only(sample) for name, sample in samples.items()}
        self.prices, self.costs, self.pays = dict(prices), costs, pays
        self.requests = requests = simulation.as_workload()
        self.resources, self.tiers = tuple(requests.resources), tuple(simulation.ledger.tiers)
        self.arrival, self.duration = read_only(requests.arrival), read_only(requests.duration)
        none = np.broadcast_to(np.int64(0), len(requests))
        self.priority = read_only(none if requests.priority is None else requests.priority)
        self.demand, self.capacity = read_only(requests.demand), read_only(simulation.ledger.installed)
        record, rows = simulation.record, slice(0, simulation.record.rows)
        self.outcome, self.reason = read_only(record.outcome[rows]), read_only(record.reason[rows])
        self.decided, self.interruption = read_only(record.decided[rows]), read_only(record.interruption[rows])
        self.server, self.node = read_only(record.server[rows]), read_only(record.node[rows])
        self.origin = read_only(record.origin[rows])
        self.got_place = read_only((self.outcome == PLACED) | (self.outcome == INTERRUPTED))
        self.begin = float(requests.arrival[first])
        self.finish = max(self.begin, float(np.nanmax(self.decided[first:], initial=self.begin)))
        self.only: Flags | None = None
        self.rows = slice(0, len(self.outcome))

    def forget(self) -> None:
        """Give back arrays that were computed on the way, where they are large; they are computed again if needed."""
        if len(self.outcome) >= LARGE:
            for name in [*self.__dict__]:
                if name == "places" or isinstance(getattr(type(self), name, None), column):
                    del self.__dict__[name]

    # -- other forms of the run ------------------------------------------------------------------------------------

    def _again(self, first: int) -> FinishedRun:
        """Return the run as it is measured from a row on."""
        terms: dict[str, Any] = {"prices": self.prices, "costs": self.costs, "pays": self.pays}
        run = FinishedRun(self.simulation, first, self.samples, self.thought, **terms)
        run.since, run.only = self.since, self.only
        return run

    def among(self, label: str, value: str) -> FinishedRun:
        """Return the run of which `placed` has only requests with this value of a label.

        If its scenario has queues, the label `queue` is the queue of a request.
        """
        run, queues = self._again(self.first), self.simulation.queues
        is_queue = label == "queue" and queues
        run.only = queues.rows(value) if is_queue else words_of(self.simulation.workload, label, "metrics") == value
        return run

    def last_part(self, share: float) -> FinishedRun:
        """Return the run as it is measured over the last `share` of the offered requests, one of them at least."""
        whole = self.simulation.offered - self.since
        result = self._again(self.simulation.offered - max(1, floor(share * whole + 1e-9)))
        late = result.samples["time"] >= result.begin  # the last sample is
        result.samples = {name: read_only(sample[late]) for name, sample in result.samples.items()}
        return result

    def parts(self) -> Iterator[FinishedRun]:
        """Yield the run with the `placed` and `held` of a block of rows after the other: sums take little memory so."""
        if len(self.outcome) <= memmap.BLOCK:
            yield self  # which keeps what it has computed
            return
        for rows in memmap.blocks(len(self.outcome)):
            part = copy(self)
            part.forget()
            part.rows = rows
            yield part

    # -- what was held ---------------------------------------------------------------------------------------------

    @column
    def offered(self) -> Ints:
        """The rows that arrived after the warm start while the run lasted, int64 [n]."""
        return self.requests.leads(np.arange(self.first, self.simulation.offered))

    @column
    def placed(self) -> Ints:
        """The rows that arrived after the warm start while the run lasted, and got a place, int64 [placed]."""
        begin, end = max(self.rows.start, self.first), min(self.rows.stop, self.simulation.offered)
        rows = self.requests.leads(np.flatnonzero(self.got_place[begin:end]) + begin)
        return rows if self.only is None else rows[self.only[rows]]

    @column
    def held(self) -> Ints:
        """The rows that got a place, int64 [held]; those of the warm start, and those sent back, are among them."""
        return np.flatnonzero(self.got_place[self.rows]) + self.rows.start

    @column
    def amounts(self) -> Ints:
        """What each of `held` holds, int64 [held, resources + tiers] quanta: links are resources like others."""
        network, demand = self.simulation.ledger.network, self.demand[self.held]
        return demand if network is None else np.hstack([demand, network.reserved(self.held, np.zeros_like(self.held))])

    @property
    def start(self) -> Floats:
        """When each of `held` was placed, float64 [held]."""
        return read_only(self.decided[self.held])

    @column
    def end(self) -> Floats:
        """When each of `held` ends or was cut short, float64 [held]; that may be after the run, or never."""
        end: Floats = self.start + self.duration[self.held]
        return np.fmin(end, self.interruption[self.held], out=end)

    @column
    def seconds(self) -> Floats:
        """For how long within the measured time each of `held` was held, float64 [held]."""
        return self.seconds_until(self.finish)

    def seconds_until(self, until: float) -> Floats:
        """Return for how long each of `held` was held from the measured time's begin to some time, float64 [held]."""
        seconds: Floats = np.minimum(self.end, until)
        seconds -= np.maximum(self.start, self.begin)
        return np.clip(seconds, 0, None, out=seconds)

    @column
    def sold(self) -> Flags:
        """Which of `held` are of requests after the warm start, bool [held], whether or not they were sent back."""
        sold: Flags = self.simulation.record.sources(self.held) >= self.first
        return sold

    @column
    def worth(self) -> Floats:
        """What a second of each of `held` earns, float64 [held]."""
        each = np.array([self.prices.get(name, 0.0) for name in (*self.resources, *self.tiers)])
        worth: Floats = rows_dot(self.amounts, each) / QUANTUM / HOUR
        for priority, share in self.pays.items():
            worth[self.priority[self.held] == priority] *= share
        return worth

    @cached_property
    def places(self) -> Stays:
        """On which servers those in `held` lay, and when; `who` are places in `held`.

        In a network one may lie on several servers.
        """
        return stays(self.simulation, self.held, self.start, self.end)

    @property
    def moves_ended(self) -> list[Moved]:
        """The moves that ended within the measured time, whatever became of them."""
        return [each for each in (self.moving.log if self.moving else []) if self.begin <= each.end <= self.finish]

    @column
    def arrived(self) -> Ints:
        """The rows of the requests that moved, once for each move that arrived within the measured time, int64 [n]."""
        return np.array([each.row for each in self.moves_ended if each.outcome == "done"], np.int64)

    @cached_property
    def on_the_way(self) -> OnTheWay:
        """The moves that were begun, the warm start's and those after the measured time included."""
        ends = np.full(len(self.outcome) if self.moving else 0, np.inf)
        if self.moving:
            ends[self.held] = self.end
        return on_the_way(self.simulation, ends)

    def held_until(self, until: float) -> Floats:
        """Integrate what is held from the beginning of the measured time until a time: quanta x seconds, float64 [all].

        `all` are resources and tiers, as in `amounts`. What is on the way is held twice.
        """
        moves, result = self.on_the_way, np.zeros(len(self.resources) + len(self.tiers))
        for part in self.parts():
            held = part.seconds_until(until)
            result += [dot(held, column) for column in part.amounts.T]
        seconds = np.clip(np.minimum(moves.end, until) - np.maximum(moves.start, self.begin), 0, None)
        result += [dot(seconds, column) for column in moves.amounts.T]
        return result

    @cached_property
    def _sizes(self) -> tuple[list[float], Ints]:
        """When the cluster's size changed, first -inf, and the capacity from then on, int64 [k, resources + tiers]."""
        simulation = self.simulation
        added = [(change.time, change.subject) for change in simulation.changes if change.what == "expansion"]
        sizes = np.cumsum([len(self.capacity) - sum(by for _, by in added), *(by for _, by in added)])
        total = self.capacity.sum(axis=1).cumsum(axis=0)[sizes - 1]
        if tiers := simulation.ledger.tiers:
            total = np.hstack([total, np.tile(list(tiers.values()), (len(total), 1))])
        return [-np.inf, *(time for time, _ in added)], total

    def installed(self, until: float) -> Floats:
        """Integrate the capacity over the time from `begin` on: quanta x seconds, float64 [resources + tiers]."""
        times, total = self._sizes
        return rows_dot(total.T, np.diff(np.clip([*times, until], self.begin, until)))

    @cached_property
    def last(self) -> float:
        """When the last holding period ends; infinite where one never does."""
        return max(float(part.end.max(initial=self.begin)) for part in self.parts())

    # -- decisions -------------------------------------------------------------------------------------------------

    @property
    def sequence(self) -> npt.NDArray[np.int32]:
        """The rows that got their answer, in order, int32 [all decisions]."""
        return np.frombuffer(self.simulation.record.sequence, np.int32)

    @column
    def _measured(self) -> Flags:
        """Which decisions are measured, bool [all decisions]; one at least, or RunError is raised."""
        answered = self.sequence
        measured = np.empty(len(answered), np.bool_)
        for some in memmap.blocks(len(answered)):
            rows = answered[some]
            measured[some] = (rows >= self.first) & (self.decided[rows] >= self.begin)
        gangs = self.requests.gangs
        if gangs is not None and gangs.first is not None:  # only when the last part of a gang has its place
            first = gangs.first[answered]
            measured[:-1] &= first[1:] != first[:-1]
        if not measured.any():
            raise RunError(NOTHING)
        return measured

    @cached_property
    def decisions(self) -> int:
        """How many decisions are measured; one at least, or RunError is raised."""
        return int(np.count_nonzero(self._measured))

    @cached_property
    def shares(self) -> tuple[list[float], list[float]]:
        """Of each column of `amounts`, the share of what is installed that is in use right after decisions.

        First the mean over all that are measured, then after the last one of these.
        """
        measured, size = self._measured, self._sizes[1]
        last = len(measured) - 1 - int(measured[::-1].argmax())
        grown = [change.decisions for change in self.simulation.changes if change.what == "expansion"]
        total, now = np.zeros((2, size.shape[1]))
        weights: list[Floats] = []
        """Of each column, what all measured decisions before each one and the end add up to, by 1 / size."""
        if grown or not measured.all():
            at = size[np.searchsorted(grown, np.arange(len(measured)), side="right")]
            weights = [np.append(0.0, np.cumsum(measured / column)) for column in at.T]

        moves, order = self.on_the_way, Order(self.simulation)
        held = ((*order.lasting(part.held, part.end), part.amounts) for part in self.parts())
        for first, after, amounts in chain(held, [(moves.first, moves.last, moves.amounts)]):
            for n, amount in enumerate(amounts.T):
                lasts = weights[n][after] - weights[n][first] if weights else (after - first) / size[0, n]
                total[n] += dot(lasts, amount)
            now += amounts[(first <= last) & (last < after)].sum(axis=0)
        installed = size[np.searchsorted(grown, last, side="right")]
        return (total / self.decisions).tolist(), (now / installed).tolist()

    # -- what only some runs have: None elsewhere ------------------------------------------------------------------

    @cached_property
    def spans(self) -> Ints | None:
        """Servers, span and links of each row placed within the measured time, int64 [n, 3], in a network.

        Those sent back are among them.
        """
        network = self.simulation.ledger.network
        if network is None:
            return None
        back = np.arange(len(self.simulation.workload), len(self.outcome))
        rows = self.requests.leads(np.concatenate([self.offered, back[~(self.decided[back] < self.begin)]]))
        result: Ints = network.spans(rows[self.got_place[rows]])
        return result

    @cached_property
    def contention(self) -> Contention | None:
        """What was used and lacked, where requests say what they use."""
        return contention_of(self)

    @cached_property
    def bill(self) -> Bill | None:
        """What the servers came to, where somebody says what they draw or cost."""
        return bill_of(self, self.costs) if self.costs else None


def ratio(part: float, whole: float) -> float:
    """Divide; 0 where there is nothing to divide by."""
    return part / whole if whole else 0.0
