"""Policies that somebody proposes: scores as of `binwright run`, and a reason for everything that has none."""

import json
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import binwright as bw
from binwright import cli
from binwright.agents.formulas.program import Formula
from binwright.agents.heuristics.servers.costs import dot_product
from binwright.scenarios.evaluation.evaluator import Evaluation, Evaluator
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.types import Agent, Placement, Request, View

SHORT = {"workload.requests": 400, "workload.arrivals.poisson.every": "60 s", "cluster.servers": 2}
RULE = "-share_mem - 0.2 * other_share_cpu"
SOURCE = "def score(share_mem, other_share_cpu):\n    worth = 0.2\n    return -share_mem - worth * other_share_cpu\n"


def scenario(**keys: Any) -> Scenario:
    """The quick start's, shorter and fuller."""
    return bw.scenario("quickstart", SHORT, {"agents": ["best-fit"], "record": [], **keys})


@pytest.fixture(scope="module")
def evaluator() -> Evaluator:
    made = Evaluator(scenario(), seeds=3, validation=2, test=4)
    made.of_baseline("test")
    return made


def test_scores_are_those_of_runs(evaluator: Evaluator, tmp_path: Path) -> None:
    asked = [{"formula": {"score": RULE}}, "dot-product", "best-fit", "balance-fit"]
    runs = bw.run(scenario(agents=asked, replications=4), out=tmp_path).runs
    policies: list[Any] = [RULE, dot_product, "best-fit", "balance-fit"]
    assert runs["acceptance"].to_numpy().mean() < 0.98
    for agent, policy in zip(runs["agent"].unique(maintain_order=True), policies, strict=True):
        rows = runs.filter(runs["agent"] == agent)
        found = evaluator(policy, on="test")
        assert found.values == dict(zip(rows["seed"], rows["acceptance"], strict=True))
        assert found.score == pytest.approx(rows["acceptance"].mean())


class Tired(Agent):
    """Refuses every third request from its hundredth decision on; what it remembers lies deep."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def decide(self, view: View, request: Request) -> Placement | None:
        self.seen.append(len(self.seen))
        if len(self.seen) > 100 and len(self.seen) % 3 == 0:
            return None
        for server, node in np.argwhere((view.free >= request.demand).all(axis=2)):
            return None if request.spread else request.on(int(server), int(node))
        return None


def test_warm_start_of_an_evaluation_has_its_own_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    Path("mine.py").write_text("from tests.scenarios.test_evaluator import Tired\n")
    warm = {"resource": "cpu", "until": 0.3, "with": "self"}
    asked = scenario(agents=["mine.py:Tired"], warm_start=warm, replications=2)
    runs = bw.run(asked, out="runs").runs
    found = Evaluator(asked, seeds=1, validation=1, test=2)(asked.agents[0], on="test")
    assert found.values == dict(zip(runs["seed"], runs["acceptance"], strict=True))


def test_an_agent_forgets_between_seeds_and_calls(evaluator: Evaluator) -> None:
    given = Tired()
    expected = evaluator(Tired).values
    assert [evaluator(given).values for _ in range(2)] == [expected, expected]
    assert given.seen == []


def test_differences_are_paired_with_the_baseline(evaluator: Evaluator) -> None:
    same, other = evaluator("best-fit"), evaluator(RULE)
    assert (same.difference, same.interval) == (0.0, (0.0, 0.0))
    base = [other.values[seed] - same.values[seed] for seed in evaluator.seeds["search"]]
    assert other.difference == pytest.approx(sum(base) / 3)
    assert other.interval[0] <= other.difference <= other.interval[1]


def test_one_rule_may_be_given_in_many_ways(
    evaluator: Evaluator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rule.py").write_text(SOURCE)
    Path("named.py").write_text(SOURCE.replace("score", "mine"))
    expected = evaluator(RULE).values
    files: list[Any] = ["rule.py", "rule.py:score", Path("rule.py"), "named.py:mine"]
    for policy in (SOURCE, *files, bw.agent({"formula": {"score": RULE}}), Formula(RULE)):
        found = evaluator(policy)
        assert (found.values, found.reason) == (expected, None), policy
    assert sorted(file.name for file in tmp_path.iterdir()) == ["named.py", "rule.py"]


def test_many_are_evaluated_at_once_and_answered_in_order(evaluator: Evaluator) -> None:
    policies = [RULE, "best-fit", "share_cpu +", SOURCE, "free_cpu"]
    alone = [evaluator(policy) for policy in policies]
    together = evaluator.many(policies, jobs=3)
    assert [(one.values, one.reason) for one in together] == [(one.values, one.reason) for one in alone]


HOSTILE = {
    "while True:": "def score(free_cpu):\n    while True:\n        pass",
    "eval(free_cpu)": "def score(free_cpu):\n    return eval(free_cpu)",
    "in a formula: os": "import os\ndef score(free_cpu):\n    return os",
    "free_cpu.__class__": "def score(free_cpu):\n    return free_cpu.__class__",
    "is no Python": "def score(free_cpu:",
    "no function score. Known: other.": "def other(free_cpu):\n    return 1",
    "no such feature": "def score(fre_cpu):\n    return fre_cpu",
    "no such feature of a place (got 'bogus')": "def score(bogus):\n    return 1",
    "is no expression": "share_cpu +",
    "cannot be used in a formula": "open(share_cpu)",
    "no such file": "nowhere.py:score",
    "the source is empty": "\n",
}


@pytest.mark.parametrize("said", HOSTILE)
def test_whatever_is_proposed_has_a_reason(said: str, evaluator: Evaluator) -> None:
    found = evaluator(HOSTILE[said])
    assert said in (found.reason or "")
    assert "\n" not in (found.reason or "")
    assert isnan(found.score)
    assert json.loads(json.dumps(found.as_json(), allow_nan=False))["score"] is None
    assert evaluator(RULE).reason is None


def test_a_score_that_is_no_number_refuses_as_a_run_does(evaluator: Evaluator) -> None:
    found = evaluator("0 / 0 * free_cpu")
    assert found.score == 0 == max(found.values.values())
    assert "the score was no number wherever the request fitted" in (found.reason or "")
    assert found.difference < 0


def test_evaluate_prints_a_table_json_or_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rule.py").write_text(SOURCE)
    sets = [word for key, value in SHORT.items() for word in ("--set", f"{key}={value}")]
    asked = ["--scenario", "quickstart", "--seeds", "2", *sets]
    assert cli.main(["evaluate", "rule.py:score", *asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == set(Evaluation.__slots__)
    assert (len(found["values"]), found["policy"], found["reason"]) == (2, "rule.py:score", None)
    assert cli.main(["evaluate", *asked, "random"]) == 0
    assert "+0.0000" in capsys.readouterr().out
    assert cli.main(["evaluate", *asked, "--", "-share_mem"]) == 0
    assert cli.main(["evaluate", "import os", *asked]) == 1
    assert "is no expression" in capsys.readouterr().out
