"""Movers in whole runs: the engine rehearses every plan."""

from pathlib import Path
from typing import Any

from binwright.scenarios.build.plan import plan
from binwright.scenarios.run.execute import execute
from binwright.scenarios.schema.load import scenario_from
from tests.support.scenarios import random_requests


def test_room_is_made_where_rules_let_the_request_lie(tmp_path: Path) -> None:
    groups: list[dict[str, Any]] = [{"count": 6, "node": {"cpu": 16, "mem": 32}, "labels": {"zone": "a"}}]
    closed = {"count": 1, "node": {"cpu": 16, "mem": 32}, "labels": {"zone": "b"}, "taints": ["keep"]}
    problem = []
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
        [run] = plan(scenario_from(data))
        row = execute(run, tmp_path)
        problem.append((row["scheduled"], row["moves"]))
    assert problem[0] == problem[1]  # an empty server that nobody may lie on changes nothing
    assert problem[0][1] > 0
