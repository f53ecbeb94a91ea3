"""Figures of the report: every kind that the results allow, each an image of its own within the page."""

from __future__ import annotations

from html import escape

from matplotlib.figure import Figure

from analysis.figures import FIGURES
from analysis.figures.draw import draw, image
from analysis.figures.kind import kind_named
from analysis.report.images import embedded
from analysis.results.folder import ResultsFolder
from simcore.errors import UserError


def figures(results: ResultsFolder) -> tuple[dict[str, str], dict[str, str]]:
    """Draw the figures as HTML, by kind, and say why the other kinds are not there."""
    drawn, missing = {}, {}
    for name in FIGURES:
        kind = kind_named(name)
        if kind.source != "results":
            continue
        try:
            figure = draw(results, name, width="page", style="report")
        except UserError as error:
            missing[name] = f"{error.problem} (needs {kind.needs})"
        else:
            drawn[name] = _embedded(name, kind.meaning, figure)
    return drawn, missing


def _embedded(name: str, meaning: str, figure: Figure) -> str:
    kind, content, size = image(figure)
    shown = embedded(kind, content, size, f"{name}: {meaning}. The tables have the numbers.")
    return f'<figure id="figure-{name}">{shown}<figcaption>{escape(name)}: {escape(meaning)}</figcaption></figure>'
