"""Which files code from outside reads: what is in them determines its results, too."""

from __future__ import annotations

import hashlib
import os
import site
import stat
import sys
import sysconfig
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from importlib.util import source_from_cache
from pathlib import Path
from types import FrameType
from typing import TypeAlias

from binwright.simcore.files import user_cache

PACKAGE = Path(__file__).parents[1]
"""The folder of the package `binwright`. In a checkout its sub-packages are symbolic links to the folders beside it."""
SUBPACKAGES = ("agents", "analysis", "fabric", "scenarios", "simcore", "workloads")
OURS = {name: (PACKAGE / name).resolve() for name in SUBPACKAGES}
"""Our sub-packages that determine results, and where they are."""
CHANGED = "changed while it was used"
"""Instead of the digest of a file that this process read with different contents: it is like no file."""

Stamp: TypeAlias = tuple[int, int, int, int] | None
"""What tells a file from what it was before it was written to, renamed or exchanged; None where there is none."""

_OURS = tuple(f"{folder}{os.sep}" for folder in (PACKAGE.resolve(), *OURS.values()))
_began = time.time_ns()
_imported: dict[str, int] = {}  # of modules, when their import began, in nanoseconds
_read: dict[str, dict[str, str]] = {}  # of modules, the files that their code opened, with digests
_written: dict[str, set[str]] = {}  # of modules, the files that their code opened to write, or put in place
_followed: set[str] = set()  # installed packages of agents
_busy = threading.local()  # what is opened to make a digest is not noted
_stamped: ContextVar[dict[str, Stamp] | None] = ContextVar("files that were asked for", default=None)


def follow(module: str) -> None:
    """Note what the code of this module opens even if it is of an installed package."""
    package = module.partition(".")[0]
    if package not in sys.stdlib_module_names:
        _followed.add(package)


def files_of(modules: Iterable[str]) -> dict[str, str]:
    """List the files that code of these modules has read so far, each with a digest of what was in it then.

    The digest of a file that was not there is empty. What that code has written, too, is left out, since that is notes
    of its own, and so is what has gone since.
    """
    modules = ["", *modules]
    written = written_by(modules)
    found = {file: digest for module in modules for file, digest in _read.get(module, {}).items()}
    left = {file for file, digest in found.items() if file in written or (digest and not Path(file).exists())}
    return {file: found[file] for file in sorted(found.keys() - left)}


def unchanged(files: dict[str, str]) -> bool:
    """Tell whether all of these files hold what they did when they were read."""
    return all(digest_of(Path(file)) == digest for file, digest in files.items())


@contextmanager
def stamping() -> Iterator[dict[str, Stamp]]:
    """Give the files that are digested or read within, each with its stamp of just before that."""
    found: dict[str, Stamp] = {}
    token = _stamped.set(found)
    try:
        yield found
    finally:
        _stamped.reset(token)


def stamp(file: Path) -> None:
    """Note a file that is going to be read, for `stamping`."""
    found = _stamped.get()
    if found is not None:
        found.setdefault(str(file.absolute()), stamp_of(file))


def stamp_of(file: Path) -> Stamp:
    """Return the stamp that a file has now."""
    try:
        found = file.stat()
    except (OSError, ValueError):  # the latter of what cannot be a path
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def written_by(modules: Iterable[str]) -> set[str]:
    """List the files that code of these modules has opened to write, or put in place."""
    return {file for module in ["", *modules] for file in _written.get(module, ())}


def digest_of(file: Path) -> str:
    """Digest what is in a file; empty when it cannot be read."""
    stamp(file)
    try:
        found = file.stat()
        # A pipe or a device might never end.
        return _digest_of(file, found.st_mtime_ns, found.st_size) if stat.S_ISREG(found.st_mode) else ""
    except (OSError, ValueError):  # the latter of what cannot be a path
        return ""


def as_imported(module: str, file: Path) -> str:
    """Digest the file of a module as it was when this process imported it; CHANGED if nobody knows that."""
    try:
        later = file.stat().st_mtime_ns > _imported.get(module, _began)
    except OSError:
        return CHANGED
    return CHANGED if later and module in sys.modules else digest_of(file)


def is_edited(file: Path) -> bool:
    """Tell whether a file was written after this process began."""
    return file.stat().st_mtime_ns > _began


def is_ours(file: Path) -> bool:
    """Tell whether a file is of our packages."""
    return str(file).startswith(_OURS)


def from_outside(file: Path) -> bool:
    """Tell whether a file is neither ours, nor Python's, nor of an installed package."""
    return not str(file).startswith(_known())


@cache
def _known() -> tuple[str, ...]:
    """How files begin that are ours, Python's, the system's or of installed packages, or that we can make again."""
    found = {Path(path).resolve() for path in (*sysconfig.get_paths().values(), site.getusersitepackages())}
    found -= {Path(sys.prefix).resolve()}  # the environment's folder: what one works on may lie there
    with suppress(RuntimeError):  # a user without a home
        found.add(user_cache().resolve())
    return (*_OURS, *(f"{folder}{os.sep}" for folder in (*found, "/proc", "/sys", "/dev")))


@cache
def _digest_of(file: Path, changed: int, size: int) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "blake2b").hexdigest()[:32]


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if event == "import":
        _imported.setdefault(str(arguments[0]), time.time_ns())
    elif event in ("open", "os.rename") and not getattr(_busy, "now", False):
        path, flags = (arguments[0], arguments[2]) if event == "open" else (arguments[1], os.O_WRONLY)
        if isinstance(path, bytes | str) and isinstance(flags, int):
            _busy.now = True
            try:
                with suppress(OSError, ValueError):
                    if not (name := os.fsdecode(path)).startswith(_known()):  # most are modules of others
                        _note(Path(name), flags, sys._getframe(1))
            finally:
                _busy.now = False


def _note(path: Path, flags: int, frame: FrameType) -> None:
    readers = _readers(frame)
    if not readers:
        return
    file = path.resolve()
    reads = flags & os.O_ACCMODE == os.O_RDONLY
    if reads and file.suffix == ".pyc":
        file = Path(source_from_cache(str(file)))
    if not from_outside(file) or (file.exists() and not file.is_file()):
        return
    if not reads:
        for reader in readers:
            _written.setdefault(reader, set()).add(str(file))
        return
    digest = digest_of(file)
    for reader in readers:
        known = _read.setdefault(reader, {})
        known[str(file)] = digest if known.get(str(file), digest) == digest else CHANGED


def _readers(frame: FrameType | None) -> set[str]:
    """Find the modules from outside whose code opens something: from the innermost frame on to the next one of ours.

    Whoever called us is no reader. What only Python's own code does in a thread, and not ours, may be for anybody.
    """
    found: set[str] = set()
    by_us = threading.current_thread() is threading.main_thread()
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        kind = _kind_of(frame.f_code.co_filename)
        if kind == "ours" and found:
            return found
        by_us = by_us or kind == "ours"
        if kind == "outside" or (kind == "python" and module.partition(".")[0] in _followed):
            found.add(module)
        frame = frame.f_back
    return found if found or by_us else {""}


@cache
def _kind_of(name: str) -> str:
    """Whose code a file has."""
    if name.startswith("<"):
        return "python"
    file = Path(name).resolve()
    return "ours" if is_ours(file) else "outside" if from_outside(file) else "python"


sys.addaudithook(_watch)
