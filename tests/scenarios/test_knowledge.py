"""What a scenario says that agents know of how long requests stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from agents.environments.observation import USUAL, Features, Observer
from binwright.environments import fabric
from scenarios.build.requests import forget
from scenarios.build.world import build_world
from scenarios.run.check import check_scenario
from scenarios.schema.load import load_scenario
from scenarios.schema.scenario import Scenario
from simcore.errors import UserError

BASE: dict[str, Any] = {
    "cluster": {"servers": 2, "node": {"cpu": 8}},
    "workload": {
        "requests": 60,
        "arrivals": {"poisson": {"every": "10 s"}},
        "flavours": [{"cpu": 1, "lifetimes": {"fixed": 90}}, {"cpu": 4}],
        "lifetimes": {"lognormal": {"median": 60, "sigma": 1}},
    },
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
        ([{"best-home": {"reject": 2.0}}], NETWORK),
        ([{"feasible": {"agent": "best-home", "options": {"reject": 2.0}}}], NETWORK),
        (["nara"], NETWORK),
        (["fabric-rl"], NETWORK),
    ],
)
def test_an_agent_that_asks_for_what_is_hidden_is_refused_by_name(agents: Any, more: Any) -> None:
    with pytest.raises(UserError, match=r"agents\.0 .*asks how long requests stay, and the scenario hides it"):
        check_scenario(scenario(agents=agents, **more))
    if agents != ["nara"]:  # the same weights for all
        check_scenario(scenario("known", agents=agents, **more))


def test_nobody_is_refused_who_does_not_ask() -> None:
    check_scenario(scenario(agents=["best-fit", "in-line"]))
    check_scenario(scenario(agents=["best-home", {"feasible": {"agent": "best-home"}}], **NETWORK))


def test_what_agents_are_told() -> None:
    drawn = {str(how): build_world(scenario(how)).draw(3) for how in (None, "known", "hidden")}
    truth = drawn["known"].duration
    assert drawn["known"].told is truth
    assert np.isnan(drawn["None"].told).all()
    assert np.isnan(drawn["hidden"].told).all()
    world = build_world(scenario({"predicted": {"noise": {"sigma": 1}}}))
    noisy = world.draw(3)
    assert (noisy.duration == truth).all()
    assert 0.5 < np.log(noisy.told / truth).std() < 1.5
    assert world.draw(3) is noisy  # for all agents of a seed
    assert build_world(scenario({"predicted": {"noise": {"sigma": 1}}})).draw(3).told.tolist() == noisy.told.tolist()
    assert (build_world(scenario({"predicted": {"noise": {"sigma": 0}}})).draw(3).told == truth).all()
    assert world.draw(4).told.tolist() != noisy.told.tolist()


def test_generated_requests_are_predicted_by_those_of_another_seed() -> None:
    found = build_world(scenario({"predicted": {"survival": {"least": 5}}})).draw(0)
    small = found.demand[:, 0] == 10**6
    assert (found.told[small] == 90).all()
    others = set(found.told[~small].tolist())
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
        found = build_world(trace(tmp_path, start=start)).draw(0)
        assert (found.told == 5).all()
        assert (found.duration == 70).all()
    mixed = trace(tmp_path, start=40).dump()
    mixed["knowledge"]["training"] = [50, 90]
    assert (build_world(Scenario.model_validate(mixed)).draw(0).told == 70).all()
    for start in (0, "20 s"):  # when a time is, only the file tells
        with pytest.raises(UserError, match="learns from the rows before those that runs meet, and there are none"):
            build_world(trace(tmp_path, start=start)).draw(0)
    other = scenario({"predicted": {"survival": {}}}).dump()
    other["knowledge"]["training"] = [0, 10]
    generated = Scenario.model_validate(other)
    with pytest.raises(UserError, match="the requests are of no trace"):
        build_world(generated)


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

    once, twice = (build_world(loaded("Mean", {"times": times})).draw(0).told for times in (1.0, 2.0))
    assert (twice == 2 * once).all()
    assert 40 < once[0] < 150
    with pytest.raises(UserError, match="Few returned no times of the 60 requests"):
        build_world(loaded("Few")).draw(0)
    with pytest.raises(UserError, match=r"Broken raised KeyError\('oh'\) at .*mine.py"):
        build_world(loaded("Broken")).draw(0)
    for name, options, problem in (("Nothing", {}, "is not a predictor"), ("Mean", {"tims": 1}, "unknown option")):
        with pytest.raises(UserError, match=problem):
            loaded(name, options)


def test_observations_of_networks_show_what_agents_are_told() -> None:
    with pytest.raises(UserError, match="observations of a network tell how long requests stay"):
        build_world(scenario(**NETWORK)).episodes(1)
    seen = []
    for how in ("known", {"predicted": {"noise": {"sigma": 2}}}):
        world = build_world(scenario(how, **NETWORK))
        episodes = world.episodes(1)
        workload = world.draw(0)
        episodes.reset(0, workload)
        seen.append((Observer(episodes, Features())().cluster[0, -1], workload.told[0]))
        env = fabric(scenario(how, **NETWORK, overflow="drop"))
        shown, _ = env.reset(seed=0)
        seen.append((shown["cluster"][-1], workload.told[0]))
        assert (episodes.state.duration[0] == workload.duration).all()
    assert len({float(shown) for shown, _ in seen}) == 2
    for shown, stays in seen:
        assert shown == pytest.approx(stays / (stays + USUAL))
