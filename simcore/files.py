"""Folders of what can be had again, and files that are written whole or not at all, also if the power is cut."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from itertools import chain
from pathlib import Path

from binwright.simcore.errors import ResultsError
from binwright.simcore.extras import pl


def user_cache() -> Path:
    """Name Binwright's folder in the user's cache: XDG_CACHE_HOME, or ~/.cache. `RuntimeError` without a home."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "binwright"


def others_write(status: os.stat_result) -> bool:
    """Tell whether another user than this one and root owns a file or a folder, or may write to it."""
    if not hasattr(os, "geteuid"):
        return False
    return status.st_uid not in (0, os.geteuid()) or bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


@contextmanager
def writing(file: str | Path) -> Iterator[None]:
    """Turn what the system has against writing `file` into a `ResultsError`."""
    try:
        yield
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        remedy = "Make room there, move away what is in the way, or name another place with --out."
        raise ResultsError(f"cannot be written: {why}", file=file, remedy=remedy) from None


@contextmanager
def replacing(file: str | Path, *, lasting: bool = True) -> Iterator[Path]:
    """Give the path of an unfinished file that takes the place of `file` when the block ends well; makes the folder.

    Where the disk does not take it, there is a `ResultsError`, and `file` is what it was. A link stays one, and what is
    no file, like a pipe or /dev/stdout, is written to as it is.

    The content is on disk before the name, and the name when the block is over: a power cut leaves the old file or the
    new one. Unless `lasting`, which takes a few milliseconds less: then it may leave anything in the file, and whoever
    reads it has to know what to expect.
    """
    target = Path(file)
    with writing(target):
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "")
        if target.exists() and not target.is_file():
            yield target
            return
        target = target.resolve()
        make_folder(target.parent)
        unfinished = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            yield unfinished
            if lasting:
                sync(unfinished)
            unfinished.replace(target)
            if lasting:
                sync(target.parent)
        finally:
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it that are not there, so that a power cut takes none of them away."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in missing:
        sync(each.parent)


def sync(path: Path) -> None:
    """Wait until what a file holds, or which files a folder has, is on disk."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except PermissionError:
        return  # a folder that may be written to, but not read, cannot be waited for
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # network file systems have no such thing for folders
            raise
    finally:
        os.close(descriptor)


def clear(folder: Path) -> None:
    """Remove what commands that were killed have left unfinished; nobody else may write there."""
    for left in folder.glob(".*.*"):
        if left.suffix[1:].isdecimal():
            left.unlink(missing_ok=True)


def write_text(file: str | Path, text: str) -> None:
    """Write a text in UTF-8, whole or not at all."""
    with replacing(file) as unfinished:
        unfinished.write_text(text, "utf-8")


def write_bytes(file: str | Path, content: bytes) -> None:
    """Write bytes, whole or not at all."""
    with replacing(file) as unfinished:
        unfinished.write_bytes(content)


def write_table(file: str | Path, frame: pl.DataFrame) -> None:
    """Write Parquet, whole or not at all."""
    write_tables(file, [frame])


def write_tables(file: str | Path, frames: Iterable[pl.DataFrame], *, lasting: bool = True) -> None:
    """Write one table, of at least one block with the same columns each, with no more than a few in memory.

    `lasting` is as `replacing` has it.
    """
    target, blocks = Path(file).resolve(), iter(frames)
    frame = next(blocks)
    more = next(blocks, None)
    if more is None:
        with replacing(file, lasting=lasting) as unfinished:
            _write(unfinished, frame)
        return
    parts: list[Path] = []
    try:
        for number, block in enumerate(chain([frame, more], blocks)):
            parts.append(target.with_name(f".{target.name}-{number}.{os.getpid()}"))  # as `clear` knows them
            with writing(parts[-1]):
                make_folder(target.parent)
                _write(parts[-1], block)
        with replacing(file, lasting=lasting) as unfinished:
            try:
                pl.scan_parquet(parts, glob=False, hive_partitioning=False).sink_parquet(unfinished)
            except pl.exceptions.PolarsError as error:
                full = re.search(r"os error (\d+)", str(error))
                raise OSError(*([int(full[1]), ""] if full else [str(error)])) from error
    finally:
        for part in parts:
            part.unlink(missing_ok=True)


def _write(file: Path, frame: pl.DataFrame) -> None:
    content = BytesIO()  # by itself, polars says in words only what the disk has against it
    frame.write_parquet(content)
    file.write_bytes(content.getbuffer())
