"""A disk that refuses what SQLite writes."""

import _sqlite3
import ctypes
import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest


class Vfs(ctypes.Structure):
    """How SQLite asks the system: the head of its `struct sqlite3_vfs`."""

    _fields_ = (
        ("version", ctypes.c_int),
        ("file_size", ctypes.c_int),
        ("longest_path", ctypes.c_int),
        *((name, ctypes.c_void_p) for name in ("following", "name", "data", "open", "delete", "access", "full_path")),
        *((name, ctypes.c_void_p) for name in ("dl_open", "dl_error", "dl_sym", "dl_close", "randomness", "sleep")),
        *((name, ctypes.c_void_p) for name in ("time", "last_error", "time_64")),
        ("set_call", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)),
        ("get_call", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)),
    )


@contextmanager
def failing_sqlite(at: int, number: int = errno.ENOSPC, count: int = 1) -> Iterator[list[int]]:
    """Within, the `at`-th write of SQLite in this process fails, counted from 0, and `count` - 1 after it.

    Gives the sizes of all that were tried. SQLite itself has this way in for its own tests.
    """
    try:
        library = ctypes.CDLL(_sqlite3.__file__)
        library.sqlite3_vfs_find.restype = ctypes.POINTER(Vfs)
    except (AttributeError, OSError):
        pytest.skip("this Python's SQLite cannot be reached")
    vfs = library.sqlite3_vfs_find(None)
    seen: list[int] = []

    def failing_call(real: Callable[..., int]) -> Callable[..., int]:
        def call(file: int, content: int, size: int, *offset: int) -> int:
            seen.append(size)
            if at < len(seen) <= at + count:
                ctypes.set_errno(number)
                return -1
            return real(file, content, size, *offset)

        return call

    kept = []
    for name, offsets in ((b"write", 0), (b"pwrite", 1), (b"pwrite64", 1)):
        given = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int64] * offsets]
        kind = ctypes.CFUNCTYPE(ctypes.c_ssize_t, *given, use_errno=True)
        if real := vfs.contents.get_call(vfs, name):
            kept.append(kind(failing_call(kind(real))))
            vfs.contents.set_call(vfs, name, kept[-1])
    try:
        yield seen
    finally:
        vfs.contents.set_call(vfs, None, None)  # as it was
