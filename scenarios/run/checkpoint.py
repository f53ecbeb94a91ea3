"""What is kept on disk of a run that is under way: its answers, appended, and a small file with all else."""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from simcore.files import make_folder, replacing, writing
from simcore.large import blocks
from simcore.opened import unchanged

Blocks: TypeAlias = Iterable[npt.NDArray[Any]]
"""Answers of one dtype, in their order."""


class Kept(NamedTuple):
    """Holds what was kept: `arrays` and `words` by name, and in a file the answers as they were given, of any dtype."""

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
        self._name = folder.name
        self._size = self._check = 0
        self.believed = True
        """Is what is kept to be read? Otherwise it is left alone until there is something to replace it."""

    def load(self, dtype: np.dtype[Any]) -> Kept | None:
        """Read what is kept; `None` if there is nothing that can be believed: then the run begins anew.

        That is what is of this run and not damaged, has answers of this type, and of which no file in the words'
        `files`, those that were read, has changed.
        """
        try:
            return self._loaded(dtype) if self.believed else None
        except Exception:  # results may come from anybody
            return None

    def _loaded(self, dtype: np.dtype[Any]) -> Kept | None:
        with self._state.open("rb") as file, np.load(file) as state:
            arrays = {name: state[name] for name in state.files}
        words = json.loads(arrays.pop("words").tobytes())
        size, check, kind = words.pop("answers")
        files, count = words["files"], size // dtype.itemsize
        if (words.pop("run"), kind) != (self._name, str(dtype)) or not unchanged(files):
            return None
        answers: Any = np.memmap(self._answers, dtype, "r", shape=count) if count else np.zeros(0, dtype)
        found = 0
        for some in blocks(count):
            found = zlib.crc32(_bytes(answers[some]), found)
        if (found, answers.nbytes) != (check, size):
            return None
        self._size, self._check = size, check
        return Kept(arrays, words, answers)

    def keep(self, arrays: Mapping[str, npt.NDArray[Any]], words: Mapping[str, Any], more: Blocks) -> None:
        """Add `more` answers, in at least one block, to those kept before, and replace the rest."""
        size, check, kind = self._size, self._check, ""
        with writing(self._answers):
            make_folder(self._answers.parent)
            with self._answers.open("ab") as file:
                file.truncate(self._size)
                for block in more:
                    file.write(_bytes(block))
                    size, check = size + block.nbytes, zlib.crc32(_bytes(block), check)
                    kind = str(block.dtype)
                file.flush()
                os.fsync(file.fileno())
        self._size, self._check = size, check
        text = json.dumps({**words, "run": self._name, "answers": (size, check, kind)}).encode()
        with replacing(self._state) as unfinished, unfinished.open("wb") as file:
            np.savez(file, allow_pickle=False, **{"words": np.frombuffer(text, np.uint8), **arrays})


def _bytes(answers: npt.NDArray[Any]) -> Any:
    return answers.view(np.uint8).data
