"""What all figures share: colours and markers by agent, headings, legends, and files whose bytes do not change."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from io import BytesIO
from math import ceil
from pathlib import Path
from textwrap import wrap
from typing import Any, Literal
from warnings import catch_warnings, filterwarnings
from weakref import WeakKeyDictionary
from zlib import crc32

from matplotlib import rc_context, rc_params_from_file, rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import get_font_names
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

from binwright.analysis.figures import VENUES, Venue
from binwright.analysis.results.escaping import unbroken
from binwright.simcore.errors import ResultsError
from binwright.simcore.files import replacing

Width = Literal["column", "page"]
TEXT = 8
"""Points of the house's text, for which heights are given; in other styles they keep their ratio to it."""


ALWAYS: Any = {"svg.fonttype": "none", "svg.hashsalt": "binwright", "pdf.fonttype": 42, "text.parse_math": False}
"""Text stays text in SVG and PDF, and a dollar begins no formula; the salt makes the names inside an SVG the same."""


@cache
def parameters(venue: Venue) -> Any:
    """Read matplotlib's parameters for a venue: of its fonts, best first, it has those that there are."""
    file = Path(__file__).with_name("styles") / f"{venue}.mplstyle"
    rc: Any = dict(rc_params_from_file(file, use_default_template=False))
    fonts = {*get_font_names(), "sans-serif"}
    rc["font.family"] = [font for font in rc["font.family"] if font in fonts] or ["DejaVu Sans"]
    return rc | ALWAYS


HOUSE: tuple[Venue, bool] = ("house", True)
_CURRENT: ContextVar[tuple[Venue, bool]] = ContextVar("venue, and whether titles are drawn", default=HOUSE)


@contextmanager
def style(venue: Venue = "house", titles: bool = True) -> Iterator[None]:
    """Set the style of a venue for as long as something is drawn or written in it."""
    token = _CURRENT.set((venue, titles))
    try:
        with rc_context(parameters(venue)):
            yield
    finally:
        _CURRENT.reset(token)


def points(of: Literal["text", "small"] = "small") -> float:
    """Return the size of text in the style that is set: that of titles and axes, or the small one of ticks."""
    return float(parameters(_CURRENT.get()[0])["font.size" if of == "text" else "xtick.labelsize"])


def letters(figure: Figure, columns: int = 1, beside: float = 0.0) -> int:
    """Count the letters of text that are as wide as one of so many panels, with `beside` points left of them."""
    return max(1, int((figure.get_figwidth() * 72 - beside) / columns / (0.6 * points("text"))))


COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#882255")
"""Okabe and Ito's, told apart by colour-blind readers too; Tol's wine is in place of their yellow, too pale for lines.
"""
BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK, WINE = COLOURS
MARKERS = "osD^v<>p"
"""All of them look different when they are not filled."""
SHADES = ("#2166ac", "#92c5de", "#f4a582", "#b2182b")
"""From near to far: the four spans of a placement."""
GREY = "#666666"
NARROW = 4.0
"""Inches at the house's text: what is narrower is a column."""

Look = tuple[str, str]
"""A colour and a marker."""

SHIPPED: dict[str, Look] = {
    "random": (BLACK, "o"), "first-fit": (BLUE, "o"), "best-fit": (VERMILLION, "s"), "worst-fit": (GREEN, "D"),
    "balance-fit": (PURPLE, "^"), "dot-product": (ORANGE, "v"), "funsearch": (WINE, "^"),
    "internal": (SKY, "p"), "tetris": (BLUE, "<"), "nulb": (VERMILLION, "o"), "nalb": (GREEN, "s"),
    "feasible": (ORANGE, "D"), "feasible(agent=tetris)": (ORANGE, "D"), "best-home": (PURPLE, "v"), "nara": (SKY, "^"),
    "in-line": (SKY, "s"), "two-stage": (ORANGE, "<"), "solver": (WINE, ">"), "value-es": (GREEN, "^"),
    "cvd-rl": (BLACK, "^"), "sched-rl": (PURPLE, "s"), "padrl": (ORANGE, "^"), "hindsight": (WINE, "o"),
    "random-top": (BLUE, "D"), "vm-first-fit": (BLUE, "s"), "secondnet": (VERMILLION, "D"),
    "oktopus": (GREEN, "v"),
}  # fmt: skip
"""Agents that are compared with one another differ in colour, as far as colours go, and else in their markers. Those of
servers and those of networks share colours."""

DPI = 200
FORMATS = ("png", "svg", "pdf")


