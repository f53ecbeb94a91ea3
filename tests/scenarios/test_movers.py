"""Movers in whole runs: the engine rehearses every plan."""

from pathlib import Path
from typing import Any

import pytest

from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.build.plan import plan
from binwright.scenarios.run.execute import execute
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore.errors import UserError
from tests.support.learning import small
from tests.support.scenarios import random_requests


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
