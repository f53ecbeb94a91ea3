"""What code determines a run's results: ours as a whole, of others what a scenario names and all that it imports."""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterator
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

import numpy as np

from simcore import opened
from simcore.opened import OURS, ROOT

DRAWING = ("analysis/figures/", "analysis/report/")
"""Of ours, what shows results and does not make any."""


@cache
def ours() -> str:
    """A digest of all our code and data that runs may use, as it was when this process first asked."""
    digest = hashlib.blake2b(digest_size=16)
    for package in OURS:
        for file in sorted((ROOT / package).rglob("*")):
            name = file.relative_to(ROOT).as_posix()
            # Shipped scenarios are not used by others unless these extend them, and then they say the same.
            if file.suffix in (".pyc", ".yaml") or name.startswith(DRAWING) or not file.is_file():
                continue
            content = file.read_bytes()
            digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def of(thing: object) -> str:
    """A digest of the code of a class or a function from outside: its module, and what that imports. Empty for ours.

    Of an installed package, only its own modules count; of a class that has no file, what is defined beside it.
    """
    module = sys.modules.get(module_of(thing))
    file = getattr(module, "__file__", None)
    if module is None or file is None:
        return _digest(sorted(_defined(thing, set())))
    path = Path(file).resolve()
    if any(path.is_relative_to(ROOT / package) for package in OURS):
        return ""
    return _digest(sorted(_imported(module.__name__, path)))


def module_of(thing: object) -> str:
    """The name of the module that a class or a function is of, or that an object's class is of."""
    return str(getattr(thing, "__module__", None) or type(thing).__module__)


def _imported(name: str, file: Path) -> Iterator[tuple[str, str]]:
    """A module and all that it imports from outside, each with its digest."""
    home = "" if opened.from_outside(file) else name.partition(".")[0]
    waiting, seen = [(name, file)], {name}
    while waiting:
        name, file = waiting.pop()
        # A file that a scenario names is another module when it was edited; any other is read once by a process.
        named = name.startswith("binwright_user_")
        yield "" if named else name, opened.digest_of(file) if named else _as_imported(file)
        for wanted in _imports(file, name):
            if wanted not in seen and (found := _file_of(wanted, home)):
                waiting.append((wanted, found))
            seen.add(wanted)


@cache
def _as_imported(file: Path) -> str:
    return opened.digest_of(file)


@cache
def _imports(file: Path, name: str) -> tuple[str, ...]:
    """The modules that a module may import, wherever in it."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ()  # machine code
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    found: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= dict.fromkeys(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            found |= dict.fromkeys([base, *(f"{base}.{alias.name}" for alias in node.names)])
    parents = (".".join(name.split(".")[:parts]) for name in found for parts in range(1, name.count(".") + 2))
    return tuple(dict.fromkeys(filter(None, parents)))


def _file_of(name: str, home: str) -> Path | None:
    """The file of a module from outside, or of the package `home`."""
    spec = _spec(name)
    if spec is None or not spec.has_location or spec.origin is None:
        return None
    file = Path(spec.origin).resolve()
    return file if name.partition(".")[0] == home or opened.from_outside(file) else None


def _spec(name: str) -> ModuleSpec | None:
    """How a module is found, without importing anything."""
    if isinstance(module := sys.modules.get(name), ModuleType):
        return module.__spec__
    parent = name.rpartition(".")[0]
    if not parent:
        return PathFinder.find_spec(name)
    above = _spec(parent)
    places = above.submodule_search_locations if above else None
    return PathFinder.find_spec(name, list(places)) if places else None


def _defined(thing: object, seen: set[int]) -> Iterator[str]:
    """What a class or a function of an interactive session does, and what it names."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, type):
        yield thing.__qualname__
        for base in thing.__mro__:
            if base.__module__ == thing.__module__:
                for name, value in vars(base).items():
                    yield from _value(name, value, seen, thing.__module__)
    elif isinstance(thing, FunctionType):
        yield from _code(thing.__code__)
        for name in sorted(_names(thing.__code__)):
            if name in thing.__globals__:
                yield from _value(name, thing.__globals__[name], seen, thing.__module__)


def _value(name: str, value: object, seen: set[int], home: str) -> Iterator[str]:
    function = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
    if isinstance(function, ModuleType):
        if function.__file__ and function.__name__ and opened.from_outside(file := Path(function.__file__).resolve()):
            yield f"{name} = {_digest(sorted(_imported(function.__name__, file)))}"
    elif isinstance(function, type | FunctionType):
        if function.__module__ == home:
            yield from _defined(function, seen)
        else:
            yield f"{name} = {of(function)}"
    elif not name.startswith("__"):
        yield f"{name} = {value.tobytes() if isinstance(value, np.ndarray) else value!r}"


def _code(code: CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    yield repr(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code(constant)
        else:
            yield repr(constant)


def _names(code: CodeType) -> set[str]:
    inner = [_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*inner)


def _digest(found: object) -> str:
    return hashlib.blake2b(repr(found).encode(), digest_size=16).hexdigest()
