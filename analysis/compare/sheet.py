"""A table of texts, and its four writers: for a terminal, Markdown, LaTeX and HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from binwright.analysis.results import escaping
from binwright.analysis.results.escaping import plain

if TYPE_CHECKING:
    import rich.table

STYLES = {"best": "bold green", "wrong": "red"}
"""Classes of report.css, and what they look like in a terminal."""
DIGITS = 12
"""So many columns of a terminal times may need more when they are measured again."""
_NUMBER = re.compile(r"[-+<>]?\d[\d.,]*( ±[\d.,]+| \[[-+\d.,]+, [-+\d.,]+\])?")


@dataclass(frozen=True, slots=True)
class Cell:
    """Holds what a cell shows, and its style."""

    text: str
    style: str = ""


@dataclass(frozen=True)
class Sheet:
    """Holds a table: the first `words` columns are words, the last of these names the row.

    Between rows of different `groups` is a gap. Where room is short, columns `first` are the last to go.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    words: int
    title: str = ""
    groups: Sequence[object] = ()
    first: Sequence[str] = ()

    @property
    def texts(self) -> list[list[str]]:
        """What the cells show, row by row."""
        return [[cell.text for cell in row] for row in self.rows]

    @property
    def widths(self) -> list[int]:
        """The width of every column in a terminal, where headings of words are folded."""
        from rich.cells import cell_len

        folded = [max(heading.split(), key=cell_len, default="") for heading in self.headings[: self.words]]
        columns = zip([*folded, *self.headings[self.words :]], *self.texts, strict=True)
        return [max(cell_len(plain(text)) for text in column) + 3 for column in columns]

    def fitting(self, width: int) -> list[int]:
        """Choose the columns that a terminal of this width has room for: all words and two numbers at least."""
        order = sorted(range(len(self.headings)), key=lambda n: n >= self.words and self.headings[n] not in self.first)
        fit = int((np.cumsum(np.array(self.widths)[order]) <= width).sum())
        return sorted(order[: max(fit, self.words + 2)])

    def terminal(self, width: int, *, caption: str = "") -> rich.table.Table:
        """Lay out for a terminal of this width the columns that fit."""
        from rich import box
        from rich.console import JustifyMethod
        from rich.markup import escape
        from rich.table import Table
        from rich.text import Text

        columns = self.fitting(width)
        table = Table(
            box=box.SIMPLE_HEAD,
            pad_edge=False,
            title=escape(plain(self.title)),
            title_justify="left",
            caption=escape(caption.strip()) or None,
            caption_justify="left",
        )
        for number in columns:
            heading = plain(self.headings[number])
            if number < self.words:
                heading = fill(heading, self.widths[number] - 3, break_long_words=False, break_on_hyphens=False)
            side: JustifyMethod = "right" if number >= self.words and heading else "left"  # bars have no heading
            table.add_column(escape(heading), justify=side, no_wrap=number > self.words)
        for number, row in enumerate(self.rows):
            if number and self.groups and self.groups[number] != self.groups[number - 1]:
                table.add_section()
            table.add_row(*(Text(plain(cell.text), STYLES.get(cell.style, "")) for cell in (row[n] for n in columns)))
        return table

    def markdown(self) -> str:
        """Write it for Markdown, under its title."""
        lines = [[*map(escaping.markdown, self.headings)], ["---"] * len(self.headings)]
        lines += [[*map(escaping.markdown, line)] for line in self.texts]
        title = f"**{escaping.markdown(self.title)}**\n\n" if self.title else ""
        return title + "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def html(self, name: str) -> str:
        """Write it for a page, as an element of this name, with its title as the caption."""
        first = "".join(
            f'<th scope="col"{self._class(number)}>{escape(text)}</th>' for number, text in enumerate(self.headings)
        )
        body = "\n".join(f"<tr>{''.join(self._cells(row))}</tr>" for row in self.rows)
        return (
            f'<div class="scroll" tabindex="0" role="region" '
            f'aria-label="{escape(self.title)}">\n<table id="{name}">\n<caption>{escape(self.title)}</caption>\n'
            f"<thead><tr>{first}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>"
        )

    def _class(self, number: int) -> str:
        return ' class="text row"' if number == self.words - 1 else " class=text" if number < self.words else ""

    def _cells(self, row: Sequence[Cell]) -> Iterator[str]:
        for number, cell in enumerate(row):
            tag = 'th scope="row"' if number == self.words - 1 else "td"
            style = cell.style or "text" * (number < self.words - 1)
            kind = f' class="{style}"' if style else ""
            yield f"<{tag}{kind}>{escape(cell.text)}</{tag[:2]}>"


def hidden(sheets: Sequence[Sheet], width: int, otherwise: str = "") -> str:
    """Say which columns a terminal of this width does not show of some sheet, and how to see them; "" for none.

    `otherwise` says how to see them without a wider terminal.
    """
    left_out = [(sheet, {*range(len(sheet.headings))} - {*sheet.fitting(width)}) for sheet in sheets]
    names = dict.fromkeys(plain(sheet.headings[number]) for sheet, numbers in left_out for number in sorted(numbers))
    if not names:
        return ""
    whole = 50 * ceil((max(sum(sheet.widths) for sheet in sheets) + DIGITS) / 50)
    how = f"set COLUMNS={max(200, whole)}{otherwise and f', or {otherwise}'}"
    return f"Wider terminals show: {', '.join(names)}. To see all, {how}."


def latex(sheets: Sequence[Sheet], note: str) -> str:
    """Write sheets of the same headings as one `tabular`, a block each; needs booktabs, and textcomp as since 2020."""
    lines = [r"% \usepackage{booktabs}", *(f"% {line}" for line in note.splitlines())]
    for number, sheet in enumerate(sheets):
        heads, words = sheet.headings, sheet.words
        if not number:
            lines += [rf"\begin{{tabular}}{{{'l' * words}{'r' * (len(heads) - words)}}}", r"\toprule"]
            lines += [_latex_row([*map(escaping.latex, heads)])]
        title = rf"\multicolumn{{{len(heads)}}}{{l}}{{\textit{{{escaping.latex(sheet.title)}}}}} \\"
        lines += [r"\midrule", *([title] if sheet.title else [])]
        lines += [
            _latex_row([*map(escaping.latex, line[:words]), *map(_latex_number, line[words:])]) for line in sheet.texts
        ]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _latex_number(text: str) -> str:
    """Set a cell of numbers as mathematics, for its minus signs; words and units behind them stay as they are."""
    if not (result := _NUMBER.match(text)):
        return {"-": "--", "=": "$=$"}.get(text, escaping.latex(text))
    number = re.sub(r"(?<=\d),(?=\d)", "{,}", result[0]).replace(" ±", r" \pm ")
    unit = text[result.end() :]
    return f"${number}${' ' * unit.startswith(' ')}{escaping.latex(unit)}"


def _latex_row(cells: Sequence[str]) -> str:
    return f"{' & '.join(cells)} \\\\"
