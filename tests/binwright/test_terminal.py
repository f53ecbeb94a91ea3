"""What a person sees on a terminal while a command goes on and when it is over, emulated by pyte."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from binwright.cli import INTERRUPTED
from binwright.commands.progress import StatusLine
from tests.support.batches import TEXT
from tests.support.learning import a_little, small
from tests.support.properties import first
from tests.support.terminal import Shown, Terminal, terminal

WIDTHS = (80, 120)
MOST = 60
"""So many lines a command of a few runs may leave, and has room for them."""

HELD = """\
import time
from pathlib import Path

from binwright.simcore.types import Agent


class Held(Agent):
    def __init__(self, most: int = 4) -> None:
        self.most = most

    def decide(self, view, request):
        if request.index == 0:
            with open("begun", "a") as begun:
                begun.write(".")
            while len(Path("begun").read_text()) > int(Path("allowed").read_text()):
                time.sleep(0.01)
        if request.demand[0] <= self.most * 1e6:
            for server in range(len(view.free)):
                if (view.free[server, 0] >= request.demand).all():
                    return request.on(server, 0)
        return None
"""
"""An agent that waits in its first decision until so many runs are `allowed`."""

SETUP = "from binwright.scenarios.batch import pool as backends\nbackends.WORTH = 0"
"""Few runs are worth workers here."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the commands take."""
    here = tmp_path_factory.mktemp("terminal")
    (here / "held.py").write_text(HELD)
    (here / "s.yaml").write_text(f"name: small\n{TEXT.replace('first-fit', 'held.py:Held')}replications: 3\n")
    learns = small(
        train=a_little({"value-es": {"pool": 2}}) | {"iterations": 100_000, "validation": {"every": 200, "episodes": 1}}
    )
    (here / "learns.yaml").write_text(yaml.safe_dump(learns))
    return here


@pytest.fixture(scope="module")
def opened(folder: Path) -> Iterator[Terminal]:
    """A terminal in this folder."""
    with terminal(folder, SETUP) as found:
        yield found


def allow(folder: Path, runs: int) -> None:
    """Let the held agent begin so many runs."""
    (folder / "begun").write_text("")
    (folder / "next").write_text(str(runs))
    (folder / "next").replace(folder / "allowed")


def release(folder: Path) -> None:
    """Let it go on."""
    allow(folder, 10**6)


def is_one_line(text: str, columns: int) -> None:
    """Check that nothing is on the screen but one line, which fits."""
    assert text.count("\n") == 0, text
    assert len(text) < columns


def is_left_in_order(shown: Shown, *words: str) -> None:
    """Check what a person sees in the end: no more than a screen or two of words, and a cursor."""
    text = shown.text
    for word in words:
        assert word in text
    assert len(shown.lines) < MOST
    assert shown.written.count(b"\n") < MOST
    assert "[2K" not in text
    assert b"\x1b[?25l" not in shown.written
    assert not shown.cursor_is_hidden


@pytest.mark.parametrize(("columns", "jobs"), first(1, [(80, "2"), (120, "1")]))
def test_run(folder: Path, opened: Terminal, columns: int, jobs: str) -> None:
    allow(folder, 2)
    out = f"run-{columns}-{jobs}"
    shown = opened.start("run", "s.yaml", "--jobs", jobs, "--out", out, columns=columns)
    is_one_line(shown.until(lambda text: bool(re.search("[1-5] of 6", text))), columns)
    release(folder)
    shown.end()
    assert shown.code == 0
    is_left_in_order(shown, "servers used", "worst-fit", f"Results: {out}/runs.parquet")


@pytest.mark.parametrize("columns", first(1, WIDTHS))
def test_train_and_its_interruption(folder: Path, opened: Terminal, columns: int) -> None:
    out = f"train-{columns}"
    shown = opened.start("train", "learns.yaml", "--out", out, columns=columns)
    shown.until(lambda text: bool(re.search(r"iterations .*\d of 100,000, seed 0, .* left$", text, re.MULTILINE)))
    assert len(shown.lines) < MOST
    shown.press(b"\x03")
    shown.end()
    assert shown.code == INTERRUPTED
    is_left_in_order(shown, "binwright: Interrupted. Run the same command to resume.")
    shown = opened.start(
        "train", "learns.yaml", "--out", out, "--fresh", "--set", "train.iterations=3", columns=columns
    )
    shown.end()
    assert shown.code == 0
    is_left_in_order(shown, "seed 0: 3 iterations", "best.safetensors")


@pytest.mark.parametrize("columns", first(1, WIDTHS))
@pytest.mark.parametrize("keys", first(1, [b"\x03", b"\x03\x03"]))
def test_an_interrupted_run_leaves_the_terminal_as_it_was(
    folder: Path, opened: Terminal, columns: int, keys: bytes
) -> None:
    allow(folder, 1)
    out = f"interrupted-{columns}-{len(keys)}"
    shown = opened.start("run", "s.yaml", "--jobs", "1", "--out", out, columns=columns)
    shown.until(lambda text: "2 of 6" in text)
    shown.press(keys)
    shown.end()
    assert not shown.cursor_is_hidden
    assert b"\x1b[?25l" not in shown.written
    if len(keys) == 1:
        assert shown.code == INTERRUPTED
        assert shown.lines[-1] == "binwright: Interrupted. Run the same command to resume."


def test_what_ends_a_whole_step_later_says_no_more_than_all() -> None:
    line = StatusLine("plays", 60)
    line.reached(200)
    assert line.text() == "200 of 200"
