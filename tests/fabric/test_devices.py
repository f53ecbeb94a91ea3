"""The ledger of servers with devices against slow rules: what it takes, refuses, gives back and shows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.fabric.cluster import NEVER, Cluster, DevicesOf
from binwright.fabric.ledger import Ledger
from binwright.fabric.run.simulation import Simulation
from binwright.simcore.errors import InfeasiblePlacement, LedgerError, UserError, WorkloadError
from binwright.simcore.record import IMPOSSIBLE
from binwright.simcore.types import OnDevices, Placement
from binwright.simcore.workload import Workload
from tests.reference.devices import UNIT, Ask, Server, choices
from tests.support.devices import CPU, MEM, asks, clusters, ledger_of, request_of
from tests.support.properties import scaled
from tests.support.recount import recount


def placed(ask: Ask, server: int, devices: tuple[int, ...]) -> OnDevices:
    """The answer that names these devices."""
    return OnDevices(((server, 0, request_of(ask).demand),), devices=devices)


def state(ledger: Ledger) -> tuple[object, ...]:
    """Everything that a placement changes, as the view shows it."""
    return ledger.view.free.tolist(), *(array.tolist() for array in ledger.view.devices)


def test_devices_that_are_partly_free_add_up_to_no_device() -> None:
    """.7 and .5 are free: .6 goes onto the first, and another .6 nowhere, though 1.2 was free in all."""
    ledger = ledger_of([2], [0])
    ledger.apply(request_of(Ask(0, 1, 300_000), 1), placed(Ask(0, 1, 300_000), 0, (0,)))
    ledger.apply(request_of(Ask(0, 1, 500_000), 2), placed(Ask(0, 1, 500_000), 0, (1,)))
    ask = Ask(0, 1, 600_000)
    ledger.apply(request_of(ask, 3), placed(ask, 0, (0,)))
    assert ledger.view.devices.free.tolist() == [[100_000, 500_000]]
    before = state(ledger)
    for device in (0, 1):
        with pytest.raises(InfeasiblePlacement, match=f"device {device} of server 0"):
            ledger.apply(request_of(ask, 4), placed(ask, 0, (device,)))
    assert state(ledger) == before
    assert ledger.view.free[0, 0, 2] == ask.gpu  # in all
    assert ledger.reasons[ledger.why_not(request_of(ask, 4))] == "no devices have enough free"


@given(clusters(), asks(), st.data())
@scaled(3)
def test_takes_exactly_what_the_slow_rules_allow(
    case: tuple[Ledger, list[Server]], ask: Ask, data: st.DataObject
) -> None:
    ledger, servers = case
    server = data.draw(st.integers(-1, len(servers)))
    devices = tuple(data.draw(st.lists(st.integers(-1, 4), max_size=3)))
    allowed = 0 <= server < len(servers) and tuple(sorted(devices)) in choices(servers[server], ask)
    before = state(ledger)
    request = request_of(ask, 1)
    if not allowed:
        with pytest.raises(InfeasiblePlacement):
            ledger.apply(request, placed(ask, server, devices))
    else:
        ledger.apply(request, placed(ask, server, devices))
        recount(ledger)
        with pytest.raises(LedgerError):
            ledger.apply(request, placed(ask, server, devices))
        ledger.release(1)
    assert state(ledger) == before
    recount(ledger)


@given(clusters())
@scaled(3)
def test_all_that_is_taken_comes_back(case: tuple[Ledger, list[Server]]) -> None:
    ledger, servers = case
    for number, server in enumerate(servers):
        present = len(server.left)
        assert ledger.view.devices.free[number, :present].tolist() == server.left
        assert ledger.view.free[number, 0].tolist() == [server.cpu, server.mem, sum(server.left)]
        assert ledger.view.devices.held[number].sum() == len(server.kinds)
        assert [int(ledger.view.devices.held[number, kind]) for kind in server.kinds] == [
            server.kinds.count(kind) for kind in server.kinds
        ]
    for row in list(ledger.running):
        ledger.release(row)
    recount(ledger)
    assert (ledger.view.devices.free.sum(axis=1) == ledger.view.devices.installed * UNIT).all()
    assert not ledger.view.devices.held.any()


@given(clusters(), asks())
@scaled(3)
def test_says_why_a_request_fits_nowhere(case: tuple[Ledger, list[Server]], ask: Ask) -> None:
    ledger, servers = case
    fits = any(choices(server, ask) for server in servers)
    assert (ledger.why_not(request_of(ask)) == 0) == fits
    empty = [Server(CPU, MEM, [UNIT] * len(server.left), server.model) for server in servers]
    bits = np.array([sum(1 << model for model in ask.models)])
    demand = np.array([[ask.cpu, ask.mem, ask.gpu]])
    assert ledger.possible(demand, bits).tolist() == [any(choices(server, ask) for server in empty)]


def test_a_failed_server_comes_back_empty_and_added_ones_have_devices() -> None:
    ledger, ask = ledger_of([2, 1], [0, 1]), Ask(1, 1, 400_000)
    ledger.apply(request_of(ask, 1), placed(ask, 0, (1,)))
    assert ledger.fail(0) == [1]
    assert ledger.view.devices.free.tolist() == [[0, 0], [UNIT, 0]]
    with pytest.raises(InfeasiblePlacement, match="has failed"):
        ledger.apply(request_of(ask, 2), placed(ask, 0, (1,)))
    recount(ledger)
    ledger.repair(0)
    assert ledger.view.devices.free.tolist() == [[UNIT, UNIT], [UNIT, 0]]
    ledger.grow(2)
    assert ledger.view.devices.installed.tolist() == [2, 1, 1, 1]
    assert ledger.view.devices.model.tolist() == [0, 1, 1, 1]
    ledger.apply(request_of(ask, 3), placed(ask, 3, (0,)))
    recount(ledger)


def test_refuses_what_is_no_answer_for_devices() -> None:
    ledger, ask = ledger_of([2], [0]), Ask(1, 1, UNIT)
    request = request_of(ask, 1)
    for answer, problem in (
        (Placement(((0, 0, request.demand),)), "takes 1 device: answer OnDevices"),
        (placed(ask, 0, (0, 1)), "takes 1 device: answer OnDevices"),
        (placed(ask, 0, (0.5,)), "not whole numbers"),  # type: ignore[arg-type]
        (placed(ask, 0, (2,)), "no device 2 of server 0, which has 2"),
    ):
        with pytest.raises(InfeasiblePlacement, match=problem):
            ledger.apply(request, answer)
    other = request_of(Ask(1, 1, UNIT, frozenset({1})), 1)
    with pytest.raises(InfeasiblePlacement, match="devices of model A, and it takes B"):
        ledger.apply(other, placed(ask, 0, (0,)))
    assert ledger.reasons[ledger.why_not(other)] == "devices of other models"


def test_devices_belong_to_servers_of_one_node() -> None:
    capacity, each = np.ones((1, 2, 1), np.int64), np.ones(1, np.int64)
    devices = DevicesOf(0, each, each - 1, ("A",), (1, 0))
    with pytest.raises(UserError, match="one node"):
        Ledger(Cluster(("gpu",), capacity, (NEVER,), capacity[0], devices))


def workload(gpu: list[float], models: list[str] | None = None) -> Workload:
    """Requests a second apart, which stay for ever."""
    result = Workload.of_units(np.arange(len(gpu)), np.inf, {"cpu": 1.0, "mem": 1.0, "gpu": gpu})
    named = None if models is None else np.array(models)
    return Workload(result.resources, result.arrival, result.duration, result.demand, result.id, models=named)


def test_requests_for_neither_a_part_nor_whole_devices_are_impossible() -> None:
    simulation = Simulation(workload([1.5, 1, 2, 3, 0.5], ["", "C|B", "A", "", "C"]), ledger_of([2, 1], [0, 1]))
    # 3 devices are on no server, and none is a C
    assert (simulation.record.outcome == IMPOSSIBLE).tolist() == [True, False, False, True, True]
    assert simulation.advance().models == 1 << 62 | 2  # type: ignore[union-attr]
    assert simulation.as_workload().models.tolist() == ["", "C|B", "A", "", "C"]  # type: ignore[union-attr]


def test_usual_device_requests_are_counted_beforehand() -> None:
    ledger = ledger_of([2, 1], [0, 1])
    requested = workload([1, 1, 0.5, 0.5], ["A", "A", "", ""])
    Simulation(Workload(**{**requested.__dict__, "usual": 3}), ledger)
    usual = ledger.view.usual[:, 2:].tolist()  # devices, models, and how often
    assert usual == [[UNIT // 2, 0, 1], [UNIT, 1, 2]]


def test_models_mean_nothing_where_there_are_no_devices() -> None:
    capacity = np.full((1, 1, 3), 8 * UNIT)
    ledger = Ledger(Cluster(("cpu", "mem", "gpu"), capacity, (NEVER,) * 3, capacity[0]))
    with pytest.raises(WorkloadError, match="servers have none"):
        Simulation(workload([1], ["A"]), ledger)
