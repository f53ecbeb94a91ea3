"""Where files lie that can be made or had again."""

from __future__ import annotations

import os
from pathlib import Path


def user_cache() -> Path:
    """Name Binwright's folder in the user's cache: XDG_CACHE_HOME, or ~/.cache. `RuntimeError` without a home."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "binwright"
