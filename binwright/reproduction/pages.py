"""What a reproduction came to, as text for terminals and as a section of a page in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from textwrap import fill

from binwright.reproduction.experiment import Publication
from binwright.reproduction.figures import Picture
from binwright.reproduction.published import in_words
from binwright.reproduction.rows import Row, ordered
from binwright.reproduction.verdict import MISSES, Verdict, shown
from simcore.errors import UserError

WIDTH = 118
HEADS = ("table", "on", "agent", "metric", "published", "ours", "difference", "verdict")
FIGURES = "figures"
"""The folder of the figures, beside the pages."""
GUIDE = "guides/reproduce.md"
"""What says how to read pages, below docs."""
END = "<!-- end of what binwright reproduce wrote -->"


def begin(name: str) -> str:
    """Write the line of a page behind which `binwright reproduce` keeps the tables of a publication."""
    return f"<!-- binwright reproduce {name} -->"


def text(publication: Publication, rows: Sequence[Row], drawn: Sequence[Picture]) -> str:
    """Write for a terminal what was not reproduced, and what cannot be compared or drawn."""
    parts = [f"{publication.title}: {counted(rows)}\n{publication.reference}"]
    if missed := misses(rows):
        parts.append("\n".join(["Not reproduced", *_aligned([HEADS, *map(_line, missed)])]))
    parts.append("\n".join(_incomparable(rows)))
    if drawn:
        lines = [f"{sum(not one.why for one in drawn)} of {len(drawn)} figures are drawn."]
        parts.append("\n".join(lines + [f"{one.heading} ({one.drawing.title}): {one.why}" for one in drawn if one.why]))
    return "\n\n".join(filter(None, parts)) + "\n"


def page(
    publication: Publication, rows: Sequence[Row], drawn: Sequence[Picture], made: str, folder: Path
) -> tuple[Path, str]:
    """Write the tables of a publication, a matrix for each, and its figures; returns the file in `folder` and its text.

    The file is the page in `folder` that has the line `begin` of the publication; what stands between that line and
    `END` is replaced. Where there is none, a page of its own is written.
    """
    beside = (folder.parent / GUIDE).is_file()
    guide = (
        f"[How to read it](../{GUIDE})" if beside else "The page 'Published numbers beside ours' says how to read it"
    )
    quick = any(one.quick for one in rows)
    less = " Values are of fewer seeds, or of less time, than the whole experiment has." if quick else ""
    parts = [
        _wrapped(f"{made} {guide}."),
        _wrapped(
            f"**{counted(rows).capitalize()}.** Cells are published / ours; what is not reproduced is **bold**.{less} "
            f"`{listed(publication)}`, which the command writes, has every value with its interval and the reason for "
            "its verdict."
        ),
    ]
    notes: set[str] = set()
    for name in dict.fromkeys(one.table for one in rows):
        table = [one for one in rows if one.table == name and one.verdict != Verdict.INCOMPARABLE]
        new = dict.fromkeys(one.deviates for one in table if one.deviates and one.deviates not in notes)
        notes |= new.keys()
        if table:
            parts += [f"## {_heading(publication, name)}", *map(_wrapped, new), _matrix(table)]
    if reasons := [*_explained(rows), *(f"- {line}" for line in _incomparable(rows))]:
        parts += ["## What is not reproduced, and why", "\n".join(map(_wrapped, reasons))]
    for heading in dict.fromkeys(one.heading for one in drawn):
        parts.append(f"## {heading}")
        parts += chain.from_iterable(_picture(one) for one in drawn if one.heading == heading)
    body = "\n\n".join(parts) + "\n"
    for file in sorted(folder.glob("*.md")):
        before, found, rest = file.read_text("utf-8").partition(begin(publication.name))
        if found:
            _, end, after = rest.partition(END)
            if not end:
                raise UserError(f"has no line {END}", key=str(file), remedy=f"Add it where what {found} begins ends.")
            return file, f"{before}{found}\n\n{body}\n{END}{after}"
    title = f"# {publication.title}: published and ours\n\n{publication.reference}.\n\n"
    return folder / f"reproduction-{publication.name}.md", title + body


def listed(publication: Publication) -> str:
    """Name the file with every value of a publication."""
    return f"reproduction-{publication.name}.csv"


def counted(rows: Iterable[Row]) -> str:
    """Count the verdicts, such as `3 worse, 12 within, 40 cannot be compared`."""
    found = Counter(one.verdict for one in rows)
    return ", ".join(f"{found[verdict]} {verdict}" for verdict in Verdict if found[verdict]) or "nothing"


def misses(rows: Sequence[Row]) -> list[Row]:
    """Select what was not reproduced, what is worse first, and then the largest difference."""
    return [one for one in ordered(rows) if one.verdict in MISSES]


def _heading(publication: Publication, name: str) -> str:
    """Write the number of a published table, and what it shows."""
    titles = [one.tables[name] for one in publication.experiments if name in one.tables]
    heading = f"Table {name}" if name[0].isdigit() else name.capitalize()
    return f"{heading}: {titles[0][0].lower()}{titles[0][1:]}" if titles else heading


def _matrix(rows: Sequence[Row]) -> str:
    """Write the values of a table: metrics and agents by conditions."""
    names, common = _apart(rows)
    metrics = list(dict.fromkeys(one.metric for one in rows))
    columns = list(dict.fromkeys(names))
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for metric in metrics:
        asked = [(one, name) for one, name in zip(rows, names, strict=True) if one.metric == metric]
        decimals = max(len(one.printed.partition(".")[2]) for one, _ in asked)
        for one, name in asked:
            cells.setdefault((metric, one.agent), {})[name] = _cell(one, decimals)
    heads = [_short(column) for column in columns]
    if columns == [""]:
        heads, common = [common], ""
    lines = [[*labels, *(found.get(column, "") for column in columns)] for labels, found in cells.items()]
    if len(metrics) > 1:
        heads = [common, "", *heads]
    else:
        heads, lines = [", ".join(filter(None, (metrics[0], common))), *heads], [line[1:] for line in lines]
    table = [heads, ["---"] * len(heads), *lines]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/').replace('_', ' ') for cell in line)} |" for line in table)


def _apart(rows: Sequence[Row]) -> tuple[list[str], str]:
    """Write the conditions of rows without what all have in common, and what that is."""
    parts = [in_words(one.condition, one.stand_in).split(", ") for one in rows]
    shared = set(parts[0]).intersection(*parts)
    names = [", ".join(part for part in each if part not in shared) for each in parts]
    return names, ", ".join(part for part in parts[0] if part in shared)


def _short(condition: str) -> str:
    """Write a condition without the names of its keys, where the values say what they are of."""
    parts = [part.partition(" ") for part in condition.split(", ")]
    if any(value.replace(",", "").rstrip("%").isnumeric() for _, _, value in parts):
        return condition
    return ", ".join(value or key for key, _, value in parts)


def _cell(one: Row, decimals: int) -> str:
    """Write a value as published, and ours."""
    text = f"{one.published or 0.0:,.{decimals}f} / {one.ours or 0.0:,.{decimals}f}"
    return f"**{text}**" if one.verdict in MISSES else text


def _line(one: Row) -> list[str]:
    """Write a row for a terminal. Large values have as many decimals as the printed one."""
    decimals = len(one.printed.partition(".")[2])

    def number(value: float | None) -> str:
        return shown(value, decimals)

    spread = "" if one.spread is None else f" ± {number(one.spread)}"
    ours = f"{number(one.ours)} [{number(one.low)}, {number(one.high)}]" if one.low != one.high else number(one.ours)
    difference = "" if one.difference is None else f"{'+' if one.difference > 0 else ''}{number(one.difference)}"
    verdict = f"{one.verdict} (quick)" if one.quick else one.verdict
    on = in_words(one.condition, one.stand_in)
    return [one.table, on, one.agent, one.metric, f"{number(one.published)}{spread}", ours, difference, verdict]


def _explained(rows: Sequence[Row]) -> Iterator[str]:
    """List the reasons of misses, and how many values of which agents have them; what nobody knows comes last."""
    found = _by(misses(rows), lambda one: one.explained or "Not explained.")
    for why in sorted(found, key=lambda why: why == "Not explained."):
        agents = Counter(one.agent for one in found[why])
        yield f"- {why} ({', '.join(f'{agent}: {count}' for agent, count in agents.items())})"


def _incomparable(rows: Sequence[Row]) -> Iterator[str]:
    """List why values cannot be compared, and how many they are."""
    found = _by([one for one in rows if one.verdict == Verdict.INCOMPARABLE], lambda one: one.why)
    for why, those in found.items():
        yield f"{len(those)} value{'s' if len(those) > 1 else ''} cannot be compared. {why}"


def _by(rows: Sequence[Row], key: Callable[[Row], str]) -> dict[str, list[Row]]:
    """Group rows."""
    found: dict[str, list[Row]] = {}
    for one in rows:
        found.setdefault(key(one), []).append(one)
    return found


def _picture(one: Picture) -> list[str]:
    """Show a figure, or say why it is not drawn."""
    title = one.drawing.title
    about = f"**{title}.** {one.drawing.published}".rstrip()
    return [about, f"It is not drawn here. {one.why}" if one.why else f"![{title}]({FIGURES}/{one.file})"]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Write rows in columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in rows
    ]


def _wrapped(paragraph: str) -> str:
    """Break a paragraph, or a point of a list, into lines."""
    indent = "  " if paragraph.startswith("- ") else ""
    return fill(paragraph, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
