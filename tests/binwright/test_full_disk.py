"""Commands on a disk that refuses what they write: nothing is lost, and the same command goes on."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from binwright.cli import MISTAKE, main
from binwright.simcore.files import write_text
from tests.support.batches import FIRST, TEXT
from tests.support.faults import Changes, every_change_fails, following
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
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
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
def test_every_change_may_fail(workdir: Path, command: str) -> None:
    assert every_change_fails(COMMANDS[command], workdir / "out", every=SOME.get(command, 1)) > 1


def test_a_file_is_on_disk_before_it_has_its_name(tmp_path: Path) -> None:
    """A power cut leaves the old one or the new one."""

    class Order(Changes):
        def meet(self, what: str, name: str) -> None:
            seen.append((what, Path(name).relative_to(tmp_path).as_posix().partition(f".{os.getpid()}")[0]))

    seen: list[tuple[str, str]] = []
    with following(Order(tmp_path)):
        write_text(tmp_path / "new" / "f", "text")
    retained = [step for step in seen if step[0] != "remove"]
    assert retained == [("mkdir", "new"), ("fsync", "."), ("open", "new/.f"), ("fsync", "new/.f"), ("rename", "new/f"),
                    ("fsync", "new")]  # fmt: skip


@pytest.mark.long
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_behind_standard_output_is_one_message(workdir: Path) -> None:
    command = f"{sys.executable} -m binwright"
    for requested, message in (
        ("list schema > /dev/full", "binwright: what this command prints: No space left on device\n"),
        ("run no.yaml 2> /dev/full", ""),
    ):
        done = subprocess.run(
            f"{command} {requested}", shell=True, capture_output=True, check=False, text=True, timeout=60
        )
        assert (done.returncode, done.stdout, done.stderr) == (MISTAKE, "", message)


def test_an_unexpected_error_is_one_message_with_what_to_report(
    workdir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("of nobody's making")

    monkeypatch.setattr("binwright.analysis.results_api.load_many", broken)
    assert main(["compare", "there"]) == 70
    captured = capsys.readouterr().err
    assert captured.startswith(
        'binwright: this should not have happened: ZeroDivisionError("of nobody\'s making")\n  It is '
    )
    assert "in broken" in captured
