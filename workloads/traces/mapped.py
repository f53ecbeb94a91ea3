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
from binwright.workloads.traces.check import is_text

Columns: TypeAlias = npt.NDArray[Any]
"""Structured [rows]: a field per common column of `Trace.read`; `id` is int64, or bytes in UTF-8, as texts are."""

MAGIC = b"\x93NUMPY"


def structured(frame: pl.DataFrame) -> Columns:
    """Put the frame's columns into one array, row by row, so that a window of rows is few pages."""
    ids = frame["id"]
    columns = {name: frame[name].to_numpy() for name in frame.columns if name != "id" and not is_text(name)}
    names = ids.to_numpy() if ids.dtype.is_integer() else np.array([text.encode() for text in ids.to_list()])
    kinds: list[tuple[str, Any]] = [("id", names.dtype), *((name, np.float64) for name in columns)]
    for name in frame.columns:
        if is_text(name):
            texts = np.array([text.encode() for text in frame[name].to_list()])
            kinds.append((name, texts.dtype))
            columns[name] = texts
    table = np.empty(len(frame), kinds)
    table["id"] = names
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


def is_mapped(path: Path) -> bool:
    """Whether the file is one that `save` wrote."""
    return begins_with(path, MAGIC)


def begins_with(path: Path, magic: bytes) -> bool:
    """Whether these are the file's first bytes."""
    try:
        with path.open("rb") as file:
            return file.read(len(magic)) == magic
    except OSError as error:
        raise WorkloadError(f"cannot read it: {error.strerror}", file=path, remedy="Check the path.") from error
