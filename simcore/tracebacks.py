"""Where an error of code that is not a part of Binwright comes from."""

from __future__ import annotations

import sys
from collections.abc import Callable
from traceback import FrameSummary, extract_tb


def place_of(error: BaseException, is_own: Callable[[FrameSummary], bool]) -> str:
    """Find the last line that an error came through and that `is_own` accepts, or else any: `file:line`."""
    frames = extract_tb(error.__traceback__)
    at = ([frame for frame in frames if is_own(frame)] or frames)[-1]
    return f"{at.filename}:{at.lineno}"


def place_in(module: str, error: BaseException) -> str:
    """Find the last line of this module that an error came through, or else the line that raised it: `file:line`."""
    own = getattr(sys.modules.get(module), "__file__", None)
    return place_of(error, lambda frame: frame.filename == own)
