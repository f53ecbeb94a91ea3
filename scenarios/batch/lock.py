"""A folder of results belongs to one command at a time."""

from __future__ import annotations

from io import IOBase
from pathlib import Path
from time import sleep

from simcore.errors import ResultsError

PATIENCE = 0.05
"""Seconds: far longer than `is_taken` holds a lock."""


def lock(file: IOBase, folder: Path) -> None:
    """Take `folder` by its open `file`: two commands that write there would spoil each other's results.

    The lock ends when the file is closed, or with the process.
    """
    if not _locked(file):
        sleep(PATIENCE)  # somebody may just look whether it is taken
        if not _locked(file):
            remedy = "Wait for it, or name another folder with --out."
            raise ResultsError("another run is writing here", file=folder, remedy=remedy)


def is_taken(file: Path) -> bool:
    """Tell whether a command has taken the folder of this file; False on systems without such locks."""
    with file.open("rb") as opened:
        return not _locked(opened)


def _locked(file: IOBase) -> bool:
    """Lock an open file if nobody has, and tell whether it is locked by us now."""
    try:
        import fcntl
    except ImportError:  # not on this system
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
