"""What a reproduction came to, as text for terminals and as a section of a page in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, TypeVar

from binwright.reproduction.claims import MISSES, Row, Verdict, in_words, ordered, shown
from binwright.reproduction.experiment import Publication
from binwright.reproduction.figures import Drawing, Material, Picture
from binwright.simcore.errors import UserError

if TYPE_CHECKING:
    from binwright.analysis.figures.draw import Figure

K = TypeVar("K")
T = TypeVar("T")
WIDTH = 118
COLUMNS = 12
"""A matrix has so many columns of values at most, if it can."""
MANY = 50
"""Values of a table beyond which its matrix has the first metric only, and none where all are within."""
HEADS = ("table", "on", "agent", "metric", "published", "ours", "difference", "verdict")
MARKED = {Verdict.WORSE: "***{}✗***", Verdict.FARTHER: "**{}≠**", Verdict.BETTER: "*{}+*"}
"""How cells of other verdicts than `within` are written: docs/assets/site.css gives each a colour."""
OPEN, CLOSE = '<div class="verdicts" markdown>', "</div>"
"""What is between them gets colours, and filters from docs/assets/site.js."""
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
    verdicts = {one.verdict for one in rows}
    signs = ", ".join(sign.format(verdict) for verdict, sign in MARKED.items() if verdict in verdicts)
    legend = f": {signs}; all others are within" if signs else ""
    parts = [
        OPEN,
        f"**{counted(rows).capitalize()}.**",
        *([_verdicts(rows)] if len(verdicts) > 1 else []),
        _wrapped(
            f"Cells are published/ours{legend}.{less} "
            f"Of more than {MANY} values the first metric is shown. `{listed(publication)}` has every value with its "
            "interval and the reason for its verdict."
        ),
        _wrapped(f"{made} {guide}."),
    ]
    notes: set[str] = set()
    dots = {one.drawing.name: one.file(one.kind) for one in drawn if one.kind}
    for name, table in _compared(rows).items():
        plain = _plain(table)
        is_repeated = len(plain) > MANY and _slug(name) in dots and {one.verdict for one in plain} == {Verdict.WITHIN}
        if len(plain) > MANY:
            plain = [one for one in plain if one.metric == plain[0].metric]
        new = dict.fromkeys(one.deviates for one in table if one.deviates and one.deviates not in notes)
        notes |= new.keys()
        parts += [f"## {_heading(publication, name)}", *map(_wrapped, new), *([] if is_repeated else [_matrix(plain)])]
        if _slug(name) in dots:
            parts.append(f"![As dots]({FIGURES}/{dots[_slug(name)]})")
    if reasons := [*_explained(rows), *(f"- {line}" for line in _incomparable(rows))]:
        parts += ["## What is not reproduced, and why", "\n".join(map(_wrapped, reasons))]
    for heading, those in _by([one for one in drawn if one.drawing.figure], lambda one: one.heading).items():
        parts += [f"## {heading}", *chain.from_iterable(map(_picture, those))]
    body = "\n\n".join([*parts, CLOSE]) + "\n"
    for file in sorted(folder.glob("*.md")):
        before, found, rest = file.read_text("utf-8").partition(begin(publication.name))
        if found:
            _, end, after = rest.partition(END)
            if not end:
                raise UserError(f"has no line {END}", key=str(file), remedy=f"Add it where what {found} begins ends.")
            return file, f"{before}{found}\n\n{body}\n{END}{after}"
    title = f"# {publication.title}: published and ours\n\n{publication.reference}.\n\n"
    return folder / f"reproduction-{publication.name}.md", title + body


def tables(publication: Publication, rows: Sequence[Row]) -> list[Drawing]:
    """Declare a figure for every table that has values beside ours."""
    return [Dots("", _slug(name), _heading(publication, name), rows=table) for name, table in _compared(rows).items()]


@dataclass(frozen=True)
class Dots(Drawing):
    """Declares the figure of a table: published as rings, ours as dots; metrics and conditions have panels."""

    rows: Sequence[Row] = ()

    def draw(self, given: Material) -> Figure:
        """Draw it."""
        from binwright.analysis.figures.dots import Dot, Panel, dots

        names, common = _apart(self.rows)
        panels = []
        for (metric, column), those in _by(
            zip(self.rows, names, strict=True), lambda pair: (pair[0].metric, pair[1])
        ).items():
            found = [
                Dot(one.agent, one.ours or 0.0, one.low, one.high, one.published, one.spread, one.verdict in MISSES)
                for one, _ in those
            ]
            panels.append(Panel(found, metric.replace("_", " "), _short(column)))
        count = len(set(names))
        columns = count if 1 < count <= 5 else 4 if count % 4 == 0 else 3
        said = f"{self.title.replace(':', ',', 1)}: {len(misses(self.rows))} of {len(self.rows)} not reproduced"
        whiskers = ", with 95 % intervals" if any(one.low is not None for one in self.rows) else ""
        caption = f"rings: published; dots: ours{whiskers}; shaded: not reproduced"
        return dots(panels, said, caption="; ".join(filter(None, (common, caption))), columns=columns)


def listed(publication: Publication) -> str:
    """Name the file with every value of a publication."""
    return f"reproduction-{publication.name}.csv"


def counted(rows: Iterable[Row]) -> str:
    """Count what is reproduced and the other verdicts, such as `12 of 15 reproduced; 3 worse`."""
    found = Counter(one.verdict for one in rows)
    compared = found.total() - found[Verdict.INCOMPARABLE]
    others = ", ".join(f"{found[one]} {one}" for one in Verdict if found[one] and one is not Verdict.WITHIN)
    reproduced = f"{compared - sum(found[one] for one in MISSES)} of {compared} reproduced"
    return f"{reproduced}; {others}" if others else reproduced


def _verdicts(rows: Sequence[Row]) -> str:
    """Count the verdicts of every table."""
    verdicts = [verdict for verdict in Verdict if any(one.verdict == verdict for one in rows)]
    counts = {name: Counter(one.verdict for one in those) for name, those in _by(rows, lambda one: one.table).items()}
    lines = [
        ["table", *verdicts],
        *([name, *(str(found[one] or "") for one in verdicts)] for name, found in counts.items()),
    ]
    text = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join((text[0], f"|---|{'---:|' * len(verdicts)}", *text[1:]))


def misses(rows: Sequence[Row]) -> list[Row]:
    """Select what was not reproduced, what is worse first, and then the largest difference."""
    return [one for one in ordered(rows) if one.verdict in MISSES]


def _compared(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Group the rows of every table that can be compared, by metrics and conditions."""
    found = _by([one for one in rows if one.verdict != Verdict.INCOMPARABLE], lambda one: one.table)
    for those in found.values():
        metrics = list(dict.fromkeys(one.metric for one in those))
        conditions = list(dict.fromkeys(one.condition for one in those))
        those.sort(key=lambda one: conditions.index(one.condition))
        those.sort(key=lambda one: metrics.index(one.metric))
    return found


