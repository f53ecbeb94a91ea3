"""A folder of results belongs to one command at a time."""

from __future__ import annotations

from io import IOBase
from pathlib import Path

from simcore.errors import ResultsError


def lock(file: IOBase, folder: Path) -> None:
    """Take `folder` by its open `file`: two commands that write there would spoil each other's results.

    The lock ends when the file is closed, or with the process.
    """
    try:
        import fcntl
    except ImportError:  # not on this system
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise ResultsError(
            "another run is writing here", file=folder, remedy="Wait for it, or name another folder with --out."
        ) from None
