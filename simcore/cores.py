"""The processors of this machine, and what `ulimit -v`, or a batch system, lets this process have of addresses."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress

from binwright.simcore.errors import UserError

ONE_THREAD = dict.fromkeys(
    (
        *("BINWRIGHT_THREADS", "POLARS_MAX_THREADS", "NUMBA_NUM_THREADS"),
        *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
    ),
    "1",
)
"""The environment of a process among as many as there are cores, whose threads would only wait for one another."""


def usable_cpus() -> int:
    """Count the CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def usable_threads() -> int:
    """How many threads a computation of this process may use: all CPUs, or what BINWRIGHT_THREADS says.

    Workers of a batch get 1, because there is one of them per CPU.
    """
    given = os.environ.get("BINWRIGHT_THREADS", "")
    return min(usable_cpus(), max(1, int(given))) if given.isdecimal() else usable_cpus()


MB = 2**20
ROOMY = 1024 * MB
"""Bytes of addresses, and once more as many for each CPU, below which libraries get one thread and one heap each."""
M_ARENA_MAX = -8
"""Of glibc's `mallopt`: heaps, each of which reserves 64 MB, at most."""
LIBRARIES = [name for name in ONE_THREAD if not name.startswith(("BINWRIGHT", "NUMBA"))]
"""The variables of the environment that say how many threads Polars and libraries of linear algebra have."""


def check_address_space(needed: int) -> None:
    """Refuse to begin with fewer bytes of addresses than are needed, and be sparing where there are few.

    Libraries that get none do not raise an error: they end the process, or wait for some for ever.
    """
    try:
        import resource
    except ImportError:  # not on this system
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY or limit >= ROOMY * (1 + usable_cpus()):
        return
    if limit < needed:
        problem = f"only {limit // MB:,} MB of addresses may be used, and about {needed // MB:,} MB are needed"
        remedy = "Raise the limit: ulimit -v unlimited, or what the batch system calls virtual memory."
        raise UserError(problem, remedy=remedy)
    for name in LIBRARIES:
        os.environ.setdefault(name, "1")
    with suppress(AttributeError, OSError, TypeError):  # another C library, another system
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)
