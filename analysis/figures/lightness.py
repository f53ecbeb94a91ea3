"""Colours of one hue that are lighter or darker: for print without colour, and for dark pages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.colors import to_hex, to_rgb

from binwright.simcore.types import Floats

LUMINANCE = np.array([0.2126, 0.7152, 0.0722])
"""What red, green and blue give to the luminance of a colour, 0 to 1."""
DARKEST, LIGHTEST = 0.02, 0.5
"""Luminances between which colours are told apart in print, as far as lines on white may go."""
PAGE, INK, SOFT = "#12161b", "#e6e9ed", "#a0a9b4"
"""A dark page, and what is written on it."""
ON_DARK = 0.13
"""The least luminance of a colour on a dark page, for a contrast of 3 : 1."""
PAPER = {"#ffffff": PAGE, "#000000": INK, "#222222": INK, "#666666": SOFT, "#888888": SOFT, "#b0b0b0": "#38414b"}
"""What takes the place of white, black and greys on a dark page."""


def luminance(colour: str) -> float:
    """Return how much light a colour gives, 0 to 1."""
    return float((LUMINANCE * _linear(colour)).sum())


def with_luminance(colour: str, wanted: float) -> str:
    """Mix a colour with black or white until it has the luminance that is wanted; the hue stays."""
    linear, is_now = _linear(colour), luminance(colour)
    mixed = linear * wanted / is_now if wanted < is_now else linear + (1 - linear) * (wanted - is_now) / (1 - is_now)
    mixed = np.clip(mixed, 0, 1)
    red, green, blue = np.where(mixed <= 0.0031308, 12.92 * mixed, 1.055 * mixed ** (1 / 2.4) - 0.055).tolist()
    return to_hex((red, green, blue))


def in_greys(colours: Sequence[str]) -> list[str]:
    """Give colours luminances that print without colour tells apart, evenly by the eye, and leave their hues."""
    steps = np.linspace(DARKEST ** (1 / 3), LIGHTEST ** (1 / 3), max(2, len(colours))) ** 3
    return [with_luminance(colour, float(step)) for colour, step in zip(colours, steps, strict=False)]


def on_dark(colour: str) -> str:
    """Return a colour as it stands on a dark page: the same, unless it would be too dark there."""
    if colour in PAPER:
        return PAPER[colour]
    return with_luminance(colour, ON_DARK) if luminance(colour) < ON_DARK else colour


def _linear(colour: str) -> Floats:
    shown = np.array(to_rgb(colour))
    found: Floats = np.where(shown <= 0.04045, shown / 12.92, ((shown + 0.055) / 1.055) ** 2.4)
    return found
