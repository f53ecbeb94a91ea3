"""What is kept on disk of a run that is under way: its answers, appended, and a small file with all else."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from simcore.files import make_folder, replacing, writing
from simcore.opened import unchanged


class Kept(NamedTuple):
    """Holds what was kept: `arrays` and `words` by name, and the answers as they were given, of any dtype."""

    arrays: Mapping[str, npt.NDArray[Any]]
    words: Mapping[str, Any]
    answers: npt.NDArray[Any]


def folder_of(results: Path, run: str) -> Path:
    """Name the folder in which a run of some results is kept while it is under way."""
    return results / "checkpoints" / run


def forget(results: Path, run: str) -> None:
    """Remove what is kept of a run."""
    shutil.rmtree(folder_of(results, run), ignore_errors=True)
    with suppress(OSError):
        (results / "checkpoints").rmdir()  # if that was the last one


class Checkpoint:
    """Keeps one run in a folder.

    `state.npz` is replaced as a whole, and says how many bytes of `answers` belong to it, and their checksum: whatever
    happens between, there is the old state or the new one.
    """

    def __init__(self, folder: Path) -> None:
        self._answers, self._state = folder / "answers", folder / "state.npz"
        self._size = self._check = 0

    def load(self, dtype: np.dtype[Any]) -> Kept | None:
        """Read what is kept; `None` if there is nothing that can be believed: then the run begins anew.

        That is what is not damaged, has answers of this type, and of which no file in the words' `files`, those that
        were read, has changed.
        """
        try:
            with self._state.open("rb") as file, np.load(file) as state:
                arrays = {name: state[name] for name in state.files}
            words = json.loads(arrays.pop("words").tobytes())
            size, check, kind = words.pop("answers")
            files = words["files"]
            answers = np.fromfile(self._answers, dtype, size // dtype.itemsize)
        except (OSError, ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
            return None
        if kind != str(dtype) or answers.nbytes != size or zlib.crc32(_bytes(answers)) != check or not unchanged(files):
            return None
        self._size, self._check = size, check
        return Kept(arrays, words, answers)

    def keep(self, arrays: Mapping[str, npt.NDArray[Any]], words: Mapping[str, Any], more: npt.NDArray[Any]) -> None:
        """Add `more` answers to those kept before, and replace the rest."""
        with writing(self._answers):
            make_folder(self._answers.parent)
            with self._answers.open("ab") as file:
                file.truncate(self._size)
                file.write(_bytes(more))
                file.flush()
                os.fsync(file.fileno())
        self._size += more.nbytes
        self._check = zlib.crc32(_bytes(more), self._check)
        text = json.dumps({**words, "answers": (self._size, self._check, str(more.dtype))}).encode()
        with replacing(self._state) as unfinished, unfinished.open("wb") as file:
            np.savez(file, **{"words": np.frombuffer(text, np.uint8), **arrays})  # type: ignore[arg-type]  # for mypy, one may be its flag


def _bytes(answers: npt.NDArray[Any]) -> Any:
    return answers.view(np.uint8).data
