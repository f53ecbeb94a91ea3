"""Keeps the large arrays of long runs in files, so that what is not looked at need not stay in memory."""

import gc
import mmap
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

BLOCK, DEMANDS = 1 << 20, 1 << 16
"""Rows that are worked on at a time where there are many; and fewer demands, whose scratch is larger than a run is."""
LARGE = 1 << 24
"""Bytes from which on an array lies in a file."""
SPARE = 10
"""How many times as much the disk has to have free: other columns come, what is kept of the run, and its details."""

_folder: ContextVar[Path | None] = ContextVar("folder of large arrays", default=None)
_maps: weakref.WeakSet[Any] = weakref.WeakSet()
_lock = threading.Lock()


@contextmanager
def in_files(folder: Path) -> Iterator[None]:
    """Have the large arrays that are made meanwhile lie in files of a folder, which have no names and leave nothing."""
    before = _folder.set(folder.absolute())
    try:
        yield
    finally:
        _folder.reset(before)
        if _maps:
            gc.collect()  # what holds them may be a cycle, and they hold room on the disk


def zeros(shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Make an array of zeros; in a file where it is large, `in_files` was called, and the disk has room to spare."""
    folder, kind = _folder.get(), np.dtype(dtype)
    size = prod(np.atleast_1d(shape).tolist()) * kind.itemsize
    # Elsewhere room cannot be taken at once, and a disk that is full later would end the process.
    if folder is not None and size >= LARGE and hasattr(os, "posix_fallocate"):
        with suppress(OSError):  # the disk cannot do this: memory may do
            existing = next(each for each in (folder, *folder.parents) if each.is_dir())  # nothing is to be left
            if shutil.disk_usage(existing).free >= SPARE * size:
                with tempfile.TemporaryFile(dir=existing) as file:
                    os.posix_fallocate(file.fileno(), 0, size)
                    mapped = mmap.mmap(file.fileno(), size)
                with _lock:
                    _maps.add(mapped)
                return np.frombuffer(mapped, kind).reshape(shape)
    return np.zeros(shape, kind)


def release_pages(*, scattered: bool = False) -> None:
    """Take what lies in files out of memory; it is read again where it is looked at.

    With `scattered` the system then reads only the pages that are looked at, and none along with them.
    """
    if hasattr(mmap, "MADV_DONTNEED"):
        with _lock:
            maps = [*_maps]
        for mapped in maps:
            mapped.madvise(mmap.MADV_DONTNEED)
            mapped.madvise(mmap.MADV_RANDOM if scattered else mmap.MADV_NORMAL)


def blocks(rows: int, first: int = 0, most: int = BLOCK) -> Iterator[slice]:
    """Divide the rows from `first` to before `rows` into blocks of at most so many, in order; an empty one if none.

    What lies in files is let go before each block, if there are several.
    """
    size = min(most, BLOCK)
    for begin in range(first, max(rows, first + 1), size):
        if rows - first > size:
            release_pages()
        yield slice(begin, max(begin, min(begin + size, rows)))
