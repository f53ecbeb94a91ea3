"""What a scenario says that agents know of how long requests stay."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from binwright.agents import AGENTS
from binwright.agents.environments.observation import USUAL, Observer
from binwright.environments import env
from binwright.fabric.run.play import play
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.build.requests import forget
from binwright.scenarios.build.world import build_world
from binwright.scenarios.run.check import check_scenario
from binwright.scenarios.schema.load import load_scenario
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.errors import UserError, WorkloadError
from tests.support.scenarios import random_requests

BASE: dict[str, Any] = {
    "cluster": {"servers": 2, "node": {"cpu": 8}},
    "workload": random_requests(
        60, "10 s", [{"cpu": 1, "lifetimes": {"fixed": 90}}, {"cpu": 4}], {"lognormal": {"median": 60, "sigma": 1}}
    ),
    "agents": ["first-fit"],
}
NETWORK = {
    "cluster": {"network": {"topology": "alpha"}, "node": {"cpu": 10, "mem": 10}},
    "workload": {"demand": "uniform", "requests": 6, "holding": 31},
}


def scenario(lifetimes: object = None, **more: Any) -> Scenario:
    """Make a scenario in which agents know that."""
    knowledge = {} if lifetimes is None else {"knowledge": {"lifetimes": lifetimes}}
    return Scenario.model_validate({**BASE, **knowledge, **more})


@pytest.mark.parametrize(
    ("agents", "more"),
    [
        (["two-stage"], {}),
        ([{"in-line": {"order": "longest"}}], {}),
        ([{"in-line": {"agent": "in-line", "options": {"order": "longest"}}}], {}),
        ([{"solver": {"slot": "10 s"}}], {}),
        ([{"feasible": {"agent": "nara"}}], NETWORK),
        (["nara"], NETWORK),
    ],
)
def test_an_agent_that_asks_for_what_is_hidden_is_refused_by_name(agents: Any, more: Any) -> None:
    with pytest.raises(UserError, match=r"agents\.0 .*asks how long requests stay, and the scenario hides it"):
        check_scenario(scenario(agents=agents, **more))
    if "nara" not in str(agents):  # the same weights for all
        check_scenario(scenario("known", agents=agents, **more))


def test_agents_see_lifetimes_as_the_scenario_says() -> None:
    drawn = {str(how): build_world(scenario(how)).draw(3) for how in (None, "known", "hidden")}
    truth = drawn["known"].duration
    assert drawn["known"].expected is truth
    assert np.isnan(drawn["None"].expected).all()
    assert np.isnan(drawn["hidden"].expected).all()
    world = build_world(scenario({"predicted": {"noise": {"sigma": 1}}}))
    noisy = world.draw(3)
    assert (noisy.duration == truth).all()
    assert 0.5 < np.log(noisy.expected / truth).std() < 1.5
    assert world.draw(3) is noisy  # for all agents of a seed
    assert (
        build_world(scenario({"predicted": {"noise": {"sigma": 1}}})).draw(3).expected.tolist()
        == noisy.expected.tolist()
    )
    assert (build_world(scenario({"predicted": {"noise": {"sigma": 0}}})).draw(3).expected == truth).all()
    assert world.draw(4).expected.tolist() != noisy.expected.tolist()


def test_generated_requests_are_predicted_by_those_of_another_seed() -> None:
    result = build_world(scenario({"predicted": {"survival": {"least": 5}}})).draw(0)
    small = result.demand[:, 0] == 10**6
    assert (result.expected[small] == 90).all()
    others = set(result.expected[~small].tolist())
    assert len(others) == 1
    assert 20 < others.pop() < 200


def trace(tmp_path: Path, **more: Any) -> Scenario:
    """Make a scenario on a trace in which the first 40 requests stay 5 s and the others 70 s."""
    rows = "".join(f"{n},{n},{5 if n < 40 else 70},1\n" for n in range(100))
    (tmp_path / "t.csv").write_text("id,arrival,lifetime,cpu\n" + rows)
    workload = {"trace": "table", "path": str(tmp_path / "t.csv"), "requests": 20, **more}
    return scenario({"predicted": {"survival": {"least": 1}}}, workload=workload)


def test_traces_are_predicted_by_rows_that_no_run_meets(tmp_path: Path) -> None:
    forget()
    starts: list[Any] = [40, {"random": [40, 60]}, {"apart": [40, 80]}]
    for start in starts:
        result = build_world(trace(tmp_path, start=start, running="drop")).draw(0)
        assert (result.expected == 5).all()
        assert (result.duration == 70).all()
    assert (build_world(trace(tmp_path, start="20 s", running="drop")).draw(0).expected == 5).all()
    with pytest.raises(UserError, match="there are no rows to learn from"):
        build_world(trace(tmp_path, start=0)).draw(0)
    with pytest.raises(UserError, match="predicted: no request ends, so that there is nothing to learn"):
        build_world(trace(tmp_path, start=40, ends="drop")).draw(0)


MINE = """
import numpy as np
from binwright import Predictor


class Mean(Predictor):
    def __init__(self, times: float = 1.0) -> None:
        self.times = times

    def fit(self, training):
        self.mean = float(training.duration.mean())

    def predict(self, requests, rng):
        assert np.isnan(requests.duration).all()
        return np.full(len(requests), self.times * self.mean)


class Few(Mean):
    def predict(self, requests, rng):
        return np.zeros(3)


class Broken(Mean):
    def predict(self, requests, rng):
        raise KeyError("oh")


class Nothing:
    pass
