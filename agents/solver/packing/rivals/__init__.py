"""Run exact solvers of others, for comparison: `pip install "binwright[rivals]"`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from simcore.errors import UserError

Tell = Callable[[int], None]
"""Is told how many bins a placement has that was just found."""
LARGEST = 2_000_000
"""Choices of a ball and a bin that a model may have; building more takes minutes and gigabytes."""


def module(name: str, method: str) -> Any:
    """Import a rival's Python module, or raise a `UserError` that names the extra."""
    try:
        return import_module(name)
    except ImportError:
        remedy = 'pip install "binwright[rivals]"'
        raise UserError(f"{method} needs {name.partition('.')[0]}, which is not installed", remedy=remedy) from None
