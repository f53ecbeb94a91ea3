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
    requested = [{"formula": {"score": RULE}}, "dot-product", "best-fit", "balance-fit"]
    runs = bw.run(scenario(agents=requested, replications=4), out=tmp_path).runs
    policies: list[Any] = [RULE, dot_product, "best-fit", "balance-fit"]
    assert runs["acceptance"].to_numpy().mean() < 0.98
    for agent, policy in zip(runs["agent"].unique(maintain_order=True), policies, strict=True):
        rows = runs.filter(runs["agent"] == agent)
        result = evaluator(policy, on="test")
        assert result.values == dict(zip(rows["seed"], rows["acceptance"], strict=True))
        assert result.score == pytest.approx(rows["acceptance"].mean())


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
    requested = scenario(agents=["mine.py:Tired"], warm_start=warm, replications=2)
    runs = bw.run(requested, out="runs").runs
    result = Evaluator(requested, seeds=1, validation=1, test=2)(requested.agents[0], on="test")
    assert result.values == dict(zip(runs["seed"], runs["acceptance"], strict=True))


def test_an_agent_forgets_between_seeds_and_calls(evaluator: Evaluator) -> None:
    inputs = Tired()
    expected = evaluator(Tired).values
    assert [evaluator(inputs).values for _ in range(2)] == [expected, expected]
    assert inputs.seen == []


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
        result = evaluator(policy)
        assert (result.values, result.reason) == (expected, None), policy
    assert sorted(file.name for file in tmp_path.iterdir()) == ["named.py", "rule.py"]


def test_many_are_evaluated_at_once_and_answered_in_order(evaluator: Evaluator) -> None:
    policies = [RULE, "best-fit", "share_cpu +", SOURCE, "free_cpu"]
    alone = [evaluator(policy) for policy in policies]
    together = evaluator.many(policies, jobs=3)
    assert [(evaluation.values, evaluation.reason) for evaluation in together] == [
        (evaluation.values, evaluation.reason) for evaluation in alone
    ]


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


@pytest.mark.parametrize("message", HOSTILE)
def test_whatever_is_proposed_has_a_reason(message: str, evaluator: Evaluator) -> None:
    evaluation = evaluator(HOSTILE[message])
    assert message in (evaluation.reason or "")
    assert "\n" not in (evaluation.reason or "")
    assert isnan(evaluation.score)
    assert json.loads(json.dumps(evaluation.as_json(), allow_nan=False))["score"] is None
    assert evaluator(RULE).reason is None


def test_a_score_that_is_no_number_refuses_as_a_run_does(evaluator: Evaluator) -> None:
    result = evaluator("0 / 0 * free_cpu")
    assert result.score == 0 == max(result.values.values())
    assert "the score was no number wherever the request fitted" in (result.reason or "")
    assert result.difference < 0


def test_evaluate_prints_a_table_json_or_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rule.py").write_text(SOURCE)
    sets = [word for key, value in SHORT.items() for word in ("--set", f"{key}={value}")]
    requested = ["--scenario", "quickstart", "--seeds", "2", *sets]
    assert cli.main(["evaluate", "rule.py:score", *requested, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert set(result) == set(Evaluation.__slots__)
    assert (len(result["values"]), result["policy"], result["reason"]) == (2, "rule.py:score", None)
    assert cli.main(["evaluate", *requested, "random"]) == 0
    assert "+0.0000" in capsys.readouterr().out
    assert cli.main(["evaluate", *requested, "--", "-share_mem"]) == 0
    assert cli.main(["evaluate", "import os", *requested]) == 1
    assert "is no expression" in capsys.readouterr().out