"""


def test_a_predictor_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    text = Scenario.model_validate(BASE).dump()

    def loaded(name: str, options: object = None) -> Scenario:
        text["knowledge"] = {"lifetimes": {"predicted": {f"mine.py:{name}": options or {}}}}
        (tmp_path / "s.yaml").write_text(yaml.safe_dump(text))
        return load_scenario(tmp_path / "s.yaml")

    once, twice = (build_world(loaded("Mean", {"times": times})).draw(0).expected for times in (1.0, 2.0))
    assert (twice == 2 * once).all()
    assert 40 < once[0] < 150
    with pytest.raises(UserError, match="Few returned no times of the 60 requests"):
        build_world(loaded("Few")).draw(0)
    with pytest.raises(UserError, match=r"Broken raised KeyError\('oh'\) at .*mine.py"):
        build_world(loaded("Broken")).draw(0)
    for name, options, problem in (("Nothing", {}, "is not a predictor"), ("Mean", {"tims": 1}, "unknown option")):
        with pytest.raises(UserError, match=problem):
            loaded(name, options)


@pytest.mark.long
def test_observations_of_networks_show_what_agents_are_told() -> None:
    with pytest.raises(UserError, match="observations of a network tell how long requests stay"):
        build_world(scenario(**NETWORK)).episodes(1)
    seen = []
    for how in ("known", {"predicted": {"noise": {"sigma": 2}}}):
        world = build_world(scenario(how, **NETWORK))
        episodes = world.episodes(1)
        workload = world.draw(0)
        episodes.reset(0, workload)
        seen.append((Observer(episodes)().cluster[0, -1], workload.expected[0]))
        shown, _ = env(scenario(how, **NETWORK, overflow="drop"), name="Fabric").reset(seed=0)
        seen.append((shown["cluster"][-1], workload.expected[0]))
        assert (episodes.many.requests.duration[0] == workload.duration).all()
    assert len({float(shown) for shown, _ in seen}) == 2
    for shown, stays in seen:
        assert shown == pytest.approx(stays / (stays + USUAL))


AGAIN = """
import numpy as np
from binwright import Predictor

class Fifty(Predictor):
    def predict(self, requests, rng):
        return np.full(len(requests), 50.0)

class Raises(Fifty):
    def again(self, requests, row, first, elapsed):
        raise KeyError("oh")

class Nan(Fifty):
    def again(self, requests, row, first, elapsed):
        return float("nan")

class Nothing(Fifty):
    def again(self, requests, row, first, elapsed):
        return None

class First(Fifty):
    def again(self, requests, row, first, elapsed):
        return first
"""
FAILING = {
    "cluster": {
        "servers": 3,
        "node": {"cpu": 4},
        "failures": {"mtbf": "300 s", "mttr": "60 s", "on_failure": "requeue"},
    },
    "workload": random_requests(60, "20 s", [{"cpu": 1}], "100 s"),
    "overflow": "wait",
}


def played_with(name: str, folder: Path) -> Simulation:
    """Make the simulation of a scenario with failures in which this class of `AGAIN` predicts."""
    (folder / "mine.py").write_text(AGAIN)
    options = {**BASE, **FAILING, "knowledge": {"lifetimes": {"predicted": {f"mine.py:{name}": {}}}}}
    (folder / "s.yaml").write_text(yaml.safe_dump(options))
    simulation = build_world(load_scenario(folder / "s.yaml")).simulation(0)
    assert simulation is not None
    return simulation


@pytest.mark.parametrize("agent", ["nilas", "first-fit"])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Raises", r"Raises raised KeyError\('oh'\) at .*mine.py:11"),
        ("Nan", "again of .*Nan returned nan"),
        ("Nothing", "again of .*Nothing returned None"),
    ],
)
def test_mistakes_in_repeated_predictions_name_the_predictor(
    agent: str, name: str, message: str, tmp_path: Path
) -> None:
    simulation = played_with(name, tmp_path)
    made = AGENTS.load(agent)()
    made.start(simulation.view, np.random.default_rng(0))
    with pytest.raises(WorkloadError, match=message):
        play(simulation, made)


def test_nobody_is_told_a_time_that_is_over(tmp_path: Path) -> None:
    simulation = played_with("First", tmp_path)
    again = 0
    while (request := simulation.advance()) is not None:
        assert request.duration >= 0
        again += request.index >= len(simulation.workload)
        fits = np.flatnonzero(simulation.view.free[:, 0, 0] >= request.demand[0])
        simulation.answer(request.on(int(fits[0]), 0) if len(fits) else None)
    assert again


def test_learned_lifetimes_are_used_for_their_resources_and_file_only(tmp_path: Path) -> None:
    """The tables of a sweep's points differ where the resources stand in another order, or the file has changed."""
    file = tmp_path / "t.csv"

    def told(node: dict[str, int], long: int) -> list[float]:
        rows = [f"{i},{10 * i},{long if i % 2 else 5},{1 + i % 2},{2 - i % 2}" for i in range(40)]
        file.write_text("\n".join(["id,arrival,lifetime,cpu,gpu", *rows]))
        options = {"trace": "table", "path": str(file), "requests": 4, "start": 30, "running": "drop"}
        lifetimes = {"predicted": {"survival": {"least": 5}}}
        world = build_world(scenario(lifetimes, workload=options, cluster={"servers": 2, "node": node}))
        actual: list[float] = world.draw(0).expected.tolist()
        return actual

    for node in ({"cpu": 8, "gpu": 8}, {"gpu": 8, "cpu": 8}, {"cpu": 8}):
        for long in (500, 70000):
            assert told(node, long) == [5, long, 5, long]
