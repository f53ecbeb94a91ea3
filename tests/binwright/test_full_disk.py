"""Commands on a disk that refuses what they write, or has no power: nothing lost, and the same command goes on."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from binwright.cli import MISTAKE, main
from tests.support.batches import FIRST, TEXT
from tests.support.faults import every_change_fails
from tests.support.power import every_power_cut
from tests.support.properties import first
from tests.support.training import TINY

RUN = ["run", "s.yaml", "--out", "out"]


COMMANDS: dict[str, list[str]] = {
    "compare": ["compare", "there", "--out", "out/c.md"],
    "run": RUN,
    "train": ["train", "tiny.yaml", "--out", "out"],
    "tune": [
        *("tune", "s.yaml", "--agent", "picky.py:Mine", "--param", "most=1..4", "--out", "out"),
        *("--rounds", "1", "--population", "4", "--seeds", "1", "--held-out", "2", "--jobs", "1"),
    ],
    "size": ["size", "s.yaml", "--set", "size.most=3", "--seeds", "2", "--jobs", "1", "--out", "out"],
    "report": ["report", "there", "--out", "out/r.html"],
    "figures": ["figures", "there", "--kind", "differences", "--out", "out"],
}
SOME = {"size": 5, "tune": 3, "report": 2}
"""One in so many of their changes fails: most are those of `run`, or take long."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A folder with a scenario, results of it, and a training."""
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(TEXT + "record: [requests, samples]\nreplications: 2\n")
    Path("tiny.yaml").write_text(json.dumps({**TINY, "train": {**TINY["train"], "iterations": 2}}))
    line = "if request.demand[0] > self.most * 1e6: return None"
    Path("picky.py").write_text(
        f"{FIRST.format(line)}\n    def __init__(self, most: int = 1):\n        self.most = most\n"
    )
    assert main(["run", "s.yaml", "--out", "there"]) == 0
    capsys.readouterr()
    return tmp_path


@pytest.fixture
def _plain(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are written and not drawn, which takes two fifths of a small run's time, and changes no file.

    A report reads what was drawn.
    """
    if command != "report":
        monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda figure, file, **_: file.write(b"drawn"))


@pytest.mark.usefixtures("_plain")
@pytest.mark.parametrize("command", first(1, COMMANDS))
def test_every_change_may_fail(here: Path, command: str) -> None:
    assert every_change_fails(COMMANDS[command], here / "out", every=SOME.get(command, 1)) > 1


@pytest.mark.usefixtures("_plain")
@pytest.mark.parametrize(
    ("command", "every", "seeds"), first(1, [("run", 25, 1), ("run", 1, 2), ("train", 1, 3), ("tune", 5, 2)])
)
def test_results_survive_a_power_cut_at_any_moment(
    here: Path, command: str, every: int, seeds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("binwright.scenarios.batch.batch.SYNCED", 0.0)
    monkeypatch.setattr("binwright.agents.learned.loop.PATIENCE", 0.0)
    assert len(list(every_power_cut(COMMANDS[command], here / "out", seeds, every))) > 2


@pytest.mark.long
@pytest.mark.parametrize("command", ["run", "train"])
def test_without_waiting_for_the_disk_a_power_cut_costs_files(
    here: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attack is one."""
    monkeypatch.setattr("binwright.simcore.files.sync", lambda path: None)
    with pytest.raises(AssertionError):
        list(every_power_cut(COMMANDS[command], here / "out", 3))


@pytest.mark.long
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_behind_standard_output_is_one_message(here: Path) -> None:
    command = f"{sys.executable} -m binwright"
    for asked, said in (
        ("list schema > /dev/full", "binwright: what this command prints: No space left on device\n"),
        ("run no.yaml 2> /dev/full", ""),
    ):
        done = subprocess.run(f"{command} {asked}", shell=True, capture_output=True, check=False, text=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (MISTAKE, "", said)


def test_an_unexpected_error_is_one_message_with_what_to_report(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("of nobody's making")

    monkeypatch.setattr("binwright.analysis.results_api.load_many", broken)
    assert main(["compare", "there"]) == 70
    said = capsys.readouterr().err
    assert said.startswith(
        'binwright: this should not have happened: ZeroDivisionError("of nobody\'s making")\n  It is '
    )
    assert "in broken" in said
