"""Tables for a terminal: as many columns as fit its width, the others are named below."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING

from analysis.results.escaped import plain

if TYPE_CHECKING:
    import rich.table


SQUEEZED = 8
"""So narrow a column of words may become for the sake of the foremost numbers."""


def fitting(
    headings: Sequence[str], lines: Sequence[Sequence[str]], width: int, *, first: int, foremost: Sequence[int] = ()
) -> list[int]:
    """Select the columns that a terminal of this width has room for, in their order.

    Columns from `first` on are numbers. Where the width ends, the last of them go, but never the first of `foremost`
    (by default of all), and the others of `foremost` only if the words beside them cannot give way.
    """
    widths = _widths(headings, lines)
    shown, room, squeezed = set(range(first)), width - sum(widths[:first]), width - first * SQUEEZED
    for column in dict.fromkeys((*foremost, *range(first, len(widths)))):
        room, squeezed = room - widths[column], squeezed - widths[column]
        if room < 0 and len(shown) > first and not (column in foremost and squeezed >= 0):
            break
        shown.add(column)
    return sorted(shown)


def _widths(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) + 3 for column in zip(headings, *lines, strict=True)]


def fitted(
    headings: Sequence[str],
    lines: Sequence[Sequence[str]],
    width: int,
    *,
    first: int,
    groups: Sequence[object],
    styles: Sequence[Sequence[str]],
    foremost: Sequence[int] = (),
    title: str | None = None,
    caption: str = "",
    otherwise: str = "",
) -> rich.table.Table:
    """Lay `lines` out as a table for a terminal of this width, of those columns that `fitting` selects.

    `otherwise` says how to see the others, other than in a wider terminal.

    Between lines of different `groups` is a gap; `styles` has the lines' shape.
    """
    from rich import box
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    headings, lines = [plain(heading) for heading in headings], [list(map(plain, line)) for line in lines]
    columns = fitting(headings, lines, width, first=first, foremost=foremost)
    hidden = [heading for column, heading in enumerate(headings) if column not in columns]
    if hidden:
        # A round number, which does not depend on how many digits a time has.
        whole = max(200, 20 * ceil(sum(_widths(headings, lines)) / 20))
        caption += f" Wider terminals show: {', '.join(hidden)}. To see all, set COLUMNS={whole}"
        caption += f"{otherwise and f', or {otherwise}'}."
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        title=title and escape(plain(title)),
        title_justify="left",
        caption=escape(caption.strip()) or None,
        caption_justify="left",
    )
    for number in columns:
        table.add_column(
            escape(headings[number]), justify="right" if number >= first - 1 else "left", no_wrap=number >= first
        )
    for number, line in enumerate(lines):
        if number and groups[number] != groups[number - 1]:
            table.add_section()
        table.add_row(*(Text(line[column], styles[number][column]) for column in columns))
    return table
