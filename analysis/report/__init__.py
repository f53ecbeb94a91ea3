"""The report: all that results say in one HTML file, which needs no server and no network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from binwright.analysis.report.page import compose
from binwright.analysis.results.folder import ResultsFolder, check_target
from binwright.simcore.files import write_text


def write(
    results: ResultsFolder,
    path: str | Path | None = None,
    say: Callable[[str], None] = lambda text: None,
    drawing: Callable[[str], None] = lambda name: None,
) -> Path:
    """Write the report to `path` (default: report.html in the results' folder), whole or not at all; returns it.

    `say` is called with what had to be left out, `drawing` with the name of each figure before it is drawn.
    """
    target = Path(path) if path is not None else results.folder / "report.html"
    check_target(target)
    write_text(target, compose(results, say, drawing))
    return target
