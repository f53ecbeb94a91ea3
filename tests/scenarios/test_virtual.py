"""Workloads of virtual networks, and scenarios of them: what they draw, what is refused, what runs."""

from typing import Any

import numpy as np
import pytest

from binwright.scenarios.schema.load import scenario_from
from binwright.scenarios.schema.workload import Tenants
from binwright.simcore.errors import ScenarioError
from binwright.simcore.types import QUANTUM
from binwright.workloads.virtual import Machines
from tests.support.batches import changed

MACHINE = {"slots": 1, "mem": "256 MB"}
TREE = {
    "network": {"topology": {"tree": {"fanouts": [4, 3, 2], "capacities": [1, 1, 1]}}},
    "node": {"slots": 4, "mem": "8 GB"},
}
HOSE = {
    "name": "clusters",
    "cluster": TREE,
    "workload": {
        "networks": {
            "hose": {"machines": {"uniform": [2, 20]}, "machine": MACHINE, "bandwidth": ["10 Mbps", "100 Mbps"]}
        },
        "requests": 60,
        "lifetimes": {"exponential": {"mean": "10 s"}},
    },
    "agents": ["vm-first-fit", "oktopus"],
}
PAIRS = HOSE | {
    "name": "centres",
    "cluster": TREE | {"network": {"topology": {"fat-tree": {"k": 4}}}},
    "workload": HOSE["workload"]
    | {"networks": {"pairs": {"machines": {"uniform": [2, 20]}, "machine": MACHINE, "bandwidth": "2 Gbps"}}},  # type: ignore[operator]
    "agents": ["vm-first-fit", "secondnet"],
}


def kind_of(form: str, least: int, most: int, low: float, high: float, **more: Any) -> Any:
    machines = {"uniform": [least, most]}
    return {form: {"machines": machines, "machine": {"slots": 1}, "bandwidth": [low, high]} | more}


def tenants(kind: Any, requests: int = 400, seed: int = 0) -> Any:
    return Tenants.model_validate({"networks": kind, "requests": requests}).draw(("slots", "mem"), seed)


@pytest.mark.parametrize(
    ("inputs", "least", "most", "mean"),
    [
        (100, 100, 100, 100.0),
        ({"uniform": [64, 128]}, 64, 128, 96.0),
        ({"exponential": {"mean": 49, "least": 10, "most": 340}}, 10, 340, 49.9),
        ({"exponential": {"mean": 8, "above": 64}}, 64, 250, 72.0),
    ],
)
def test_sizes(inputs: Any, least: int, most: int, mean: float) -> None:
    sizes = Machines.model_validate(inputs)
    drawn = sizes.at(np.random.default_rng(0).random(100_000))
    assert least <= drawn.min() <= drawn.max() <= most
    assert drawn.mean() == pytest.approx(mean, rel=0.01)
    assert sizes.at(np.zeros(1)) == least
    if sizes.exponential is None:
        assert sizes.at(np.array([np.nextafter(1, 0)])) == most


def test_a_matrix_has_exactly_its_bandwidth() -> None:
    workload = tenants(kind_of("pairs", 1, 30, 0.05, 0.15))
    for row, network in enumerate(workload.networks):
        assert network.form == "pairs"
        assert network.rates.sum() == workload.bandwidth[row]
        assert (network.rates > 0).all()
        assert (network.pairs[:, 0] < network.pairs[:, 1]).all()
        assert len(np.unique(network.pairs, axis=0)) == len(network.pairs)
        assert (network.machines.sum(axis=0) == workload.demand[row]).all()
        assert (len(network.rates) > 0) == (len(network) > 1)
    large = [network for network in workload.networks if len(network) > 9]
    full = sum(len(network) * (len(network) - 1) / 2 for network in large)
    assert sum(len(network.pairs) for network in large) == pytest.approx(full, rel=0.03)


def test_machines_of_a_cluster_have_one_bandwidth() -> None:
    workload = tenants(kind_of("hose", 2, 50, 0.01, 0.1))
    for row, network in enumerate(workload.networks):
        assert network.form == "hose"
        assert 10_000 <= network.hose <= 100_000
        assert workload.bandwidth[row] == network.hose * len(network)


def test_draws_are_determined_and_one_stream_moves_no_other() -> None:
    kind = kind_of("pairs", 3, 30, 0.05, 0.15)
    each, again, longer, other = tenants(kind), tenants(kind), tenants(kind, 500), tenants(kind, seed=1)
    for row in (0, 7, 399):
        for same in (again, longer):
            assert (each.networks[row].rates == same.networks[row].rates).all()
        assert (each.networks[row].rates == each.networks[row - 400].rates).all()
    assert (each.demand == longer.demand[:400]).all()
    assert (each.demand != other.demand).any()
    wider = tenants(kind_of("pairs", 3, 30, 0.05, 0.5))
    assert (each.demand == wider.demand).all()
    assert [len(network) * QUANTUM for network in each.networks[3:5]] == each.demand[3:5, 0].tolist()


# -- scenarios -----------------------------------------------------------------------------------------------------

FAT = {"network": {"topology": {"fat-tree": {"k": 4}}}, "node": {"slots": 4, "mem": "8 GB"}}
WRONG: list[tuple[dict[str, Any], str, Any, str]] = [
    (HOSE, "cluster", {"servers": 3, "node": {"slots": 4, "mem": 8}}, "need a network"),
    (HOSE, "cluster", FAT, "need a tree"),
    (HOSE, "agents", ["oktopus", "tetris"], "does not place virtual networks"),
    (HOSE, "agents", ["secondnet"], r"of this form \(hose\)"),
    (PAIRS, "agents", ["oktopus"], r"of this form \(pairs\)"),
    (HOSE, "workload.networks.hose.bandwidth", ["2 Mbps", "1 Mbps"], "empty range"),
    (PAIRS, "workload.networks.pairs.bandwidth", [0, "1 Mbps"], "bandwidth: is not above 0"),
    (HOSE, "workload.networks.hose.machine", {"gpu": 1}, "no such resource"),
    (HOSE, "workload.networks.hose.machines", {"exponential": {"mean": 4, "least": 9, "most": 5}},
     "smaller than `least`"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "key", "value", "problem"), WRONG)
def test_a_wrong_scenario_says_what_and_where(data: dict[str, Any], key: str, value: Any, problem: str) -> None:
    with pytest.raises(ScenarioError, match=problem) as caught:
        scenario_from(changed(data, *key.split("."), to=value))
    assert caught.value.remedy
