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
from binwright.reproduction.verdict import MISSES, Verdict, shown

WIDTH = 118
HEADS = ("on", "agent", "metric", "published", "ours", "difference", "verdict")
FIGURES = "figures"
"""The folder of the figures, beside the pages."""
LONG = "Every value with its interval and verdict is in the report that the command writes."
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
    """Select what was not reproduced, what is worse first, and then the largest difference."""
    return [one for one in ordered(rows) if one.verdict in MISSES]


def text(found: Outcome) -> str:
    """Write all tables for a terminal; what cannot be compared is counted by its reason."""
    parts = []
    for publication in found.publications:
        rows = found.of(publication)
        parts += [f"{publication.title}: {counted(rows)}", publication.reference]
        if missed := misses(rows):
            parts.append("\n".join(["Misses", *_aligned([[one.table, *cells(one)] for one in missed])]))
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
    parts.append(
        "Cells are published / ours / difference. What is not reproduced is **bold**, with its reason below the table. "
        f"{LONG}"
    )
    for heading, notes, table in sections(publication, rows):
        asked = [one for one in rows if one.table == table[0].table]  # as published, not misses first
        parts += [f"## {heading}", *notes, *_matrices(asked), *_explained(table)]
        parts += [f"{_values(count)} cannot be compared. {why}" for why, count in reasons(table)]
    for heading, figures in found.figures(publication).items():
        parts.append(f"## {heading}")
        for one in figures:
            title = one.drawing.title
            parts += [f"**{title}.** {one.caption}".rstrip()]
            parts.append(f"It is not drawn here. {one.why}" if one.why else f"![{title}]({FIGURES}/{one.file})")
    return "\n\n".join(parts) + "\n"


def _matrices(rows: Sequence[Row]) -> Iterator[str]:
    """Write a matrix for every metric of a published table: agents by conditions."""
    rows = [one for one in rows if one.verdict != Verdict.INCOMPARABLE]
    for metric in dict.fromkeys(one.metric for one in rows):
        shown = [one for one in rows if one.metric == metric]
        names, common = apart(shown)
        columns = list(dict.fromkeys(names))
        decimals = max(len(one.printed.partition(".")[2]) for one in shown)
        cells = {(one.agent, name): _cell(one, decimals) for one, name in zip(shown, names, strict=True)}
        agents = dict.fromkeys(one.agent for one in shown)
        lines = [[agent, *(cells.get((agent, column), "") for column in columns)] for agent in agents]
        about = ", ".join(filter(None, (metric.replace("_", " "), common)))
        yield _markdown([about, *(_short(column) for column in columns)], lines)


def _short(condition: str) -> str:
    """Write a condition without the names of its keys, where the values say what they are of."""
    parts = [part.partition(" ") for part in condition.split(", ")]
    if any(value.replace(",", "").rstrip("%").isnumeric() for _, _, value in parts):
        return condition
    return ", ".join(value or key for key, _, value in parts) or "ours"


def _cell(one: Row, decimals: int) -> str:
    """Write a value as published, ours, and the difference."""
    published, ours, difference = one.published or 0.0, one.ours or 0.0, one.difference or 0.0
    text = f"{published:,.{decimals}f} / {ours:,.{decimals}f} / {difference:+,.{decimals}f}"
    return f"**{text}**" if one.verdict in MISSES else text


def _explained(rows: Sequence[Row]) -> Iterator[str]:
    """List the misses of a table by their reasons; those that nobody knows come last."""
    found: dict[str, dict[str, list[str]]] = {}
    for one in sorted(misses(rows), key=lambda one: not one.explained):
        where = found.setdefault(one.explained or "Not explained.", {})
        where.setdefault(f"{one.agent}, {one.metric.replace('_', ' ')}", []).append(in_words(one.condition))
    if found:
        yield "\n".join(
            f"- {why} ({'; '.join(f'{what}: {_few(on)}' for what, on in where.items())})"
            for why, where in found.items()
        )


def _few(conditions: Sequence[str]) -> str:
    """List conditions, or count them where that is shorter."""
    return " and ".join(conditions) if len(conditions) < 3 else f"{len(conditions)} conditions"


def apart(rows: Sequence[Row]) -> tuple[list[str], str]:
    """Write the conditions of rows without what all have in common, and what that is."""
    parts = [in_words(one.condition, one.stand_in).split(", ") for one in rows]
    shared = set(parts[0]).intersection(*parts)
    names = [", ".join(part for part in each if part not in shared) for each in parts]
    return names, ", ".join(part for part in parts[0] if part in shared)


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
