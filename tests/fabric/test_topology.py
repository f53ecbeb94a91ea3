"""Networks: what the presets are, what is refused, and that all of them can be drawn."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from pydantic import ValidationError

from binwright.analysis.figures.kinds.topology import paint
from binwright.fabric.topology import TOPOLOGIES, Topology, adjacency, topology
from binwright.scenarios.schema.explain import explain
from binwright.scenarios.schema.network import TopologyChoice
from binwright.scenarios.schema.yaml_source import Source
from binwright.simcore.errors import UserError
from binwright.simcore.types import QUANTUM
from tests.support.properties import first

EXAMPLES: dict[str, dict[str, Any]] = {
    "fabric": {
        "racks": 6, "servers_per_rack": 3, "racks_per_pod": 2, "fabric_switches": 3, "uplinks": 2,
        "capacities": (1, 2, "40 Gbps"),
    },
    "fat-tree": {"k": 4},
    "tree": {"fanouts": [3, 2, 2, 2], "capacities": [1, 2, 4, 8]},
}  # fmt: skip
"""Options of everything registered; presets need none."""


def make(name: str) -> Topology:
    return topology(name, **EXAMPLES.get(name, {}))


def described(net: Topology) -> set[tuple[str, str, int, str]]:
    """Every link in words: its ends, quanta and tier."""
    ends = [[net.names[vertex] for vertex in pair] for pair in net.link_ends.tolist()]
    tiers = [net.tiers[tier] for tier in net.link_tier]
    return {(*sorted(pair), int(c), t) for pair, c, t in zip(ends, net.link_capacity, tiers, strict=True)}


@pytest.mark.parametrize("name", sorted(TOPOLOGIES))
def test_every_topology_is_consistent(name: str) -> None:
    result = make(name)
    vertices = result.switches + result.servers
    assert len(result.names) == len(result.level) == vertices
    assert len(result.pod_of) == result.racks == len(set(result.rack_of.tolist()))
    assert (result.link_capacity > 0).all()
    assert (result.level[result.switches :] == 0).all()
    for field, dtype in (("link_ends", np.int32), ("link_capacity", np.int64), ("link_tier", np.int8)):
        assert getattr(result, field).dtype == dtype
    for array in (result.rack_of, result.link_capacity, result.link_ends):
        assert not array.flags.writeable
    for server in range(result.servers):
        assert result.link_ends[server].tolist() == [result.switches + server, result.rack_of[server]]
    seen = np.zeros(result.links, np.int64)
    first, neighbour, via = adjacency(result.link_ends, result.servers, vertices)
    for vertex in range(vertices):
        edges = slice(first[vertex], first[vertex + 1])
        near = neighbour[edges].tolist()
        assert near == sorted(near, key=lambda v: (v < result.switches, v)), "servers first, then ascending"
        for other, link in zip(near, via[edges].tolist(), strict=True):
            assert sorted(result.link_ends[link].tolist()) == sorted((vertex, other))
            seen[link] += 1
    assert (seen == 2).all()
    turned = result.rack_of, result.pod_of, result.link_ends[:, ::-1], result.link_capacity, result.level
    assert np.array_equal(Topology(name, result.names, *turned).link_ends, result.link_ends)


@pytest.mark.parametrize(
    ("name", "racks", "per_rack", "pods", "switches", "links", "up"),
    [
        ("alpha", 4, 10, 2, 4 + 4 + 2, 52, 1),
        ("beta", 8, 5, 2, 8 + 4 + 2, 60, 1),
        ("gamma", 16, 40, 4, 16 + 16 + 8, 640 + 64 + 32, 2),
        ("delta", 64, 40, 4, 64 + 16 + 32, 2560 + 256 + 128, 2),
    ],
)
def test_presets(name: str, racks: int, per_rack: int, pods: int, switches: int, links: int, up: int) -> None:
    """The graphs of the publication's program: how many of each, and so of each switch's links."""
    net = topology(name)
    assert np.array_equal(net.pod_of, np.arange(racks) // (racks // pods))
    assert (net.name, net.racks, net.servers) == (name, racks, racks * per_rack)
    assert (net.switches, net.links) == (switches, links)
    assert net.tiers == ("server-rack", "rack-fabric", "fabric-spine")
    assert net.levels == ("server", "rack", "fabric", "spine")
    for tier, capacity in enumerate((1, up, up)):
        assert set(net.link_capacity[net.link_tier == tier].tolist()) == {capacity * QUANTUM}
    assert np.array_equal(net.rack_of, np.arange(net.servers) // per_rack)


def test_alpha_link_by_link() -> None:
    """Two pods of two racks; planes 0 and 1, one spine each, which planes never share."""
    net = topology("alpha")
    servers = {(f"rack-{n // 10}", f"server-{n}", QUANTUM, "server-rack") for n in range(40)}
    racks = {(f"fabric-{n // 2}-{plane}", f"rack-{n}", QUANTUM, "rack-fabric") for n in range(4) for plane in (0, 1)}
    spines = {
        (f"fabric-{pod}-{plane}", f"spine-{plane}-0", QUANTUM, "fabric-spine") for pod in (0, 1) for plane in (0, 1)
    }
    assert described(net) == servers | racks | spines
    assert net.pod_of.tolist() == [0, 0, 1, 1]
    first, neighbour, _ = adjacency(net.link_ends, 40, 50)
    near = neighbour[first[1] : first[2]]
    assert [net.names[v] for v in near] == [*(f"server-{n}" for n in range(10, 20)), "fabric-0-0", "fabric-0-1"]


def good(**changes: object) -> dict[str, Any]:
    return EXAMPLES["fabric"] | changes


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("fabric", good(racks=0), "fabric.racks: expected 1 or more"),
        ("fabric", good(racks_per_pod=4), "fabric: 6 racks do not fill pods of 4"),
        ("fabric", good(capacities=(1, 2)), "fabric.capacities.2: expected"),
        ("fabric", good(capacities=(1, 2, -2)), "fabric.capacities.2: must not be negative"),
        ("fabric", good(capacities=(1, None, 2)), "fabric.capacities.1: is not a valid bandwidth"),
        ("fabric", good(capacities=(1, 0, 2)), "fabric.capacities.1: must be more than zero"),
        ("fabric", good(racks=10**8), "are as many as we build"),
        ("fat-tree", {"k": 3}, "fat-tree: a fat-tree's switches have an even number of ports"),
        ("tree", {"fanouts": [2, 2], "capacities": [1]}, "tree: needs one for a link of every level"),
        ("tree", {"fanouts": [1000] * 9, "capacities": [1] * 9}, "are as many as we build"),
        ("alpha", {"rack": 4}, "alpha.rack: unknown option\n  Did you mean 'racks'?"),
        ("alhpa", {}, "alhpa: unknown key\n  Did you mean 'alpha'?"),
    ],
)
def test_options_that_are_refused(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        TopologyChoice.model_validate({name: options})
    assert message in str(explain(caught.value, Source(None, {})))
    with pytest.raises((ValidationError, UserError)):
        topology(name, **options)


@pytest.mark.parametrize("name", first(4, TOPOLOGIES))
def test_every_topology_can_be_drawn(name: str, tmp_path: Path) -> None:
    result = make(name)
    figure = Figure()
    loaded = figure.subplots()
    paint(loaded, result, np.linspace(0, 1, result.links), 7.0, is_named=True)
    figure.savefig(tmp_path / "loaded.png")
    assert len(loaded.collections[0].get_paths()) == result.links
    words = {text.get_text() for text in loaded.texts}
    assert f"{result.servers:,} servers" in words
