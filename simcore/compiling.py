"""What is being compiled in this process, for whoever waits and sees its progress."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

_kernels: list[tuple[str, float]] = []
"""Those under way, each called by the one before, with their beginnings: only one thread compiles at a time."""


@contextmanager
def compiling(kernel: str) -> Iterator[None]:
    """Note that this kernel is compiled within it, or that another process is waited for which compiles it."""
    _kernels.append((kernel, monotonic()))
    try:
        yield
    finally:
        _kernels.pop()


def now_compiled() -> str:
    """Say what is compiled, and for how long; empty if nothing is."""
    if not (under_way := _kernels[:1]):
        return ""
    [(kernel, began)] = under_way
    return f"compiling, once on this machine: {monotonic() - began:.0f} s so far ({kernel})"
