"""Processes of ours that work for this one.

Each is a fresh interpreter: to fork one that has polars or numba at work may deadlock, and what `multiprocessing`
starts otherwise imports the user's script again, which then needs its `if __name__ == "__main__"`.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Mapping
from multiprocessing.connection import Connection, Pipe


def child(code: str, env: Mapping[str, str]) -> tuple[subprocess.Popen[bytes], Connection]:
    """Start an interpreter that runs `code`, and return it with our end of a pipe; the other is number `{handle}`."""
    pipe, far = Pipe()
    command = [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; " + code.format(handle=far.fileno())]
    # Ctrl-C reaches every process of the terminal, and the SIGTERM of a batch system every process of the job. They
    # are for us to answer: children are born deaf to them.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[far.fileno()], env=env)
    finally:
        far.close()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return process, pipe
