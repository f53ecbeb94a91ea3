"""Tables for a terminal: as many columns as fit its width, the others are named below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import rich.table


def fitted(
    headings: Sequence[str],
    lines: Sequence[Sequence[str]],
    width: int,
    *,
    first: int,
    groups: Sequence[object],
    styles: Sequence[Sequence[str]],
    title: str | None = None,
    caption: str = "",
) -> rich.table.Table:
    """A table of `lines`. Columns from `first` on are numbers, and go when the width ends; the first of them stays.

    Between lines of different `groups` is a gap; `styles` has the lines' shape.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    widths = [max(map(len, column)) + 3 for column in zip(headings, *lines, strict=True)]
    shown = first
    while shown < len(widths) and (shown == first or sum(widths[: shown + 1]) <= width):
        shown += 1
    if shown < len(widths):
        caption += f" Wider terminals show: {', '.join(headings[shown:])}."
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        title=title,
        title_justify="left",
        caption=caption.strip() or None,
        caption_justify="left",
    )
    for number, heading in enumerate(headings[:shown]):
        table.add_column(heading, justify="right" if number >= first - 1 else "left", no_wrap=number >= first)
    for number, line in enumerate(lines):
        if number and groups[number] != groups[number - 1]:
            table.add_section()
        table.add_row(*map(Text, line[:shown], styles[number]))
    return table
