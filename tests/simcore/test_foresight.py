"""What agents are told of how long requests stay, and that the run itself keeps to the truth."""

from dataclasses import replace
from functools import partial
from math import inf
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.fabric.run.simulation import Simulation
from binwright.simcore.errors import UserError
from binwright.simcore.lifetime_info import LifetimeInfo
from binwright.simcore.roles import Role, Roles
from binwright.simcore.workload import Workload
from binwright.workloads.predictors import Noise, Predictor, Shuffled, Survival
from tests.reference.engine import Case, Decide, Reference
from tests.support import simulations
from tests.support.properties import scaled
from tests.support.simulations import cases, compare, deciders, drive, first_fit, simulate, workload_of


def told(workload: Workload, predictor: Predictor | None) -> Workload:
    """Give agents a predictor's foresight, or none."""
    if predictor is None:
        return replace(workload, foresight=LifetimeInfo(np.full(len(workload), np.nan)))
    problem = predictor.predict(workload, np.random.default_rng(0))
    return replace(workload, foresight=LifetimeInfo(problem, partial(predictor.again, workload)))


def played(case: Case, predictor: Predictor | None, patch: pytest.MonkeyPatch) -> Simulation:
    """Put a case on the engine whose agents have such foresight."""
    with patch.context() as context:
        plain = workload_of
        context.setattr(simulations, "workload_of", lambda *inputs: told(plain(*inputs), predictor))
        return simulate(case)


@scaled(1)
@given(cases(), deciders, st.sampled_from([None, Noise(sigma=0.0), Noise(sigma=1.0), Shuffled()]))
def test_runs_keep_to_true_lifetimes_under_any_prediction(
    case: Case, decide: Decide, predictor: Predictor | None
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        simulation = played(case, predictor, patch)
    compare(simulation, drive(simulation, decide), Reference(case, decide))


@scaled(1)
@given(cases(), st.integers(1, 40))
def test_without_noise_agents_are_told_the_truth_to_the_last_bit(case: Case, elapsed: int) -> None:
    heard = []
    for predictor in (Noise(sigma=0.0), "truth"):
        with pytest.MonkeyPatch.context() as patch:
            simulation = simulate(case) if predictor == "truth" else played(case, Noise(sigma=0.0), patch)
        seen: list[Any] = []
        while (request := simulation.advance()) is not None:
            ran = min(elapsed / 4, request.duration)  # no longer than it stays
            seen.append((*request, simulation.view.expected(request, ran)))
            where = first_fit(simulation.view.free.tolist(), request.index, request.demand, request.spread)
            simulation.answer(where and simulations.place(request, where, simulation.view.free.shape[1]))
        heard.append(seen)
    assert heard[0] == heard[1]


# -- predictors ----------------------------------------------------------------------------------------------------

spans = st.sampled_from([0.5, 1.0, 2.0, 30.0, 700.0])


@scaled(0.5)
@given(spans, spans, st.sampled_from([0.1, 1.0, 2.0]))
def test_noise_asked_again_says_the_median_of_what_is_left(first: float, elapsed: float, sigma: float) -> None:
    result = Noise(sigma=sigma).again(workload_of([]), 0, first, elapsed)
    law = NormalDist(np.log(first), sigma)
    beyond = 1 - law.cdf(np.log(elapsed))
    assert result >= elapsed
    if beyond > 1e-9:
        assert (1 - law.cdf(np.log(result))) / beyond == pytest.approx(0.5, abs=1e-5)


requests = st.lists(st.tuples(st.just(0.0), st.sampled_from([0.0, 1.0, 3.0, 9.0, inf]), st.tuples(st.integers(1, 3))))


@scaled(1)
@given(requests.filter(bool), requests.filter(bool), st.sampled_from([0.5, 1.0, 3.0, 20.0]), st.sampled_from([1, 3]))
def test_a_table_of_survival_is_its_definition(training: Any, requested: Any, elapsed: float, least: int) -> None:
    def middle(demand: tuple[int, ...], beyond: float) -> float:
        same = [stays for _, stays, other in training if other == demand]
        known = same if len(same) >= least else [stays for _, stays, _ in training]
        left = sorted(stays for stays in known if stays > beyond)
        return left[(len(left) - 1) // 2] if left else 2 * beyond

    predictor = Survival(least=least)
    predictor.fit(workload_of(training))
    workload = workload_of(requested)
    topology = predictor.predict(workload, np.random.default_rng(0))
    assert topology.tolist() == [middle(demand, -1.0) for _, _, demand in requested]
    assert predictor.again(workload, 0, 0.0, elapsed) == middle(requested[0][2], elapsed)


def test_a_table_goes_by_labels_and_groups_too() -> None:
    tenants, groups = (
        np.array(["a", "b", "a"]),
        Roles((Role("a"), Role("b"), Role("a", tolerates=("x",))), np.array([0, 1, 2])),
    )
    workload = replace(workload_of([(0.0, stays, (1,)) for stays in (2.0, 7.0, 2.0)]), labels={"tenant": tenants})
    for by, known in (("tenant", workload), ("group", replace(workload, roles=groups)), ("group", workload)):
        predictor = Survival(by=by, least=1)
        predictor.fit(known)
        apart = known.roles is not None or by == "tenant"
        assert predictor.predict(known, np.random.default_rng(0)).tolist() == [2, 7 if apart else 2, 2]
        assert predictor.again(known, 0, 2.0, 3.0) == (6 if apart else 7)
    with pytest.raises(UserError, match=r"no such label.*\n  Known: tenant\."):
        Survival(by="owner").fit(workload)
