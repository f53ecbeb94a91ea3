"""Movers in whole runs: the engine rehearses every plan; and moves that relieve load."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import binwright as bw
from binwright.agents.heuristics.movers import ByAgent
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.build.plan import plan
from binwright.scenarios.features.moves import MovesSpec, Rescheduling
from binwright.scenarios.features.moves.run import Moving
from binwright.scenarios.run.execute import execute
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore.errors import ScenarioError, UserError
from binwright.simcore.types import QUANTUM, Workload
from tests.support.learning import small
from tests.support.properties import scaled
from tests.support.scenarios import random_requests
from tests.support.simulations import first_fit
from tests.support.use import Table, simulation


@pytest.mark.long  # kernels that no other fast test needs
def test_a_mover_moves_in_a_run_and_twice_the_same(tmp_path: Path) -> None:
    scenario = small(overflow="drop", rescheduling={"every": "5 s", "moves": 3, "mover": "empty"}, agents=["worst-fit"])
    done = [Batch(scenario_from(scenario), tmp_path / name).run().runs for name in ("one", "two")]
    assert done[0]["moves"].to_list() == done[1]["moves"].to_list()
    assert done[0]["scheduled"].to_list() == done[1]["scheduled"].to_list()
    assert done[0]["moves"][0] > 0


COUNTING: dict[str, dict[str, Any]] = {
    "at_most": {"at_most": 1, "of": "db", "per": "server"},
    "apart": {"apart": ["web", "db"], "per": "server"},
    "spread": {"spread": "web", "over": "rack", "skew": 1},
}
"""Rules that count: a move changes what they allow to the next one."""


def grouped(rule: str, **changes: Any) -> dict[str, Any]:
    """Make a scenario with requests of three groups and a rule that counts them."""
    flavours = [
        {"cpu": 1, "mem": 2, "group": "web"},
        {"cpu": 4, "mem": 8, "group": "db"},
        {"cpu": 2, "mem": 2, "group": "job"},
    ]
    return {
        "name": "counted", "cluster": {"servers": 8, "node": {"cpu": 16, "mem": 32}, "domains": {"rack": 2}},
        "workload": random_requests(300, "10 s", flavours, "4 min"),
        "placement": [COUNTING[rule]], "overflow": "drop", "agents": ["worst-fit"], **changes,
    }  # fmt: skip


@pytest.mark.parametrize("mover", ["agent", pytest.param("empty", marks=pytest.mark.long)])
@pytest.mark.parametrize("rule", COUNTING)
def test_movers_move_under_rules_that_their_own_moves_change(rule: str, mover: str, tmp_path: Path) -> None:
    [one] = plan(scenario_from(grouped(rule, rescheduling={"every": "1 min", "moves": 10, "mover": mover})))
    assert execute(one, tmp_path)["moves"] > 0


def test_room_is_made_where_rules_let_the_request_lie(tmp_path: Path) -> None:
    groups: list[dict[str, Any]] = [{"count": 6, "node": {"cpu": 16, "mem": 32}, "labels": {"zone": "a"}}]
    closed = {"count": 1, "node": {"cpu": 16, "mem": 32}, "labels": {"zone": "b"}, "taints": ["keep"]}
    found = []
    for number, more in enumerate(([], [closed])):
        data = {
            "name": f"closed-{number}",
            "cluster": {"groups": [*groups, *more]},
            "workload": random_requests(
                1000,
                "10 s",
                [{"cpu": 1, "mem": 2, "weight": 4}, {"cpu": 4, "mem": 8, "weight": 2}, {"cpu": 16, "mem": 32}],
                "2 min",
            ),
            "overflow": {"make_room": {"moves": 5, "mover": "agent"}},
            "agents": ["worst-fit"],
        }
        [one] = plan(scenario_from(data))
        row = execute(one, tmp_path)
        found.append((row["scheduled"], row["moves"]))
    assert found[0] == found[1]  # an empty server that nobody may lie on changes nothing
    assert found[0][1] > 0


def test_movers_for_devices_are_refused_on_servers_without_any(tmp_path: Path) -> None:
    mover = {"agent": {"agent": "fgd"}}
    [one] = plan(scenario_from(small(rescheduling={"every": "5 s", "moves": 3, "mover": mover}, agents=["worst-fit"])))
    with pytest.raises(UserError, match="chooses devices, and the servers have none"):
        execute(one, tmp_path)


STEP = 10.0


class SlowRelief:
    """Finds who is to leave, server by server and request by request."""

    def __init__(self, run: Simulation, limit: float) -> None:
        self.run, self.limit, self.since = run, limit, dict[int, int]()

    def look(self, step: int) -> list[int]:
        run, use, nodes = self.run, self.run.workload.use, self.run.view.free.shape[1]
        assert use is not None
        found = []
        for server in range(len(run.view.free)):
            there = {}
            for row in sorted(run.ledger.running):
                if run.record.server[row] == server and run.record.decided[row] < (step + 1) * STEP:
                    node, shares = int(run.record.node[row]), use.during(run.source(row), step, step + 1)[0]
                    each = [
                        min(share, 1.0) * amount for share, amount in zip(shares, run.request(row).demand, strict=True)
                    ]
                    there[row] = {
                        n: [one / nodes if node < 0 else one for one in each] for n in range(nodes) if node in (n, -1)
                    }
            worst = None
            for n in range(nodes):
                for r in range(len(run.view.resources)):
                    has = int(run.ledger.installed[server, n, r])
                    total = sum(own[n][r] for own in there.values() if n in own)
                    excess = total - self.limit * has
                    if excess > 1e-6 and (worst is None or total / max(has, 1) > worst[0]):
                        worst = total / max(has, 1), n, r, excess
            self.since[server] = self.since.get(server, 0) + 1 if worst else 0
            if worst:
                _, n, r, excess = worst
                used = {row: own[n][r] if n in own else 0.0 for row, own in there.items()}
                enough = [row for row in used if used[row] >= excess - 1e-6]
                go = min(enough, key=lambda row: used[row]) if enough else max(used, key=lambda row: used[row])
                found.append((-self.since[server], server, go))
        return [go for _, _, go in sorted(found)]


@given(seed=st.integers(0, 2**30), spread=st.booleans(), downtime=st.sampled_from([0.0, 0.0, 4.0, 25.0]))
@scaled(1)
def test_those_leave_whom_the_reference_names(seed: int, spread: bool, downtime: float) -> None:
    drawn = np.random.default_rng(seed)
    n, servers, nodes = drawn.integers(2, [18, 5, 3]).tolist()
    arrival = np.cumsum(drawn.choice([0.0, 3.0, 10.0, 25.0], n))
    demand = drawn.integers(0, [7 if spread else 4, 4], (n, 2)) * 2 * QUANTUM
    use = Table(STEP, drawn.choice([0.0, 0.25, 0.5, 1.0, 1.25], (n, 37, 2)))
    duration = drawn.choice([5.0, 40.0, 100.0, 300.0], n)
    workload = Workload(("cpu", "mem"), arrival, duration, demand, np.arange(n), use=use)
    run = simulation(workload, drawn.integers(2, 7, (servers, nodes, 2)) * QUANTUM, 3)
    mover, limit = ByAgent("worst-fit"), float(drawn.choice([0.5, 0.75, 1.0]))
    mover.start(run.view, np.random.default_rng(0))
    schedule = Rescheduling.model_construct(moves=2, on_load=limit)
    moving = Moving(run, MovesSpec.model_construct(downtime=downtime), None, (schedule, mover))
    assert moving.relief
    slow, look = SlowRelief(run, limit), moving.relief.look

    def beside(step: int) -> bool:
        expected = slow.look(step)
        found = look(step)
        assert moving.relief
        assert moving.relief.rows.tolist() == expected
        return found

    moving.relief.look = beside  # type: ignore[method-assign]
    while (request := run.advance()) is not None:
        found = first_fit(run.view.free.tolist(), request.index, request.demand, request.spread)
        run.answer(found and (request.across(found[0], nodes) if request.spread else request.on(*found)))
        run.ledger.check()
    assert {moved.why for moved in moving.log} <= {"load"}


def asked(**more: Any) -> dict[str, Any]:
    use = {"cpu": {"mean": "40 %", "daily": 0.5, "persists": "4 h"}}
    workload = random_requests(300, "10 min", [{"cpu": 2, "mem": "4 GB"}, {"cpu": 3, "mem": "2 GB"}], "20 h", use=use)
    cluster = {"servers": 16, "node": {"cpu": 16, "mem": "160 GB"}, "overcommit": {"cpu": 3}}
    return {"cluster": cluster, "workload": workload, "agents": ["best-fit"], **more}


def test_moves_for_load_lessen_contention(tmp_path: Path) -> None:
    rows = {}
    for name, more in (
        ("stay", {}),
        ("move", {"rescheduling": {"on_load": "100 %", "moves": 4, "mover": {"agent": {"agent": "worst-fit"}}}}),
    ):
        rows[name] = bw.run(scenario_from(asked(**more)), out=tmp_path / name, jobs=1).runs.row(0, named=True)
        assert rows[name]["status"] == "done", rows[name]["error"]
    assert rows["move"]["moves"] > 0
    assert rows["move"]["contention_cpu"] < rows["stay"]["contention_cpu"] / 2


def test_mistakes_are_named(tmp_path: Path) -> None:
    load = {"on_load": "100 %", "moves": 4}
    given = asked(rescheduling=load)
    del given["workload"]["use"]
    with pytest.raises(ScenarioError, match="requests use all that they ask for"):
        scenario_from(given)
    (tmp_path / "movers.py").write_text("from binwright import Mover\nclass Mine(Mover): plan = Mover.start\n")
    with pytest.raises(UserError, match="nor at loads"):
        bw.run(scenario_from(asked(rescheduling=load | {"mover": f"{tmp_path}/movers.py:Mine"})), jobs=1)
