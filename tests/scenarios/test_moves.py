"""Scenarios in which requests are moved: what is refused, what rules and drains mean, and what is recorded."""

import copy
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from binwright.scenarios.build.plan import plan
from binwright.scenarios.run.check import check_scenario
from binwright.scenarios.run.execute import execute
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore.errors import AgentError, UserError
from tests.support.batches import TIMES
from tests.support.moved import LOG
from tests.support.scenarios import deciding, first_run

BASE: dict[str, Any] = {
    "name": "moved",
    "cluster": {"servers": 3, "node": {"cpu": 4, "mem": 8}},
    "workload": {
        "requests": 60,
        "arrivals": {"fixed": {"every": "10 s"}},
        "flavours": [{"cpu": 1, "mem": 2, "weight": 3}, {"cpu": 3, "mem": 2}],
        "lifetimes": {"exponential": {"mean": "1 min"}},
    },
    "agents": ["worst-fit"],
    "seed": 3,
}
MOVERS = """
from binwright import Move, Mover

class Away(Mover):
    def plan(self, view, running, moves, request=None):
        request = running.request(int(running.row[0]))
        return [Move(request.index, request.on(7, 0))]

class TooMany(Mover):
    def plan(self, view, running, moves, request=None):
        return [Move(int(row), None) for row in running.row] * (moves + 1)

class Stranger(Mover):
    def plan(self, view, running, moves, request=None):
        return [Move(999, None)]

class Still(Mover):
    def plan(self, view, running, moves, request=None):
        request, server = running.request(int(running.row[0])), int(running.server[0])
        return [Move(request.index, request.on(server, 0))]

class Broken(Mover):
    def plan(self, view, running, moves, request=None):
        return 1 / 0

class Seer(Mover):
    needs_lifetimes = True

    def plan(self, view, running, moves, request=None):
        return []
"""


def scenario(**changes: Any) -> dict[str, Any]:
    """Change the base, key by key."""
    return {**copy.deepcopy(BASE), **changes}


def run(data: dict[str, Any], folder: Path) -> tuple[dict[str, Any], str]:
    """Run a scenario of one run; returns its row, and its name."""
    [each] = plan(scenario_from(data))
    with deciding("python"):
        return execute(each, folder), each.name


@pytest.mark.parametrize(
    ("mover", "message"),
    [
        ("Away", "the plan of Away at 30 s cannot be made: there is no node 0 of server 7"),
        ("TooMany", "the plan of TooMany at 30 s has"),
        ("Stranger", "has Move(row=999, placement=None), which is no Move of a request that may be moved"),
        ("Still", "it is on server"),
        ("Broken", "Broken raised ZeroDivisionError"),
    ],
)
def test_a_plan_that_breaks_rules_names_the_mover(mover: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "movers.py").write_text(MOVERS)
    data = scenario(rescheduling={"every": "30 s", "moves": 2, "mover": f"{tmp_path}/movers.py:{mover}"})
    with pytest.raises(AgentError) as caught:
        run(data, tmp_path)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "key", "problem"),
    [
        ({"rescheduling": {"moves": 3}}, "rescheduling.every", "is missing"),
        ({"rescheduling": {"every": "1 h", "moves": 3, "mover": "agnet"}}, "rescheduling.mover.agnet", "unknown"),
        ({"overflow": {"make_room": {"moves": 3, "then": "expand"}}}, "overflow.make_room.then", ""),
        ({"moves": {"bandwidth": "10 parsecs"}}, "moves.bandwidth", "is not a unit of rate"),
        ({"rescheduling": {"on_drain": True, "moves": 3}}, "rescheduling.on_drain", "no server is to be emptied"),
        ({"rescheduling": {"on_drain": True, "moves": 3}, "placement": [{"drain": [0]}]}, "rescheduling.on_drain",
         "no server is to be emptied"),
        ({"rescheduling": {"every": "1 h", "moves": 3}, "pacing": {"step": "1 s"}}, "pacing",
         "does not go with requests that are moved"),
        ({"cluster": {"servers": 3, "node": {"cpu": 4, "slots": 8}}, "moves": {"bandwidth": "1 GB/s"},
          "workload": {**BASE["workload"], "flavours": [{"cpu": 1, "slots": 1}]}}, "moves.bandwidth",
         "the cluster has neither mem nor memory"),
    ],
)  # fmt: skip
def test_a_mistake_is_named(changes: dict[str, Any], key: str, problem: str) -> None:
    with pytest.raises(UserError) as caught:
        scenario_from(scenario(**changes))
    assert key in str(caught.value)
    assert problem in str(caught.value)


def test_movers_that_do_not_go_with_a_scenario_are_refused_before_it_runs(tmp_path: Path) -> None:
    (tmp_path / "movers.py").write_text(MOVERS)
    seer = f"{tmp_path}/movers.py:Seer"
    data = scenario(rescheduling={"every": "30 s", "moves": 2, "mover": seer})
    with pytest.raises(UserError, match="Seer asks how long requests stay, and the scenario hides it"):
        check_scenario(scenario_from(data))
    assert check_scenario(scenario_from({**data, "knowledge": {"lifetimes": "known"}})) == 1
    for mover, key, problem in (
        ("make-room", "rescheduling", "MakeRoom plans nothing but room for a request"),
        ("empty", "make_room", "Empty plans nothing where a request needs room"),
    ):
        options = {"moves": 2, "mover": mover}
        never = {"rescheduling": options | {"every": "1 h"}} if key == "rescheduling" else {"overflow": {key: options}}
        with pytest.raises(UserError, match=problem):
            check_scenario(scenario_from(scenario(**never)))
    ruled = scenario(overflow={"make_room": {"moves": 2}}, placement=[{"drain": [0], "at": "1 h"}])
    with pytest.raises(UserError, match="MakeRoom does not look at rules of placement"):
        check_scenario(scenario_from(ruled))


