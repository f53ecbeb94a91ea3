"""Reproduce publications: run, compare, and keep what came of it."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from binwright.reproduction import PUBLICATIONS
from binwright.reproduction.claims import Row, frame_of
from binwright.reproduction.experiment import Publication, Size, publication
from binwright.reproduction.figures import Picture, pictures
from binwright.reproduction.pages import FIGURES, counted, listed, page, tables, text
from binwright.reproduction.running import Prepared, compared, material, prepare, run
from simcore.files import write_bytes, write_text
from simcore.lazy_imports import pl

FOLDER = Path("results") / "reproduce"


@dataclass(frozen=True)
class Reproduction:
    """Holds what publications print beside what came of our runs."""

    publications: tuple[Publication, ...]
    listed: tuple[Row, ...]
    made: Mapping[str, str]
    """How the values of each publication were made, in sentences."""
    pictures: tuple[Picture, ...] = ()

    @property
    def rows(self) -> pl.DataFrame:
        """Make a table with a row for every published value, misses first."""
        return frame_of(self.listed)

    def of(self, publication: Publication) -> tuple[list[Row], list[Picture]]:
        """Select the rows and the figures of one publication."""
        rows = [one for one in self.listed if one.publication == publication.name]
        return rows, [one for one in self.pictures if one.publication == publication.name]

    def text(self) -> str:
        """Write for a terminal what was not reproduced."""
        return "\n".join(text(one, *self.of(one)) for one in self.publications)

    def write(self, folder: str | Path, pages: str | Path | None = None) -> list[Path]:
        """Write every value into `folder`, a CSV for each publication, and its tables into `pages`; returns the paths.

        The CSV is called `reproduction-NAME.csv`. Tables go into the page in `pages` (default: `folder`) that has a
        line `<!-- binwright reproduce NAME -->`, or into `reproduction-NAME.md`; figures go into a folder `figures`
        beside it, and into that of `folder`.
        """
        folder, beside = Path(folder), Path(pages or folder)
        files: dict[Path, str] = {}
        for one in self.publications:
            rows, drawn = self.of(one)
            file, content = page(one, rows, drawn, self.made[one.name], beside)
            files |= {folder / listed(one): frame_of(rows).write_csv(), file: content}
        for file, content in files.items():
            write_text(file, content)
        for place in dict.fromkeys((folder / FIGURES, beside / FIGURES)):
            for picture in self.pictures:
                for kind in ("svg", "png"):  # also what was large, or could be drawn, when it was written before
                    if kind == picture.kind:
                        write_bytes(place / picture.file(kind), picture.content)
                    else:
                        (place / picture.file(kind)).unlink(missing_ok=True)
        return list(files)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({counted(self.listed)})"


def names_of(*names: str) -> tuple[str, ...]:
    """Take publications by their names, each once, or `all`; a name that is neither is a `UserError`."""
    found = [PUBLICATIONS if name == "all" else (publication(name).name,) for name in names]
    return tuple(dict.fromkeys(name for those in found for name in those))


def reproduce(
    name: str,
    *others: str,
    quick: bool = False,
    out: str | Path | None = None,
    jobs: int | None = None,
    finished: Callable[[dict[str, Any]], None] = lambda row: None,
    weights: str | Path | None = None,
) -> Reproduction:
    """Run what publications ran, and compare every value: one or more of `binwright.reproduction.PUBLICATIONS`, or all.

    What `out` (default `results/reproduce`) has already is not run again. `quick` takes fewer seeds and less time.
    `weights` is a folder of the weights that Nara's authors published, which then have rows of their own. `jobs` runs
    at a time (default: one per CPU); `finished` is called with every finished run's row.
    """
    names, size = names_of(name, *others), size_of(quick)
    return completed(names, prepare(names, size, out or FOLDER, weights), size, jobs, finished)


def size_of(quick: bool) -> Size:
    """Choose how much is run."""
    return "quick" if quick else "full"


def completed(
    names: Sequence[str],
    prepared: Sequence[Prepared],
    size: Size,
    jobs: int | None,
    finished: Callable[[dict[str, Any]], None],
) -> Reproduction:
    """Run what was prepared, and compare."""
    for one in prepared:
        run(one, jobs, finished)
    planned = {one.publication.name: one.publication for one in prepared}
    whole = tuple(planned.get(name) or publication(name) for name in names)
    called = "all" if set(names) == set(PUBLICATIONS) else " ".join(names)
    called += " --weights FOLDER" if any(one.weighed for one in whole) else ""
    command = f"binwright reproduce {called}{' --quick' if size == 'quick' else ''}"
    rows: list[Row] = []
    drawn: list[Picture] = []
    made = {}
    for asked in whole:
        own = [each for each in prepared if each.publication.name == asked.name]
        found = compared(asked, own)
        rows += found
        drawn += pictures(asked.name, (*tables(asked, found), *asked.figures), material(own))
        made[asked.name] = (
            f"Written by `{command}` on {datetime.now(UTC):%Y-%m-%d}; {platform.system()} {platform.machine()}, "
            f"{os.cpu_count()} cores; its runs took {sum(one.seconds for one in own) / 60:.1f} minutes one after the "
            "other. Intervals are 95 % over the seeds."
        )
    return Reproduction(whole, tuple(rows), made, tuple(drawn))
