"""What strangers stumbled over: each mistake is answered with what was meant, and nothing odd passes silently."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from binwright.analysis.report.page import failed_runs
from binwright.analysis.results.folder import ResultsFolder
from binwright.checker import check_agent
from binwright.cli import main
from binwright.scenarios.evaluation.evaluator import Evaluator
from binwright.scenarios.run.check import check_scenario
from binwright.scenarios.schema.load import load_scenario
from binwright.simcore.errors import UserError

SCENARIO = """
cluster: {servers: 4, node: {cpu: 16}}
workload: {requests: 60, arrivals: {fixed: {every: 1}}, flavours: [{cpu: 4}], lifetimes: {fixed: 9}}
agents: [first-fit]
"""
MINE = """
from binwright import Agent
from binwright.simcore.errors import UserError

class Refusing(Agent):
    '''Decides nothing.'''
    def decide(self, view, request):
        raise UserError("is too large", remedy="Take a smaller one.")

class Raising(Agent):
    '''Decides nothing.'''
    def start(self, view, rng):
        self.luck = rng.random()
    def decide(self, view, request):
        raise ValueError(f"no room for {self.luck}")

def widest(view, request):
    return 0.0
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "s.yaml").write_text(SCENARIO)
    return tmp_path


def test_a_misspelt_agent_is_not_taken_for_a_formula(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Evaluator("s.yaml", seeds=2) as evaluator:
        said = evaluator("best-fitt").reason
        assert said
        assert "unknown agent" in said
        assert "Did you mean 'best-fit'?" in said
        assert evaluator("free_cpu").reason is None
        assert "no such feature" in str(evaluator("frree_cpu").reason)
    assert main(["evaluate", "free_cpu", "--scenario", "s.yaml", "--baseline", "frist-fit"]) == 2
    assert "Did you mean 'first-fit'?" in capsys.readouterr().err


def test_a_wrong_order_names_the_functions_of_its_file(here: Path) -> None:
    (here / "s.yaml").write_text(SCENARIO.replace("[first-fit]", "[{in-line: {order: 'mine.py:nope'}}]"))
    with pytest.raises(UserError, match=r"Name the function in this file, too: \S*mine.py:widest\.$"):
        check_scenario(load_scenario("s.yaml"))


def test_a_label_has_no_folders(here: Path) -> None:
    (here / "s.yaml").write_text(SCENARIO.replace("[first-fit]", "[{in-line: {order: 'mine.py:widest'}}]"))
    assert [agent.label for agent in load_scenario("s.yaml").agents] == ["in-line(order=mine.py:widest)"]
    (here / "other").mkdir()
    (here / "other" / "mine.py").write_text(MINE)
    two = "[{in-line: {order: 'mine.py:widest'}}, {in-line: {order: 'other/mine.py:widest'}}]"
    (here / "s.yaml").write_text(SCENARIO.replace("[first-fit]", two))
    labels = [agent.label for agent in load_scenario("s.yaml").agents]
    assert labels == [f"in-line(order={here.name}/mine.py:widest)", "in-line(order=other/mine.py:widest)"]


LOG = "\n".join(f"{n} {n} -1 {5 + n} 2 -1 -1 2 {ask} -1 1 1 1 -1 1 -1 -1 -1" for n, ask in enumerate((30, -1, -1, 40)))


@pytest.mark.parametrize("command", ["run", "validate"])
def test_requested_times_that_are_not_known_are_counted(
    here: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    (here / "log.swf").write_text(LOG)
    text = re.sub("workload: .*", "workload: {trace: swf, path: log.swf}", SCENARIO)
    (here / "s.yaml").write_text(text + "knowledge: {lifetimes: {predicted: {requested: {}}}}\n")
    assert main([command, "s.yaml"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.count("does not say for how long users asked in 2 of 4 requests") == 1


def test_a_formula_without_a_score_is_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "s.yaml").write_text(SCENARIO.replace("[first-fit]", "[{formula: {score: log(-free_cpu)}}]"))
    assert main(["run", "s.yaml"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "decisions the score was no number wherever the request fitted" in said


def test_the_remedy_of_an_agents_own_mistake_is_told(here: Path) -> None:
    with pytest.raises(UserError) as caught:
        check_agent("mine.py:Refusing")
    assert caught.value.remedy == "Take a smaller one."


def test_failures_that_differ_in_numbers_are_one(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "s.yaml").write_text(SCENARIO.replace("[first-fit]", '["mine.py:Raising"]') + "replications: 3\n")
    assert main(["run", "s.yaml", "--out", "out"]) == 1
    assert "and 2 runs more" in " ".join(capsys.readouterr().out.split())
    said = failed_runs(ResultsFolder(Path("out")))
    assert said.count("<details>") == 1
    assert "3 runs" in said
