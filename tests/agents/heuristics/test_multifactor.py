"""Multifactor priority and fair share: against Slurm's formulas written out, and small runs by hand."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from binwright.agents.heuristics.in_line import InLine
from binwright.agents.heuristics.orders import FairShare, Multifactor, OtherOrder
from binwright.fabric.run.play import play
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.run.check import check_scenario
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore import rng
from binwright.simcore.errors import UserError
from binwright.simcore.rules import Overflow
from binwright.simcore.types import QUANTUM, Request, View
from tests.reference.fair_share import Ran, fair_share
from tests.support.properties import scaled
from tests.support.scenarios import random_requests
from tests.support.simulations import WatchedLedger, cluster_of, long_case, simulate, workload_of

USERS = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "z")]


class Checked(InLine):
    """Holds every order of the line to the reference."""

    def __init__(self, simulation: Simulation, rule: FairShare) -> None:
        kind = "multifactor" if isinstance(rule, Multifactor) else "fair"
        super().__init__(order=OtherOrder.model_validate({kind: rule}))
        self.simulation, self.rule, self.compared = simulation, rule, 0

    def in_order(self, view: View, requests: Sequence[Request]) -> list[Request]:
        found = super().in_order(view, requests)
        scores = [self.priority(request) for request in found]
        for i, (before, after) in enumerate(pairwise(scores)):
            assert before >= after - 1e-9
            if before == after and self.owner(found[i]) == self.owner(found[i + 1]):
                assert requests.index(found[i]) < requests.index(found[i + 1])
        self.compared += len(scores)
        return found

    def owner(self, request: Request) -> tuple[str, ...]:
        labels, row = self.simulation.workload.labels, self.simulation.source(request.index)
        return tuple(str(labels[name][row]) for name in self.rule.by)

    def priority(self, request: Request) -> float:
        simulation, rule = self.simulation, self.rule
        record, now = simulation.record, simulation.now
        ran = []
        for row in range(record.rows):
            if record.server[row] >= 0:
                one = simulation.request(row)
                ends = record.decided[row] + simulation.rows.holding_time(row)
                end = np.nanmin([ends, record.interruption[row], now])
                ran.append(Ran(self.owner(one), record.decided[row], end, one.demand[0] / QUANTUM))
        everybody = {self.owner(simulation.request(row)) for row in range(len(simulation.workload))}
        shares = {
            path: rule.shares.get(rule.by[len(path) - 1], {}).get(path[-1], 1.0)
            for owner in everybody
            for path in (owner[: n + 1] for n in range(len(owner)))
        }
        fair = fair_share(ran, self.owner(request), shares, now, rule.half_life)
        if not isinstance(rule, Multifactor):
            return fair
        urgency = simulation.workload.priority
        assert urgency is not None
        size = request.demand[0] / simulation.view.capacity[:, :, 0].sum()
        return float(
            rule.age * min((now - request.arrival) / rule.max_age, 1)
            + rule.fair_share * fair
            + rule.size * (1 - size if rule.small_first else size)
            + rule.priority * (request.priority / max(urgency.max(), 1))
        )


@scaled(2)
@given(st.integers(0, 10**6))
@example(83)  # two priorities are equal but for the rounding of their sums
def test_multifactor_order_follows_slurms_formulas(seed: int) -> None:
    rng_of = Random(seed)
    case = replace(
        long_case(seed),
        mode="wait",
        together=rng_of.choice([3, 40]),
        priorities=tuple(rng_of.randint(0, 2) for _ in range(30)),
    )
    plain = simulate(case)
    users = [rng_of.choice(USERS) for _ in case.requests]
    labels = {name: np.array([user[n] for user in users]) for n, name in enumerate(("account", "user"))}
    workload = replace(plain.workload, labels=labels)
    simulation = Simulation(workload, WatchedLedger(cluster_of(case)), plain.overflow)
    said = {
        "by": rng_of.choice([("user",), ("account", "user")]),
        "half_life": rng_of.choice([1.0, 8.0, 1e6]),
        "shares": rng_of.choice([{}, {"user": {"x": 3.0}}]),
    }
    weights = {name: rng_of.choice([0.0, 1.0, 7.0]) for name in ("age", "fair_share", "size", "priority")}
    more = {**weights, "max_age": rng_of.choice([2.0, 50.0]), "small_first": rng_of.random() < 0.5}
    rule = FairShare.model_validate(said) if rng_of.random() < 0.3 else Multifactor.model_validate({**said, **more})
    agent = Checked(simulation, rule)
    agent.start(simulation.view, rng.stream(0, "agent"))
    play(simulation, agent)
    assert agent.compared


def starts(order: OtherOrder, users: str) -> list[float]:
    """Play jobs of 10 s, all there at once, one at a time, each of a user."""
    workload = replace(workload_of([(0.0, 10.0, (4,)) for _ in users]), labels={"user": np.array([*users])})
    case = long_case(0)
    case.capacity, case.growth, case.spread_above = [[[4]]], [[4]], (9,)
    simulation = Simulation(workload, WatchedLedger(cluster_of(case)), Overflow("wait", together=99))
    agent = InLine(order=order)
    agent.start(simulation.view, rng.stream(0, "agent"))
    play(simulation, agent)
    found: list[float] = simulation.record.decided.tolist()
    return found


def test_fair_share_puts_the_user_below_its_share_first() -> None:
    turns = OtherOrder.model_validate({"fair": {"by": ["user"]}})
    assert starts(turns, "aaabb") == [0, 20, 40, 10, 30]
    more = OtherOrder.model_validate({"fair": {"by": ["user"], "shares": {"user": {"a": 3}}}})
    assert starts(more, "aaaabb") == [0, 20, 30, 40, 10, 50]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"order": {"fair": {"by": "usr"}}}, r"agents\.0 \(in-line.*: by: the requests have no such label"),
        ({"order": {"fairr": {}}}, "agents.0.in-line.order.fairr: unknown key"),
        ({"order": "fairr"}, "order: unknown order .*\n  Did you mean 'fair'"),
        ({"order": {"fair": {"shares": {"user": {"a": 2}}}}}, "shares.user: is not a label of users"),
    ],
)
def test_mistakes_are_named(options: dict[str, object], said: str) -> None:
    with pytest.raises(UserError, match=said):
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
