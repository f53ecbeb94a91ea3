"""hindsight: trying every place with all that follows known, the loss against plain Python, and training."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from binwright.agents.heuristics.servers.costs import best_fit, internal
from binwright.agents.learned.hindsight import HindsightTrainer, inputs_of, places_of
from binwright.agents.learned.numa import Replay
from binwright.agents.learned.value import NO_SIZES, SIZE, worth
from binwright.fabric.ledger import Ledger
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.learn.training import course_of
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore.rules import Overflow
from binwright.simcore.types import Compiled, Floats, Request
from tests.reference.value_es import gains
from tests.support.learning import busy, going_on, in_use, trained

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long

pytest.importorskip("safetensors")

LITTLE: dict[str, Any] = {"episodes": 20, "pool": 40, "plans": 6, "warm": [0.0, 0.2]}


def valued(inputs: Floats, weights: Floats) -> float:
    cpu, mem, other_cpu, other_mem = inputs.tolist()
    return worth(cpu, mem, other_cpu, other_mem, weights)


def test_every_place_is_tried_with_what_really_follows() -> None:
    """As the engine does it: the first answers by one rule, one answer given, the others by another."""
    workload, cluster = busy(500)
    replay = Replay(Simulation(workload, Ledger(cluster), Overflow("stop"), compiled=True))
    student, plan = Compiled(best_fit), Compiled(internal)
    for answers in (0, 7, 30):
        offer = replay.follow(student, answers)
        assert offer is not None
        codes = places_of(offer, replay.simulation.view.free, cluster.capacity, NO_SIZES)[0]
        result = replay.tried(codes, plan)
        assert result.tolist() == replay.tried(codes, plan).tolist()
        expected = []
        for code in codes:
            engine, count, placed = Simulation(workload, Ledger(cluster), Overflow("stop")), 0, 0
            while (request := engine.advance()) is not None:
                view = engine.view
                rule = best_fit if count < answers else internal
                chosen = code if count == answers else rule(view.free, view.capacity, request.demand, request.spread)
                present = chosen >= 0
                if not present:
                    engine.answer(None)
                elif request.spread:
                    engine.answer(request.across(chosen // 2, 2))
                else:
                    engine.answer(request.on(chosen // 2, chosen % 2))
                placed += present
                count += 1
            expected.append(placed)
        assert result.tolist() == expected
    assert len(set(expected)) > 1
    placed = replay.placed(student)
    staying = replay.staying()
    assert 0 < len(staying) < placed
    assert replay.follow(student, placed + 1) is None


def test_places_are_those_of_the_rule() -> None:
    """Each kind of place once, with the gains that plain Python finds."""
    rng = np.random.default_rng(4)
    weights = rng.normal(size=SIZE)
    for spread in (False, True):
        capacity = np.tile(np.array([40, 90]), (6, 2, 1))
        free = rng.integers(0, capacity + 1)
        free[3] = free[1]
        codes, before, after = places_of(Request(0, 0.0, 1.0, (5, 9), spread), free, capacity, NO_SIZES)
        possible = gains(free, capacity, (5, 9), spread, weights)
        mine = [valued(b, weights) - valued(a, weights) for a, b in zip(before, after, strict=True)]
        np.testing.assert_allclose(mine, [possible[code] for code in codes])
        assert {round(gain, 9) for gain in possible.values()} == {round(gain, 9) for gain in mine}
        assert not {6, 7} & set(codes), "server 3 is as server 1"


def test_hindsight_loss_is_the_expected_loss_of_the_choices() -> None:
    pytest.importorskip("torch")
    course = course_of(scenario_from(trained({"hindsight": LITTLE})))
    trainer = HindsightTrainer(pool=40, plans=2, warm=(0.0, 0.2), temperature=0.5)
    trainer.begin(course.training, course.validation, 0)
    rng = np.random.default_rng(0)
    capacity = np.full((9, 2, 2), 10)
    lessons, expected = [], []
    weights = trainer.weights()[0]["weights"]
    for places in (2, 5):
        before, after = (inputs_of(rng.integers(0, 11, (places, 2, 2)), capacity[:places]) for _ in range(2))
        reached = rng.integers(50, 60, places).astype(float)
        lessons.append((before, after, reached))
        gain = [valued(b, weights) - valued(a, weights) for a, b in zip(before, after, strict=True)]
        chance = np.exp(np.array(gain) / 0.5)
        expected.append(100 * (chance / chance.sum()) @ np.log(reached.max() / reached))
    np.testing.assert_allclose(float(trainer._loss(lessons).detach()), np.mean(expected))


@pytest.mark.long
def test_training_goes_on_and_its_weights_are_used(tmp_path: Path) -> None:
    log = going_on(trained({"hindsight": LITTLE}, seed=1), tmp_path)
    assert log["planned"].drop_nulls().ge(log["placed"].drop_nulls()).all()
    assert log.filter(step=2)["lessons"][0] > 0, "Adam has something to remember when it is interrupted"
    in_use("hindsight", tmp_path)
