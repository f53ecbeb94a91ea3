"""Import slow packages when something of them is first used: many commands need none of them."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = ["LazyModule", "pl"]


class LazyModule(ModuleType):
    """Stands for a module, which is imported when one of its attributes is first read."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # `inspect` looks for such in everything that a module has
            raise AttributeError(name)
        found = self.__dict__[name] = getattr(import_module(self.__name__), name)
        return found


if TYPE_CHECKING:
    import polars as pl
else:
    pl = LazyModule("polars")
