"""Keeps compiled kernels on disk, under names made of all that determines them.

So every copy of the code on a machine finds the same ones, and an edit of a kernel finds none.
"""

from __future__ import annotations

import enum
import hashlib
import logging
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, Protocol

import llvmlite
import numba
import numpy as np
from numba import types
from numba.core import config
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.extending import _Intrinsic
from numba.core.registry import CPUDispatcher
from numba.core.serialize import dumps

from binwright.simcore.compiling import compiling
from binwright.simcore.files import others_write, user_cache

MOST_GENERATED = 500
"""How many functions that were made at run time are kept."""
UNREAD = 30 * 24 * 3600
"""Seconds for which a form of a kernel is kept that no process reads."""
GENERATED = "generated"
"""The folder in that of kept kernels for those that were made at run time."""
SAID = "BINWRIGHT_KERNELS_REFUSED"
"""The variable of the environment that tells our processes that it was said."""
LOG = logging.getLogger("binwright")
FOREIGN = ("numba", "numpy")
"""Packages whose functions are known by their names and the package's version."""
SIMPLE = (type(None), type(...), int, float, complex, str, bytes, np.generic, enum.Enum)
"""Kinds of values whose `repr` tells one from another."""


@cache
def folder() -> Path | None:
    """Return the folder of kept kernels: NUMBA_CACHE_DIR, or one in the user's cache.

    `None` if this user cannot write there, or if others can: who writes a kernel has his code run by whoever reads it.
    """
    try:
        found = Path(config.CACHE_DIR or user_cache() / "kernels")
        for place in (found, found / GENERATED):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            if others_write(place.stat()):
                _refuse(place)
                return None
        tempfile.TemporaryFile(dir=found).close()
    except (OSError, RuntimeError):  # the latter from a user without a home
        return None
    return found


def _refuse(place: Path) -> None:
    """Say, once for a command and the processes that it starts, that kept kernels are not believed."""
    if SAID not in os.environ:
        os.environ[SAID] = "1"
        what = f"{place} is another user's, or others may write to it: kernels are not read from there, but compiled"
        remedy = "Take that right from them (chmod go-w), or set NUMBA_CACHE_DIR to another folder."
        LOG.warning(f"binwright: {what}. {remedy}")


