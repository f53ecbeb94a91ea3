"""The report: all that results say in one HTML file, which needs no server and no network."""

from __future__ import annotations

import os
from pathlib import Path

from analysis.report.page import compose
from analysis.results import Results
from simcore.errors import ResultsError


def write(results: Results, path: str | Path | None = None) -> Path:
    """Write the report to `path` (default: report.html in the results' folder), whole or not at all; returns it."""
    target = Path(path) if path is not None else results.folder / "report.html"
    text = compose(results)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(text, "utf-8")
        unfinished.replace(target)
    except OSError as error:
        raise ResultsError(
            f"cannot write the report: {error.strerror}", file=target, remedy="Name another file with --out."
        ) from None
    finally:
        unfinished.unlink(missing_ok=True)
    return target
