"""What all tests share: how hypothesis searches, and how failures are shown."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# What fails in these shows its values, as what fails in a test does.
pytest.register_assert_rewrite("tests.support", "tests.reference")

settings.register_profile(
    "binwright",
    deadline=None,  # the first example of a kernel pays for its compilation
    derandomize="CI" in os.environ,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("binwright")
