"""Names the extras that Binwright needs beyond its core, with how to install them; imports slow packages late."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from binwright.simcore.errors import ExtraNeeded

__all__ = ["LazyModule", "pl"]


class LazyModule(ModuleType):
    """Stands for a module, which is imported when one of its attributes is first read."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # `inspect` looks for such in everything that a module has
            raise AttributeError(name)
        attribute = self.__dict__[name] = getattr(import_module(self.__name__), name)
        return attribute


if TYPE_CHECKING:
    import polars as pl
else:
    pl = LazyModule("polars")


def install(*extras: str) -> str:
    """Say how to install these extras: from the folder that Binwright was installed from, where that is known."""
    root = Path(__file__).parents[2]
    where = root if (root / "pyproject.toml").is_file() else "the folder that Binwright was installed from"
    return f"Run pip install -c constraints.txt -e '.[{','.join(extras)}]' in {where}."


def need(package: str, *extras: str, what: str, key: str | None = None) -> None:
    """Refuse to go on without a package of these extras, which `what` needs; nothing is imported."""
    if find_spec(package) is None:
        raise ExtraNeeded(f"{what} needs {package}, which is not installed", key=key, remedy=install(*extras))
