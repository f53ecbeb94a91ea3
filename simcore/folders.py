"""Where files lie that can be made or had again."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def user_cache() -> Path:
    """Name Binwright's folder in the user's cache: XDG_CACHE_HOME, or ~/.cache. `RuntimeError` without a home."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "binwright"


def others_write(found: os.stat_result) -> bool:
    """Tell whether another user than this one and root owns a file or a folder, or may write to it."""
    if not hasattr(os, "geteuid"):
        return False
    return found.st_uid not in (0, os.geteuid()) or bool(found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))
