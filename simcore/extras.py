"""Names the extras that Binwright needs beyond its core, with how to install them; imports slow packages late."""

from __future__ import annotations

import json
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

from binwright.simcore.errors import ExtraNeeded

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


def install(*extras: str) -> str:
    """Say how to install these extras: from the folder, or the wheel, that Binwright was installed from."""
    asked, source = f"[{','.join(extras)}]", _source()
    if source is None:
        return f"Run pip install 'WHEEL{asked}' with the wheel, or the folder, that Binwright was installed from."
    if source.suffix == ".whl":
        return f"Run pip install '{source}{asked}'."
    return f"Run pip install '.{asked}' in {source}."


def need(package: str, *extras: str, what: str, key: str | None = None) -> None:
    """Refuse to go on without a package of these extras, which `what` needs; nothing is imported."""
    if find_spec(package) is None:
        raise ExtraNeeded(f"{what} needs {package}, which is not installed", key=key, remedy=install(*extras))


@cache
def _source() -> Path | None:
    """Find the folder of the source, or the wheel, that this Binwright was installed from."""
    root = Path(__file__).parents[2]
    if (root / "pyproject.toml").is_file():
        return root
    try:
        said = distribution("binwright").read_text("direct_url.json")
        url = urlparse(json.loads(said or "{}").get("url", ""))
    except (PackageNotFoundError, ValueError):
        return None
    return Path(unquote(url.path)) if url.scheme == "file" else None
