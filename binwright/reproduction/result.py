"""What a reproduction came to: a table, a text, pages and figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from binwright.reproduction.experiment import Publication
from binwright.reproduction.figures import Picture
from binwright.reproduction.pages import FIGURES, counted, listed, page, text
from binwright.reproduction.rows import Row, frame_of
from simcore.files import write_bytes, write_text

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Made:
    """Holds what pages say of how a reproduction was made."""

    command: str
    date: str
    machine: str
    minutes: Mapping[str, float]
    """How long the runs of each publication took, one after the other."""


@dataclass(frozen=True)
class Reproduction:
    """Holds what publications print beside what came of our runs."""

    publications: tuple[Publication, ...]
    listed: tuple[Row, ...]
    made: Made
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
        beside it.
        """
        folder, beside = Path(folder), Path(pages or folder)
        files: dict[Path, str] = {}
        for one in self.publications:
            rows, drawn = self.of(one)
            file, content = page(one, rows, drawn, self._made(one), beside)
            files |= {folder / listed(one): frame_of(rows).write_csv(), file: content}
        for file, content in files.items():
            write_text(file, content)
        for picture in self.pictures:
            for kind in ("svg", "png"):  # also what was large, or could be drawn, when it was written before
                if kind != picture.kind:
                    (beside / FIGURES / picture.file_as(kind)).unlink(missing_ok=True)
            if picture.content:
                write_bytes(beside / FIGURES / picture.file, picture.content)
        return list(files)

    def _made(self, publication: Publication) -> str:
        """Say how the values of a publication were made."""
        made = self.made
        return (
            f"Written by `{made.command}` on {made.date}; {made.machine}; its runs took "
            f"{made.minutes[publication.name]:.1f} minutes one after the other. Intervals are 95 % over the seeds."
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({counted(self.listed)})"
