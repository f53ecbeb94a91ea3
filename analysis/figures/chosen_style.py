"""How a figure is to look: as a venue or a matplotlib style says, with another size, font, or without its title."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Literal

from matplotlib import rc_context, rc_params_from_file
from matplotlib.font_manager import FontProperties, get_font_names

from binwright.analysis.figures.venues import HOUSE, VENUES, inches
from binwright.simcore.errors import UserError, meant, suggest

Width = Literal["column", "page"]
TEXT, SMALL = 8, 7
"""Points of the house's text, and of what is written at ticks and in legends; other styles keep their ratio."""
LINE = 0.6
"""Points: the width of axes and ticks."""


@dataclass(frozen=True)
class Style:
    """Holds what is to be set while something is drawn, and when it is written.

    `rc` are parameters of matplotlib, `widths` inches, `size` those of the whole figure, if given, `text` points.
    """

    rc: Any
    widths: Mapping[Width, float]
    text: float = TEXT
    titles: bool = True
    size: tuple[float, float] | None = None


def style_of(
    style: str | None = None,
    size: str | None = None,
    font: str | None = None,
    text: float | None = None,
    titles: bool | None = None,
) -> Style:
    """Make a style of a venue, or of a style that matplotlib knows or a file of one, and of changes to it.

    `size` is width x height of a whole figure, as in "3.3x2.2" (inches) or "84x56 mm"; `font` a family, `text` points.
    """
    name = style or HOUSE
    found = _venue(name) if name in VENUES else _of_matplotlib(name)
    rc = dict(found.rc)
    if font is not None:
        others = rc.get("font.family", [])
        rc["font.family"] = [_known_font(font), *([others] if isinstance(others, str) else others)]
    if text is not None:
        if not 1 <= text <= 100:
            raise UserError("is no size of text", key="text", value=text, remedy="Give points from 1 to 100.")
        rc |= _sizes(text)
    changed = replace(found, rc=rc, text=text or found.text, titles=titles is not False)
    if size is None:
        return changed
    width, height = inches(size)
    return replace(changed, size=(width, height), widths={"column": width, "page": width})


def _venue(name: str) -> Style:
    venue = VENUES[name]
    installed = set(get_font_names())
    fonts = [font for font in venue.fonts if font in installed] or ["DejaVu Sans"]
    # The house names a family of fonts, so that an SVG says which others would do.
    family = {"font.family": "sans-serif", "font.sans-serif": list(venue.fonts)}
    rc: Any = _sizes(venue.points) | (family if name == HOUSE else {"font.family": fonts}) | venue.rc
    return Style(rc, {"column": venue.column, "page": venue.page}, text=venue.points)


def _of_matplotlib(name: str) -> Style:
    """Read fonts, sizes, lines and width of a style that matplotlib knows by name, or of the file of one."""
    from matplotlib.style import available, library

    try:
        read: Any = dict(library[name] if name in available else rc_params_from_file(name, use_default_template=False))
    except OSError as error:
        remedy = f"{meant(name) or suggest(name, [*VENUES, *available])} Or name a file."
        raise UserError("there is no such style", key="style", value=name, remedy=remedy) from error
    except (ValueError, UnicodeDecodeError) as error:
        remedy = "Write lines as `font.size: 9`."
        raise UserError(f"is not a style of matplotlib: {error}", file=name, remedy=remedy) from error
    house = _venue(HOUSE)
    figsize = read.pop("figure.figsize", None)
    widths: Mapping[Width, float] = {"column": figsize[0], "page": figsize[0]} if figsize else house.widths
    size = FontProperties(size=read.get("font.size", TEXT)).get_size_in_points()
    rc = {key: value for key, value in read.items() if not key.startswith(("backend", "savefig.", "figure.dpi"))}
    return replace(house, text=size, rc={**house.rc, **_sizes(size), **rc}, widths=widths)


def _known_font(font: str) -> str:
    known = get_font_names()
    if font not in known:
        remedy = f"{suggest(font, sorted(known))} What was installed just now, matplotlib finds when its cache is new."
        raise UserError("there is no such font here", key="font", value=font, remedy=remedy)
    return font


def _sizes(points: float) -> Any:
    """Set all text in proportion, and the lines of axes with it."""
    small, line = points * SMALL / TEXT, LINE * points / TEXT
    large = ("font.size", "axes.titlesize", "axes.labelsize", "figure.titlesize", "figure.labelsize")
    little = ("xtick.labelsize", "ytick.labelsize", "legend.fontsize", "legend.title_fontsize")
    lines = ("axes.linewidth", "xtick.major.width", "ytick.major.width")
    return dict.fromkeys(large, points) | dict.fromkeys(little, small) | dict.fromkeys(lines, line)


ALWAYS: Any = {"svg.fonttype": "none", "svg.hashsalt": "binwright", "pdf.fonttype": 42}
"""Text stays text in SVG and PDF; the salt makes the names inside an SVG the same every time."""
PLAIN = _venue(HOUSE)
_CURRENT: ContextVar[Style] = ContextVar("style", default=PLAIN)


@contextmanager
def style(wanted: Style = PLAIN) -> Iterator[None]:
    """Set a style for as long as something is drawn or written in it."""
    token = _CURRENT.set(wanted)
    try:
        with rc_context({**wanted.rc, **ALWAYS}):
            yield
    finally:
        _CURRENT.reset(token)


def current() -> Style:
    """Return the style that is set."""
    return _CURRENT.get()


def points(of: Literal["text", "small"] = "small") -> float:
    """Return the size of text in the style that is set: that of titles and axes, or the small one of ticks."""
    return current().text * (1 if of == "text" else SMALL / TEXT)
