"""Draws figures of results: `draw(results, "differences")` gives a matplotlib figure, which `style.save` writes."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure as Figure  # for those who may not import matplotlib
from PIL import Image

from binwright.analysis.figures.kind import kind_named
from binwright.analysis.figures.style import rendered, save
from binwright.analysis.results.combined import Together
from binwright.analysis.results.folder import ResultsFolder
from binwright.simcore.errors import ResultsError
from binwright.simcore.extras import pl

LARGE = 100_000
"""Bytes of an SVG for a page; larger ones become PNG, if that is smaller."""
PALETTE = 256
"""Colours of such a PNG, which has a third of the bytes of one with all colours."""


def draw(results: ResultsFolder | Sequence[ResultsFolder], kind: str, **options: Any) -> Figure:
    """Draw the figure of this kind. Several results are drawn as one, their scenarios as points.

    Options (`metrics`, `agents`, `where`, `x`, `at`, `width`) are those of `chosen.Options`.
    """
    parts = [results] if isinstance(results, ResultsFolder) else list(results)
    return kind_named(kind).draw(parts[0] if len(parts) == 1 else Together(parts), **options)


def svg(figure: Figure) -> str:
    """Write the figure as the text of an `<svg>` element, to be put into a page."""
    text = rendered(figure, "svg").decode()
    return text[text.index("<svg") :]


def image(figure: Figure) -> tuple[str, bytes, tuple[int, int]]:
    """Write the figure as an image for a page: its kind, its bytes, and width and height in pixels.

    The kind is `svg`, or `png` where an SVG would be large, and larger than that.
    """
    width, height = figure.get_size_inches()
    size, text = (round(96 * width), round(96 * height)), svg(figure)
    if len(text) <= LARGE:
        return "svg", text.encode(), size
    drawn, few = BytesIO(), BytesIO()
    figure.savefig(drawn, format="png", dpi=150)
    Image.open(drawn).convert("RGB").quantize(PALETTE).save(few, "png", optimize=True)
    kind, content = min(("svg", text.encode()), ("png", few.getvalue()), key=lambda one: len(one[1]))
    return kind, content, size


def summary(results: ResultsFolder) -> Path | None:
    """Draw what agents differ in into the results' folder; returns the PNG's path, None where that is nothing.

    So it does where agents and points are too many.
    """
    names = [metric.name for metric in results.choose().first]
    means = results.done.group_by("agent", *results.swept).agg(pl.col(names).mean())
    if all(means[name].n_unique() < 2 for name in names):
        return None
    try:
        figure = draw(results, "differences")
    except ResultsError:
        return None
    return save(figure, results.folder / "figures" / "differences.png")