def looks(agents: Iterable[str]) -> dict[str, Look]:
    """Choose every agent's colour and marker: fixed ones for the shipped, the least used ones for others, by name.

    Takes all agents of the results, drawn or not, so that each looks the same in every figure of them.
    """
    names = sorted(set(agents))
    result = {name: SHIPPED[name] for name in names if name in SHIPPED}
    for name in names:
        if name not in result:
            start, taken = crc32(name.encode()), [*result.values()]
            colours, others = [colour for colour, _ in taken], [marker for _, marker in taken]
            colour = min(_turned(COLOURS, start), key=colours.count)
            same = [marker for other, marker in taken if other == colour]
            result[name] = colour, min(_turned(MARKERS, start // 8), key=lambda m: (same.count(m), others.count(m)))
    return result


def _turned(some: Sequence[str], start: int) -> list[str]:
    return [some[(start + step) % len(some)] for step in range(len(some))]


def new(width: Width, height: float) -> Figure:
    """Make an empty figure without pyplot (no window, no global state), `height` inches high at the house's text."""
    return Figure(figsize=(VENUES[_CURRENT.get()[0]][width], height * points("text") / TEXT), layout="constrained")


def narrow(figure: Figure) -> bool:
    """Tell whether a figure has the width of a column, counted in letters."""
    return figure.get_figwidth() * TEXT / points("text") < NARROW


def panel_axes(
    width: Width | None, count: int, most: int, height: float, *, beyond: float = 0.9, **shared: Any
) -> tuple[Figure, list[Any], int]:
    """Make a figure of `count` panels: up to `most` in a row of a page, one in a row of a column, as one alone is.

    Each row takes `height` inches, what is around them `beyond`. Returns figure, panels and the number of columns.
    """
    width = width or ("column" if count == 1 else "page")
    rows = ceil(count / (most if width == "page" else 1))
    columns = ceil(count / rows)  # the last row is as full as can be
    figure = new(width, beyond + height * rows)
    axes = figure.subplots(rows, columns, squeeze=False, **shared)
    for ax in axes.flat[count:]:
        ax.set_axis_off()
    return figure, list(axes.flat[:count]), columns


def label_outside(axes: Sequence[Axes], columns: int, x: str, y: str) -> None:
    """Label axes that panels share: below the last panel of each column, and left of the first of each row."""
    for number, ax in enumerate(axes):
        if number + columns >= len(axes):
            ax.set_xlabel(x)
            ax.tick_params(labelbottom=True)
        if number % columns == 0:
            ax.set_ylabel(y)


def tidy(ax: Axes, *, grid: Literal["both", "x", "y"] | None = "both") -> None:
    """Give a panel what all have in common; called while it is made, so that a notebook shows the same as a file."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=points(), length=2.5)
    if grid:
        ax.grid(axis=grid, alpha=0.25, linewidth=0.6)
        ax.set_axisbelow(True)


def heading(figure: Figure, title: str, caption: str = "") -> None:
    """Write on top what the figure says, and small below it what is averaged over what.

    Where the style has no titles, they are the figure's label only, for a caption.
    """
    figure.set_label(". ".join(filter(None, (title, caption))))
    if not _CURRENT.get()[1]:
        return
    size, small, wide = points("text"), points(), figure.get_figwidth() * 72
    above = wrap(title, int(wide / (0.6 * size)))
    below = wrap(unbroken(caption), int(wide / (0.56 * small)))
    drawn = figure.suptitle("\n".join(above), fontsize=size, fontweight="bold")
    if below:
        high = drawn.get_window_extent().height / figure.dpi  # fonts differ in the height of a line
        room = [" "] * ceil(len(below) * small / size)  # the layout leaves room for the title's lines alone
        drawn.set_text("\n".join([*above, *room]))
        down = ScaledTranslation(
            0, -float(rcParams["figure.constrained_layout.h_pad"]) - high - 0.2 * small / 72, figure.dpi_scale_trans
        )
        text_drawn = figure.text(0.5, 1, "\n".join(below), fontsize=small, ha="center", va="top", color=GREY)
        text_drawn.set_transform(figure.transFigure + down)


def legend(
    figure: Figure,
    names: Iterable[str],
    look: Mapping[str, Look],
    *,
    lines: bool = True,
    named: Callable[[str], str] = str,
) -> None:
    """Add a legend of agents below the figure, in as many columns as there is room for.

    `named` gives what is read in place of a name.
    """
    names, width = list(names), 1.2 if lines else 0
    handles = [
        Line2D([], [], color=look[name][0], marker=look[name][1], markersize=4, linewidth=width) for name in names
    ]
    words = [named(name) for name in names]
    columns = max(1, int(figure.get_figwidth() * 72 / (points() * (0.55 * max(map(len, words), default=1) + 4))))
    rows = max(1, ceil(len(names) / columns))
    below: Any = {"loc": "outside lower center", "frameon": False, "handlelength": 1.8, "columnspacing": 1.2}
    figure.legend(handles, words, ncols=ceil(len(names) / rows), **below)


_DRAWN_IN: WeakKeyDictionary[Figure, tuple[Venue, bool]] = WeakKeyDictionary()


def finish(figure: Figure) -> None:
    """Let a drawn figure be written in the style that is set."""
    _DRAWN_IN[figure] = _CURRENT.get()


def save(figure: Figure, path: str | Path, content: bytes | None = None) -> Path:
    """Write a figure as what its name ends in (png, svg, pdf): the same figure, the same bytes. Returns the path.

    `content` is what `rendered` made of it, if it has been rendered.
    """
    path = Path(path)
    content = content or rendered(figure, path.suffix.removeprefix(".").lower())
    with replacing(path) as unfinished:
        unfinished.write_bytes(content)
    return path


def rendered(figure: Figure, kind: str) -> bytes:
    """Render a figure as `png`, `svg` or `pdf`, without the date, in the style that it was drawn in."""
    unsaid = {"svg": ("Date", "Creator", "Format", "Type"), "pdf": ("CreationDate",), "png": ("Software",)}
    drawn = BytesIO()
    with style(*_DRAWN_IN.get(figure, HOUSE)), catch_warnings():
        filterwarnings("error", ".*_layout not applied")
        try:
            figure.savefig(drawn, format=kind, dpi=DPI, metadata=dict.fromkeys(unsaid[kind]))
        except UserWarning as warning:
            remedy = "Give it a wider style, or fewer agents and metrics."
            raise ResultsError("there is no room for this figure", remedy=remedy) from warning
        except Exception as error:  # what matplotlib finds wrong in a figure of one's own only when it draws it
            raise ResultsError(f"matplotlib cannot draw it: {error!r}", remedy="Mend it, or leave it out.") from error
    return drawn.getvalue()
