"""What all tests share: how properties are searched, and how failures are shown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import seed, settings

# Kernels stay where they are kept when a test moves the user's cache: compiling them again takes seconds.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "binwright" / "kernels"  # noqa: PTH111 (it never fails)
os.environ.setdefault("NUMBA_CACHE_DIR", str(CACHE))
# What fails in these shows its values, as what fails in a test does.
pytest.register_assert_rewrite("tests.support", "tests.reference")

from tests.support.properties import FIXED  # noqa: E402 (its assertions are rewritten, too)

settings.load_profile(FIXED)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Draw the same examples in every run, after those that failed in one before."""
    if settings.get_current_profile_name() == FIXED:
        for item in items:
            if item.get_closest_marker("hypothesis"):
                seed(0)(item.function)  # type: ignore[attr-defined]
