"""The parser of `figures`."""

from __future__ import annotations

import argparse
from typing import Any

from binwright.analysis.figures.venues import VENUES
from binwright.parser.options import add_heading, add_several


def add_figures(commands: argparse._SubParsersAction[Any]) -> None:
    """Add `figures`."""
    figures = commands.add_parser("figures", help="draw results: differences, sweeps, gains, servers over time")
    figures.set_defaults(answer="drawing.figures")
    figures.add_argument("results", nargs="*", metavar="RESULTS", help="folders that runs wrote; drawn together")
    figures.add_argument("--list", action="store_true", help="list the kinds of figures, and what each needs")
    add_several(
        figures,
        "--kind",
        "kinds",
        "KIND",
        "a name, mine.py:my_figure, or all (default: the four that answer what these results ask)",
    )
    figures.add_argument("--out", help="folder, or the file of a single figure (default: RESULTS/figures)")
    add_several(figures, "--metric", "metrics", "NAME", "only these")
    figures.add_argument("--agents", help="only these, with commas between")
    add_several(figures, "--where", "where", "KEY=VALUE", "only these points, or seed=N")
    figures.add_argument("--x", metavar="KEY", help="the swept key to draw or rank over")
    figures.add_argument("--at", metavar="TIME", help="the moment that a topology is drawn at (default: the busiest)")
    figures.add_argument("--baseline", metavar="AGENT", help="what the others are compared with (default: the first)")
    looks = figures.add_argument_group(
        "how they look",
        "These take the place of what `figures` in the scenario says; with --style, of all that it says.",
    )
    looks.add_argument(
        "--style", metavar="STYLE", help=f"{', '.join(VENUES)}, a style of matplotlib by name, or a file of one"
    )
    looks.add_argument("--width", choices=("column", "page"), help="of a column, or of a page (default: as needed)")
    looks.add_argument("--size", metavar="WxH", help="of the whole figure: 3.3x2.2 in inches, or '84x56 mm'")
    looks.add_argument("--font", metavar="FAMILY", help="of all text: 'Times New Roman'")
    looks.add_argument("--text", type=float, metavar="POINTS", help="the size of text; ticks have a little less")
    looks.add_argument(
        "--no-titles", dest="titles", action="store_false", default=None, help="no titles; print them, for captions"
    )
    add_heading(looks)
    looks.add_argument("--format", choices=("png", "svg", "pdf"), help="default: png")
