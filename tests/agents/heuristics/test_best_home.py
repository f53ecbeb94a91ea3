"""Best-Home where requests are very dear, or very large."""

import numpy as np
import pytest

from binwright.agents.heuristics.networks.best_home import BestHome
from binwright.fabric.cluster import NEVER, Cluster
from binwright.fabric.network import NetworkLedger, Provisioned
from binwright.fabric.routing import Routing
from binwright.fabric.shapes import fabric as pods
from binwright.simcore.rng import stream
from binwright.simcore.types import QUANTUM, Refusal, Request
from tests.support.networks import ledger_of as ledger

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long


@pytest.mark.parametrize("bandwidth", [2, 1000, 10**6])
@pytest.mark.parametrize("weight", [1.0, 1000.0])
def test_tier_without_bandwidth_is_named_at_any_weight_of_links(weight: float, bandwidth: int) -> None:
    """However dear a placement would be, there is none for want of bandwidth."""
    view = ledger("alpha").view
    agent = BestHome(links=weight, uplinks=weight)
    agent.start(view, stream(0, "agent"))
    wide = Request(0, 0.0, 1.0, (20 * QUANTUM, 15 * QUANTUM), False, bandwidth * QUANTUM)
    assert agent.decide(view, wide) == Refusal("no path: server-rack")


@pytest.mark.parametrize("cut_off", [0.0, 1000.0])
def test_huge_requests_are_placed_whatever_the_weights(cut_off: float) -> None:
    """What they cost is beyond what floats hold exactly."""
    network = pods(4, 650, 2, 1, 1, (1, 650, 1300))
    size = np.full((network.servers, 1, 2), 10 * QUANTUM)
    view = NetworkLedger(Cluster(("cpu", "mem"), size, (NEVER, NEVER), size[0]), Routing(network, 1)).view
    agent = BestHome(stranded=1000.0, cut_off=cut_off)
    agent.start(view, stream(0, "agent"))
    answer = agent.decide(view, Request(0, 0.0, 1.0, (23_000 * QUANTUM, 23_000 * QUANTUM), False, QUANTUM // 2))
    assert isinstance(answer, Provisioned)
    assert len(answer.chosen) == 2300
