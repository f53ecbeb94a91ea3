"""The journal of a folder of results: a line per run that was done, and what each is believed for."""

import fcntl
import hashlib
import json
from collections.abc import Iterator
from io import IOBase
from pathlib import Path
from typing import Any

from binwright.simcore.errors import ResultsError

Row = dict[str, Any]
CHECK = ', "check": "'
"""Stands before the digest that ends every line, of all that is before it in the line."""
DIGITS = 16


def line_of(row: Row) -> str:
    """Write a row as a line that says whether it is whole."""
    text = json.dumps(row)[:-1]
    return f'{text}{CHECK}{_digest(text.encode())}"}}\n'


def rows_of(file: Path) -> tuple[list[Row], int]:
    """Read the rows of a journal in order, and count the lines that are damaged: those count for nothing."""
    if not file.is_file():
        return [], 0
    lines = [line for line in file.read_bytes().split(b"\n") if line]
    rows = list(_whole(lines))
    return rows, len(lines) - len(rows)


def _whole(lines: list[bytes]) -> Iterator[Row]:
    tail = len(CHECK) + DIGITS + len('"}')
    for line in lines:
        text = line[:-tail]
        if line[-tail:] == f'{CHECK}{_digest(text)}"}}'.encode():
            yield json.loads(text + b"}")


def _digest(text: bytes) -> str:
    return hashlib.blake2b(text, digest_size=DIGITS // 2).hexdigest()


def lock(file: IOBase, folder: Path) -> None:
    """Take `folder` by its open `file`: two commands that write there would spoil each other's results.

    The lock ends when the file is closed, or with the process.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        remedy = "Wait for it, or name another folder with --out."
        raise ResultsError("another run is writing here", file=folder, remedy=remedy) from None
