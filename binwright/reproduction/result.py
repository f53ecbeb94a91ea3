"""What a reproduction came to, as a table, a text, pages and a report."""

from __future__ import annotations

from pathlib import Path

from binwright.reproduction.outcome import Outcome
from binwright.reproduction.pages import FIGURES, page, text
from binwright.reproduction.report import report
from simcore.files import write_bytes, write_text


class Reproduction(Outcome):
    """Writes what publications print beside what came of our runs; `rows` is the table of it."""

    def text(self) -> str:
        """Write it for a terminal."""
        return text(self)

    def write(self, folder: str | Path, pages: str | Path | None = None) -> list[Path]:
        """Write a report for each publication into `folder`, and a page in Markdown into `pages`; returns the paths.

        They are called `report-NAME.html` and `reproduction-NAME.md`. `pages` is the same folder if it is not given.
        The figures of the pages go into a folder `figures` beside them.
        """
        files = {}
        for one in self.publications:
            files[Path(folder) / f"report-{one.name}.html"] = report(self, one)
            files[Path(pages or folder) / f"reproduction-{one.name}.md"] = page(self, one, Path(pages or folder))
        for file, content in files.items():
            write_text(file, content)
        for picture in self.pictures:
            for kind in ("svg", "png"):  # also what was large, or could be drawn, when it was written before
                if kind != picture.kind:
                    (Path(pages or folder) / FIGURES / picture.file_as(kind)).unlink(missing_ok=True)
            if picture.content:
                write_bytes(Path(pages or folder) / FIGURES / picture.file, picture.content)
        return list(files)
