"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from simcore.errors import ResultsError

ELSEWHERE = "Make room there, or name another place with --out."


@contextmanager
def replacing(file: str | Path, remedy: str = ELSEWHERE) -> Iterator[Path]:
    """Give the path of an unfinished file, which takes the place of `file` when the block ends well; makes the folder.

    Where the disk does not take it, there is a `ResultsError`, and `file` is what it was.
    """
    target = Path(file)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    with writing(target, remedy):
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield unfinished
            unfinished.replace(target)
        finally:
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)


@contextmanager
def writing(file: str | Path, remedy: str = ELSEWHERE) -> Iterator[None]:
    """Turn what the system says against writing `file` into a `ResultsError`."""
    try:
        yield
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise ResultsError(f"cannot be written: {why}", file=file, remedy=remedy) from None
