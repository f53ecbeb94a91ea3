"""What strangers stumbled over: each mistake is answered with what was meant, and nothing odd passes silently."""

import re
from pathlib import Path

import pytest

from binwright.cli import main

SCENARIO = """
cluster: {servers: 4, node: {cpu: 16}}
workload: {requests: 60, arrivals: {fixed: {every: 1}}, flavours: [{cpu: 4}], lifetimes: {fixed: 9}}
agents: [first-fit]
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "s.yaml").write_text(SCENARIO)
    return tmp_path


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
    assert said.count("has no requested time for 2 of 4 requests") == 1


def test_a_formula_without_a_score_is_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "s.yaml").write_text(SCENARIO.replace("[first-fit]", "[{formula: {score: log(-free_cpu)}}]"))
    assert main(["run", "s.yaml"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "decisions the score was no number wherever the request fitted" in said
