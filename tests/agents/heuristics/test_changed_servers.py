"""Rules in networks that look at what changed, against the look at all, decision by decision."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright import fabric
from binwright.agents import AGENTS
from binwright.fabric.cluster import NEVER, Cluster
from binwright.fabric.network import NetworkLedger, NetworkView
from binwright.fabric.routing import Routing
from binwright.fabric.shapes import fabric as pods
from binwright.fabric.topology import Topology
from binwright.simcore.rng import stream
from binwright.simcore.types import QUANTUM, Agent, Placement, Request
from tests.support.networks import homes, lone
from tests.support.networks import ledger_of as ledger
from tests.support.properties import first, scaled

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long

NETWORKS = [
    pods(4, 5, 2, 2, 1, (1, 2, 2)),  # blocks and racks overlap
    pods(6, 16, 2, 2, 1, (1, 4, 4)),
    homes(),
    lone(),
]
AGENTS_ASKED: list[tuple[str, dict[str, Any]]] = [
    ("best-home", {}),
    ("best-home", {"uplinks": 3.0, "cut_off": 1.0, "leftover": 0.25, "reject": 2.0}),
]


def ledger_of(network: Topology, most: list[int], nodes: int = 1) -> NetworkLedger:
    """Build a ledger that notes what changes, however few servers there are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fabric.ledger, "SERVERS_WORTH_IT", 1)
        capacity = np.broadcast_to(np.array(most, np.int64) * QUANTUM, (network.servers, nodes, len(most))).copy()
        names = ("cpu", "mem", "gpu", "disk", "more")[: len(most)]
        return NetworkLedger(Cluster(names, capacity, (NEVER,) * len(most), capacity[0]), Routing(network))


def pair(ledger: NetworkLedger, name: str, options: dict[str, Any]) -> list[tuple[Agent, NetworkView]]:
    """Start an agent that follows what changed, and one that looks at all servers."""
    found = []
    for view in (ledger.view, replace(ledger.view, changed=None)):
        agent: Agent = AGENTS.load(name)(**options)
        agent.start(view, stream(0, "agent"))
        found.append((agent, view))
    return found


def change(ledger: NetworkLedger, rng: np.random.Generator, held: list[int], down: list[tuple[Any, int]]) -> None:
    """Release, fail or repair something."""
    what = rng.choice(["release", "release", "release", "server", "link", "switch", "repair"])
    if what == "release" and held:
        ledger.release(held.pop(rng.integers(len(held))))
    elif what == "repair" and down:
        ledger.repair(*reversed(down.pop()))
    elif what in ("server", "link", "switch"):
        part = int(rng.integers(ledger.parts(what)))
        if (what, part) not in down:
            down.append((what, part))
            for row in ledger.fail(part, what):
                held.remove(row)
                ledger.release(row)


@pytest.mark.parametrize(("name", "options"), first(1, AGENTS_ASKED))
@given(st.sampled_from(NETWORKS), st.integers(0, 2**32))
@scaled(0.6)
def test_a_look_at_what_changed_finds_what_a_look_at_all_servers_finds(
    name: str, options: dict[str, Any], network: Topology, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    ledger = ledger_of(network, [4, 3])
    agents = pair(ledger, name, options)
    held: list[int] = []
    down: list[tuple[Any, int]] = []
    for row in range(40):
        demand = tuple((rng.integers(0, [14, 10]) * QUANTUM // rng.choice([1, 1, 3])).tolist())
        request = Request(row, 0.0, 1.0, demand, False, int(rng.choice([0, 1, 2, 4])) * QUANTUM // 10)
        said, expected = (agent.decide(view, request) for agent, view in agents)
        assert said == expected
        if isinstance(said, Placement):
            ledger.apply(request, said)
            held.append(row)
        for _ in range(rng.choice([0, 0, 1, 4])):
            change(ledger, rng, held, down)
    ledger.check()


def test_networks_note_what_changes_where_that_pays() -> None:
    assert ledger("alpha").view.changed is None
    large = ledger("gamma")
    assert large.view.changed is not None
    assert not large.view.changed.flags.writeable
    assert large.view.changed[0] == 0
    large.fail(3, "link")
    large.fail(5)
    assert large.view.changed[:3].tolist() == [2, 3, 5]
