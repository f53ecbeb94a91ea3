"""What a reproduction came to, as text for terminals and as a section of a page in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from textwrap import fill

from binwright.reproduction.claims import MISSES, Row, Verdict, apart, by, comparable, in_words, ordered, shown
from binwright.reproduction.experiment import Publication
from binwright.reproduction.figures import FIGURES, Picture, slug
from binwright.simcore.errors import UserError

WIDTH = 118
MANY = 50
"""Values of a table beyond which its matrix has the first metric only."""
HEADS = ["table", "on", "agent", "metric", "published", "ours", "difference", "verdict"]
MARKED = {Verdict.WORSE: "***{}✗***", Verdict.FARTHER: "**{}≠**", Verdict.BETTER: "*{}+*"}
"""How cells of other verdicts than `within` are written: docs/assets/site.css gives each a colour."""
OPEN, CLOSE = '<div class="verdicts" markdown>', "</div>"
"""What is between them gets colours, and filters from docs/assets/site.js."""
END = "<!-- end of what binwright reproduce wrote -->"
UNKNOWN = "Not explained."


def text(publication: Publication, rows: Sequence[Row], drawn: Sequence[Picture]) -> str:
    """Write for a terminal what was not reproduced, and what cannot be compared or drawn."""
    parts = [f"{publication.title}: {counted(rows)}\n{publication.reference}"]
    if missed := [one for one in ordered(rows) if one.verdict in MISSES]:
        table = [HEADS, *map(_line, missed)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [f"  {'  '.join(map(str.ljust, line, widths))}".rstrip() for line in table]
        parts.append("\n".join(["Not reproduced", *lines]))
    parts.append("\n".join(_incomparable(rows)))
    if drawn:
        lines = [f"{sum(not one.why for one in drawn)} of {len(drawn)} figures are drawn."]
        parts.append("\n".join(lines + [f"{one.heading} ({one.drawing.title}): {one.why}" for one in drawn if one.why]))
    return "\n\n".join(filter(None, parts)) + "\n"


def page(
    publication: Publication, rows: Sequence[Row], drawn: Sequence[Picture], made: str, folder: Path
) -> tuple[Path, str]:
    """Write the tables of a publication, a matrix for each, and its figures; returns the file in `folder` and its text.

    The file is the page in `folder` with the line `<!-- binwright reproduce NAME -->`; what stands between that line
    and `END` is replaced. Where there is none, a page of its own is written.
    """
    verdicts = {one.verdict for one in rows}
    signs = ", ".join(sign.format(verdict) for verdict, sign in MARKED.items() if verdict in verdicts)
    legend = f": {signs}; all others are within" if signs else ""
    is_quick = any(one.quick for one in rows)
    quick = " Values are of fewer seeds, or of less time, than the whole experiment." if is_quick else ""
    cells = f"Cells are published/ours{legend}.{quick} `{listed(publication)}` has every value with its interval"
    parts = [OPEN, f"**{counted(rows).capitalize()}.**", _wrapped(f"{cells} and the reason for its verdict. {made}")]
    files = {one.drawing.name: f"{FIGURES}/{one.file(one.kind)}" for one in drawn if one.kind}
    deviations: list[str] = []
    for name, table in by(comparable(rows), lambda one: one.table).items():
        own = [one for one in table if one.metric.rpartition(", ")[0] not in {each.metric for each in table}]
        first = own if len(own) <= MANY else [one for one in own if one.metric == own[0].metric]
        new = dict.fromkeys(one.deviates for one in table if one.deviates not in ("", *deviations))
        deviations += new
        parts += [f"## {publication.heading(name)}", *map(_wrapped, new), _matrix(first)]
        parts += [f"![As dots]({files[slug(name)]})"] if slug(name) in files else []
    reasons = by([one for one in rows if one.verdict in MISSES], lambda one: one.explained or UNKNOWN)
    points = []
    for why, missed in sorted(reasons.items(), key=lambda item: item[0] == UNKNOWN):
        agents = ", ".join(f"{agent}: {count}" for agent, count in Counter(one.agent for one in missed).items())
        points.append(f"- {why} ({agents})")
    if points := [*points, *(f"- {line}" for line in _incomparable(rows))]:
        parts += ["## What is not reproduced, and why", "\n".join(map(_wrapped, points))]
    for heading, those in by([one for one in drawn if one.drawing.figure], lambda one: one.heading).items():
        parts += [f"## {heading}", *chain.from_iterable(map(_picture, those))]
    body = "\n\n".join([*parts, CLOSE]) + "\n"
    begin = f"<!-- binwright reproduce {publication.name} -->"
    for file in sorted(folder.glob("*.md")):
        before, found, rest = file.read_text("utf-8").partition(begin)
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
    """Count what is reproduced and the other verdicts, such as `12 of 15 reproduced; 3 worse`."""
    found = Counter(one.verdict for one in rows)
    compared = found.total() - found[Verdict.INCOMPARABLE]
    others = ", ".join(f"{found[one]} {one}" for one in Verdict if found[one] and one is not Verdict.WITHIN)
    reproduced = f"{compared - sum(found[one] for one in MISSES)} of {compared} reproduced"
    return f"{reproduced}; {others}" if others else reproduced


def _matrix(rows: Sequence[Row]) -> str:
    """Write the values of a table: metrics and agents by conditions."""
    names, common = apart(rows)
    columns = list(dict.fromkeys(names))
    decimals: Counter[str] = Counter()
    for one in rows:
        decimals[one.metric] = max(decimals[one.metric], len(one.printed.partition(".")[2]))
    cells = {
        (one.metric, one.agent, name): _cell(one, decimals[one.metric]) for one, name in zip(rows, names, strict=True)
    }
    several = len(decimals) > 1
    lines = [["metric"] * several + [common or "agent", *columns], ["---"] * (several + 1 + len(columns))]
    for metric, agent in dict.fromkeys((one.metric, one.agent) for one in rows):
        lines.append([metric] * several + [agent, *(cells.get((metric, agent, column), "") for column in columns)])
    if not several:
        lines[0][0] = ", ".join(filter(None, (rows[0].metric, common)))
    return "\n".join(f"| {' | '.join(cell.replace('|', '/').replace('_', ' ') for cell in line)} |" for line in lines)


def _cell(one: Row, decimals: int) -> str:
    """Write a value as published, and ours."""
    cell = f"{one.published or 0.0:,.{decimals}f}/{one.ours or 0.0:,.{decimals}f}"
    return MARKED.get(Verdict(one.verdict), "{}").format(cell)


def _line(one: Row) -> list[str]:
    """Write a row for a terminal. Large values have as many decimals as the printed one."""
    decimals = len(one.printed.partition(".")[2])
    published, ours, low, high, apart = (
        shown(value, decimals) for value in (one.published, one.ours, one.low, one.high, one.difference)
    )
    spread = "" if one.spread is None else f" ± {shown(one.spread, decimals)}"
    ours = f"{ours} [{low}, {high}]" if one.low != one.high else ours
    verdict = f"{one.verdict} (quick)" if one.quick else one.verdict
    on = in_words(one.condition, one.stand_in)
    return [one.table, on, one.agent, one.metric, f"{published}{spread}", ours, apart, verdict]


def _incomparable(rows: Sequence[Row]) -> Iterator[str]:
    """List why values cannot be compared, and how many they are."""
    found = by([one for one in rows if one.verdict == Verdict.INCOMPARABLE], lambda one: one.why)
    for why, those in found.items():
        yield f"{len(those)} value{'s' if len(those) > 1 else ''} cannot be compared. {why}"


def _picture(one: Picture) -> list[str]:
    """Show a figure, or say why it is not drawn."""
    about = f"**{one.drawing.title}.** {one.drawing.published}".rstrip()
    image = f"![{one.heading}]({FIGURES}/{one.file(one.kind)})"
    return [_wrapped(about), f"It is not drawn here. {one.why}" if one.why else image]


def _wrapped(paragraph: str) -> str:
    """Break a paragraph, or a point of a list, into lines."""
    indent = "  " if paragraph.startswith("- ") else ""
    return fill(paragraph, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
