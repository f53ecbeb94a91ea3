"""The tables of a reproduction as text for terminals and as pages in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import fill

from binwright.reproduction.experiment import Publication
from binwright.reproduction.figures import QUICK
from binwright.reproduction.outcome import Outcome, counted
from binwright.reproduction.published import in_words
from binwright.reproduction.rows import Row, ordered
from binwright.reproduction.verdict import Verdict, shown

WIDTH = 118
HEADS = ("on", "agent", "metric", "published", "ours", "difference", "verdict")
FIGURES = "figures"
"""The folder of the figures, beside the pages."""
GUIDE = "guides/reproduce.md"
"""What says how to read pages, below docs."""


def sections(publication: Publication, rows: Sequence[Row]) -> Iterator[tuple[str, list[str], list[Row]]]:
    """Yield every published table: its heading, what to know of it, and its rows, misses first."""
    for name in dict.fromkeys(one.table for one in rows):
        found = ordered([one for one in rows if one.table == name])
        titles = [one.tables[name] for one in publication.experiments if name in one.tables]
        heading = f"Table {name}" if name[0].isdigit() else name.capitalize()
        if titles:
            heading += f": {titles[0][0].lower()}{titles[0][1:]}"
        notes = list(dict.fromkeys(one.deviates for one in found if one.deviates))
        yield heading, notes, found


def cells(one: Row) -> list[str]:
    """Write a row, without the reason for its verdict. Large values have as many decimals as the printed one."""
    decimals = len(one.printed.partition(".")[2])

    def text(value: float | None) -> str:
        return shown(value, decimals)

    verdict = f"{one.verdict} ({QUICK})" if one.quick else one.verdict
    published = one.printed if one.published is None else text(one.published)
    if one.spread is not None:
        published += f" ± {text(one.spread)}"
    ours = text(one.ours)
    if one.low != one.high:
        ours += f" [{text(one.low)}, {text(one.high)}]"
    if one.seeds > 1:
        ours += f" ({one.seeds} seeds)"
    difference = "" if one.difference is None else f"{'+' if one.difference > 0 else ''}{text(one.difference)}"
    return [in_words(one.condition, one.stand_in), one.agent, one.metric, published, ours, difference, verdict]


def reasons(rows: Sequence[Row]) -> list[tuple[str, int]]:
    """Count, for every reason, the values that cannot be compared."""
    found: dict[str, int] = {}
    for one in rows:
        if one.verdict == Verdict.INCOMPARABLE:
            found[one.why] = found.get(one.why, 0) + 1
    return list(found.items())


def misses(rows: Sequence[Row]) -> list[Row]:
    """Select what is worse than published, the largest difference first."""
    return [one for one in ordered(rows) if one.verdict == Verdict.WORSE]


def text(found: Outcome) -> str:
    """Write all tables for a terminal; what cannot be compared is counted by its reason."""
    parts = []
    for publication in found.publications:
        rows = found.of(publication)
        parts += [f"{publication.title}: {counted(rows)}", publication.reference]
        if missed := misses(rows):
            parts.append("\n".join(["Worse than published", *_aligned([[one.table, *cells(one)] for one in missed])]))
        for heading, notes, table in sections(publication, rows):
            lines = [heading, *(fill(note, WIDTH) for note in notes)]
            lines += _aligned([cells(one) for one in table if one.verdict != Verdict.INCOMPARABLE])
            lines += [f"{_values(count)} cannot be compared. {why}" for why, count in reasons(table)]
            parts.append("\n".join(lines))
        drawn = [one for figures in found.figures(publication).values() for one in figures]
        if drawn:
            count = sum(not one.why for one in drawn)
            lines = [f"{count} of {len(drawn)} figures are drawn in the report."]
            lines += [f"{one.heading} ({one.drawing.title}): {one.why}" for one in drawn if one.why]
            parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def page(found: Outcome, publication: Publication, folder: Path) -> str:
    """Write the page of a publication in Markdown, for a folder; one beside the guides links to that guide."""
    rows, made = found.of(publication), found.made
    minutes = made.minutes[publication.name]
    drawn = [one for one in found.pictures if one.publication == publication.name]
    beside = (folder.parent / GUIDE).is_file()
    guide = f"[How to read it](../{GUIDE})" if beside else f"docs/{GUIDE} of Binwright says how to read it"
    parts = [
        f"# {publication.title}: published and ours",
        f"{publication.reference}.",
        f"Written by `{made.command}` on {made.date}; {made.machine}; its runs took {minutes:.1f} minutes one after "
        f"the other. Intervals are 95 % over the seeds. {guide}.",
        f"**{counted(rows).capitalize()}.**",
    ]
    if any(one.quick for one in rows) or any(one.quick for one in drawn):
        parts.append(
            "Values and figures marked *quick* are of fewer seeds, or of less time, than the whole experiment has."
        )
    if missed := misses(rows):
        parts += ["## Worse than published", _markdown(["table", *HEADS], [[one.table, *cells(one)] for one in missed])]
    for heading, notes, table in sections(publication, rows):
        parts += [f"## {heading}", *notes]
        shared = len({one.why for one in table}) == 1
        if shared:
            parts.append(f"{table[0].why}")
        lines = [[*cells(one), *([] if shared else [one.why])] for one in table]
        parts.append(_markdown([*HEADS, *([] if shared else ["why"])], lines))
    for heading, figures in found.figures(publication).items():
        parts.append(f"## {heading}")
        for one in figures:
            title = one.drawing.title
            parts += [f"**{title}.** {one.caption}".rstrip()]
            parts.append(f"It is not drawn here. {one.why}" if one.why else f"![{title}]({FIGURES}/{one.file})")
    return "\n\n".join(parts) + "\n"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Write rows in columns."""
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in rows
    ]


def _markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)


def _values(count: int) -> str:
    return "1 value" if count == 1 else f"{count} values"
