"""The processors that this process may use."""

import os

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
    setting = os.environ.get("BINWRIGHT_THREADS", "")
    return min(usable_cpus(), max(1, int(setting))) if setting.isdecimal() else usable_cpus()