@cache
def _compiler() -> object:
    """Describe what besides a kernel and the processor determines machine code: versions, settings, this package."""
    settings = ("OPT", "BOUNDSCHECK", "LOOP_VECTORIZE", "SLP_VECTORIZE", "USING_SVML")
    ours = [file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py"))]
    versions = numba.__version__, llvmlite.__version__, np.__version__, sys.implementation.cache_tag
    return versions, [getattr(config, name, None) for name in settings], _digest(repr(ours))


class Compilable(Protocol):
    """What the kept forms of a kernel need to know of it."""

    generated: bool
    """Was it made at run time?"""
    py_func: Any
    targetctx: Any
    __qualname__: str

    @property
    def stamp(self) -> str:
        """A digest of all that determines the machine code, but for the types of the arguments."""


class Kept(NullCache):  # type: ignore[misc]  # numba's classes have no types
    """Keeps the forms of one kernel on disk, a file for each: what numba's dispatcher takes for its cache."""

    def __init__(self, kernel: Compilable) -> None:
        self._kernel = kernel
        self._making: set[Path] = set()

    @contextmanager
    def alone(self, arguments: tuple[Any, ...]) -> Iterator[None]:
        """Wait for the process that is compiling this form, if there is one, and make others wait meanwhile."""
        file = self._file(arguments)
        if file is not None and (file.exists() or file in self._making):
            yield
            return
        with ExitStack() as stack:
            stack.enter_context(compiling(self._kernel.py_func.__name__))
            if file is not None:
                self._making.add(file)
                stack.callback(self._making.remove, file)
                stack.enter_context(_locked(file.with_suffix(".lock")))
            yield

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """Read the kept form for these arguments; `None` if there is none that can be read."""
        target_context.refresh()
        file = self._file(_arguments(sig))
        if file is None:
            return None
        try:
            with file.open("rb") as opened:
                if others_write(os.fstat(opened.fileno())):
                    _refuse(file)
                    return None
                found = CompileResult._rebuild(target_context, *pickle.loads(opened.read()))
            os.utime(file)
        except Exception:  # none, or a damaged one: whatever goes wrong with it, the remedy is to compile anew
            return None
        return found

    def save_overload(self, sig: Any, data: CompileResult) -> None:
        """Write a form to disk, unless it holds addresses of this process."""
        file = self._file(_arguments(sig))
        if file is None or data.library.has_dynamic_globals:
            return
        content = dumps(data._reduce())
        with suppress(OSError):  # a full disk: it is compiled again next time
            descriptor, name = tempfile.mkstemp(dir=file.parent)
            try:
                with os.fdopen(descriptor, "wb") as made:
                    made.write(content)
                    made.flush()
                    os.fsync(made.fileno())  # machine code that a power cut damaged would crash whoever runs it
                Path(name).replace(file)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
            _forget(file, self._kernel.generated)

    def _file(self, arguments: tuple[Any, ...]) -> Path | None:
        place = folder()
        if place is None:
            return None
        kernel = self._kernel
        if kernel.generated:
            place = place / GENERATED
            with suppress(OSError):
                place.mkdir(mode=0o700, exist_ok=True)
        known = (
            kernel.stamp,
            [_described(argument) for argument in arguments],
            kernel.targetctx.codegen().magic_tuple(),
            _compiler(),
        )
        return place / f"{kernel.__module__}.{kernel.__qualname__}-{_digest(repr(known))}.kernel"


@contextmanager
def _locked(lock: Path) -> Iterator[None]:
    """Hold a lock within it, where this system and this folder have locks."""
    with ExitStack() as stack:
        try:
            import fcntl

            fcntl.flock(stack.enter_context(lock.open("w")), fcntl.LOCK_EX)
        except (ImportError, OSError):
            pass
        else:
            stack.callback(_remove, lock)  # whoever waits for it finds the form then, or compiles it
        yield


def _remove(file: Path) -> None:
    """Remove a file, if it is there and may be removed; in a shared folder it may be another user's."""
    with suppress(OSError):
        file.unlink()


def _forget(file: Path, generated: bool) -> None:
    """Remove what was not read for long: other forms of a kernel, or the oldest functions made at run time."""
    if generated:
        kept = sorted(file.parent.iterdir(), key=lambda each: each.stat().st_mtime)
        old = kept[: MOST_GENERATED // 10] if len(kept) > MOST_GENERATED else []
    else:
        forms = file.parent.glob(f"{file.name.rpartition('-')[0]}-*")
        old = [each for each in forms if time.time() - each.stat().st_mtime > UNREAD]
    for each in old:
        _remove(each)


def _arguments(sig: Any) -> tuple[Any, ...]:
    return tuple(getattr(sig, "args", sig))


def _described(kind: Any) -> object:
    """Describe the type of an argument, with the names of its parts, by which kernels ask for them."""
    if isinstance(kind, types.BaseTuple):
        named = _value(kind.instance_class) if isinstance(kind, types.BaseNamedTuple) else None
        return type(kind).__name__, named, [_described(part) for part in kind]
    if isinstance(kind, types.Dispatcher):
        return _value(kind.dispatcher)
    return str(kind)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def stamp_of(function: Callable[..., object], options: dict[str, Any]) -> str:
    """Digest a function's bytecode and the values of all names in it, kernels by their own stamps."""
    return _digest(repr((_code(function.__code__), _values(function), sorted(options.items()))))


def _code(code: CodeType) -> object:
    """Describe what a function does, without its place in the file."""
    constants = [_code(each) if isinstance(each, CodeType) else _value(each) for each in code.co_consts]
    table = getattr(code, "co_exceptiontable", b"").hex()
    return code.co_code.hex(), table, code.co_varnames[: code.co_argcount], code.co_names, constants


def _values(function: Callable[..., object]) -> object:
    inside: Any = function
    names = _names(function.__code__)
    found = {name: inside.__globals__[name] for name in names if name in inside.__globals__}
    cells = zip(function.__code__.co_freevars, inside.__closure__ or (), strict=True)
    found |= {name: cell.cell_contents for name, cell in cells}
    known = {name: _value(value, names) for name, value in found.items() if value is not function}
    return sorted(known.items()), _value(inside.__defaults__)


def _names(code: CodeType) -> set[str]:
    nested = [_names(each) for each in code.co_consts if isinstance(each, CodeType)]
    return set(code.co_names).union(*nested)


def _value(value: object, names: set[str] | None = None) -> object:
    """Describe what a kernel can see of a value that it names; raises `TypeError` for one that could change unseen."""
    if isinstance(value, CPUDispatcher):
        return value.stamp if hasattr(value, "stamp") else stamp_of(value.py_func, value.targetoptions)
    if isinstance(value, _Intrinsic) and str(value._defn.__module__).partition(".")[0] not in FOREIGN:
        return stamp_of(value._defn, {})
    root = str(getattr(value, "__module__", None) or getattr(value, "__name__", "")).partition(".")[0]
    foreign = root in FOREIGN or root in sys.stdlib_module_names
    if isinstance(value, FunctionType) and not foreign:
        return stamp_of(value, {})
    if isinstance(value, ModuleType):
        if value.__name__.partition(".")[0] in FOREIGN:
            return value.__name__
        inside = {name: getattr(value, name) for name in names or () if hasattr(value, name)}
        return value.__name__, sorted((name, _value(each, names)) for name, each in inside.items())
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, _digest(repr(value.tobytes()))
    if isinstance(value, tuple):
        return type(value).__qualname__, [_value(each) for each in value]
    if isinstance(value, frozenset):
        return sorted(map(repr, value))
    if isinstance(value, SIMPLE):
        return type(value).__qualname__, repr(value)
    if isinstance(value, type):
        members = [repr(member) for member in value] if issubclass(value, enum.Enum) else ()
        return value.__module__, value.__qualname__, getattr(value, "_fields", ()), members
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if name is None or not foreign:
        remedy = "take a number, a tuple or an array, or pass it as an argument"
        raise TypeError(f"a kernel uses {value!r}, of which kept machine code cannot know whether it changed: {remedy}")
    return root, name
