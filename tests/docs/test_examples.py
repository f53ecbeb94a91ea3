"""Every example has a command that works and the picture that it ends in; `make test-all` does what they say."""

import re
import runpy
import shlex
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

import binwright as bw
from binwright import check_agent, cli
from binwright.parser import parser
from binwright.scenarios.schema.load import load_scenario
from tests.support import ROOT

FOLDERS = sorted(file.parent for file in (ROOT / "examples").glob("*/README.md"))
SCENARIOS = sorted((ROOT / "examples").glob("*/scenario.yaml"))
COMPILED = ("network", "virtual-clusters")
"""Those whose agents take long to compile."""
SMALLEST = 60_000
"""Bytes of a picture, at most."""


def command_of(folder: Path) -> str:
    """Find the one command of an example's README."""
    (command,) = re.findall(r"^```sh\n(.*)\n```$", (folder / "README.md").read_text(), re.MULTILINE)
    return str(command)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the examples are, and nothing else."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_its_command_is_right_and_its_picture_is_small(folder: Path, desk: Path) -> None:
    assert 5_000 < (folder / "picture.png").stat().st_size < SMALLEST
    for part in command_of(folder).split(" && "):
        program, *arguments = shlex.split(part)
        if program == "python":
            compile(Path(arguments[0]).read_text(), arguments[0], "exec")
        else:
            assert program == "binwright"
            parser().parse_args(arguments)


@pytest.mark.parametrize(
    "file",
    [pytest.param(file, marks=pytest.mark.long if file.parent.name in COMPILED else ()) for file in SCENARIOS],
    ids=lambda file: file.parent.name,
)
def test_its_scenario_runs_scaled_down(file: Path, desk: Path) -> None:
    scenario = load_scenario(file)
    workload = [] if "sweep" in file.parts or scenario.name == "own-trace" else ["workload.requests=40"]
    results = bw.run(
        file, "replications=1", "sweep=null", "record=null", "warm_start=null", *workload, out=desk / "out", jobs=1
    )
    assert len(results.failed) == 0
    assert len(results.done) == len(scenario.agents)


def test_its_agent_keeps_the_contract(desk: Path) -> None:
    assert check_agent("examples/own-agent/mine.py:Reserve", reserved=0.5).declined == {}


@pytest.mark.long
def test_its_evaluator_answers_as_evolutionary_searches_expect(tmp_path: Path) -> None:
    door = runpy.run_path(str(ROOT / "examples/openevolve/evaluator.py"))
    program = ROOT / "examples/openevolve/initial_program.py"
    result = door["evaluate_stage1"](program)
    assert 0.5 < result["metrics"]["combined_score"] <= 1
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import os\n")
    result = door["evaluate_stage1"](wrong)
    assert result["metrics"] == {"combined_score": 0.0}
    assert "no function score" in result["artifacts"]["reason"]


@pytest.mark.long
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_example_command_ends_in_its_picture(folder: Path, desk: Path) -> None:
    for part in command_of(folder).split(" && "):
        program, *arguments = shlex.split(part)
        if program == "python":
            with mpl.rc_context({"backend": "agg"}):
                runpy.run_path(arguments[0], run_name="__main__")
                plt.close("all")
        else:
            assert cli.main(arguments) == 0
    assert (desk / "results" / f"{folder.name}.png").stat().st_size > 5_000
