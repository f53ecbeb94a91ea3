"""Properties that are arrays: computed once, given back where they are large, and written to by nobody."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any, TypeVar

import numpy.typing as npt

LARGE = 1 << 18
"""From so many rows on, what was computed for one metric is not kept for the next one."""

Array = TypeVar("Array", bound=npt.NDArray[Any])


def read_only(array: Array) -> Array:
    """Return a view of the array that cannot be written to."""
    found = array.view()
    found.flags.writeable = False
    return found


class Computed(cached_property[Any]):
    """Makes a property that is computed once, and again when it was forgotten meanwhile."""


def fixed(function: Callable[[Any], Array]) -> cached_property[Array]:
    """Make a property that is computed once, and whose array nobody can write to."""

    @wraps(function)
    def made(run: Any) -> Array:
        return read_only(function(run))

    return Computed(made)
