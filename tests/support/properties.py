"""How much properties are searched: `make test` draws the same few examples every time, `make test-all` new ones."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers

FIXED, DRAWN, MANY = "fixed", "drawn", "many"
"""The profiles of hypothesis: `pytest --hypothesis-profile=drawn` takes the second; `many` has ten times the first."""

# Hypothesis tries numbers that stand in modules that are loaded: which those are depends on the tests before, and so on
# how many processes share them.
_nothing = providers.Constants()  # type: ignore[attr-defined]
providers._get_local_constants = lambda: _nothing

settings.register_profile(
    FIXED,
    settings.get_profile("default"),  # in CI, hypothesis would draw the same examples for both
    deadline=None,  # the first example of a kernel pays for its compilation
    max_examples=16,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(DRAWN, settings.get_profile(FIXED), max_examples=24, print_blob=True)
settings.register_profile(MANY, settings.get_profile(DRAWN), max_examples=160)


def forms(usual: int, *others: int) -> st.SearchStrategy[int]:
    """Draw a number for which kernels are compiled anew, as that of resources: `make test` has the usual one only."""
    chosen = [usual] if settings.get_current_profile_name() == FIXED else [usual, usual, usual, *others]
    return st.sampled_from(chosen)


def first(count: int, cases: Iterable[Any]) -> list[Any]:
    """Mark the cases of a parametrised test after the first few as long: they run in `make test-all` only."""
    every = list(cases)
    rest = [case if isinstance(case, tuple) else (case,) for case in every[count:]]
    return every[:count] + [pytest.param(*case, marks=pytest.mark.long) for case in rest]


def scaled(share: float, **others: Any) -> settings:
    """Scale how many examples of a property are tried: they may be cheaper than usual, or dearer.

    It gets this share of the usual number; `others` are hypothesis's own settings.
    """
    usual = settings.get_profile(settings.get_current_profile_name()).max_examples
    return settings(max_examples=max(1, round(share * usual)), **others)
