"""What is measured of runs in which requests move, against what their servers held from event to event."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from binwright.agents import MOVERS
from binwright.analysis.measure.definition import definition_of
from binwright.analysis.measure.finished_run import FinishedRun
from binwright.analysis.measure.samples import Sampler, states
from binwright.fabric.devices import DeviceView
from binwright.fabric.fragmentation import CAUSES, USABLE, fragments, typical
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.build.plan import plan
from binwright.scenarios.features.moves.run import Moving
from binwright.scenarios.run.execute import execute
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore.moves import Move, Mover, Running
from binwright.simcore.types import Ints, OnDevices, Request, View
from tests.reference.engine import Case, Decide, Demand
from tests.reference.moving import Rules
from tests.support.moving import Told, move_in, rules_of_moves, shuffler
from tests.support.properties import scaled
from tests.support.scenarios import deciding
from tests.support.simulations import WatchedLedger, cases, deciders, drive, first_fit, place, simulate
from tests.support.tariffs import costs as costs_of
from tests.support.tariffs import tariff


class History:
    """Writes down what every server holds after everything that happens: times, and int64 [servers, resources]."""

    def __init__(self, simulation: Simulation, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps: list[tuple[float, Ints]] = []
        ledger = simulation.ledger
        assert isinstance(ledger, WatchedLedger)

        def observe() -> None:
            held = (ledger.view.capacity - ledger.view.free).sum(axis=1)
            held[list(ledger.down)] = 0
            self.steps.append((simulation.now, held))

        monkeypatch.setattr(ledger, "_observe", observe)
        observe()

    def between(self, begin: float, end: float) -> list[tuple[float, Ints]]:
        """List how many seconds each state lasted within a time."""
        ends = [*self.steps[1:], (np.inf, self.steps[-1][1])]
        spans = [
            (min(later, end) - max(time, begin), held)
            for (time, held), (later, _) in zip(self.steps, ends, strict=True)
        ]
        return [(seconds, held) for seconds, held in spans if seconds > 0]


def played(case: Case, decide: Decide, rules: Rules, salt: int) -> tuple[FinishedRun, History, list[Ints], Moving]:
    """Play a case with moves; returns the run, what servers held when, and what was held after each decision."""
    simulation, after = simulate(case), []
    with pytest.MonkeyPatch.context() as patch:
        history = History(simulation, patch)
        moving = move_in(simulation, rules, Told(shuffler(salt)))
        ledger: Any = simulation.ledger
        sampler = Sampler(simulation, ledger)
        sampler()
        while (request := simulation.advance()) is not None:
            decided = len(simulation.record.sequence)
            where = decide(simulation.view.free.tolist(), request.index, request.demand, request.spread)
            nodes = simulation.view.free.shape[1]
            simulation.answer(None if where is None else place(request, where, nodes))
            if len(simulation.record.sequence) > decided:
                after.append(ledger.used())
        after += [ledger.used()] * (len(simulation.record.sequence) - len(after))  # who waited in vain is rejected
        sampler()
        costs = costs_of(tariff(price=1.0), kinds=[0] * len(case.capacity), move=2.0, move_gb=0.5)
        run = FinishedRun(simulation, 0, sampler.columns(), 0, prices={}, costs=costs)
    return run, history, after, moving


@scaled(2)
@given(cases(faults=False), deciders, st.integers(0, 99), rules_of_moves)
def test_requests_held_twice_in_a_move_count_twice(case: Case, decide: Decide, salt: int, rules: Rules) -> None:
    case.expansion, case.mode = [], "drop" if case.mode == "expand" else case.mode
    run, history, after, _ = played(case, decide, rules, salt)
    assume(len(after) and run.capacity.sum(axis=(0, 1)).all())
    steps = history.between(run.begin, run.finish)
    total = run.capacity.sum(axis=(0, 1))
    seconds = run.finish - run.begin
    for r, share in enumerate(definition_of("allocation")(run)):
        held = sum(length * float(servers[:, r].sum()) for length, servers in steps)
        assert share == pytest.approx(held / (total[r] * seconds) if seconds else 0.0)
    mean, last = (np.array(share) * total for share in run.shares)
    np.testing.assert_allclose(mean, np.mean(after, axis=0))
    np.testing.assert_allclose(last, after[-1])


def test_moves_under_way_at_the_end_count_twice_until_arrival() -> None:
    requests: list[tuple[float, float, Demand]] = [(0.0, 100.0, (1,)), (0.0, 100.0, (1,)), (3.0, 10.0, (1,))]
    simulation = simulate(Case([[[8]], [[8]]], [[8]], (9,), requests))
    move_in(simulation, Rules(every=2, moves=1, downtime=4.0), Told(lambda *_: [(0, (1, 0))]))
    drive(simulation, first_fit)
    run = FinishedRun(simulation, 0, {}, 0, prices={}, costs=None)
    [moved] = simulation.moving.log if simulation.moving else []
    assert (moved.begin, moved.outcome, run.finish, run.last) == (2.0, "under way", 3.0, 100.0)
    assert definition_of("utilisation")(run) == [(100 + 100 + 10 + 4) / 1600]
    assert definition_of("allocation")(run) == [(3 + 3 + 1) / 48]


@scaled(1)
@given(cases(), deciders, st.integers(0, 99), rules_of_moves)
def test_move_metrics_are_counts_of_the_log(case: Case, decide: Decide, salt: int, rules: Rules) -> None:
    run, _, _, moving = played(case, decide, rules, salt)
    done = [moved for moved in moving.log if moved.outcome == "done" and moved.end <= run.finish]
    others = [moved for moved in moving.log if moved.outcome not in ("done", "under way") and moved.end <= run.finish]
    assert definition_of("moves")(run) == len(done)
    assert definition_of("moves_failed")(run) == len(others)
    for moved in moving.log if rules.at_once else ():
        flying = sum(other.begin <= moved.begin and not other.end <= moved.begin for other in moving.log)
        assert flying <= rules.at_once
    assert run.bill is not None
    carried = sum(case.requests[row][2][0] for row in run.arrived.tolist() if row < len(case.requests))
    assert run.bill.moves is not None
    assert run.bill.moves >= 2.0 * len(done) + 0.5 * carried / 1e6 - 1e-9
    for before, later in pairwise(moved.begin for moved in moving.log):
        assert before <= later


@scaled(1)
@given(cases(), deciders, st.integers(0, 99), rules_of_moves)
def test_a_replay_shows_requests_where_they_were(case: Case, decide: Decide, salt: int, rules: Rules) -> None:
    case.requests = [(arrival, duration or 1.0, demand) for arrival, duration, demand in case.requests]
    run, history, _, _ = played(case, decide, rules, salt)
    frame = states(run, 0.0)
    capacity = np.maximum(run.capacity.sum(axis=1), 1)
    for row in frame.rows(named=True)[:-1]:  # at the last moment, the run may have ended before a release
        last = [held for time, held in history.steps if time <= row["time"]][-1]
        for r, name in enumerate(run.resources):
            shown = [share for share in row[f"used_{name}"] if share is not None]
            down = [server for server, share in enumerate(row[f"used_{name}"]) if share is None]
            expected = np.delete(last[: len(row[f"used_{name}"]), r] / capacity[: len(row[f"used_{name}"]), r], down)
            np.testing.assert_allclose(shown, expected, rtol=1e-6)


class Elsewhere(Mover):
    """Moves requests with devices to whatever devices are free on another server."""

    reads_places = True

    def plan(self, view: View, running: Running, moves: int, request: Request | None = None) -> list[Move]:
        assert isinstance(view, DeviceView)
        rng, left = np.random.default_rng(int(view.now)), view.devices.free.copy()
        free, result = view.free.copy(), []
        for at in rng.permutation(len(running.row)).tolist()[:moves]:
            each, server = running.request(int(running.row[at])), int(rng.integers(len(free)))
            fitting = np.flatnonzero(left[server] >= each.demand[1])
            if server != running.server[at] and len(fitting) and (free[server, 0] >= each.demand).all():
                free[server, 0] -= each.demand
                left[server, fitting[-1]] -= each.demand[1]
                devices = (int(fitting[-1]),) if each.demand[1] else ()
                result.append(Move(each.index, OnDevices(((server, 0, each.demand),), devices=devices)))
        return result


@pytest.mark.parametrize("downtime", ["0 s", "7 s"])
def test_devices_are_followed_to_where_requests_move(
    downtime: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    data = {
        "name": "devices",
        "cluster": {"servers": 3, "node": {"cpu": 8}, "devices": {"count": 2, "model": "m"}},
        "workload": {
            "requests": 80,
            "arrivals": {"fixed": {"every": "5 s"}},
            "flavours": [{"cpu": 1, "gpu": 0.5}, {"cpu": 3, "gpu": 1}, {"cpu": 1}],
            "lifetimes": {"exponential": {"mean": "20 s"}},
        },
        "rescheduling": {"every": "11 s", "moves": 2, "mover": "elsewhere"},
        "moves": {"downtime": downtime},
        "record": ["devices"],
        "agents": ["fgd"],
    }
    monkeypatch.setitem(MOVERS._builtin, "elsewhere", "tests.analysis.measure.test_moved:Elsewhere")
    monkeypatch.setattr(MOVERS, "_all", None)
    seen: list[tuple[float, float]] = []
    answer = Simulation.answer

    def answered(simulation: Simulation, *inputs: Any) -> None:
        before = len(simulation.record.sequence)
        answer(simulation, *inputs)
        ledger: Any = simulation.ledger
        if len(simulation.record.sequence) > before:
            view, out = ledger.view, np.zeros(len(CAUSES))
            kinds, share = typical(view)
            fragmented = 0.0
            for server in range(len(view.free)):
                own = view.devices
                cpu = int(view.free[server, 0, 0])
                fragments(cpu, own.free[server], own.installed[server], own.model[server], kinds, share, out)
                fragmented += (out.sum() - out[USABLE]) / 1000
            seen.append((float(ledger.used()[1]) / 1e6, fragmented))

    monkeypatch.setattr(Simulation, "answer", answered)
    [run] = plan(scenario_from(data))
    with deciding("python"):
        row = execute(run, tmp_path)
    assert row["moves"] > 5
    frame = pl.read_parquet(tmp_path / "details" / f"{run.name}.devices.parquet")
    np.testing.assert_allclose(frame["allocated"], [allocated for allocated, _ in seen])
    fragmented = sum(frame[f"fragments_{cause}"].to_numpy() for number, cause in enumerate(CAUSES) if number != USABLE)
    np.testing.assert_allclose(fragmented, [lost for _, lost in seen], atol=1e-6)
