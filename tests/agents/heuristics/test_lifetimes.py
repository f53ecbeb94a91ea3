"""Agents that place by how long requests are expected to stay, against the rules written out."""

from dataclasses import replace
from functools import partial
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.heuristics.lifetimes import Nilas
from binwright.fabric.devices import DeviceView
from binwright.fabric.run.play import play
from binwright.fabric.run.simulation import Simulation
from binwright.simcore.lifetime_info import LifetimeInfo
from binwright.simcore.types import Agent, Placement, Refusal, Request, View
from binwright.simcore.workload import Workload
from binwright.workloads.predictors import Predictor
from tests.reference import devices
from tests.reference.engine import Case, Where, feasible
from tests.support import simulations
from tests.support.devices import asks, ledger_of
from tests.support.properties import scaled
from tests.support.simulations import cases, simulate, workload_of

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long

STEPS = [1.0, 2.0, 4.0]


class Rounded(Predictor):
    """Tells one of few wrong lifetimes, so that ties are common, and later half as much again as has passed."""

    def predict(self, requests: Workload, rng: np.random.Generator) -> Any:
        return rng.choice([0.0, 1.0, 2.0, 5.0, inf], len(requests))

    def again(self, requests: Workload, row: int, first: float, elapsed: float) -> float:
        return first if first > elapsed else 1.5 * elapsed


class First(Agent):
    """First-fit, as plain as can be."""

    def decide(self, view: View, request: Request) -> Placement | None:
        """Take the first place."""
        result = next(iter(feasible(view.free.tolist(), request.demand, request.spread)), None)
        return result and placed(request, result, view)


def placed(request: Request, where: Where, view: View) -> Placement:
    """Turn a place into a placement."""
    return simulations.place(request, where, view.free.shape[1])


class Written(Agent):
    """NILAS over first-fit by its definition: everything is found out anew for every decision."""

    def __init__(self) -> None:
        self.ends: dict[int, float] = {}

    def decide(self, view: View, request: Request) -> Placement | Refusal | None:
        """Take the first place with the least step."""
        local: dict[int, list[tuple[Request, float]]] = {}
        for _, other, server, _, began in view.placed.since(0):
            if other.index in view.placed.running:
                local.setdefault(server, []).append((other, began))
                end = self.ends.setdefault(other.index, began + other.duration)
                if end <= view.now:
                    scenario = began + view.expected(other, view.now - began)
                    self.ends[other.index] = max(scenario, float(np.nextafter(view.now, inf)))
        places = list(feasible(view.free.tolist(), request.demand, request.spread))
        best = min(places, key=lambda where: self.cost(view, request, where[0], local), default=None)
        return best and placed(request, best, view)

    def cost(self, view: View, request: Request, server: int, local: Any) -> Any:
        """Return the step by which the server would be outlived."""
        last = max([view.now, *(self.ends[other.index] for other, _ in local.get(server, []))])
        after = view.now + request.duration - last if view.now + request.duration > last else 0.0
        return next((step for step, most in enumerate([0.0, *STEPS]) if after <= most), len(STEPS) + 1)


def played(case: Case, agent: Agent) -> tuple[list[int], list[int]]:
    """Let an agent play a case by wrong predictions; returns each request's server and node."""

    def told(*inputs: Any) -> Workload:
        workload, predictor = workload_of(*inputs), Rounded()
        expected = predictor.predict(workload, np.random.default_rng(len(workload)))
        foresight = LifetimeInfo(expected, partial(predictor.again, workload))
        return replace(workload, foresight=foresight)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulations, "workload_of", told)
        simulation: Simulation = simulate(case)
    agent.start(simulation.view, np.random.default_rng(0))
    play(simulation, agent)
    return simulation.record.server.tolist(), simulation.record.node.tolist()


@scaled(1)
@given(cases())
def test_nilas_is_its_definition(case: Case) -> None:
    agent = Nilas()
    agent.agent, agent.steps = First(), STEPS
    assert played(case, agent) == played(case, Written())


class OnDevices(Nilas):
    """NILAS over an agent that chooses devices, every answer of which is held to both rules as they are written."""

    def __init__(self) -> None:
        super().__init__("gpu-best-fit")
        self.steps = STEPS
        self.lies: dict[int, tuple[int, float]] = {}

    def decide(self, view: View, request: Request) -> Placement | Refusal | None:
        answer = super().decide(view, request)
        assert isinstance(view, DeviceView)
        ends = dict.fromkeys(range(len(view.free)), view.now)
        for row in view.placed.running:
            server, end = self.lies[row]
            ends[server] = max(ends[server], end)
        over = {server: max(0.0, view.now + request.duration - end) for server, end in ends.items()}
        steps = {server: sum(time > limit for limit in (0.0, *STEPS)) for server, time in over.items()}
        cpu, mem, gpu = request.demand
        ask = devices.Ask(cpu, mem, gpu)
        most = [int(view.capacity[:, 0, resource].max()) for resource in (0, 2)]
        evaluation = None
        for step in sorted(set(steps.values())):
            servers = [
                devices.Server(free[0], free[1], left[: view.devices.installed[server]].tolist())
                if steps[server] == step
                else devices.Server(-1, -1, [])
                for server, (free, left) in enumerate(zip(view.free[:, 0].tolist(), view.devices.free, strict=True))
            ]
            evaluation = evaluation or devices.choose("gpu-best-fit", servers, ask, most[0], max(1, most[1]))
        taken = (answer.shares[0][0], getattr(answer, "devices", ())) if isinstance(answer, Placement) else None
        assert evaluation == taken
        if evaluation:
            self.lies[request.index] = evaluation[0], view.now + request.duration
        return answer


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 6), asks()), min_size=1, max_size=12))
def test_an_agent_may_choose_devices_among_the_servers_that_are_outlived_least(
    requested: list[tuple[int, int, devices.Ask]],
) -> None:
    demand = np.array([(ask.cpu, ask.mem, ask.gpu) for _, _, ask in requested], np.int64)
    arrival, stays = (
        np.array(times, float) for times in zip(*((gap, stay) for gap, stay, _ in requested), strict=True)
    )
    arrival = np.cumsum(arrival) - arrival[0]
    simulation = Simulation(
        Workload(("cpu", "mem", "gpu"), arrival, stays, demand, np.arange(len(requested))),
        ledger_of([2, 4, 0, 2], [0, 1, 0, 0]),
    )
    agent = OnDevices()
    agent.start(simulation.view, np.random.default_rng(0))
    play(simulation, agent)
