"""Fair share: against Slurm's formula written out."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.heuristics.in_line import InLine
from binwright.agents.heuristics.orders import FairShare, OtherOrder
from binwright.fabric.run.play import play
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.run.check import check_scenario
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore import rng
from binwright.simcore.errors import UserError
from binwright.simcore.types import QUANTUM, Request, View
from tests.reference.fair_share import Ran, fair_share
from tests.support.properties import scaled
from tests.support.scenarios import random_requests
from tests.support.simulations import WatchedLedger, cluster_of, long_case, simulate

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long

USERS = ["x", "y", "z"]


class Checked(InLine):
    """Holds every order of the line to the reference."""

    def __init__(self, simulation: Simulation, rule: FairShare) -> None:
        super().__init__(order=OtherOrder(fair=rule))
        self.simulation, self.rule, self.compared = simulation, rule, 0

    def in_order(self, view: View, requests: Sequence[Request]) -> list[Request]:
        result = super().in_order(view, requests)
        ran = self.ran()
        scores = [fair_share(ran, self.owner(each), self.shares, self.simulation.now, self.rule.half_life)
                  for each in result]  # fmt: skip
        for i, (before, after) in enumerate(pairwise(scores)):
            assert before >= after - 1e-9
            if before == after and self.owner(result[i]) == self.owner(result[i + 1]):
                assert requests.index(result[i]) < requests.index(result[i + 1])
        self.compared += len(scores)
        return result

    def owner(self, request: Request) -> tuple[str, ...]:
        labels, row = self.simulation.workload.labels, self.simulation.source(request.index)
        return (str(labels[self.rule.by][row]),)

    @cached_property
    def shares(self) -> dict[tuple[str, ...], float]:
        everybody = {self.owner(self.simulation.request(row)) for row in range(len(self.simulation.workload))}
        return {(user,): self.rule.shares.get(user, 1.0) for (user,) in everybody}

    def ran(self) -> list[Ran]:
        simulation, ran = self.simulation, []
        record = simulation.record
        for row in range(record.rows):
            if record.server[row] >= 0:
                each = simulation.request(row)
                ends = record.decided[row] + simulation.rows.holding_time(row)
                end = np.nanmin([ends, record.interruption[row], simulation.now])
                ran.append(Ran(self.owner(each), record.decided[row], end, each.demand[0] / QUANTUM))
        return ran


@scaled(2)
@given(st.integers(0, 10**6))
def test_fair_share_follows_slurms_formula(seed: int) -> None:
    rng_of = Random(seed)
    case = replace(
        long_case(seed),
        mode="wait",
        together=rng_of.choice([3, 40]),
        priorities=tuple(rng_of.randint(0, 2) for _ in range(30)),
    )
    plain = simulate(case)
    users = [rng_of.choice(USERS) for _ in case.requests]
    workload = replace(plain.workload, labels={"user": np.array(users)})
    simulation = Simulation(workload, WatchedLedger(cluster_of(case)), plain.overflow)
    policy = {
        "by": "user",
        "half_life": rng_of.choice([1.0, 8.0, 1e6]),
        "shares": rng_of.choice([{}, {"x": 3.0}]),
    }
    rule = FairShare.model_validate(policy)
    agent = Checked(simulation, rule)
    agent.start(simulation.view, rng.stream(0, "agent"))
    play(simulation, agent)
    assert agent.compared


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": "fair"}, r"agents\.0 \(in-line\(order=fair\)\): the requests have no such label .*\(got 'tenant'\)"),
        ({"order": {"fair": {"by": "usr"}}}, r"to share fairly by \(got 'usr'\)\n  Known: group; `fair: {by: LABEL}`"),
        ({"order": {"fair": {"by": ["usr"]}}}, r"fair\.by: expected text, got \['usr'\]\n  Write one of them"),
        ({"order": {"fairr": {}}}, "agents.0.in-line.order.fairr: unknown key"),
        ({"order": "fairr"}, "order: unknown order .*\n  Did you mean 'fair'"),
    ],
)
def test_mistakes_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        check_scenario(
            scenario_from(
                {
                    "cluster": {"servers": 1, "node": {"cpu": 4}},
                    "workload": random_requests(9, "1 s", [{"cpu": 1, "group": "a"}], "1 s"),
                    "overflow": {"wait": {"together": 9}},
                    "knowledge": {"lifetimes": "known"},
                    "agents": [{"in-line": options}],
                }
            )
        )
