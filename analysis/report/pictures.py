"""Figures of the report: every kind that the results allow, each an image of its own within the page."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

from matplotlib.figure import Figure

from analysis.figures import FIGURES
from analysis.figures.draw import draw, image
from analysis.figures.kind import FigureFailed, kind_named
from analysis.report.images import embedded
from analysis.results.folder import ResultsFolder
from simcore.errors import UserError


class Drawn(NamedTuple):
    """Holds the figures as HTML, by kind, why kinds are `missing`, and what went wrong with those that `failed`."""

    shown: dict[str, str]
    missing: dict[str, str]
    failed: dict[str, str]


def figures(results: ResultsFolder) -> Drawn:
    """Draw every kind that the results allow."""
    found = Drawn({}, {}, {})
    for name in FIGURES:
        try:
            kind = kind_named(name)
        except FigureFailed as error:
            found.failed[name] = error.problem
            continue
        if kind.source != "results":
            continue
        try:
            figure = draw(results, name, width="page", style="report")
            found.shown[name] = _embedded(name, kind.meaning, figure)
        except FigureFailed as error:
            found.failed[name] = error.problem
        except UserError as error:
            found.missing[name] = f"{error.problem} (needs {kind.needs})"
    return found


def _embedded(name: str, meaning: str, figure: Figure) -> str:
    kind, content, size = image(figure)
    shown = embedded(kind, content, size, f"{name}: {meaning}. The tables have the numbers.")
    return f'<figure id="figure-{name}">{shown}<figcaption>{escape(name)}: {escape(meaning)}</figcaption></figure>'
