"""Modules that are imported when something of them is first used: they take long, and many commands need none."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = ["Later", "pl"]


class Later(ModuleType):
    """Stands for the module of its name until that is needed."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)


if TYPE_CHECKING:
    import polars as pl
else:
    pl = Later("polars")