def _slug(table: str) -> str:
    """Name the file of a table's dots."""
    return "-".join(["table", *table.replace(".", "-").replace(",", "").split()])


def _heading(publication: Publication, name: str) -> str:
    """Write the number of a published table, and what it shows."""
    titles = [one.tables[name] for one in publication.experiments if name in one.tables]
    heading = f"Table {name}" if name[0].isdigit() else name.capitalize()
    return f"{heading}: {titles[0][0].lower()}{titles[0][1:]}" if titles else heading


def _matrix(rows: Sequence[Row]) -> str:
    """Write the values of a table: agents by metrics and conditions, or, where these are many, all by conditions."""
    names, common = _apart(rows)
    metrics = _by(rows, lambda one: one.metric)
    wide = len(metrics) * len(set(names)) <= COLUMNS
    decimals = {name: max(len(one.printed.partition(".")[2]) for one in those) for name, those in metrics.items()}
    columns: dict[tuple[str, str], str] = {}
    lines: dict[tuple[str, ...], dict[tuple[str, str], str]] = {}
    for one, name in zip(rows, names, strict=True):
        column, labels = ((one.metric, name), (one.agent,)) if wide else (("", name), (one.metric, one.agent))
        begins = wide and len(metrics) > 1 and one is metrics[one.metric][0]
        columns.setdefault(column, ": ".join(filter(None, (one.metric if begins else "", _short(name)))))
        lines.setdefault(labels, {})[column] = _cell(one, decimals[one.metric])
    heads = [", ".join(filter(None, (*(metrics if len(metrics) == 1 else ()), common))), *columns.values()]
    table = [[*labels, *(found.get(column, "") for column in columns)] for labels, found in lines.items()]
    if not wide:
        heads.insert(1, "")
        written = [line[0] for line in table]
        for line, above in zip(table[1:], written, strict=False):
            line[0] = "" if line[0] == above else line[0]
    text = [f"| {' | '.join(cell.replace('|', '/').replace('_', ' ') for cell in line)} |" for line in (heads, *table)]
    return "\n".join((text[0], f"|{'---|' * len(heads)}", *text[1:]))


def _plain(rows: Sequence[Row]) -> list[Row]:
    """Leave out differences and ratios of a metric that the table has itself: its figure shows them."""
    metrics = {one.metric for one in rows}
    return [one for one in rows if one.metric.rpartition(", ")[0] not in metrics]


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
    text = f"{one.published or 0.0:,.{decimals}f}/{one.ours or 0.0:,.{decimals}f}"
    return MARKED.get(Verdict(one.verdict), "{}").format(text)


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


def _by(those: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Group what has one key, in the order of the keys."""
    found: dict[K, list[T]] = {}
    for one in those:
        found.setdefault(key(one), []).append(one)
    return found


def _picture(one: Picture) -> list[str]:
    """Show a figure, or say why it is not drawn."""
    about = f"**{one.drawing.title}.** {one.drawing.published}".rstrip()
    shown = f"![{one.heading}]({FIGURES}/{one.file(one.kind)})"
    return [_wrapped(about), f"It is not drawn here. {one.why}" if one.why else shown]


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