def test_a_drain_is_emptied_by_moves(tmp_path: Path) -> None:
    changes: dict[str, Any] = {
        "cluster": {"servers": 4, "node": {"cpu": 4, "mem": 8}},
        "placement": [{"drain": [0], "at": "95 s"}],
        "rescheduling": {"on_drain": True, "moves": 10},
        "moves": {"bandwidth": "100 GB/s"},
        "record": ["requests"],
        "metrics": ["tests.support.moved:logged"],
    }
    row, name = run(scenario(**changes), tmp_path)
    assert LOG
    assert row["drained"] == max(moved.end for moved in LOG) - 95
    assert row["undrained"] == 0
    assert {(moved.why, moved.source[0], moved.begin, moved.outcome) for moved in LOG} == {("drain", 0, 95.0, "done")}
    requests = pl.read_parquet(tmp_path / "details" / f"{name}.requests.parquet")
    carried = [requests["mem"][moved.row] for moved in LOG]
    assert [100 * (moved.end - moved.begin) for moved in LOG] == pytest.approx(carried)
    frame = requests.filter((pl.col("decided") < 95) & (pl.col("end") > 98) & (pl.col("server") == 0))
    assert frame.is_empty()


@pytest.mark.parametrize("per", ["server", "zone"])
def test_those_who_belong_together_are_so_when_a_move_arrives(per: str, tmp_path: Path) -> None:
    """One of the group goes to a fuller server from 30 s to 34 s; one that comes in between would be beside one end."""
    rows = ["id,arrival,lifetime,cpu,group,where", "0,0,500,3,web,zone=b"]
    rows += [f"{at},{at},500,1,db," for at in (10, 32, 40)]
    (tmp_path / "few.csv").write_text("\n".join(rows) + "\n")
    data = scenario(
        cluster={"groups": [{"count": 2, "node": {"cpu": 8}, "labels": {"zone": zone}} for zone in "ab"]},
        workload={"trace": "table", "path": str(tmp_path / "few.csv")},
        placement=[{"together": ["db"], "per": per}],
        rescheduling={"every": "30 s", "moves": 1, "mover": "agent"},
        moves={"downtime": "4 s"},
        record=["requests"],
        metrics=["tests.support.moved:logged"],
        agents=["first-fit"],
    )
    _, name = run(data, tmp_path)
    [moved] = LOG
    assert (moved.row, moved.source[0], moved.target[0], moved.begin, moved.end) == (1, 0, 2, 30.0, 34.0)
    requests = pl.read_parquet(tmp_path / "details" / f"{name}.requests.parquet")
    assert requests["server"].to_list() == [2, 2, -1, 2]
    assert requests["reason"][2] == f"rule: db together per {per}"


@pytest.mark.parametrize(
    "moving",
    [
        {"rescheduling": {"every": "30 s", "moves": 3, "mover": "empty"}},
        {"overflow": {"make_room": {"moves": 3}}, "moves": {"downtime": "2 s"}},
        {
            "rescheduling": {"every": "20 s", "moves": 3, "mover": {"agent": {"agent": "nilas"}}},
            "knowledge": {"lifetimes": "known"},
        },
    ],
)
def test_moves_do_not_depend_on_the_engine(moving: dict[str, Any], tmp_path: Path) -> None:
    [each] = plan(scenario_from(scenario(**moving)))
    fast = execute(each, tmp_path)
    with deciding("python"):
        slow = execute(each, tmp_path)
    assert (fast.pop("compiled"), slow.pop("compiled")) == (True, False)
    assert fast["moves"] > 0
    assert {name: fast[name] for name in fast if name not in TIMES} == {
        name: slow[name] for name in slow if name not in TIMES
    }


@pytest.mark.long
@pytest.mark.parametrize(
    ("when", "mover", "problem"),
    [
        ({"every": "5 s"}, {"agent": {"agent": "tetris"}}, ""),
        ({"every": "5 s"}, "empty", "Empty looks at no devices, links or predicted"),
    ],
)
def test_only_movers_that_ask_agents_move_in_networks(tmp_path: Path, when: Any, mover: Any, problem: str) -> None:
    data = {
        "name": "network",
        "cluster": {"network": {"topology": {"fat-tree": {"k": 4}}}, "node": {"cpu": 4, "mem": 8}},
        "workload": {"demand": {"uniform": {"high": 4}}, "requests": 60, "holding": 9, "use": {"cpu": "50 %"}},
        "agents": ["tetris"],
        "rescheduling": {**when, "moves": 3, "mover": mover},
    }
    if problem:
        with pytest.raises(UserError, match=problem):
            first_run(data, tmp_path)
    else:
        assert first_run(data, tmp_path)[0]["moves"] > 0
