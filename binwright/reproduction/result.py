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
        """Write report.html into `folder`, and a page in Markdown for each publication into `pages`; returns the paths.

        `pages` is the same folder if it is not given. The figures of the pages go into a folder `figures` beside them.
        """
        files = {Path(folder) / "report.html": report(self)}
        for one in self.publications:
            files[Path(pages or folder) / f"reproduction-{one.name}.md"] = page(self, one)
        for file, content in files.items():
            write_text(file, content)
        for picture in self.pictures:
            for kind in ("svg", "png"):  # also what was large, or could be drawn, when it was written before
                if kind != picture.kind:
                    (Path(pages or folder) / FIGURES / picture.file_as(kind)).unlink(missing_ok=True)
            if picture.content:
                write_bytes(Path(pages or folder) / FIGURES / picture.file, picture.content)
        return list(files)
