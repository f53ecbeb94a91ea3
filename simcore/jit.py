"""The one door to numba: how every kernel is compiled."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.ccallback import CFunc
from numba.core.sigutils import normalize_signature
from numba.cpython.unsafe import tuple as unsafe

# Kernels that take compiled functions as arguments: what numba calls experimental, our tests hold to a reference.
warnings.filterwarnings("ignore", "First-class function type feature is experimental")

F = TypeVar("F", bound=Callable[..., object])

tuple_setitem: Any = unsafe.tuple_setitem
"""(tuple, place, number) -> tuple, in kernels: the only way to fill a tuple of any length."""

_stamps: dict[int, str] = {}  # by id: kernels are never thrown away
_ahead = ContextVar("ahead", default=True)


def kernel(function: F) -> F:
    """Compile a function of arrays and numbers, keep the machine code on disk for the next process.

    numba takes kept code for stale when the function's own file changed; the kernels that it calls are compiled into
    it, so here it is stale when their files changed, too.
    """
    compiled = numba.njit(cache=True, nogil=True)(function)
    code = function.__code__
    called = {_stamps.get(id(function.__globals__.get(name)), "") for name in code.co_names}
    source = Path(code.co_filename).read_bytes()
    stamp = hashlib.blake2b(source + "".join(sorted(called)).encode(), digest_size=16).hexdigest()
    _stamps[id(compiled)] = stamp
    kept = cast(Any, compiled)._cache._cache_file
    kept._source_stamp = (kept._source_stamp, stamp)
    return cast(F, compiled)


@contextmanager
def postponed() -> Iterator[None]:
    """Within it `prepared` compiles nothing: agents are started to see whether they refuse to, and not used."""
    token = _ahead.set(False)
    try:
        yield
    finally:
        _ahead.reset(token)


def prepared(compiled: F, *arguments: object) -> F:
    """The machine code of a kernel for arguments of these types, which does not look at types at every call.

    That look takes longer than most decisions: .27 us for two arrays and a tuple, 4.5 us for a network's tuples of
    arrays. Arguments of other types are not noticed: only for arrays that the ledger lays out.
    """
    if not _ahead.get():
        return compiled
    dispatcher = cast(Any, compiled)
    return cast(F, dispatcher.compile(tuple(map(dispatcher.typeof_pyval, arguments))))


def inner(function: F) -> F:
    """Compile a function that was made at run time into those that call it."""
    return cast(F, numba.njit(nogil=True, error_model="numpy")(function))


def generated(function: F, result: str, *arguments: str) -> F:
    """Compile a function that was made at run time, for numbers (`int64`) and arrays (`int64[::1]`) of these types.

    Kernels may take it as an argument and stay compiled: they see its types only.
    """
    return cast(F, numba.cfunc(f"{result}({', '.join(arguments)})", error_model="numpy")(function))


def is_kernel(function: object) -> bool:
    """Was it made by `kernel`?"""
    return id(function) in _stamps


def callback(compiled: F, result: str, *arguments: str) -> F:
    """A kernel for arguments of these types, to be given to other kernels.

    They see its types only, and stay compiled whichever it is. Its machine code is kept on disk, as theirs is.
    """
    signature = cast(Any, normalize_signature)(f"{result}({', '.join(arguments)})")
    made: Any = CFunc(cast(Any, compiled).py_func, signature, locals={}, options={})
    made.enable_caching()
    made._cache._cache_file._source_stamp = cast(Any, compiled)._cache._cache_file._source_stamp
    made.compile()
    return cast(F, made)
