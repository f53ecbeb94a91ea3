"""A disk whose power is cut: what was not synced may be there, or not, or be damaged."""

import copy
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from binwright.scenarios.batch.journal import rows_of
from binwright.simcore.file_tracking import digest_of
from tests.support.faults import Changes, contents, following, said_by


@dataclass(eq=False)
class File:
    """A file, under whatever names: what it holds, and what of that is on disk for certain."""

    now: bytes = b""
    synced: bytes = b""

    def after(self, drawn: Random) -> bytes:
        """Draw what it may hold when the power is back."""
        kept = len(self.synced) if self.now.startswith(self.synced) else 0
        end = drawn.randint(kept, len(self.now))
        cut, zeros = self.now[:end], bytes(len(self.now) - end)
        return drawn.choice((self.synced if kept else b"", cut, cut + zeros, self.now))


FOLDER = File()
"""Stands for every folder."""
Names = dict[str, list[File | None]]
"""Of each name below the folder, what it may be on disk: last of all what it is now; nothing where it is none."""


@dataclass
class Moment:
    """What the disk has at a moment."""

    what: str
    names: Names

    def lay(self, folder: Path, drawn: Random) -> None:
        """Put the folder into a state that it may be in after a power cut at that moment."""
        shutil.rmtree(folder, ignore_errors=True)
        for name in sorted(self.names):
            found, path = drawn.choice(self.names[name]), folder / name
            if found is None or not path.parent.is_dir():
                continue
            if found is FOLDER:
                path.mkdir()
            else:
                path.write_bytes(found.after(drawn))
                # Of a journal, and of details, digests tell what is damaged. All else is replaced whole.
                if path.name[0] != "." and path.suffix != ".jsonl" and path.parent.name != "details":
                    assert path.read_bytes() in [file.now for file in self.names[name] if file], (self.what, name)


class Disk(Changes):
    """Follows a folder, and keeps what the disk has just before each change."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.moments: list[Moment] = []
        self.names: Names = {}
        self._files: dict[int, File] = {}

    def meet(self, what: str, name: str) -> None:
        """Keep what the disk has."""
        self.look()
        self.moments.append(Moment(f"{what} {name}", copy.deepcopy(self.names, {id(FOLDER): FOLDER})))

    def synced(self, name: str) -> None:
        """Forget what else might be there."""
        path = Path(name)
        self.look()
        if path.is_dir():
            for each, versions in list(self.names.items()):
                if (self.folder / each).parent == path:
                    del versions[:-1]
        elif file := self._files.get(path.stat().st_ino):
            file.synced = file.now

    def look(self) -> None:
        """See what there is now."""
        files: dict[int, File] = {}
        there: dict[str, File] = {}
        for path in [self.folder, *self.folder.rglob("*")] if self.folder.exists() else ():
            name = path.relative_to(self.folder).as_posix()
            if path.is_dir():
                there[name] = FOLDER
            else:
                number = path.stat().st_ino
                there[name] = files[number] = self._files.get(number) or File()
                files[number].now = path.read_bytes()
        self._files = files  # a number that has gone may come again as another file's
        for name in self.names.keys() | there.keys():
            versions = self.names.setdefault(name, [None])
            if versions[-1] is not there.get(name):
                versions.append(there.get(name))


def every_power_cut(asked: list[str], out: Path, seeds: int, every: int = 1) -> Iterator[str]:
    """Cut the power just before each change below `out` of a command, and give it again; yields the change.

    It must come to what it comes to undisturbed, and do no run again whose row, and details, were on disk. States of
    the disk that are drawn again, down to the byte, are not tried again.
    """
    shutil.rmtree(out, ignore_errors=True)
    disk = Disk(out)
    with following(disk):
        assert said_by(asked)[0] == 0
    disk.meet("the end of", out.name)
    whole = contents(out)
    tried: set[frozenset[tuple[str, bytes | None]]] = set()
    for number, moment in list(enumerate(disk.moments))[::-every]:
        for seed in range(seeds):
            moment.lay(out, Random(f"{number} {seed}"))
            state = _state(out)
            if state in tried:
                continue
            tried.add(state)
            done = {file.parent: _finished(file) for file in out.rglob("journal.jsonl")}
            code, said = said_by(asked)
            assert code == 0, (moment.what, seed, said)
            assert contents(out) == whole, (moment.what, seed)
            for folder, runs in done.items():
                names = [row["run"] for row in rows_of(folder / "journal.jsonl")[0]]
                assert all(names.count(run) == 1 for run in runs), (moment.what, seed, "was run again")
            yield moment.what


def _state(folder: Path) -> frozenset[tuple[str, bytes | None]]:
    """Read all that a folder has, each file's bytes by its name; a folder has none."""
    found = [folder, *folder.rglob("*")] if folder.exists() else []
    return frozenset((str(path), path.read_bytes() if path.is_file() else None) for path in found)


def _finished(journal: Path) -> list[str]:
    """Find the runs that are in a journal with all their details."""
    return [
        row["run"]
        for row in rows_of(journal)[0]
        if all(
            digest_of(journal.parent / "details" / f"{row['run']}.{kind}.parquet") == digest
            for kind, digest in row["details"].items()
        )
    ]
