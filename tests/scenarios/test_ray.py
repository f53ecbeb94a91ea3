"""Batches on a Ray cluster: two nodes on this machine, one of which dies midway."""

import os
import socket
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from binwright.scenarios.batch import on_ray
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.batch.on_ray import QUIET
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore.errors import UserError
from tests.support.batches import agent, data, numbers, plain, same, scenario, tree

os.environ.update(QUIET)
ray = pytest.importorskip("ray")
# Ray leaves sockets and processes to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
NODE: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 80 * 2**20}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head that does no runs itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from ray.cluster_utils import Cluster

        started = Cluster(initialize_head=True, head_node_args=NODE | {"num_cpus": 0, "include_dashboard": False})
        try:
            yield started
        finally:
            ray.shutdown()
            started.shutdown()


@pytest.mark.long
def test_a_cluster_of_this_machine_gives_the_same_bytes(tmp_path: Path) -> None:
    alone = Batch(scenario(), tmp_path / "alone").run()
    try:
        results = Batch(scenario(), tmp_path / "there").run(on="ray")
    finally:
        ray.shutdown()
    assert not len(results.failed), results.failed["error"][0]
    assert same(results, alone)


@pytest.mark.long
def test_two_nodes_one_of_which_dies_give_the_same_bytes(
    tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A trace, an agent that kills its own process once, and a node that goes. Then every node seems to be gone."""
    nodes = [cluster.add_node(**NODE) for _ in range(2)]
    trace, fuse = tmp_path / "t.csv", tmp_path / "fuse"
    trace.write_text("vmid,cpu,mem,at,lt\n" + "".join(f"{n},{1 + n % 3},{2 + n % 5},{n},{n % 7}\n" for n in range(400)))
    local = os.getpid()
    line = (
        f"if request.index == 7 and os.getpid() != {local} and not Path({str(fuse)!r}).exists(): "
        f"Path({str(fuse)!r}).touch(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    inputs = plain(
        agents=["best-fit", agent(tmp_path, line), "random"],
        workload={"trace": "huawei-east-1", "path": str(trace), "requests": 200, "start": {"random": [0, 200]}},
        record=["requests", "samples"],
        replications=20,
    )
    alone = Batch(inputs, tmp_path / "alone").run()
    finished: list[str] = []

    def midway(row: dict[str, Any]) -> None:
        finished.append(row["run"])
        if len(finished) == 15:
            cluster.remove_node(nodes.pop(), allow_graceful=False)

    results = Batch(inputs, tmp_path / "there").run(on=f"ray://{cluster.address}", finished=midway)
    assert not len(results.failed), results.failed["error"][0]
    assert len(finished) == len(set(finished)) == 60
    assert same(results, alone)
    assert tree(tmp_path / "there" / "details") == tree(tmp_path / "alone" / "details")
    assert numbers(results).columns == numbers(alone).columns
    assert fuse.exists(), "the agent's process never died"
    monkeypatch.setattr(on_ray, "PATIENCE", 0)
    monkeypatch.setattr(vars(on_ray)["ray"], "cluster_resources", dict)
    with pytest.raises(UserError, match="no worker of the Ray cluster came up within 0 s"):
        Batch(inputs, tmp_path / "there").run(on=f"ray://{cluster.address}", done={})
    assert same(Batch(inputs, tmp_path / "there").run(), alone)
    assert "Raylet is terminated" not in capfd.readouterr().out, "a page of log"


def test_an_address_that_does_not_answer(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for wrong in (str(port), "port"):
        with pytest.raises(UserError, match="does not answer") as error:
            Batch(scenario(), tmp_path / "out").run(on=f"ray://127.0.0.1:{wrong}")
        assert "ray start --head" in str(error.value)
    assert not list(tmp_path.iterdir())


def test_without_ray_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r"a cluster needs ray, which is not installed\n  Run pip install"):
        Batch(scenario_from(data()), tmp_path / "out").run(on="ray")
    assert not list(tmp_path.iterdir())
