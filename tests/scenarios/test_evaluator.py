"""Policies that somebody proposes: scores as of `binwright run`, and a reason for everything that has none."""

import json
import subprocess
import sys
from collections.abc import Iterator
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
LOOP = SOURCE.replace("    return", "    while worth > 1:\n        worth = 0\n    return")


def scenario(**keys: Any) -> Scenario:
    """The quick start's, shorter and fuller."""
    return bw.scenario("quickstart", SHORT, {"agents": ["best-fit"], "record": [], **keys})


@pytest.fixture(scope="module")
def evaluator() -> Iterator[Evaluator]:
    with Evaluator(scenario(), seeds=3, validation=2, test=4, seconds=300, memory=128) as made:
        made._of_baseline("test")
        yield made


@pytest.fixture(scope="module")
def hasty() -> Iterator[Evaluator]:
    """Ends soon what would never end: any limit of time does, on a busy machine, too."""
    with Evaluator(scenario(), seeds=1, seconds=0.7, memory=128) as made:
        yield made


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
    with Evaluator(asked, seeds=1, validation=1, test=2) as made:
        found = made(asked.agents[0], on="test")
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
    for policy in (SOURCE, LOOP, *files, bw.agent({"formula": {"score": RULE}}), Formula(RULE)):
        found = evaluator(policy)
        assert (found.values, found.reason) == (expected, None), policy
    assert sorted(file.name for file in tmp_path.iterdir()) == ["named.py", "rule.py"]


def test_many_are_evaluated_at_once_and_answered_in_order(evaluator: Evaluator) -> None:
    policies = [RULE, "best-fit", "share_cpu +", SOURCE, "free_cpu"]
    alone = [evaluator(policy) for policy in policies]
    together = evaluator.many(policies, jobs=3)
    assert [(one.values, one.reason) for one in together] == [(one.values, one.reason) for one in alone]


def test_an_evaluator_counts_policies_that_met_the_test_seeds() -> None:
    with Evaluator(scenario(), seeds=1, validation=1, test=1) as made:
        made(RULE)
        made(RULE, on="validation")
        assert made.tested == 0
        made.many([RULE, "share_cpu +"], on="test")
        assert made.tested == 2
        splits = [set(seeds) for seeds in made.seeds.values()]
        assert len(set.union(*splits)) == 3


ENDLESS = {
    "a loop": "def score(free_cpu):\n    while True:\n        pass",
    "a power": "def score(free_cpu):\n    while True:\n        return 9 ** 9 ** 9",
}
HOSTILE = {
    "memory": "def score(free_cpu):\n    x = [0]\n    while True:\n        x = x + x",
    "no number": "def score(free_cpu):\n    return [free_cpu]",
    "the score is no number": "def score(free_cpu):\n    while 1:\n        return (-1) ** 0.5",
    "ZeroDivisionError in line 3": "def score(free_cpu):\n    while 1:\n        return 1 / 0",
    "RecursionError": "def score(free_cpu):\n    return again([free_cpu])\ndef again(x):\n    return again(x)",
    "NameError": "def score(free_cpu):\n    return eval([free_cpu])",
    "may not be used": "import os\ndef score(free_cpu):\n    return 1",
    "__class__": "def score(free_cpu):\n    return free_cpu.__class__",
    "is no name that may be used": "def score(free_cpu):\n    return __import__",
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
    _has_no_score(HOSTILE[said], said, evaluator)


@pytest.mark.parametrize("name", ENDLESS)
def test_policies_that_take_too_long_have_a_reason(name: str, hasty: Evaluator) -> None:
    _has_no_score(ENDLESS[name], "took longer than 0.7 s", hasty)


def _has_no_score(policy: str, said: str, evaluator: Evaluator) -> None:
    found = evaluator(policy)
    assert said in (found.reason or "")
    assert "\n" not in (found.reason or "")
    assert isnan(found.score)
    assert json.loads(json.dumps(found.as_json(), allow_nan=False))["score"] is None
    assert evaluator(RULE).reason is None


@pytest.mark.parametrize(
    "rule", ["0 / 0 * free_cpu", "def score(free_cpu):\n    x = float(1e999)\n    while 1: return x - x"]
)
def test_a_score_that_is_no_number_refuses_as_a_run_does(rule: str, evaluator: Evaluator) -> None:
    found = evaluator(rule)
    assert found.score == 0 == max(found.values.values())
    assert "the score was no number wherever the request fitted" in (found.reason or "")
    assert found.difference < 0


def test_confined_process_opens_no_files_and_is_limited_in_memory() -> None:
    code = """
import socket
from binwright.scenarios.evaluation.confined import MB, _limit
_limit(64 * MB)
for tried in (lambda: open("/etc/hostname"), lambda: open("new", "w"), socket.socket, lambda: bytearray(256 * MB)):
    try:
        tried()
    except (OSError, MemoryError) as error:
        print(type(error).__name__)
    else:
        print("let through")
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert said == ["OSError", "OSError", "OSError", "MemoryError"]


SCORED = {
    "too long": "def score(free_cpu):\n    x = free_cpu\n    for n in range(12):\n        x = x + x\n    return x",
    "a default": "def twice(x, y=2):\n    return x * y\ndef score(free_cpu):\n    return twice(free_cpu)",
    "a keyword": "def twice(x, *, y=2):\n    return x * y\ndef score(free_cpu):\n    return twice(free_cpu)",
    "recursion": "def times(x, n):\n    if n == 0:\n        return 0\n    return x + times(x, n - 1)\n"
    "def score(free_cpu):\n    return times(free_cpu, 3)",
    "one case": "def score(free_cpu):\n    if free_cpu > 2:\n        x = free_cpu\n"
    "    return x if free_cpu > 2 else free_cpu",
}
RAISES = {
    "raised TypeError": ("def score(free_cpu):\n    min = 3\n    return min(free_cpu, 2)",
     "def g(x):\n    return x\ng = 3\ndef score(free_cpu):\n    return g(free_cpu)",
     "def score(free_cpu):\n    return free_cpu\nscore = 3",
     "from math import exp\nexp = 3\ndef score(free_cpu):\n    return exp(free_cpu)"),
    "raised NameError": ("def h():\n    return free_cpu\ndef score(free_cpu):\n    return h()",
     "K = g(1)\ndef g(x):\n    return x\ndef score(free_cpu):\n    return K * free_cpu"),
    "raised UnboundLocalError": ("def score(free_cpu):\n    for e in range(0):\n        pass\n    return e * free_cpu",
     "K = 1\ndef score(free_cpu):\n    x = K\n    K = 2\n    return x * free_cpu"),
    "raised SyntaxError": ("return 3\ndef score(free_cpu):\n    return free_cpu",),
}  # fmt: skip


@pytest.mark.parametrize("name", SCORED)
def test_a_function_of_which_no_formula_is_made_is_played(name: str, evaluator: Evaluator) -> None:
    found = evaluator(SCORED[name])
    assert (found.values, found.reason) == (evaluator("free_cpu").values, None)


@pytest.mark.parametrize(("said", "text"), [(said, text) for said, texts in RAISES.items() for text in texts])
def test_an_exception_of_a_policy_is_its_reason(said: str, text: str, evaluator: Evaluator) -> None:
    assert said in (evaluator(text).reason or "")


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
