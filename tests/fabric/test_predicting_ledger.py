"""What predicted peaks leave on servers, beside the same in plain Python, task by task."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from binwright.fabric.cluster import Cluster
from binwright.fabric.ledger import Ledger
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.overcommit import Predict
from binwright.scenarios.features.overcommit.book import PeakBook
from binwright.scenarios.features.overcommit.predictors import LimitPeak, OraclePeak
from binwright.scenarios.features.preemption import Preempt, Preemption
from binwright.simcore.errors import InfeasiblePlacement
from binwright.simcore.faults import Faults
from binwright.simcore.rules import Overflow
from binwright.simcore.types import QUANTUM, Floats, Ints, Request, part
from binwright.simcore.workload import Workload
from tests.reference.peaks import Task, predict
from tests.support.properties import scaled
from tests.support.recount import recount


class Table:
    """Use drawn for every request and step; refuses to tell of steps that are not over, if it is asked to."""

    run: Simulation | None = None

    def __init__(self, step: float, shares: Floats) -> None:
        self.step, self.shares = step, shares

    def at(self, requests: Ints, step: int) -> Floats:
        assert self.run is None or (step + 1) * self.step <= self.run.now, "it peeks"
        result: Floats = self.shares[requests, step % self.shares.shape[1]]
        return result

    def during(self, request: int, first: int, last: int) -> Floats:
        result: Floats = self.shares[request, np.arange(first, last) % self.shares.shape[1]]
        return result

    def take(self, rows: Ints) -> "Table":
        return Table(self.step, self.shares[rows])


STEP = 10.0
PREDICTORS: list[Any] = [
    {"limit": 0.5},
    {"percentile": 90, "window": 40, "warm_up": 20},
    {"percentile": 100, "window": 30, "warm_up": 10, "of": "server"},
    {"sigma": 2, "window": 50, "warm_up": 30},
    {"oracle": 40},
    "oracle",
]


def made(spec: Any) -> Any:
    return Predict.model_validate({"predict": spec}).predict


class Slow:
    """Follows a simulation's requests, and predicts in plain Python."""

    def __init__(self, simulation: Simulation, predictor: Any) -> None:
        self.run, self.predictor, self.done = simulation, predictor, 0
        self.tasks: dict[tuple[int, int], Task] = {}
        ledger: Any = simulation.ledger
        self._tick, ledger.peaks._tick = ledger.peaks._tick, self.tick
        ledger.peaks.watch(simulation)

    def tick(self, step: int) -> Any:
        """Look on just before the ledger does."""
        self.look()
        use, nodes, capacity = self.run.workload.use, self.run.view.free.shape[1], self.run.view.capacity
        places: dict[int, list[Task]] = {}
        for (row, place), task in sorted(self.tasks.items()):
            source = self.run.source(row)
            end = self.run.record.decided[row] + self.run.rows.holding_time(row)

            def used(when: int, task: Task = task, source: int = source) -> int:
                assert use is not None
                return min(task.asked, round(float(use.during(source, when, when + 1)[0, 0]) * task.asked))

            task.used.append(used(step))
            if task.future or isinstance(self.predictor, OraclePeak):
                ahead = range(step + 1, step + 1 + int(self.predictor.oracle / STEP))
                task.future = [used(when) if when < np.ceil(end / STEP) else 0 for when in ahead]
            places.setdefault(place, []).append(task)
        for place, tasks in places.items():
            predict(self.predictor, tasks, STEP, int(capacity[place // nodes, place % nodes, 0]))
        return self._tick(step)

    def look(self) -> None:
        """Drop the tasks of those that run no more, and see those that are new."""
        nodes, held = self.run.view.free.shape[1], self.run.ledger.held
        present = {(row, s * nodes + n): amounts[0] for row, each in held.items() for s, n, amounts in each.shares}
        self.tasks = {key: self.tasks.get(key) or self.new(key[0], wanted) for key, wanted in present.items()}

    def new(self, row: int, wanted: int) -> Task:
        """Return a task, with the past that it has at the place that it moves from."""
        past = next((task for (other, _), task in self.tasks.items() if other == row and task.asked == wanted), None)
        return Task(wanted, wanted, *((past.used.copy(), past.future) if past else ()))

    def check(self) -> None:
        """Compare what is left, but for what floats round: a quantum of each task."""
        self.look()
        free, nodes = self.run.view.capacity[:, :, 0].copy().reshape(-1), self.run.view.free.shape[1]
        requested = np.zeros_like(free)
        for (_, place), task in self.tasks.items():
            free[place] -= task.reserved
            requested[place] += task.asked
        left = self.run.view.free[:, :, 0].reshape(-1)
        down = self.run.ledger.down
        up = np.repeat([server not in down for server in range(len(self.run.view.free))], nodes)
        assert (np.abs(free - left)[up] <= 2 * len(self.tasks)).all(), (free, left)
        assert self.run.view.requested is not None
        assert np.array_equal(requested, self.run.view.requested[:, :, 0].reshape(-1))


def simulation(seed: int, predictor: Any, ranks: int = 1, **more: Any) -> Simulation:
    drawn = np.random.default_rng(seed)
    n, servers, nodes = drawn.integers(1, [14, 4, 3]).tolist()
    arrival = np.cumsum(drawn.choice([0.0, 3.0, 10.0, 25.0], n))
    duration = drawn.choice([0.0, 5.0, 10.0, 40.0, 100.0, np.inf], n)
    demand = drawn.integers(0, [9, 3], (n, 2)) * QUANTUM // 3
    use = Table(STEP, drawn.choice([0.0, 0.3, 0.7, 1.0, 1.2], (n, 37, 2)))
    priority = drawn.integers(0, ranks, n)
    workload = Workload(("cpu", "mem"), arrival, duration, demand, np.arange(n), use=use, priority=priority)
    capacity = np.tile(np.array([4, 9]) * QUANTUM, (servers, nodes, 1))
    cluster = Cluster(("cpu", "mem"), capacity, (2 * QUANTUM, 10**18), capacity[0])
    return Simulation(workload, Ledger(cluster, peaks=partial(PeakBook, predictors={0: predictor})), **more)


def play(run: Simulation, slow: Slow) -> None:
    while (request := run.advance()) is not None:
        slow.check()
        assert run.ledger.peaks
        recount(run.ledger)
        for server in range(len(run.view.free)):
            nodes = [0] if request.spread else range(run.view.free.shape[1])
            placement = None
            for node in nodes:
                place = request.across(server, run.view.free.shape[1]) if request.spread else request.on(server, node)
                fits = all((run.view.free[s, k] >= part).all() for s, k, part in place.shares)
                if fits:
                    placement = place
                    break
                with pytest.raises(InfeasiblePlacement):
                    run.ledger.apply(request, place)
                recount(run.ledger)
            if placement:
                break
        run.answer(placement)
    recount(run.ledger)


@pytest.mark.parametrize("spec", PREDICTORS, ids=str)
@scaled(0.75)
@example(seed=507, mode="drop", fails=True)  # a request for nothing is on a server that is down
@given(seed=st.integers(0, 2**30), mode=st.sampled_from(["drop", "wait", "expand"]), fails=st.booleans())
def test_books_are_those_of_the_reference(spec: Any, seed: int, mode: Any, fails: bool) -> None:
    predictor = made(spec)
    if spec == "oracle":
        predictor = predictor.model_copy(update={"oracle": 200.0})
    faults = [Faults(np.inf, 20.0, ((12.0, 0, 15.0),), True, 0)] if fails else []
    run = simulation(seed, predictor, overflow=Overflow(mode, 1, 4), faults=faults)
    play(run, Slow(run, predictor))


@pytest.mark.long
@scaled(1.25)
@given(seed=st.integers(0, 2**30), spec=st.sampled_from(PREDICTORS))
def test_both_books_hold_while_requests_move(seed: int, spec: Any) -> None:
    predictor, drawn = made(spec), np.random.default_rng(seed)
    run = simulation(seed, predictor, overflow=Overflow("wait"))
    slow, ledger, advance = Slow(run, predictor), run.ledger, run.advance

    def moved_and_advanced() -> Request | None:
        for row in sorted(ledger.moving):
            if drawn.random() < 0.5:
                ledger.end_move(row, arrived := bool(drawn.random() < 0.7))
                if arrived and row in ledger.running:
                    run.record.server[row] = ledger.held[row].servers[0]
        slow.look()
        for row in sorted({*ledger.running} - {*ledger.moving}):
            request, server = run.request(row), int(drawn.integers(len(run.view.free)))
            nodes = run.view.free.shape[1]
            place = request.across(server, nodes) if request.spread else request.on(server, 0)
            if server in ledger.held[row].servers:
                continue
            try:
                free = ledger.rehearse([(request, place)])
            except InfeasiblePlacement:
                continue
            assert (free >= 0).all()
            ledger.begin_move(request, place)
        slow.check()
        recount(ledger)
        return advance()

    run.advance = moved_and_advanced  # type: ignore[method-assign]
    play(run, slow)


@pytest.mark.long
@scaled(1.25)
@given(seed=st.integers(0, 2**30), spec=st.sampled_from(PREDICTORS), requeue=st.booleans())
def test_those_give_way_who_have_to_and_both_books_hold(seed: int, spec: Any, requeue: bool) -> None:
    predictor = made(spec)
    preempt = Preempt(then="requeue" if requeue else "drop", otherwise="wait")
    run = simulation(seed, predictor, ranks=3, overflow=Overflow("wait", preempt=True))
    preempting, ledger = Preemption(run, preempt), run.ledger
    give_way = ledger.give_way

    def beside(request: Request, where: Any, victims: Any) -> list[int]:
        actual = give_way(request, where, victims)
        free = run.view.free[where].copy()
        held = [[(row, at) for row in rows for at in ledger.peaks._parts[row]] for rows in victims]

        def fits(gone: list[int]) -> bool:
            left = free.copy()
            for place in gone:
                for row, at in held[place]:
                    node = [share[1] for share in ledger.held[row].shares][ledger.peaks._parts[row].index(at)]
                    left[node] += ledger.peaks._reserved[at]
            need = [part(request.demand, n, len(left)) if request.spread else request.demand for n in range(len(left))]
            enough = [bool((left[n] >= need[n]).all()) for n in range(len(left))]
            return all(enough) if request.spread else any(enough)

        gone = list(range(len(victims)))
        for place in range(len(victims)) if fits(gone) else ():
            rest = [item for item in gone if item != place]
            gone = rest if fits(rest) else gone
        assert actual == (gone if fits(gone) else [])
        recount(ledger)
        return actual

    ledger.give_way = beside  # type: ignore[method-assign]
    play(run, Slow(run, predictor))
    for each in preempting.log:
        assert run.request(each.row).priority < run.request(each.by).priority


def test_an_agent_cannot_write_to_either_book() -> None:
    cluster = Cluster(("cpu",), np.full((1, 1, 1), 4 * QUANTUM), (10**18,), np.full((1, 1), 4 * QUANTUM))
    view = Ledger(cluster, peaks=partial(PeakBook, predictors={0: LimitPeak(limit=0.5)})).view
    for shown in (view.free, view.requested):
        with pytest.raises(ValueError, match="read-only"):
            shown[0] = 1


def test_those_who_wait_are_tried_again_when_the_prediction_falls() -> None:
    cluster = Cluster(("cpu",), np.full((1, 1, 1), 4 * QUANTUM), (10**18,), np.full((1, 1), 4 * QUANTUM))
    ledger = Ledger(cluster, peaks=partial(PeakBook, predictors={0: LimitPeak(limit=0.5)}))
    run = Simulation(Workload.of_units([0.0, 1.0, 2.0], [1e4, 1e4, 1e4], {"cpu": 3}), ledger, Overflow("wait"))
    ledger.peaks.watch(run)
    begun = []
    while (request := run.advance()) is not None:
        fits = run.view.free[0, 0, 0] >= request.demand[0]
        begun += [(request.index, run.now)] if fits else []
        run.answer(request.on(0, 0) if fits else None)
    # 3 cores are 1.5 after a step; another 3 then do not fit into 2.5, and 3 do once all have ended.
    assert begun == [(0, 0.0), (1, 1e4), (2, 2e4)]
