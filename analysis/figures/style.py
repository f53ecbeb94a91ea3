"""One style for every figure: colours and markers by agent, sizes for a column or a page, bytes that do not change."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from math import ceil
from pathlib import Path
from textwrap import wrap
from typing import IO, Any, Literal
from zlib import crc32

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from simcore.files import replacing

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#882255")
"""Okabe and Ito's, told apart by colour-blind readers too; Tol's wine is in place of their yellow, too pale for lines.
"""
BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK, WINE = COLOURS
MARKERS = "osD^v<>p"
"""All of them look different when they are not filled."""
SHADES = ("#2166ac", "#92c5de", "#f4a582", "#b2182b")
"""From near to far: the four spans of a placement."""
GREY = "#666666"

Look = tuple[str, str]
"""A colour and a marker."""

SHIPPED: dict[str, Look] = {
    "random": (BLACK, "o"),
    "first-fit": (BLUE, "o"),
    "best-fit": (VERMILLION, "s"),
    "worst-fit": (GREEN, "D"),
    "balance-fit": (PURPLE, "^"),
    "dot-product": (ORANGE, "v"),
    "internal": (SKY, "p"),
    "tetris": (BLUE, "<"),
    "nulb": (VERMILLION, "o"),
    "nalb": (GREEN, "s"),
    "feasible": (ORANGE, "D"),
    "feasible(agent=tetris)": (ORANGE, "D"),
    "best-home": (PURPLE, "v"),
    "nara": (SKY, "^"),
    "in-line": (SKY, "s"),
    "two-stage": (ORANGE, "<"),
    "solver": (WINE, ">"),
    "value-es": (GREEN, "^"),
    "cvd-rl": (BLACK, "^"),
    "sched-rl": (PURPLE, "s"),
    "padrl": (ORANGE, "^"),
    "hindsight": (WINE, "o"),
    "random-top": (BLUE, "D"),
    "fabric-rl": (BLACK, "p"),
    "vm-random": (BLACK, "D"),
    "vm-first-fit": (BLUE, "s"),
    "secondnet": (VERMILLION, "D"),
    "oktopus": (GREEN, "v"),
}
"""Agents that are compared with one another differ in colour, as far as colours go, and else in their markers. Those of
servers and those of networks share colours."""

Width = Literal["column", "page"]
WIDTHS: dict[Width, float] = {"column": 3.5, "page": 7.2}
"""Inches: a column of a two-column paper, and its page."""
DPI = 200
FORMATS = ("png", "svg", "pdf")
TEXT, SMALL = 8, 7
"""Points."""
RC: Any = {
    "font.size": TEXT,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana"],
    "axes.titlesize": TEXT,
    "axes.labelsize": TEXT,
    "figure.titlesize": TEXT,
    "figure.labelsize": TEXT,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.fontsize": SMALL,
    "legend.title_fontsize": SMALL,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "svg.fonttype": "none",
    "svg.hashsalt": "binwright",
    "pdf.fonttype": 42,
}
"""Text stays text in SVG and PDF, and names its few fonts; the salt makes the names inside an SVG the same every time.
"""
_COORDINATES = re.compile(r' (?:d|x|y|width|height)="[^"]*"')
_DECIMALS = re.compile(r"-?\d+\.\d+")
_NO_TURN = re.compile(r' transform="rotate\(-0 [^"]*"')
_LINES = re.compile(r'\s*\n\s*(<g id="axes)?')


def looks(agents: Iterable[str]) -> dict[str, Look]:
    """Choose every agent's colour and marker: fixed ones for the shipped, the least used ones for others, by name.

    Takes all agents of the results, drawn or not, so that each looks the same in every figure of them.
    """
    names = sorted(set(agents))
    found = {name: SHIPPED[name] for name in names if name in SHIPPED}
    for name in names:
        if name not in found:
            start = crc32(name.encode())
            taken = [colour for colour, _ in found.values()]
            turned = [COLOURS[(start + step) % len(COLOURS)] for step in range(len(COLOURS))]
            colour = min(turned, key=taken.count)
            markers = [marker for other, marker in found.values() if other == colour]
            turned = [MARKERS[(start // 8 + step) % len(MARKERS)] for step in range(len(MARKERS))]
            found[name] = colour, min(turned, key=markers.count)
    return found


@contextmanager
def style() -> Iterator[None]:
    """Set the style for as long as something is drawn or written in it."""
    with rc_context(RC):
        yield


def new(width: Width, height: float) -> Figure:
    """Make an empty figure without pyplot (no window, no global state), `height` inches high."""
    return Figure(figsize=(WIDTHS[width], height), layout="constrained")


def grid(panels: int, most: int) -> tuple[int, int]:
    """Choose rows and columns for so many panels, `most` in a row at most, with the last row as full as can be."""
    rows = ceil(panels / most)
    return rows, ceil(panels / rows)


def tidy(ax: Axes, *, grid: Literal["both", "x", "y"] | None = "both") -> None:
    """Give a panel what all have in common; called while it is made, so that a notebook shows the same as a file."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL, width=0.6, length=2.5)
    if grid:
        ax.grid(axis=grid, alpha=0.25, linewidth=0.6)
        ax.set_axisbelow(True)


