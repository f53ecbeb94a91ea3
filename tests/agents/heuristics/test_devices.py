"""Every agent for devices against its reference, ties included."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from binwright.agents import AGENTS
from binwright.agents.heuristics.devices import FGD
from binwright.agents.heuristics.servers.costs import FirstFit
from binwright.agents.rules.on_devices import WithDevices
from binwright.fabric.fragmentation import CAUSES, fragments, stranded, typical
from binwright.fabric.ledger import Ledger
from binwright.simcore.errors import UserError
from binwright.simcore.rng import stream
from binwright.simcore.types import Agent, OnDevices, Placement
from tests.reference import devices as reference
from tests.reference.devices import SCORES, UNIT, Ask, Server, choices
from tests.support.devices import CPU, asks, clusters, ledger_of, request_of
from tests.support.properties import scaled
from tests.support.views import view_of

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long

Case = tuple[Ledger, list[Server]]
FEW = ("first-fit", "internal")
OTHERS = ("best-fit", "worst-fit", "balance-fit", "dot-product", "random", "random-top")


def answer(agent: Agent, ledger: Ledger, ask: Ask) -> tuple[int, tuple[int, ...]] | None:
    """Return the server and the devices that an agent chooses, after the ledger has taken them."""
    agent.start(ledger.view, stream(0, "agent"))
    request = request_of(ask, 1)
    result = agent.decide(ledger.view, request)
    if result is None:
        return None
    assert isinstance(result, Placement)
    ledger.apply(request, result)
    ledger.release(1)
    return result.shares[0][0], result.devices if isinstance(result, OnDevices) else ()


@pytest.mark.parametrize("name", SCORES)
@given(case=clusters(), ask=asks())
@scaled(3)
def test_agrees_with_its_reference(name: str, case: Case, ask: Ask) -> None:
    ledger, servers = case
    gpu = max(1, int(ledger.view.capacity[:, 0, 2].max()))
    assert answer(AGENTS.load(name)(), ledger, ask) == reference.choose(name, servers, ask, CPU, gpu)


usual_kinds = st.lists(st.tuples(asks(), st.integers(1, 8)), min_size=1, max_size=5, unique_by=lambda each: each[0])


def shares_of(ledger: Ledger, kinds: list[tuple[Ask, int]], top: float = 1.0) -> reference.Typical:
    """The most usual kinds for the slow rules, once the ledger was told of them."""
    rows = [(ask.cpu, ask.mem, ask.gpu, sum(1 << model for model in ask.models), count) for ask, count in kinds]
    ledger.view.usual = np.array(rows, np.int64)
    result, share = typical(ledger.view, top)
    bits = [frozenset(model for model in (0, 1) if row[3] >> model & 1) for row in result.tolist()]
    retained = zip(result.tolist(), bits, share.tolist(), strict=True)
    return [(row[0], row[1], row[2], models, share) for row, models, share in retained]


@given(case=clusters(), ask=asks(), kinds=usual_kinds, steps=st.sampled_from([100, 40]))
@scaled(3)
def test_fgd_agrees_with_its_reference(case: Case, ask: Ask, kinds: list[tuple[Ask, int]], steps: int) -> None:
    ledger, servers = case
    shares = shares_of(ledger, kinds)
    for server in servers:  # sums of floats in another order may fall on the other side of a whole percent
        for chosen in choices(server, ask):
            grown = reference.fragmented(reference.after(server, ask, chosen), shares)
            percent = steps / (1 + np.exp((grown - reference.fragmented(server, shares)) / 1000))
            assume(abs(percent - round(percent)) > 1e-9)
    assert answer(FGD(1.0, steps), ledger, ask) == reference.fgd(servers, ask, shares, steps)


@given(case=clusters(), kinds=usual_kinds)
@scaled(3)
def test_fragments_add_up_to_what_is_free(case: Case, kinds: list[tuple[Ask, int]]) -> None:
    ledger, servers = case
    shares = shares_of(ledger, kinds)
    usual, out = typical(ledger.view, 1.0), np.zeros(len(CAUSES))
    for server in servers:
        left = np.array(server.left or [0], np.int64)
        total = fragments(server.cpu, left, len(server.left), server.model, *usual, out)
        assert out == pytest.approx(reference.fragments(server, shares))
        assert total == pytest.approx(reference.fragmented(server, shares))
        assert out.sum() == pytest.approx(sum(server.left) / 1000)
        assert (out >= 0).all()


def test_most_frequent_kinds_of_requests_make_up_the_share() -> None:
    """Memory tells no kinds apart; of equally usual ones more cpu is first."""
    ledger = ledger_of([2], [0])
    kinds = [(Ask(UNIT, 1, 500_000), 3), (Ask(UNIT, 2, 500_000), 3), (Ask(2 * UNIT, 1, UNIT), 2), (Ask(0, 1, UNIT), 2)]
    actual = shares_of(ledger, kinds, 0.75)
    assert [(cpu, each, count) for cpu, each, count, _, _ in actual] == [(UNIT, 500_000, 1), (2 * UNIT, UNIT, 1)]
    assert [share for *_, share in actual] == pytest.approx([0.75, 0.25])


@given(case=clusters(), kinds=st.lists(asks(), min_size=1, max_size=3))
@scaled(3)
def test_stranded_is_what_no_flavour_can_use(case: Case, kinds: list[Ask]) -> None:
    ledger, servers = case
    lost = [0, 0, 0]
    for server in servers:
        plain = [Ask(ask.cpu, ask.mem, ask.gpu) for ask in kinds]
        present = [ask for ask in plain if choices(server, ask)]
        usable = {device for ask in present for chosen in choices(server, ask) for device in chosen}
        lost[0] += 0 if present else server.cpu
        lost[1] += 0 if present else server.mem
        lost[2] += sum(left for device, left in enumerate(server.left) if device not in usable)
    flavours = np.array([[ask.cpu, ask.mem, ask.gpu] for ask in kinds])
    assert stranded(ledger.view.free, ledger.view.devices, flavours, 2).tolist() == lost


# Each of the other agents is compiled anew for this, which takes seconds.
@pytest.mark.parametrize("name", [*FEW, "gpu-random", *(pytest.param(each, marks=pytest.mark.long) for each in OTHERS)])
@given(case=clusters(), ask=asks())
@scaled(1)
def test_places_whatever_fits(name: str, case: Case, ask: Ask) -> None:
    """Agents for servers too, which get the tightest devices of the server that they choose."""
    ledger, servers = case
    agent = AGENTS.load(name)()
    result = answer(agent if agent.on_devices else WithDevices(agent), ledger, ask)
    places = [number for number, server in enumerate(servers) if choices(server, ask)]
    assert (result is None) == (not places)
    if result:
        assert result[0] in places
        if not agent.on_devices:
            assert result[1] == reference.tightest(servers[result[0]], ask)
        if name == "first-fit":
            assert result[0] == places[0]


def test_agents_for_devices_refuse_servers_without() -> None:
    for agent in (FGD(), WithDevices(FirstFit())):
        with pytest.raises(UserError, match="servers have none"):
            agent.start(view_of([[[1]]], [[[1]]]), stream(0, "agent"))
