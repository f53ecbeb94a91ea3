"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from simcore.errors import ResultsError

if TYPE_CHECKING:
    import polars as pl

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def writing(file: str | Path) -> Iterator[None]:
    """Turn what the system has against writing `file` into a `ResultsError`."""
    try:
        yield
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        remedy = "Make room there, or name another place with --out."
        if error.errno not in FULL:
            remedy = "Name another place with --out."
        raise ResultsError(f"cannot be written: {why}", file=file, remedy=remedy) from None


@contextmanager
def replacing(file: str | Path) -> Iterator[Path]:
    """Give the path of an unfinished file that takes the place of `file` when the block ends well; makes the folder.

    Where the disk does not take it, there is a `ResultsError`, and `file` is what it was. A link stays one, and what is
    no file, like a pipe or /dev/stdout, is written to as it is.
    """
    target = Path(file)
    with writing(target):
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "")
        if target.exists() and not target.is_file():
            yield target
            return
        target = target.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            yield unfinished
            unfinished.replace(target)
        finally:
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)


def clear(folder: Path) -> None:
    """Remove what commands that were killed have left unfinished; nobody else may write there."""
    for left in folder.glob(".*.*"):
        if left.suffix[1:].isdecimal():
            left.unlink(missing_ok=True)


def write_text(file: str | Path, text: str) -> None:
    """Write a text in UTF-8, whole or not at all."""
    with replacing(file) as unfinished:
        unfinished.write_text(text, "utf-8")


def write_table(file: str | Path, frame: pl.DataFrame) -> None:
    """Write Parquet, whole or not at all."""
    content = BytesIO()  # by itself, polars says in words only what the disk has against it
    frame.write_parquet(content)
    with replacing(file) as unfinished:
        unfinished.write_bytes(content.getbuffer())
