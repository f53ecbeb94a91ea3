"""A trace as one array that is mapped into memory: all processes of a machine share its pages."""

from __future__ import annotations

from pathlib import Path
from tokenize import TokenError
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from binwright.simcore.errors import WorkloadError
from binwright.simcore.extras import pl
from binwright.simcore.files import replacing

Columns: TypeAlias = npt.NDArray[Any]
"""Structured [rows]: a field per common column of `Trace.read`; texts, `id` among them, are bytes in UTF-8."""

MAGIC = b"\x93NUMPY"


def structured(frame: pl.DataFrame) -> Columns:
    """Put the frame's columns into one array, row by row, so that a window of rows is few pages."""
    columns = {
        name: np.array([text.encode() for text in frame[name].to_list()])
        if frame[name].dtype == pl.String
        else frame[name].to_numpy().astype(np.int64 if name == "id" else np.float64)
        for name in ("id", *(name for name in frame.columns if name != "id"))
    }
    table = np.empty(len(frame), [(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        table[name] = column
    return table


def save(table: Columns, path: Path) -> None:
    """Write it for `load`, whole or not at all; makes the folder."""
    with replacing(path) as unfinished, unfinished.open("wb") as file:
        np.save(file, table)


def load(path: Path) -> Columns:
    """Map what `save` wrote, read-only: only what is looked at is read, and no process has its own copy.

    Raises `OSError` or `ValueError` when that is not what is there.
    """
    try:
        table = np.asarray(np.load(path, mmap_mode="r"))
    except (EOFError, TokenError) as error:  # since Python 3.12 a damaged header may end in the latter
        raise ValueError(str(error)) from error
    if table.ndim != 1 or not {"id", "arrival", "lifetime"} <= set(table.dtype.names or ()):
        raise ValueError(f"{path} is not a trace")
    return table


def begins_with(path: Path, magic: bytes = MAGIC) -> bool:
    """Whether these are the file's first bytes; by default those of what `save` wrote."""
    try:
        with path.open("rb") as file:
            return file.read(len(magic)) == magic
    except OSError as error:
        raise WorkloadError(f"cannot read it: {error.strerror}", file=path, remedy="Check the path.") from error
