"""What happens at the very begin or end of the measured time belongs to it; what is a second off does not.

The measured time begins when the first request after the warm start arrives, and ends with the last decision.
"""

from dataclasses import replace
from json import loads
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from binwright.analysis.measure.costs.bill import Costs
from binwright.analysis.measure.finished_run import FinishedRun
from binwright.analysis.measure.metrics import TABLE
from binwright.scenarios.build.plan import plan
from binwright.scenarios.run.execute import execute
from binwright.scenarios.run.refusals import refusals
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore.errors import RunError
from binwright.simcore.rules import Overflow
from tests.reference import engine
from tests.reference.moving import Rules
from tests.support.moving import Told, move_in
from tests.support.runs import Case, run
from tests.support.simulations import drive, first_fit, simulate
from tests.support.tariffs import costs as costs_of
from tests.support.tariffs import tariff

BEGIN, FINISH = 10.0, 20.0
TIMES = [(BEGIN - 1, 0), (BEGIN, 1), (FINISH, 1)]
"""Times, and whether what happens then is measured; after the last decision nothing happens any more."""


def costs(servers: int, **more: Any) -> Costs:
    return costs_of(tariff((9.0, 9.0)), kinds=[0] * servers, **more)


@pytest.mark.parametrize(("time", "measured"), TIMES)
@pytest.mark.parametrize("requeue", [False, True])
def test_failures(time: float, measured: int, requeue: bool) -> None:
    """A request of the warm start is on the server that fails; the other server has room for it."""
    requests = [(0.0, inf, (2, 2)), (BEGIN, 1.0, (1, 1)), (FINISH, 1.0, (1, 1))]
    found = run(Case([(2, 2), (4, 4)], requests, failures=[(time, 0, inf)], requeue=requeue, warm=1)).metrics()
    assert (found["offered"], found["scheduled"]) == (2, 2)
    assert found["interrupted"] == measured
    assert found["lost"] == (0 if requeue else measured)


@pytest.mark.parametrize(("time", "measured"), TIMES)
@pytest.mark.parametrize(("lifetime", "downtime", "arrives"), [(99.0, 0.0, 1), (99.0, 1.0, 1), (0.0, 99.0, 0)])
def test_moves(time: float, measured: int, lifetime: float, downtime: float, arrives: int) -> None:
    """A move ends at that time: it arrives, or its request ends before."""
    stays = lifetime or time
    requests: list[tuple[float, float, engine.Demand]]
    requests = [(0.0, stays, (3,)), (0.0, 99.0, (1,)), (BEGIN, 1.0, (1,)), (FINISH, 1.0, (1,))]
    simulation = simulate(engine.Case([[[9]], [[9]]], [[9]], (9,), requests))
    begins = int(time - downtime) if arrives else int(time) - 1
    moving = move_in(
        simulation,
        Rules(begins, 1, downtime=downtime),
        Told(lambda *_: [(0, (1, 0))] if simulation.now == begins else []),
    )
    drive(simulation, first_fit)
    assert [(one.end, one.outcome) for one in moving.log] == [(time, "done" if arrives else "ended")]
    over = FinishedRun(simulation, 2, {}, 0, prices={}, costs=costs(2, move=2.0))
    assert TABLE["moves"](over) == measured * arrives
    assert TABLE["moves_failed"](over) == measured * (1 - arrives)
    assert TABLE["downtime"](over) == measured * arrives * downtime
    assert TABLE["moved"](over) == measured * arrives * 3 / 1e6
    assert over.bill is not None
    assert over.bill.moves == 2.0 * measured * arrives


@pytest.mark.parametrize(
    ("times", "warm", "woken"),
    [([0, BEGIN - 1, BEGIN, FINISH], 2, 1), ([0, BEGIN, FINISH], 1, 2), ([0, BEGIN, BEGIN + 1], 1, 1)],
)
def test_servers_that_are_woken(times: list[float], warm: int, woken: int) -> None:
    """The only server is off once it has been empty for a second, as before each of these times but the next second."""
    ran = run(Case([(4, 4)], [(float(time), 1.0, (1, 1)) for time in times], warm=warm))
    over = FinishedRun(ran.simulation, ran.first, ran.samples, 0, prices={}, costs=costs(1, off_after=1.0))
    assert over.begin == BEGIN
    assert over.bill is not None
    assert over.bill.woken == woken


