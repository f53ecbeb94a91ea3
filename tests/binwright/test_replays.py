"""A report has a replay though no states were recorded: its runs are played again, if that is quick and harmless."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from binwright.analysis.results_api import Results
from binwright.cli import main
from binwright.commands.reporting import SECONDS, played
from tests.support.batches import FIRST, TEXT

AGAIN, NOT = "Played again for this report: one seed of each agent.", "these runs were not played again"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(f"name: small\n{TEXT}replications: 2\n")


def report(*arguments: str) -> str:
    """Run the scenario, write the report of its results, and return that."""
    assert main(["run", "s.yaml", "--out", "out", *arguments]) == 0
    assert main(["report", "out"]) == 0
    assert sorted(path.name for path in Path().iterdir() if path.is_dir() and path.name != "__pycache__") == ["out"]
    return Path("out/report.html").read_text("utf-8")


def test_the_readmes_commands_give_a_replay_of_the_runs_that_there_were() -> None:
    assert AGAIN in report()
    found = played(Path("out"))
    runs = Results("out").runs
    assert set(found) == set(runs.filter(runs["seed"] == 0)["run"])
    assert not Path("out/details").exists()
    assert main(["run", "s.yaml", "--out", "recorded", "--set", "record=[states]"]) == 0
    recorded = Results("recorded")
    for agent, name in recorded.runs.filter(recorded.runs["seed"] == 0).select("agent", "run").rows():
        [mine] = runs.filter((runs["seed"] == 0) & (runs["agent"] == agent))["run"]
        assert found[mine].equals(recorded.states(name))
    assert played(Path("recorded")) == {}


def test_results_that_name_code_are_no_programs() -> None:
    Path("mine.py").write_text(FIRST.format("with open('called', 'a') as file: file.write('x')"))
    text = report("--agents", "first-fit,mine.py:Mine")
    assert NOT in text
    called = Path("called").stat().st_size
    assert main(["report", "out"]) == 0
    assert Path("called").stat().st_size == called


def test_results_that_extend_a_file_are_no_programs() -> None:
    report()
    Path("mine.py").write_text(FIRST.format("pass") + "\n\nopen('called', 'x').close()\n")
    Path("out/base.yaml").write_text(TEXT.replace("[first-fit, worst-fit]", "['../mine.py:Mine']"))
    Path("out/scenario.yaml").write_text("extends: base.yaml\n")
    assert played(Path("out")) == {}
    assert not Path("called").exists()


def test_long_runs_and_others_than_now_are_not_played_again() -> None:
    report()
    journal = Path("out/journal.jsonl")
    rows = [json.loads(line) for line in journal.read_text().splitlines()]
    for key, value in (("seconds", SECONDS), ("run", "0" * 16)):
        journal.write_text("".join(f"{json.dumps(row | {key: value})}\n" for row in rows))
        assert played(Path("out")) == {}
    Path("out/scenario.yaml").write_text("no: [scenario")
    assert played(Path("out")) == {}
