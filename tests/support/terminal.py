"""Commands on a pseudo-terminal, and the screen that a person sees there, as pyte draws it."""

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from select import select

import pyte

ROWS = 24
SECONDS = 120.0
"""A command that takes longer than that hangs; kernels may be compiled meanwhile."""
_SHELL = """
import fcntl, json, os, sys, termios
asked, answers = (os.fdopen(int(number), mode, 1) for number, mode in zip(sys.argv[1:3], "rw"))
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from binwright.cli import main
exec(sys.argv[3])
for line in asked:
    try:
        code = main(json.loads(line))
    except SystemExit as end:
        code = end.code
    sys.stdout.flush()
    print(json.dumps(code), file=answers)
"""


class Terminal:
    """Answers commands one after the other in one process of a terminal, which has to start only once."""

    def __init__(self, folder: Path, setup: str, env: dict[str, str]) -> None:
        self._folder, self._setup, self._env = folder, setup, env
        self._shown: Shown | None = None
        self._open()

    def _open(self) -> None:
        """Start the process, on a terminal of its own."""
        self._ours, theirs = pty.openpty()
        asked, self._asked = os.pipe()
        self._answers, answers = os.pipe()
        self._ask = os.fdopen(self._asked, "w", 1)
        usual = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES", "NO_COLOR")}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SHELL, str(asked), str(answers), self._setup],
            cwd=self._folder, env=usual | {"TERM": "xterm-256color", "PYTHONUTF8": "1"} | self._env,
            stdin=theirs, stdout=theirs, stderr=theirs, pass_fds=(asked, answers), start_new_session=True,
        )  # fmt: skip
        for descriptor in (theirs, asked, answers):
            os.close(descriptor)

    def start(self, *arguments: str, columns: int) -> "Shown":
        """Begin a command on an empty screen of so many columns."""
        if self._shown is not None and self._shown.code is None:
            self.close()  # a test that failed left its command running: it must not fail the next one
            self._open()
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
        self._ask.write(json.dumps(arguments) + "\n")
        self._shown = Shown(self._ours, self._answers, columns)
        return self._shown

    def close(self) -> None:
        """End the process."""
        with suppress(BrokenPipeError):  # it is over already
            self._ask.close()
        with suppress(subprocess.TimeoutExpired):  # a command that a test has not seen the end of
            self._process.wait(0 if self._shown is not None and self._shown.code is None else 10)
        with suppress(ProcessLookupError):  # its workers with it
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._ours)
        os.close(self._answers)


class Shown:
    """What a command shows while it goes on."""

    def __init__(self, terminal: int, answers: int, columns: int) -> None:
        self._terminal, self._answers = terminal, answers
        self.columns = columns
        self.written = b""
        self._screen = pyte.HistoryScreen(columns, ROWS, history=100_000)
        self._stream = pyte.ByteStream(self._screen)
        self.code: int | None = None

    def _read(self, seconds: float) -> None:
        """Take what is written and answered within so many seconds at most."""
        ready, _, _ = select([self._terminal, self._answers], [], [], seconds)
        while self._terminal in ready:
            content = os.read(self._terminal, 1 << 16)
            self.written += content
            self._stream.feed(content)
            ready, _, _ = select([self._terminal, self._answers], [], [], 0)
        if ready:
            self.code = json.loads(os.read(self._answers, 100))

    def until(self, seen: Callable[[str], bool]) -> str:
        """Wait until what the screen shows is so, and return it: all lines, those that have left it too."""
        until = time.monotonic() + SECONDS
        while not seen(self.text):
            if self.code is not None or time.monotonic() > until:
                raise AssertionError(f"never on the screen; it ended with {self.code}:\n{self.text}")
            self._read(0.1)
        return self.text

    def end(self) -> str:
        """Wait for the end of the command, and return what the screen shows then."""
        until = time.monotonic() + SECONDS
        while self.code is None:
            assert time.monotonic() < until, f"it hangs:\n{self.text}"
            self._read(0.1)
        return self.text

    def press(self, key: bytes) -> None:
        """Press a key: `\\x03` is Ctrl-C."""
        os.write(self._terminal, key)

    @property
    def lines(self) -> list[str]:
        """Everything that a person can scroll back to, line by line."""
        above = ["".join(line[column].data for column in range(self.columns)) for line in self._screen.history.top]
        lines = [line.rstrip() for line in (*above, *self._screen.display)]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    @property
    def text(self) -> str:
        """The same as one text."""
        return "\n".join(self.lines)

    @property
    def cursor_is_hidden(self) -> bool:
        """Tell whether the terminal is left without a cursor."""
        return bool(self._screen.cursor.hidden)


@contextmanager
def terminal(folder: Path, setup: str = "", **env: str) -> Iterator[Terminal]:
    """Open a terminal in a folder; `setup` is Python that its process does first."""
    opened = Terminal(folder, setup, env)
    try:
        yield opened
    finally:
        opened.close()