@pytest.mark.parametrize(("time", "measured"), [(FINISH - 1, True), (FINISH, True), (FINISH + 1, False)])
def test_drains(time: float, measured: bool, tmp_path: Path) -> None:
    """One that would begin after the last decision has not; a server that is empty by then is drained."""
    for lifetime in (FINISH, FINISH + 1):
        rows = ["id,arrival,lifetime,cpu,disk", f"0,0,{lifetime:g},4,1", f"1,{FINISH:g},1,1,1"]
        (tmp_path / "few.csv").write_text("\n".join(rows) + "\n")
        data = {
            "cluster": {"servers": 2, "node": {"cpu": 4, "disk": 4}},  # two resources: kernels are those of other tests
            "workload": {"trace": "table", "path": str(tmp_path / "few.csv"), "units": {"disk": "1"}},
            "placement": [{"drain": [0], "at": time}],
            "agents": ["first-fit"],
        }
        [one] = plan(scenario_from(data))
        found = execute(one, tmp_path)
        assert found.get("undrained") == (int(lifetime > FINISH) if measured else None)
        assert found.get("drained") == (max(lifetime - time, 0.0) if measured else None)


def test_load() -> None:
    """Row 0 got a place in the warm start, row 1 was skipped by it; row 2, the first one measured, finds no place."""
    requests = [(0.0, inf, (1, 1)), (5.0, inf, (4, 4)), (BEGIN, inf, (4, 1)), (FINISH, 1.0, (1, 1))]
    ran = run(Case([(4, 4)], requests, warm=2))
    assert ran.first == 2
    assert ran.metrics()["load_cpu"] == pytest.approx((1 + 4) / 4)


@pytest.mark.parametrize(("time", "measured"), TIMES)
def test_refusals(time: float, measured: int) -> None:
    """A failure sends back a request that nobody has room for, as for the two that are measured."""
    requests = [(0.0, 99.0, (4, 4)), (0.0, 99.0, (4, 4)), (BEGIN, 1.0, (1, 1)), (FINISH, 1.0, (1, 1))]
    case = Case([(4, 4), (4, 4)], requests, failures=[(time, 0, inf)], requeue=True, warm=2)
    ran = run(case)
    found = {name: loads(said) for name, said in refusals(ran.simulation, ran.first).items()}
    assert sum(found["reasons"].values()) == 2 + measured
    assert sum(refused for _, refused in found["refused_sizes"].values()) == 2 + measured
    over = FinishedRun(ran.simulation, ran.first, ran.samples, 0, prices={})
    assert over.answered.tolist() == [2, 3, *[4] * measured]


def test_requests_after_the_end_of_a_stopped_run_are_not_answered() -> None:
    """Rows 0 and 1 came, and row 1 ended the run; row 2 fits on no server."""
    requests = [(0.0, inf, (4, 4)), (1.0, inf, (4, 4)), (2.0, inf, (9, 9))]
    ran = run(Case([(4, 4)], requests, overflow=Overflow("stop")))
    assert FinishedRun(ran.simulation, 0, ran.samples, 0, prices={}).answered.tolist() == [0, 1]


@pytest.mark.parametrize(("running", "said"), [(1, ""), (2, "fits nowhere")])
def test_a_run_that_ends_before_its_first_arrival(running: int, said: str) -> None:
    """The second request finds no place: it arrives, or it is the last one that runs already."""
    requests = [(0.0, inf, (4, 4)), (0.0, inf, (4, 4)), (1.0, inf, (1, 1))]
    ran = run(Case([(4, 4)], requests, overflow=Overflow("stop")))
    ran.simulation.workload = replace(ran.simulation.workload, age=np.ones(running))
    if said:
        with pytest.raises(RunError, match=said):
            FinishedRun(ran.simulation, 0, ran.samples, 0, prices={})
    else:
        assert FinishedRun(ran.simulation, 1, ran.samples, 0, prices={}).finish == 0.0
