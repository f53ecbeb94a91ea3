"""A name maps to an import string; third parties add theirs by entry point, users by `module:Class` or a file."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from traceback import extract_tb
from typing import Any, ClassVar

from binwright.simcore.errors import UnknownName, UserError, from_working_folder, suggest
from binwright.simcore.removed import removed


class Registry:
    """The things of one kind: `Registry("agent", "binwright.agents", {"first-fit": "module:Class"})`.

    `listed` is the command that lists them, if there is one; `functions` says that they are no classes; a `note` stands
    before the names when an unknown one is near none of them.
    """

    every: ClassVar[list[Registry]] = []

    def __init__(
        self,
        kind: str,
        group: str,
        builtin: Mapping[str, str],
        listed: str = "",
        functions: bool = False,
        note: str = "",
    ) -> None:
        self.kind, self.functions, self._note = kind, functions, note
        self.listed = listed and f"`{listed}`"
        self._group = group
        self._builtin = dict(builtin)
        self._all: dict[str, str] | None = None
        self.every.append(self)

    def _targets(self) -> dict[str, str]:
        if self._all is None:
            targets = {point.name: point.value for point in entry_points(group=self._group)}
            self._all = {**targets, **self._builtin}
        return self._all

    def __iter__(self) -> Iterator[str]:
        return iter(self._targets())

    def __contains__(self, name: str) -> bool:
        return name in self._targets()

    def is_added(self, name: str) -> bool:
        """Tell whether a third party registered this name."""
        return name in self and name not in self._builtin

    def home(self, name: str) -> str:
        """Name the module that a name stands for, without importing it; empty if it is not registered."""
        return self._targets().get(name, "").partition(":")[0]

    def unknown(self, name: str) -> tuple[str, str]:
        """Return the problem and the remedy for a name that is not registered."""
        if instead := removed().get(f"{self.kind} {name}"):
            return f"this {self.kind} is gone", instead
        remedy = suggest(name, self, self.listed)
        return f"unknown {self.kind}", remedy if remedy.startswith("Did you mean") else f"{self._note}{remedy}"

    def load(self, name: str, folder: Path | None = None) -> Any:
        """Load the object behind a name, behind `package.module:Object`, or behind `file.py:Object` in `folder`."""
        target = self._builtin.get(name) or self._targets().get(name)
        if target is None:
            if ":" not in name:
                problem, remedy = self.unknown(name)
                raise UnknownName(problem, value=name, remedy=remedy)
            target = name
        where, _, attribute = target.partition(":")
        try:
            if where.endswith(".py"):
                return getattr(_from_file(where, folder), attribute)
            return getattr(importlib.import_module(where), attribute)
        except (Exception, SystemExit) as error:
            if name in self._builtin:
                raise
            why = f"sys.exit({error.code!r}) is called in it" if isinstance(error, SystemExit) else str(error)
            if target is not name:
                remedy = f"Mend the installed package that registers it as {target}, or uninstall that."
                raise UnknownName(f"cannot import this {self.kind}: {why}", value=name, remedy=remedy) from error
            what = "function" if self.functions else "Class"
            remedy = f"Write package.module:{what}, or file.py:{what} relative to the scenario"
            remedy += " (in options: to the working folder)."
            if isinstance(error, AttributeError) and error.name == attribute:
                why = f"there is no {attribute} in it"
            elif at := line_in(str(((folder or Path.cwd()) / where).resolve()), error):
                problem = error.problem if isinstance(error, UserError) else getattr(error, "msg", why)
                why, remedy = f"{problem} ({at})", "Mend that line: before, nothing of this file can be used."
            if isinstance(error, ModuleNotFoundError) and where.endswith(".py"):
                remedy = f"Install {error.name}, or name the folder that it is in: PYTHONPATH=FOLDER binwright ..."
            raise UnknownName(f"cannot import this {self.kind}: {why}", value=name, remedy=remedy) from error


def line_in(file: str, error: BaseException) -> str:
    """Name the line of a file that an error came through as it was read; empty if none is."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return f"{from_working_folder(file)}:{error.lineno}"
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == file]
    return f"{from_working_folder(file)}:{lines[-1]}" if lines else ""


def _from_file(where: str, folder: Path | None) -> Any:
    path = ((folder or Path.cwd()) / where).resolve()
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    # By content, too: a file that was edited is another module. No bytecode of it is kept: Python would believe that
    # after an edit within the same second.
    content = path.read_bytes()
    digest = hashlib.sha256(str(path).encode() + b"\0" + content).hexdigest()[:16]
    name = f"binwright_user_{path.stem}_{digest}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None:
            raise UserError("this file is not a Python module", file=path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            exec(compile(content, str(path), "exec"), vars(module))
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]
