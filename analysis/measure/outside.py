"""Code that is not a part of Binwright: where it went wrong."""

from __future__ import annotations

import sys
from traceback import extract_tb


def place_of(error: BaseException, module: str) -> str:
    """Find the last line of the module that an error came through, or else the line that raised it: `file:line`."""
    frames = extract_tb(error.__traceback__)
    own = getattr(sys.modules.get(module), "__file__", None)
    at = ([frame for frame in frames if frame.filename == own] or frames)[-1]
    return f"{at.filename}:{at.lineno}"
