"""The processors that this process may use."""

import os

ONE_THREAD = {
    f"{of}_THREADS": "1" for of in ("BINWRIGHT", "POLARS_MAX", "NUMBA_NUM", "OMP_NUM", "OPENBLAS_NUM", "MKL_NUM")
}
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
