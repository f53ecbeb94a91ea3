"""What code determines a run's results: ours as a whole, of others what a scenario names and all that it imports."""

import ast
import hashlib
import os
import site
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from uuid import uuid4

from binwright.simcore import file_tracking
from binwright.simcore.file_tracking import OURS
from binwright.simcore.files import user_cache

SHOWING = ("analysis/figures/", "analysis/report/")
"""Of ours, what shows results and does not make any."""


@cache
def ours() -> str:
    """Digest all our code and data that runs may use; the digest is new every time if any was edited while this ran."""
    digest = hashlib.blake2b(digest_size=16)
    for package, folder in OURS.items():
        for file in sorted(folder.rglob("*")):
            name = f"{package}/{file.relative_to(folder).as_posix()}"
            # Shipped scenarios are not used by others unless these extend them, and then they say the same. Compilers,
            # editors and file managers leave files of their own.
            left = "__pycache__" in file.parts or file.name.startswith(".") or name.endswith("~")
            if left or file.suffix == ".yaml" or name.startswith(SHOWING) or not file.is_file():
                continue
            content = file.read_bytes()
            digest.update(f"{name}\0{len(content)}\0".encode() + content)
            if file_tracking.is_edited(file):  # what this process imported may be what it was, or what it is
                digest.update(uuid4().bytes)
    return digest.hexdigest()


def of(thing: object) -> str:
    """Digest the code of a class or a function from outside: its module and what that imports. Empty for ours.

    Of an installed package, only its own modules count. A class of a notebook or of the script that runs has no digest
    that would tell it from what it was before an edit: it is another one every time.
    """
    name = str(getattr(thing, "__module__", None) or type(thing).__module__)
    module_file = getattr(sys.modules.get(name), "__file__", None)
    if name == "__main__" or module_file is None:
        return uuid4().hex
    file = Path(module_file).resolve()
    return "" if file_tracking.is_ours(file) else _digest(sorted(_imported(name, file)))


def _imported(name: str, file: Path) -> Iterator[tuple[str, str]]:
    """Yield a module and all that it imports from outside, each with its digest."""
    home = "" if _from_outside(file) else name.partition(".")[0]
    waiting, seen = [(name, file)], {name}
    while waiting:
        name, file = waiting.pop()
        # A file that a scenario names is another module when it was edited; any other is read once by a process.
        if name.startswith("binwright_user_"):
            file_tracking.stamp(file)
            yield "", _digest(file.read_bytes())
        else:
            edited = name in sys.modules and file_tracking.is_edited(file)
            yield name, uuid4().hex if edited else file_tracking.digest_of(file)
        for wanted in _imports(file, name):
            if wanted not in seen and (source := _file_of(wanted, home)):
                waiting.append((wanted, source))
            seen.add(wanted)


@cache
def _imports(file: Path, name: str) -> tuple[str, ...]:
    """List the modules that a module may import, wherever in it."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ()  # machine code
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    result: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            result |= dict.fromkeys(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            result |= dict.fromkeys([base, *(f"{base}.{alias.name}" for alias in node.names)])
    parents = (".".join(name.split(".")[:parts]) for name in result for parts in range(1, name.count(".") + 2))
    return tuple(dict.fromkeys(filter(None, parents)))


def _file_of(name: str, home: str) -> Path | None:
    """Find the file of a module from outside, or of the package `home`."""
    spec = _spec(name)
    if spec is None or not spec.has_location or spec.origin is None:
        return None
    file = Path(spec.origin).resolve()
    return file if name.partition(".")[0] == home or _from_outside(file) else None


def _from_outside(file: Path) -> bool:
    """Tell whether a file is neither ours, nor Python's, nor of an installed package."""
    return not str(file).startswith(_known())


@cache
def _known() -> tuple[str, ...]:
    """Return how files begin that are ours, Python's or of installed packages, or that we can make again."""
    folders = {Path(path).resolve() for path in (*sysconfig.get_paths().values(), site.getusersitepackages())}
    folders -= {Path(sys.prefix).resolve()}  # the environment's folder: what one works on may lie there
    with suppress(RuntimeError):  # a user without a home
        folders.add(user_cache().resolve())
    return (*file_tracking.OUR_FOLDERS, *(f"{folder}{os.sep}" for folder in folders))


def _spec(name: str) -> ModuleSpec | None:
    """Find where a module comes from, without importing anything."""
    if isinstance(module := sys.modules.get(name), ModuleType):
        return module.__spec__
    parent = name.rpartition(".")[0]
    if not parent:
        return PathFinder.find_spec(name)
    above = _spec(parent)
    places = above.submodule_search_locations if above else None
    try:
        return PathFinder.find_spec(name, list(places)) if places else None
    except KeyError:
        return None  # a folder without __init__.py in one that nobody has imported


def _digest(content: object) -> str:
    return hashlib.blake2b(repr(content).encode(), digest_size=16).hexdigest()
