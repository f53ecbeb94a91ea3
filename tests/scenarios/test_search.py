"""`binwright search`: plays are runs, the same seed finds the same, and the rule is an agent."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import binwright as bw
from binwright.cli import main
from binwright.scenarios.evaluation.evaluator import Evaluator
from binwright.scenarios.learn.tune import FIRST
from binwright.scenarios.schema.load import load_scenario, scenario_from
from binwright.scenarios.search import search
from binwright.simcore.errors import UserError
from tests.support.scenarios import random_requests

TINY: dict[str, Any] = {
    "name": "tiny",
    "cluster": {"servers": 4, "nodes": 2, "node": {"cpu": 10, "mem": 10}, "spread_above": {"mem": 6}},
    "workload": random_requests(200, 1, [{"cpu": 1, "mem": 2}, {"cpu": 5, "mem": 1}, {"cpu": 6, "mem": 8}], 12),
    "overflow": "stop",
    "agents": ["first-fit", {"best-fit": {"node": "loose"}}, "random"],
}
HOW: dict[str, Any] = {
    "metric": "scheduled", "seeds": 12, "validation": 6, "test": 6, "evaluations": 150, "jobs": 1,
}  # fmt: skip


@pytest.fixture(autouse=True)
def small_races(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "PROPOSALS", 12)


RULES = ("0", "-share_cpu", "least_share_mem / (1 + other_free_cpu) - demand_mem")


@pytest.mark.parametrize(
    ("metric", "changed"),
    [
        ("scheduled", {}),
        (
            "acceptance",
            {"overflow": "drop", "cluster": {**TINY["cluster"], "failures": {"mtbf": "5 min", "mttr": 300}}},
        ),
    ],
)
def test_a_play_is_what_a_run_comes_to(metric: str, changed: dict[str, Any], tmp_path: Path) -> None:
    agents = [{"formula": {"score": rule}} for rule in RULES]
    scenario = scenario_from({**TINY, **changed, "agents": agents, "seed": FIRST + 3, "replications": 2})
    runs = bw.run(scenario, out=tmp_path).runs
    race = search.Race(Evaluator(scenario, metric=metric, seeds=1, baseline="0"), 1, 0)
    problem = race.played([*RULES, "1e999 - 1e999 * free_cpu"], [FIRST + 3, FIRST + 4])
    assert problem[:-1].T.ravel().tolist() == runs[metric].to_list()
    assert np.isnan(problem[-1]).all(), "it scores no number"


@pytest.mark.long
def test_search_finds_the_same_with_one_seed_and_more_with_more_evaluations(tmp_path: Path) -> None:
    scenario = scenario_from(TINY)
    whole = bw.search(scenario, out=tmp_path, **HOW)
    again = bw.search(scenario, out=tmp_path, **{**HOW, "jobs": 3})
    assert again.finalists.equals(whole.finalists)
    assert again.chosen == whole.chosen
    longer = bw.search(scenario, out=tmp_path, **{**HOW, "evaluations": 400})
    assert longer.finalists["search"][0] >= whole.finalists["search"][0]
    assert bw.search(scenario, out=tmp_path, **{**HOW, "seed": 1}).finalists.equals(whole.finalists) is False


def test_chosen_rule_is_an_agent_compared_on_unseen_seeds(tmp_path: Path) -> None:
    result = bw.search(scenario_from(TINY), out=tmp_path, **HOW)
    assert result.finalists.filter("chosen")["rule"].to_list() == [result.chosen]
    assert result.finalists["search"].is_sorted(descending=True)
    agents = yaml.safe_load((tmp_path / "found.yaml").read_text())["agents"]
    runs = bw.run(scenario_from({**TINY, "agents": agents, "replications": 6}), out=tmp_path / "runs").runs
    tested = result.results.runs.filter(agent="found")
    assert runs["scheduled"].to_list() == tested["scheduled"].to_list()
    assert {*result.comparison.frame["agent"]} == {"found", "first-fit", "best-fit(node=loose)", "random"}


def test_mistakes_are_refused(tmp_path: Path) -> None:
    scenario = scenario_from(TINY)
    with pytest.raises(UserError, match="is too few"):
        bw.search(scenario, out=tmp_path, test=0)
    with pytest.raises(UserError, match="no such metric"):
        bw.search(scenario, out=tmp_path, **{**HOW, "metric": "nonsense"})
    with pytest.raises(UserError, match="has no value"):
        bw.search(scenario, out=tmp_path / "without", **{**HOW, "metric": "preemptions"})


@pytest.mark.long
def test_search_prints_the_rule_and_the_comparison(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "search", partial(search.search, seeds=12, validation=6, test=3))
    monkeypatch.setattr("binwright.commands.progress.EVERY", 0)
    file = tmp_path / "tiny.yaml"
    file.write_text(yaml.safe_dump(TINY))
    options = "--metric scheduled --evaluations 300 --jobs 1 --out"
    assert main(["search", str(file), *options.split(), str(tmp_path / "out")]) == 0
    captured = capsys.readouterr()
    assert "search   validation   rule" in captured.out
    assert "validation and test follow" in captured.err
    assert "first-fit" in captured.out
    assert "agents:" in captured.out
    assert load_scenario(file).name in (tmp_path / "out" / "found.yaml").read_text()
