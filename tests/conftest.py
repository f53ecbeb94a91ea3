"""What all tests share: how properties are searched, and how failures are shown."""

import gc
import math
import os
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import seed, settings

from binwright.simcore.files import user_cache

# Nothing that collecting tests makes is garbage: to look for some among a million objects takes a third of the time.
gc.disable()

# Kernels stay where they are kept when a test moves the user's cache: compiling them again takes seconds.
os.environ.setdefault("NUMBA_CACHE_DIR", str(user_cache() / "kernels"))
# What fails in these shows its values, as what fails in a test does.
pytest.register_assert_rewrite("tests.support", "tests.reference")

from tests.support.properties import FIXED  # noqa: E402 (its assertions are rewritten, too)

settings.load_profile(FIXED)


BEGAN = time.monotonic()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let whoever has little time say how many seconds from the start on tests may begin."""
    parser.addoption("--within", type=float, default=math.inf, help="skip tests that would begin after so many seconds")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test for which no time is left."""
    if time.monotonic() - BEGAN > item.config.getoption("--within"):
        pytest.skip("no time left: see --within")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Draw the same examples in every run, after those that failed in one before.

    Files of the solver and those of other agents, which compile most, come first and take turns: neighbours run side by
    side, and would wait for one another's kernels.
    """
    counts: Counter[str] = Counter()
    place: dict[Path, tuple[bool, int, str]] = {}
    for item in items:
        if item.path not in place:
            kind = next((kind for kind in ("solver", "agents") if kind in item.path.parts), "others")
            place[item.path] = kind == "others", counts[kind], kind
            counts[kind] += 1
    items.sort(key=lambda item: place[item.path])
    if settings.get_current_profile_name() == FIXED:
        for item in items:
            if item.get_closest_marker("hypothesis"):
                seed(0)(item.function)  # type: ignore[attr-defined]


def pytest_collection_finish() -> None:
    """Have the garbage collector pass over a million objects of torch, Ray and scipy: a tenth of all time otherwise."""
    from binwright.scenarios.batch import pool  # here, as only processes that run tests need it

    pool.WORTH = 60.0  # tests go on side by side already: workers for small batches would only take time to start
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)
    gc.enable()
