"""What the service lets clients have, and what the kernel lets its processes have."""

import ctypes
import os
import resource
import signal
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path

from binwright.simcore.errors import UserError


@dataclass(frozen=True)
class Limits:
    """`--limit NAME=NUMBER` changes one."""

    time: float = 60.0
    """Seconds of a search, whatever it asks for."""
    grace: float = 30.0
    """Seconds that a job has beyond its search, to compile and to verify."""
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
    known = asdict(Limits())
    for change in changes:
        name, _, text = change.partition("=")
        try:
            known[name] = type(known[name])(float(text))
            if not 0 < known[name] < inf:
                raise ValueError
        except (KeyError, ValueError, OverflowError):
            remedy = f"Write NAME=NUMBER, above zero; there are {', '.join(asdict(Limits()))}."
            raise UserError("is no limit", key="--limit", value=change, remedy=remedy) from None
    return Limits(**known)


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when the one that started it, of this number, ends; it may have ended."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(1)


def confine(memory: int, seconds: float) -> None:
    """Limit this process to so many bytes on top of what it has now, and have it killed after so many seconds."""
    os.setpgid(0, 0)  # Ctrl-C in the terminal is the server's
    die_with_parent(os.getppid())
    space = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize() + memory
    resource.setrlimit(resource.RLIMIT_AS, (space, space))
    signal.setitimer(signal.ITIMER_REAL, seconds)