def around(low: float, high: float) -> list[float]:
    """Choose a few round numbers, the first not above `low` and the last not below `high`."""
    return [float(tick) + 0.0 for tick in MaxNLocator(6, steps=(1, 2, 5, 10)).tick_values(low, high)]


def heading(figure: Figure, title: str, caption: str = "") -> None:
    """Write the line on top, and those below it that say what is averaged over what."""
    room = int(figure.get_figwidth() * 72 / (0.6 * TEXT))
    lines = [line for text in (title, caption) for line in wrap(text, room)]
    figure.suptitle("\n".join(lines), fontsize=TEXT)


def legend(
    figure: Figure,
    names: Iterable[str],
    look: dict[str, Look],
    *,
    lines: bool = True,
    rings: Collection[str] = (),
    title: str = "",
) -> None:
    """Add a legend of agents below the figure, in as many columns as there is room for; `rings` are drawn as such."""
    from matplotlib.lines import Line2D

    names = list(names)
    handles = [
        Line2D([], [], color=look[name][0], marker="o", mfc="none", markersize=6, linewidth=0)
        if name in rings
        else Line2D([], [], color=look[name][0], marker=look[name][1], markersize=4, linewidth=1.2 if lines else 0)
        for name in names
    ]
    columns = max(1, int(figure.get_figwidth() * 72 / (SMALL * (0.55 * max(map(len, names), default=1) + 4))))
    rows = ceil(len(names) / columns)
    figure.legend(
        handles,
        names,
        loc="outside lower center",
        ncols=ceil(len(names) / max(rows, 1)),
        frameon=False,
        fontsize=SMALL,
        title=title or None,
        handlelength=1.8,
        columnspacing=1.2,
    )


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure as what its name ends in (png, svg, pdf): the same figure, the same bytes. Returns the path."""
    path = Path(path)
    with replacing(path) as unfinished, unfinished.open("wb") as file:
        write(figure, file, path.suffix.removeprefix(".").lower())
    return path


def write(figure: Figure, file: IO[bytes], kind: str) -> None:
    """Write a figure as `png`, `svg` or `pdf`, without the date."""
    unsaid = {"svg": ("Date", "Creator", "Format", "Type"), "pdf": ("CreationDate",), "png": ("Software",)}
    drawn = BytesIO()
    with style():
        figure.savefig(drawn, format=kind, dpi=DPI, metadata=dict.fromkeys(unsaid[kind]))
    content = drawn.getvalue()
    file.write(_shorter(content.decode()).encode() if kind == "svg" else content)


def _shorter(svg: str) -> str:
    """Shorten an SVG of matplotlib: coordinates in hundredths of a point, a line per panel, no turns by nothing."""
    svg = _COORDINATES.sub(lambda one: _DECIMALS.sub(lambda number: f"{round(float(number[0]), 2):g}", one[0]), svg)
    return _LINES.sub(lambda found: f"\n{found[1]}" if found[1] else "", _NO_TURN.sub("", svg)) + "\n"
