"""Keeps compiled kernels on disk, under names made of all that determines them.

So every copy of the code on a machine finds the same ones, and an edit of a kernel finds none.
"""

import hashlib
import logging
import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from enum import Enum
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

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

MOST = 10_000
"""How many forms of kernels are kept: those that were not read for longest go, a tenth of them at a time."""
LOG = logging.getLogger("binwright")
FOREIGN = {"numba", "numpy"}
"""Packages whose functions are known by their names and the package's version."""


@cache
def folder() -> Path | None:
    """Return the folder of kept kernels: NUMBA_CACHE_DIR, or one in the user's cache.

    `None` if this user cannot write there, or if others can: who writes a kernel has his code run by whoever reads it.
    """
    try:
        place = Path(config.CACHE_DIR or user_cache() / "kernels")
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=place).close()
        others = others_write(place.stat())
    except (OSError, RuntimeError):  # the latter from a user without a home
        return None
    if others:
        what = f"{place} is another user's, or others may write to it: kernels are not read from there, but compiled"
        remedy = "Take that right from them (chmod go-w), or set NUMBA_CACHE_DIR to another folder."
        LOG.warning(f"binwright: {what}. {remedy}")
    return None if others else place


@cache
def _compiler() -> object:
    """Describe what besides a kernel and the processor determines machine code: versions, settings, this package."""
    settings = ("OPT", "BOUNDSCHECK", "LOOP_VECTORIZE", "SLP_VECTORIZE", "USING_SVML")
    ours = [file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py"))]
    versions = numba.__version__, llvmlite.__version__, np.__version__, sys.implementation.cache_tag
    return versions, [getattr(config, name, None) for name in settings], _digest(ours)


class KernelCache(NullCache):  # type: ignore[misc]  # numba's classes have no types
    """Keeps the forms of one kernel on disk, a file for each: what numba's dispatcher takes for its cache."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._making: set[Path] = set()

    @contextmanager
    def alone(self, arguments: tuple[Any, ...]) -> Iterator[None]:
        """Wait for the process that is compiling this form, if there is one, and make others wait meanwhile."""
        file = self._file(arguments)
        with ExitStack() as stack:
            if file is None or not (file.exists() or file in self._making):
                stack.enter_context(compiling(self._kernel.py_func.__name__))
                if file is not None:
                    self._making.add(file)
                    stack.callback(self._making.remove, file)
                    stack.enter_context(_locked(file.with_suffix(".lock")))
            yield

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """Read the kept form for these arguments; `None` if there is none that can be read and believed."""
        target_context.refresh()
        if (file := self._file(getattr(sig, "args", sig))) is None:
            return None
        try:
            with file.open("rb") as opened:
                if others_write(os.fstat(opened.fileno())):
                    return None
                overload = CompileResult._rebuild(target_context, *pickle.loads(opened.read()))
            os.utime(file)
        except Exception:  # none, or a damaged one: whatever goes wrong with it, the remedy is to compile anew
            return None
        return overload

    def save_overload(self, sig: Any, data: CompileResult) -> None:
        """Write a form to disk, unless it holds addresses of this process."""
        file = self._file(getattr(sig, "args", sig))
        if file is None or data.library.has_dynamic_globals:
            return
        content = dumps(data._reduce())
        with suppress(OSError):  # a full disk: it is compiled again next time
            with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as made:
                made.write(content)
                made.flush()
                os.fsync(made.fileno())  # machine code that a power cut damaged would crash whoever runs it
            Path(made.name).replace(file)
            _forget(file.parent)

    def _file(self, arguments: tuple[Any, ...]) -> Path | None:
        if (place := folder()) is None:
            return None
        kernel = self._kernel
        described = [_described(argument) for argument in arguments]
        known = kernel.stamp, described, kernel.targetctx.codegen().magic_tuple(), _compiler()
        return place / f"{kernel.__module__}.{kernel.__qualname__}-{_digest(known)}.kernel"


@contextmanager
def _locked(lock: Path) -> Iterator[None]:
    """Hold a lock within it, where this system and this folder have locks."""
    with ExitStack() as stack:
        with suppress(ImportError, OSError):
            import fcntl

            fcntl.flock(stack.enter_context(lock.open("w")), fcntl.LOCK_EX)
            stack.callback(lock.unlink, missing_ok=True)  # whoever waits for it finds the form then, or compiles it
        yield


def _forget(place: Path) -> None:
    """Remove what was not read for longest, where much is kept: other forms, unfinished ones."""
    if len(files := [*place.iterdir()]) > MOST:
        for each in sorted(files, key=lambda each: each.stat().st_mtime)[: MOST // 10]:
            each.unlink(missing_ok=True)


def _described(kind: Any) -> object:
    """Describe the type of an argument, with the names of its parts, by which kernels ask for them."""
    if isinstance(kind, types.BaseTuple):
        named = _value(kind.instance_class) if isinstance(kind, types.BaseNamedTuple) else None
        return type(kind).__name__, named, [_described(part) for part in kind]
    return str(kind)


def _digest(described: object) -> str:
    return hashlib.blake2b(repr(described).encode(), digest_size=16).hexdigest()


def stamp_of(function: Callable[..., object], options: dict[str, Any]) -> str:
    """Digest a function's bytecode and the values of all names in it, kernels by their own stamps."""
    inside: Any = function
    names = _names(function.__code__)
    globals_used = {name: inside.__globals__[name] for name in names if name in inside.__globals__}
    cells = zip(function.__code__.co_freevars, inside.__closure__ or (), strict=True)
    globals_used |= {name: cell.cell_contents for name, cell in cells}
    values = {name: _value(value, names) for name, value in globals_used.items() if value is not function}
    defaults = _value(inside.__defaults__)
    return _digest((_code(function.__code__), sorted(values.items()), defaults, sorted(options.items())))


def _names(code: CodeType) -> set[str]:
    return set(code.co_names).union(*(_names(each) for each in code.co_consts if isinstance(each, CodeType)))


def _code(code: CodeType) -> object:
    """Describe what a function does, without its place in the file."""
    constants = [_code(each) if isinstance(each, CodeType) else _value(each) for each in code.co_consts]
    return code.co_code, code.co_exceptiontable, code.co_varnames[: code.co_argcount], code.co_names, constants


def _value(value: Any, names: Iterable[str] = ()) -> object:
    """Describe what a kernel can see of a value that it names; what could change unseen cannot be pickled."""
    if isinstance(value, CPUDispatcher):
        return value.stamp if hasattr(value, "stamp") else stamp_of(value.py_func, value.targetoptions)
    if isinstance(value, _Intrinsic):
        value = value._defn
    if isinstance(value, FunctionType):
        foreign = str(value.__module__).partition(".")[0] in FOREIGN | sys.stdlib_module_names
        return (value.__module__, value.__qualname__) if foreign else stamp_of(value, {})
    if isinstance(value, ModuleType):
        inside = () if value.__name__.partition(".")[0] in FOREIGN else {*names} & vars(value).keys()
        return value.__name__, sorted((name, _value(getattr(value, name), names)) for name in inside)
    if isinstance(value, tuple | frozenset):
        parts = list(map(_value, value))
        return type(value).__qualname__, parts if isinstance(value, tuple) else sorted(map(repr, parts))
    if isinstance(value, type):
        members = [repr(member) for member in value] if issubclass(value, Enum) else ()
        return value.__module__, value.__qualname__, getattr(value, "_fields", ()), members
    return pickle.dumps(value)
