"""Clusters whose groups have different numbers of NUMA nodes."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from binwright.scenarios.build.plan import plan
from binwright.scenarios.run.execute import execute
from binwright.scenarios.schema.load import load_scenario, scenario_from
from binwright.simcore.errors import ScenarioError
from binwright.simcore.types import QUANTUM
from tests.support.scenarios import WAYS, build_cluster, deciding, first_run

GROUPS: list[dict[str, Any]] = [
    {"count": 1, "nodes": 3, "node": {"cpu": 2, "mem": 8}},
    {"count": 2, "node": {"cpu": 4, "mem": 6}},
    {"count": 1, "nodes": 1, "node": {"cpu": 8, "mem": 2}},
]


def scenario_of(**cluster: Any) -> dict[str, Any]:
    """A scenario with these groups, and more that its cluster says."""
    return {
        "cluster": {"groups": GROUPS, "nodes": 2, **cluster},
        "workload": {
            "requests": 50,
            "arrivals": {"fixed": {"every": "1 s"}},
            "flavours": [{"cpu": 1, "mem": 2}, {"cpu": 8, "mem": 1}, {"cpu": 9, "mem": 1}],
            "lifetimes": {"fixed": "4 s"},
        },
        "agents": ["first-fit"],
        "record": ["requests"],
    }


def test_a_node_that_a_server_does_not_have_has_nothing() -> None:
    cluster = build_cluster(scenario_from(scenario_of()))
    present = [[2, 2, 2], [4, 4, 0], [4, 4, 0], [8, 0, 0]]
    assert (cluster.capacity[:, :, 0] // QUANTUM).tolist() == present
    assert (cluster.growth[:, 0] // QUANTUM).tolist() == [8, 0, 0]
    demand = np.array([[8, 1], [9, 1], [4, 6], [2, 8], [4, 8]]) * QUANTUM
    servers = np.append(cluster.capacity, cluster.growth[None], axis=0)
    assert cluster.possible(demand, servers).tolist() == [True, False, True, True, False]


def test_a_request_lies_on_nodes_that_there_are(tmp_path: Path) -> None:
    _, frame = first_run(scenario_of(), tmp_path)
    placed = frame.filter(pl.col("outcome") == "placed")
    assert (placed["node"].to_numpy() < np.array([3, 2, 2, 1])[placed["server"].to_numpy()]).all()
    assert placed["server"].n_unique() > 1
    assert (frame["outcome"] == "impossible").any()


def test_results_of_mixed_clusters_do_not_depend_on_the_engine(tmp_path: Path) -> None:
    scenario = load_scenario("mixed", ["workload.requests=400", "replications=1", "agents=[balance-fit]"])
    [run] = plan(scenario.model_copy(update={"record": ("requests",)}))
    rows = []
    for way in WAYS:
        with deciding(way):
            assert execute(run, tmp_path / way)["compiled"] == (way == "compiled")
        rows.append(pl.read_parquet(tmp_path / way / "details" / f"{run.name}.requests.parquet"))
    assert_frame_equal(*rows, check_exact=True)


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        ({"spread_above": {"mem": 5}}, "cluster.groups.1.nodes: has 2 nodes, and the groups before it have 3"),
        (
            {"nodes": 1, "groups": [{**GROUPS[0], "devices": {"count": 1}}]},
            "cluster.groups.0.nodes: servers with devices have one node",
        ),
        ({"groups": [{**GROUPS[0], "nodes": 0}]}, "cluster.groups.0.nodes"),
    ],
)
def test_keys_that_do_not_go_with_mixed_groups_are_refused(cluster: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        scenario_from(scenario_of(**cluster))
