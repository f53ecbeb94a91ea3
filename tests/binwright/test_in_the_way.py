"""What is not as it should be around a command: one message, whose remedy works."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from time import sleep

import pytest

from binwright.cli import MISTAKE, main
from tests.support.batches import TEXT
from tests.support.properties import first

RUN = ["run", "s.yaml", "--out", "out"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    (folder / "s.yaml").write_text(f"{TEXT}record: [requests]\nreplications: 2\n")
    assert main(["run", str(folder / "s.yaml"), "--out", str(folder / "out")]) == 0
    return folder


@pytest.fixture
def here(tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A folder with a scenario and results of it."""
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    return tmp_path


def refused(asked: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Give a command that is refused; returns its one message."""
    assert main(asked) == MISTAKE
    said = capsys.readouterr().err
    assert said.count("binwright: ") == 1
    assert "Traceback" not in said
    return said


@pytest.mark.parametrize("file", first(1, ["scenario.yaml", "journal.jsonl", "runs.parquet", "details/new.html"]))
def test_results_do_not_overwrite_themselves(here: Path, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in Path("out").rglob("*") if path.is_file()}
    assert "is a part of results" in refused(["report", "out", "--out", f"out/{file}"], capsys)
    assert before == {path: path.read_bytes() for path in Path("out").rglob("*") if path.is_file()}


@pytest.mark.long
def test_a_command_that_waits_for_a_pipe_hears_signals(here: Path) -> None:
    os.mkfifo("t.csv")
    Path("p.alloc").write_text(
        'TABLE D FROM "t.csv" BALLS len(D) BINS 2 RESOURCES S[b in BINS] => 12\n'
        "procedure UTILFN(BALL, BIN, ALLOC) UTIL.S[BIN] += D[BALL] end"
    )
    asked = [sys.executable, "-m", "binwright", "solve", "p.alloc"]
    with subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as solving:
        try:
            sleep(5)
            assert solving.poll() is None
            solving.terminate()
            assert solving.wait(10) == 128 + signal.SIGTERM
        finally:
            solving.kill()
        assert solving.stderr
        assert "Traceback" not in solving.stderr.read()


@pytest.mark.long
def test_a_service_ends_in_order_as_soon_as_it_says_that_it_serves(here: Path) -> None:
    for _ in range(5):
        asked = [sys.executable, "-m", "binwright", "serve", "--port", "0", "--data", "data", "--workers", "1"]
        with subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as serving:
            assert serving.stdout
            assert serving.stderr
            assert serving.stdout.readline()
            serving.terminate()
            assert serving.wait(30) == 0
            assert serving.stderr.read() == ""
