"""Tables for a terminal: as many columns as fit its width, the others are named below."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil
from typing import TYPE_CHECKING

from binwright.analysis.results.escaping import cut, plain

if TYPE_CHECKING:
    import rich.table


DIGITS = 12
"""So many columns of a terminal times may need more when they are measured again."""
SQUEEZED = 12
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


def enough(tables: Iterable[tuple[Sequence[str], Sequence[Sequence[str]]]]) -> int:
    """Return a round number of columns in which a terminal shows all of these tables: headings and lines of each.

    Times may have some more digits when the same is measured again.
    """
    widest = max(sum(_widths(headings, lines)) for headings, lines in tables)
    return max(200, 50 * ceil((widest + DIGITS) / 50))


def _widths(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> list[int]:
    from rich.cells import cell_len

    return [max(cell_len(plain(text)) for text in column) + 3 for column in zip(headings, *lines, strict=True)]


def _squeezed(
    headings: Sequence[str], lines: Sequence[Sequence[str]], width: int, columns: Sequence[int], *, words: int
) -> Sequence[Sequence[str]]:
    """Cut names in their middle, the longest columns of the first `words` first, until the `columns` have room."""
    widths = _widths(headings, lines)
    most = [max(map(len, column)) for column in list(zip(headings, *lines, strict=True))[:words]]
    over = sum(widths[column] for column in columns) - width
    while over > 0 and most and max(most) > SQUEEZED:
        longest = most.index(max(most))
        most[longest], over = most[longest] - 1, over - 1
    return [[*map(cut, line[:words], most), *line[words:]] for line in lines]


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
    whole: int | None = None,
    otherwise: str = "",
) -> rich.table.Table:
    """Lay `lines` out as a table for a terminal of this width, of those columns that `fitting` selects.

    `whole` is the width in which all is shown, where there are several tables; `otherwise` says how to see the others
    without a wider terminal.

    Between lines of different `groups` is a gap; `styles` has the lines' shape.
    """
    from rich import box
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    headings, lines = [plain(heading) for heading in headings], [list(map(plain, line)) for line in lines]
    columns = fitting(headings, lines, width, first=first, foremost=foremost)
    whole = whole or enough([(headings, lines)])
    lines = _squeezed(headings, lines, width, columns, words=first - 1)
    hidden = [heading for column, heading in enumerate(headings) if column not in columns]
    if hidden:
        caption += f" Wider terminals show: {', '.join(hidden)}."
        caption += f" To see all, set COLUMNS={whole}"
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
