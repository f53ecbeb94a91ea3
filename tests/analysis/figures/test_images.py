"""Files of figures: an SVG shows what matplotlib's shows and is shorter, a large one becomes a PNG of few colours."""

from __future__ import annotations

import re
from io import BytesIO
from xml.etree.ElementTree import fromstring

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from binwright.analysis.figures import draw
from binwright.analysis.figures.chosen_style import style
from binwright.analysis.figures.style import DPI, for_dark_pages, new

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
OURS = {"Date": None, "Creator": None, "Format": None, "Type": None}


def drawn() -> Figure:
    """Lines, text with decimals, text that is turned, and dots that are an image."""
    rng = np.random.default_rng(0)
    with style():
        figure = new("column", 2.5)
        for ax in figure.subplots(1, 2):
            ax.plot(rng.random(20), color="#0072B2", alpha=0.123456)
            ax.scatter(range(20), rng.random(20), rasterized=True)
            ax.set_ylabel("0.123456 and  more")
            ax.set_title("0.654321")
    return figure


def test_an_svg_is_shorter_and_shows_the_same() -> None:
    whole = BytesIO()
    with style():
        drawn().savefig(whole, format="svg", dpi=DPI, metadata=OURS)
    text = draw.svg(drawn())
    assert len(text) < 0.9 * len(whole.getvalue())
    assert text.count("\n") <= 3
    for before, after in zip(fromstring(whole.getvalue()).iter(), fromstring(text).iter(), strict=True):
        assert after.tag == before.tag
        assert (after.text or "").strip() == (before.text or "").strip()
        turned = before.get("transform", "").startswith("rotate(-0 ")
        assert [*after.keys()] == [key for key, _ in before.items() if key != "transform" or not turned]
        for key, value in after.items():
            if key in ("d", "x", "y"):
                numbers = [[float(one) for one in NUMBER.findall(each)] for each in (before.attrib[key], value)]
                np.testing.assert_allclose(numbers[1], numbers[0], atol=0.0051, rtol=0)
            elif key not in ("width", "height") and not key.endswith("href"):
                assert value == before.attrib[key]


def test_a_large_svg_becomes_a_png_of_few_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    kind, content, size = draw.image(drawn())
    assert (kind, size) == ("svg", (336, 240))
    assert content == for_dark_pages(draw.svg(drawn())).encode()
    monkeypatch.setattr(draw, "LARGE", 0)
    monkeypatch.setattr(draw, "svg", lambda figure: " " * 10**6)
    kind, content, size = draw.image(drawn())
    assert (kind, size) == ("png", (336, 240))
    seen = Image.open(BytesIO(content))
    assert seen.mode == "P"
    assert seen.size == (525, 375)
    assert content == draw.image(drawn())[1]
