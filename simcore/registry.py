"""A name maps to an import string; third parties add theirs by entry point, users by `module:Class` or a file."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from simcore.errors import UnknownName, UserError, suggest


class Registry:
    """The things of one kind: `Registry("agent", "binwright.agents", {"first-fit": "module:Class"})`."""

    def __init__(self, kind: str, group: str, builtin: Mapping[str, str]) -> None:
        self.kind = kind
        self._group = group
        self._builtin = dict(builtin)
        self._all: dict[str, str] | None = None

    def _targets(self) -> dict[str, str]:
        if self._all is None:
            found = {point.name: point.value for point in entry_points(group=self._group)}
            self._all = {**found, **self._builtin}
        return self._all

    def __iter__(self) -> Iterator[str]:
        return iter(self._targets())

    def __contains__(self, name: str) -> bool:
        return name in self._targets()

    def load(self, name: str, folder: Path | None = None) -> Any:
        """The object behind a name, behind `package.module:Object`, or behind `file.py:Object` in `folder`."""
        target = self._builtin.get(name) or self._targets().get(name)
        if target is None:
            if ":" not in name:
                raise UnknownName(f"unknown {self.kind}", value=name, remedy=suggest(name, self))
            target = name
        where, _, attribute = target.partition(":")
        try:
            module = _from_file(where, folder) if where.endswith(".py") else importlib.import_module(where)
            return getattr(module, attribute)
        except Exception as error:
            if target is not name:
                raise
            raise UnknownName(
                f"cannot import this {self.kind}: {error}",
                value=name,
                remedy="Write package.module:Class, or file.py:Class relative to the scenario.",
            ) from error


def _from_file(where: str, folder: Path | None) -> Any:
    path = ((folder or Path.cwd()) / where).resolve()
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    # By content, too: a file that was edited is another module.
    digest = hashlib.sha256(str(path).encode() + b"\0" + path.read_bytes()).hexdigest()[:16]
    name = f"binwright_user_{path.stem}_{digest}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise UserError("this file is no Python module", file=path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]
