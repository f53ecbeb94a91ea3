"""What the service lets clients have, and what the kernel lets its processes have."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from math import inf, nan
from pathlib import Path

from binwright.simcore.errors import UserError, suggest

PR_SET_PDEATHSIG = 1
FILES = 64
"""Open files of a worker."""


@dataclass(frozen=True)
class Limits:
    """`--limit NAME=NUMBER` changes one."""

    time: float = 60.0
    """Seconds that a search may ask for."""
    grace: float = 30.0
    """Seconds, of clock and of CPU, that a job has beyond its search, to compile and to verify."""
    memory: int = 2**30
    """Bytes that a job may take on top of what the compiled solver has."""
    balls: int = 100_000
    """Balls, and bins, of a problem."""
    body: int = 2 * 2**20
    """Bytes of a request."""
    queue: int = 1000
    """Jobs that wait or run."""
    keep: int = 1000
    """Jobs that are over and kept; the oldest go first."""


def changed(changes: Iterable[str]) -> Limits:
    """Change some limits: `memory=2e9`."""
    limits = Limits()
    for change in changes:
        name, _, text = change.partition("=")
        if (known := asdict(limits)).get(name) is None:
            raise UserError("unknown limit", key=f"--limit {change}", remedy=suggest(name, known))
        try:
            value = type(known[name])(float(text))
        except (ValueError, OverflowError):
            value = nan
        if not 0 < value < inf:
            raise UserError("is not a number above zero", key=f"--limit {change}", remedy=f"Write {name}=NUMBER.")
        limits = replace(limits, **{name: value})
    return limits


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when the one that started it, of this number, ends; it may have ended."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def confine(memory: int, seconds: float) -> None:
    """Limit this process to so many bytes on top of what it has now, and so many seconds of CPU on every core."""
    os.setpgid(0, 0)  # Ctrl-C in the terminal is the server's
    die_with_parent(os.getppid())
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    for what, most in (
        (resource.RLIMIT_AS, pages * resource.getpagesize() + memory),
        (resource.RLIMIT_CPU, int(seconds * len(os.sched_getaffinity(0))) + 1),
        (resource.RLIMIT_NOFILE, FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))
