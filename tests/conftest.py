"""What all tests share: how hypothesis searches."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "binwright",
    deadline=None,  # the first example of a kernel pays for its compilation
    derandomize="CI" in os.environ,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("binwright")
