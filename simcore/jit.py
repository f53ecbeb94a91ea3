"""The one door to numba: how every kernel is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile a function of arrays and numbers, keep the machine code on disk for the next process."""
    return cast(F, numba.njit(cache=True, nogil=True)(function))
