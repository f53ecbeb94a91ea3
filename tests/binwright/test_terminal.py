"""What a command writes to a terminal while it goes on and when it is over."""

import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from binwright.cli import INTERRUPTED
from binwright.commands.console import wrapped
from binwright.commands.progress import StatusLine
from tests.support.batches import FIRST, TEXT
from tests.support.properties import first

HELD = FIRST.format("while request.index == 9 and Path('held').exists(): time.sleep(0.01)")


@pytest.mark.parametrize(("keys", "code"), first(1, [(b"", 0), (b"\x03", INTERRUPTED)]))
def test_a_line_lives_on_a_terminal_and_leaves_nothing_behind(tmp_path: Path, keys: bytes, code: int) -> None:
    (tmp_path / "held.py").write_text(f"import time\nfrom pathlib import Path\n{HELD}")
    (tmp_path / "s.yaml").write_text(TEXT.replace("first-fit", "held.py:Mine"))
    (tmp_path / "held").touch()
    ours, theirs = pty.openpty()
    usual = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES", "NO_COLOR")}
    requested = [sys.executable, "-m", "binwright", "run", "s.yaml", "--jobs", "1", "--seeds", "3", "--out", "out"]
    how: dict[str, Any] = {"cwd": tmp_path, **dict.fromkeys(("stdin", "stdout", "stderr"), theirs)}
    how |= {"env": usual | {"TERM": "xterm"}, "preexec_fn": lambda: os.login_tty(theirs)}
    written, pressed = b"", False
    with subprocess.Popen(requested, **how) as running:
        os.close(theirs)
        with suppress(OSError):  # it has ended
            while written := written + os.read(ours, 1 << 16):
                if not pressed and b" of 6" in written:
                    pressed = True
                    os.write(ours, keys)
                    (tmp_path / "held").unlink()
    os.close(ours)
    assert running.wait() == code
    assert b"\x1b[?25l" not in written, "the cursor stays as it is"
    last = written.rpartition(b"\x1b[2K")[2].replace(b"\r", b"").decode()
    assert (b"Interrupted" in written) == bool(keys)
    assert "of 6" not in last
    assert ("Results: out/runs.parquet" in last) != bool(keys)


def test_a_terminal_has_lines_that_break_between_words_and_a_file_has_them_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "binwright: /a/path/of/more-than/twenty.yaml: no such file\n  Name one that is there."
    monkeypatch.setenv("COLUMNS", "20")
    lines = ["binwright:", "  /a/path/of/more-than/twenty.yaml:", "  no such file", "  Name one that is", "  there."]
    assert wrapped(text, Mock(isatty=lambda: True)).split("\n") == lines
    for elsewhere in (Mock(isatty=lambda: False), None):  # a file; a stream that is closed
        assert wrapped(text, elsewhere) == text


def test_what_ends_a_whole_step_later_says_no_more_than_all() -> None:
    line = StatusLine("plays", 60)
    line.reached(200)
    assert line.text() == "200 of 200"
