"""Writes images that are within a page."""

from __future__ import annotations

import base64
from html import escape


def image_element(kind: str, content: bytes, size: tuple[int, int], alt: str) -> str:
    """Write an image, `svg` or `png`, of this width and height in pixels.

    It is an image, because an SVG that is part of the page would share its names and styles with all others.
    """
    data = base64.b64encode(content).decode()
    return (
        f'<img alt="{escape(alt)}" width="{size[0]}" height="{size[1]}" '
        f'src="data:image/{"svg+xml" if kind == "svg" else kind};base64,{data}">'
    )
