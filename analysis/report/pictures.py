"""Figures of the report: every kind that the results allow, each an image of its own within the page."""

from __future__ import annotations

import base64
from html import escape
from io import BytesIO

from matplotlib.figure import Figure

from analysis.figures import FIGURES
from analysis.figures.draw import draw, svg
from analysis.figures.kind import kind_named
from analysis.results.folder import ResultsFolder
from simcore.errors import UserError

LARGE = 300_000
"""Characters of an SVG; larger ones become PNG."""


def figures(results: ResultsFolder) -> tuple[dict[str, str], dict[str, str]]:
    """Draw the figures as HTML, by kind, and say why the other kinds are not there."""
    drawn, missing = {}, {}
    for name in FIGURES:
        kind = kind_named(name)
        if kind.source != "results":
            continue
        try:
            figure = draw(results, name, width="page")
        except UserError as error:
            missing[name] = f"{error.problem} (needs {kind.needs})"
        else:
            drawn[name] = _embedded(name, kind.meaning, figure)
    return drawn, missing


def _embedded(name: str, meaning: str, figure: Figure) -> str:
    """Embed a figure as an image: an SVG inside the page would share its names and styles with all others."""
    text = svg(figure)
    if len(text) <= LARGE:
        kind, content = "svg+xml", text.encode()
    else:
        kind, content = "png", _png(figure)
    width, height = figure.get_size_inches()
    alt = escape(f"{name}: {meaning}. The tables have the numbers.")
    return (
        f'<figure id="figure-{name}"><img alt="{alt}" width="{round(96 * width)}" height="{round(96 * height)}" '
        f'src="data:image/{kind};base64,{base64.b64encode(content).decode()}">'
        f"<figcaption>{escape(name)}: {escape(meaning)}</figcaption></figure>"
    )


def _png(figure: Figure) -> bytes:
    target = BytesIO()
    figure.savefig(target, format="png", dpi=150, metadata={"Software": None})
    return target.getvalue()
