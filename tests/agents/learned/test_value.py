"""What a server is worth: the rule against plain Python, which sizes of requests count, and training."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents import AGENTS
from binwright.agents.learned.value import HIDDEN, SIZE, TERMS, beginning, fitting_on, sizes_of, value_of
from binwright.agents.learned.weights import read
from binwright.fabric.cluster import NEVER, Cluster
from binwright.fabric.ledger import Ledger
from binwright.scenarios.learn.training import train
from binwright.scenarios.run.execute import TrackedGenerator
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore.errors import UserError
from binwright.simcore.types import Ints
from binwright.simcore.workload import Workload
from tests.reference.value_es import gains, room_of
from tests.support.learning import going_on, in_use, trained
from tests.support.properties import scaled

pytest.importorskip("safetensors")


@pytest.mark.long
@given(st.integers(0, 2**32), st.booleans(), st.booleans(), st.sampled_from([0, 3]))
@scaled(3)
def test_value_es_takes_the_place_of_highest_gain(seed: int, spread: bool, shares: bool, count: int) -> None:
    rng = np.random.default_rng(seed)
    capacity = np.tile(np.array([12, 20]), (4, 2, 1)) * rng.integers(1, 3, (4, 1, 1))
    free = rng.integers(0, capacity + 1)
    demand = int(rng.integers(1, 12)), int(rng.integers(1, 12))
    chosen = [(int(rng.integers(1, 9)), int(rng.integers(1, 9)), bool(rng.integers(2))) for _ in range(count)]
    sizes = np.array([(*size, 0.1) for size in chosen], np.float64).reshape(-1, 4)
    weights = rng.normal(size=SIZE + 2 * count)
    weights[:SIZE] *= shares
    rule = value_of(weights, sizes)
    code = rule.scan(free, capacity, demand, spread, *rule.weights)
    possible = gains(free, capacity, demand, spread, weights, chosen)
    if not possible:
        assert code == -1
    else:
        assert possible[code] >= max(possible.values()) - 1e-9


@given(st.integers(0, 2**32))
@scaled(1.5)
def test_counts_of_fitting_requests_for_learning_equal_the_reference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    free = rng.integers(0, 40, (3, 2, 2))
    chosen = [(int(rng.integers(1, 9)), int(rng.integers(1, 9)), bool(rng.integers(2))) for _ in range(3)]
    weights = rng.normal(size=6)
    fits = fitting_on(free, np.array([(*size, 0.1) for size in chosen], np.float64)) @ weights
    np.testing.assert_allclose(fits, [room_of(server.tolist(), chosen, weights) for server in free], atol=1e-9)


def requests(*demands: tuple[int, int]) -> Workload:
    demand: Ints = np.array(demands)
    times = np.arange(float(len(demand))), np.ones(len(demand))
    return Workload(("cpu", "mem"), *times, demand, np.arange(len(demand)))


def test_sizes_are_those_that_take_most() -> None:
    capacity = np.full((2, 2, 2), 40)
    capacity[1] *= 3  # an average node has 80 of each
    ledger = Ledger(Cluster(("cpu", "mem"), capacity, (10**9, 40), capacity[0]))
    met = [requests((4, 8), (4, 8), (1, 1), (40, 20), (20, 60)), requests((4, 8), (500, 1))]
    sizes = sizes_of(met, ledger, 3)
    # 3 x 8/80, 1/80, 40/80 and 60/80 of a node; the second is the least, the one of 500 fits nowhere.
    shares = np.array([0.1, 0.5, 0.75])
    taken = np.array([3, 1, 1]) * shares
    assert sizes[:, :3].tolist() == [[4, 8, 0], [40, 20, 0], [10, 30, 1]]
    np.testing.assert_allclose(sizes[:, 3], taken / taken.sum() * shares)
    assert len(sizes_of(met, ledger, 12)) == 4


def test_where_training_begins_only_what_still_fits_counts() -> None:
    sizes = np.array([[4.0, 8, 0, 0.2], [10, 30, 1, 0.3]])
    first, scale = beginning(sizes, np.random.default_rng(1))
    assert (first * scale)[SIZE:].tolist() == [10, 0, 15, 0]
    assert not first[[*range(TERMS), *range(SIZE - HIDDEN, SIZE)]].any()


def test_the_untrained_rule_is_no_random_one() -> None:
    capacity, rng = np.full((1, 2, 2), 9), TrackedGenerator(np.random.default_rng(0))
    view = Ledger(Cluster(("cpu", "mem"), capacity, (NEVER, NEVER), capacity[0])).view
    AGENTS.load("value-es")(weights="large", untrained=True).start(view, rng)
    assert not rng.drawn


@pytest.mark.long
def test_training_with_sizes_goes_on_and_its_weights_are_used(tmp_path: Path) -> None:
    going_on(trained({"value-es": {"pairs": 2, "episodes": 2, "warm": [0.0], "sizes": 3}}), tmp_path)
    in_use("value-es", tmp_path)
    tensors, _ = read(next(tmp_path.glob("whole/*/best.safetensors")))
    assert tensors["sizes"][:, 2].tolist() == [0, 1, 1]  # the scenario's three flavours, two of them spread


@pytest.mark.parametrize("changed", [{"overflow": "wait"}, {"pacing": {"step": "1 s"}}])
def test_scenarios_that_learners_cannot_learn_with_are_refused(changed: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("torch")
    with pytest.raises(UserError, match="does not learn with it"):
        train(scenario_from(trained({"value-es": {"pairs": 2}}) | changed), tmp_path / "out")
