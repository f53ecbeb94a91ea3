"""Keeps a run on disk while it is under way: the log of its decisions, and what its agent remembers.

A run is determined by its scenario and its decisions, so no state of the engine is kept: another simulation of the run
is given the same decisions, each of which the ledger checks, and the agent is asked only about those that follow.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from operator import index
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from binwright.scenarios.build.plan import Run, modules_of
from binwright.simcore.agent_state import memory, recall
from binwright.simcore.engine import Simulation
from binwright.simcore.file_tracking import files_of, unchanged
from binwright.simcore.files import make_folder, replacing, writing
from binwright.simcore.play import Watchers
from binwright.simcore.rng import TrackedGenerator
from binwright.simcore.types import Agent

FOLDER = "checkpoints"
"""The folder in that of the results in which runs are kept while they are under way, each in a folder of its own."""
PART = 1 << 24
"""Bytes of a log that are read at a time."""


class CheckpointMismatch(Exception):
    """What was kept is not of this run: it has to begin anew, with everything as before it went on."""


class Snapshot(NamedTuple):
    """What was kept: arrays and words by name, and the portions of `fabric.decision_log.Answers`, uint8 [any]."""

    arrays: Mapping[str, npt.NDArray[Any]]
    words: Mapping[str, Any]
    answers: npt.NDArray[np.uint8]


class Checkpoint:
    """A folder that keeps one run.

    Answers are appended to `answers`. `state.npz` has all else and is replaced as a whole; it says how many bytes of
    `answers` belong to it, and their checksum. Whatever happens between, there is the old state or the new one.
    """

    def __init__(self, results: Path, run: str) -> None:
        self.folder, self._name = results / FOLDER / run, run
        self._answers, self._state = self.folder / "answers", self.folder / "state.npz"
        self._size = self._check = 0
        self.believed = True
        """Is what is kept to be read? Otherwise it stays as it is until there is something to replace it."""

    def load(self) -> Snapshot | None:
        """Read what is kept; `None` if there is nothing that can be believed: then the run begins anew.

        What can be believed is of this run and not damaged, and no file that the run had read has changed since.
        """
        try:
            return self._loaded() if self.believed else None
        except Exception:  # results may come from anybody
            return None

    def _loaded(self) -> Snapshot | None:
        with _opened(self._state) as file, np.load(file, allow_pickle=False) as state:
            if any(part.compress_type != zipfile.ZIP_STORED for part in state.zip.infolist()):
                return None  # a small file could fill the memory
            arrays = {name: state[name] for name in state.files}
        words = json.loads(arrays.pop("words").tobytes())
        size, check = words.pop("answers")
        if words.pop("run") != self._name or not unchanged(words["files"]):
            return None
        with _opened(self._answers) as file:
            answers: Any = np.memmap(file, np.uint8, "r", shape=size) if size else np.zeros(0, np.uint8)
        found = 0
        for first in range(0, size, PART):
            found = zlib.crc32(answers[first : first + PART].data, found)
        if found != check:
            return None
        self._size, self._check = size, check
        return Snapshot(arrays, words, answers)

    def keep(self, arrays: Mapping[str, npt.NDArray[Any]], words: Mapping[str, Any], more: npt.NDArray[Any]) -> None:
        """Add `more` answers, uint8 [any], to those kept before, and replace the rest."""
        with writing(self._answers):
            if not self._size:
                _remove(self.folder)  # nothing of it was believed, and it may be anything: a pipe, a link to a file
            make_folder(self.folder)
            with self._answers.open("ab") as file:
                file.truncate(self._size)
                file.write(more.data)
                file.flush()
                os.fsync(file.fileno())
        self._size, self._check = self._size + more.nbytes, zlib.crc32(more.data, self._check)
        text = json.dumps({**words, "run": self._name, "answers": (self._size, self._check)}).encode()
        with replacing(self._state) as unfinished, unfinished.open("wb") as file:
            np.savez(file, allow_pickle=False, **{"words": np.frombuffer(text, np.uint8), **arrays})


def forget(results: Path, run: str) -> None:
    """Remove what is kept of a run."""
    folder = results / FOLDER / run
    with suppress(OSError):
        _remove(folder)
        folder.parent.rmdir()  # if that was the last one


def _remove(path: Path) -> None:
    """Remove a folder with all that is in it, or whatever else is there; what a link leads to stays."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file to read it, if it is one: a pipe would wait for ever, and a link may lead anywhere."""
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    with os.fdopen(number, "rb") as file:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise ValueError(f"{path} is no file")
        yield file


class Keeper:
    """Keeps a run in a checkpoint, and takes it up from there if it was kept (`again`).

    `thought` are the nanoseconds that its agent thought before. What is not of this run is a `CheckpointMismatch`.
    """

    def __init__(self, checkpoint: Checkpoint, run: Run) -> None:
        self._checkpoint, self._run = checkpoint, run
        self._kept = checkpoint.load()
        self.again = self._kept is not None
        self._files: dict[str, str] = {}
        self.thought = 0
        if self._kept:
            with _believing():
                self._files = dict(self._kept.words["files"])
                self.thought = index(self._kept.words["thought"])
                if self.thought < 0:
                    raise ValueError("nobody thinks for less than no time")

    def files(self) -> dict[str, str]:
        """List the files that the run's agents have read, also before it went on, each with a digest."""
        return self._files | files_of(modules_of(self._run))

    @property
    def many(self) -> bool:
        """Whether it should be kept now, because of the memory that its answers take."""
        return self._answers.many

    def set_out(self, simulation: Simulation, agent: Agent, luck: TrackedGenerator, watchers: Watchers) -> None:
        """Go on with this agent, which is started with `luck`; they all come to where they were."""
        from binwright.fabric.decision_log import DecisionLog, DecisionRecorder, answer_again  # numba

        self._simulation, self._agent, self._luck = simulation, agent, luck
        self._answers = DecisionRecorder(simulation)
        memory(agent)  # raises early what could not be kept later
        if self._kept:
            arrays, words = self._kept.arrays, self._kept.words
            with _believing():
                answer_again(simulation, DecisionLog(self._kept.answers), words["reasons"], watchers)
                recall(agent, arrays, words["memory"])
                luck.go_on(words["luck"])
            self._answers.skip()
        self._kept = None

    def keep(self) -> None:
        arrays, remembered = memory(self._agent)
        words = {"memory": remembered, "luck": self._luck.states(), "reasons": self._simulation.record.reasons}
        always = {"thought": self.thought + self._simulation.thought, "files": self.files()}
        self._checkpoint.keep(arrays, {**words, **always}, self._answers.portion())


@contextmanager
def _believing() -> Iterator[None]:
    """Turn what goes wrong with what somebody has written into a `CheckpointMismatch`.

    A lack of memory or of disk is not the checkpoint's fault.
    """
    try:
        yield
    except (MemoryError, OSError):
        raise
    except Exception as error:
        raise CheckpointMismatch from error
