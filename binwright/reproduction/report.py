"""The reproduction of a publication as one HTML file with a figure for every table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from importlib.resources import files
from string import Template

from analysis.report.images import embedded
from binwright.reproduction.experiment import Publication
from binwright.reproduction.figures import Picture
from binwright.reproduction.outcome import Outcome, counted
from binwright.reproduction.pages import HEADS, apart, cells, misses, sections
from binwright.reproduction.rows import Row
from binwright.reproduction.verdict import MISSES, shown

WIDE, RIGHT, LINE, LETTER = 1000, 24, 16, 6.2
"""How wide a figure is, how much of it is free at the right, how far its rows are apart, and how wide a letter is, in
pixels."""
PAGE = Template("""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title: published and ours</title>
<style>
$css
svg text { font: 11px system-ui, sans-serif; fill: currentColor; }
svg .agent { font-weight: 600; } svg text.tick { text-anchor: middle; fill: var(--soft); }
svg line.tick { stroke: var(--line); }
svg .ours { stroke: var(--link); fill: var(--link); } svg .published { fill: none; stroke: currentColor; }
td.text { min-width: 0; } td.on { min-width: 9rem; } td.metric { min-width: 8rem; }
td.ours, td.why { min-width: 12rem; }
td.published, td.difference, td.verdict { white-space: nowrap; }
figure { overflow-x: auto; }
figure > svg { display: block; width: 100%; min-width: 46rem; height: auto; }
svg .missed { stroke: var(--wrong); fill: var(--wrong); }
</style>
<h1>$title: published and ours</h1>
<p>$reference</p>
<p>Written by <code>$command</code> on $date; $machine; its runs took $minutes minutes one
after the other. Intervals are 95 % over the seeds.</p>
<p><b>$counted.</b></p>
$sections
</html>
""")


def report(found: Outcome, publication: Publication) -> str:
    """Write the whole report on a publication; nothing in it is fetched from anywhere."""
    rows = found.of(publication)
    return PAGE.substitute(
        css=files("analysis.report").joinpath("report.css").read_text("utf-8"),
        title=escape(publication.title),
        reference=escape(publication.reference),
        counted=counted(rows).capitalize(),
        command=escape(found.made.command),
        date=found.made.date,
        machine=escape(found.made.machine),
        minutes=f"{found.made.minutes[publication.name]:.1f}",
        sections="\n".join(_sections(found, publication, rows)),
    )


def _sections(found: Outcome, publication: Publication, rows: Sequence[Row]) -> Iterator[str]:
    if missed := misses(rows):
        yield f"<h2>Misses</h2>\n{_table(missed, tables=True)}"
    for heading, notes, table in sections(publication, rows):
        yield f"<h2>{escape(heading)}</h2>"
        yield from (f"<p>{escape(note)}</p>" for note in notes)
        asked = [one for one in rows if one.table == table[0].table]  # as published, not misses first
        for metric in dict.fromkeys(one.metric for one in asked):
            drawn = [one for one in asked if one.metric == metric and one.difference is not None]
            if drawn:
                yield figure(metric, drawn)
        many = "<details><summary>Table</summary>" if len(table) > 20 else ""
        yield f"{many}{_table(table)}{'</details>' if many else ''}"
    for heading, figures in found.figures(publication).items():
        yield f"<h2>{escape(heading)}</h2>"
        yield from map(_picture, figures)


def figure(metric: str, rows: Sequence[Row]) -> str:
    """Draw the published values of a metric (rings) and ours (dots with intervals), a line for each, as SVG.

    The lines of an agent stand together, in the order of the rows; conditions that all have in common are said above.
    """
    from analysis.figures.style import around

    agents = list(dict.fromkeys(one.agent for one in rows))
    names, common = apart(rows)
    values = [value for one in rows for value in (one.published, one.ours, one.low, one.high) if value is not None]
    ticks = around(min(values), max(values))
    beside = 1.1 * LETTER * max(map(len, agents)) + LINE  # agents are bold
    left = beside + LETTER * max(map(len, names)) + LINE
    scale = (WIDE - RIGHT - left) / (ticks[-1] - ticks[0])

    def x(value: float) -> str:
        return f"{left + (value - ticks[0]) * scale:.1f}"

    parts, y = list[str](), LINE / 2
    for agent in agents:
        y += LINE / 4
        parts.append(f'<text class="agent" x="0" y="{y + LINE + 4}">{escape(agent)}</text>')
        for one, name in zip(rows, names, strict=True):
            if one.agent == agent:
                y += LINE
                parts += _line(one, name, beside, y, x)
    bottom = y + LINE
    for tick in ticks:
        parts.append(f'<line class="tick" x1="{x(tick)}" x2="{x(tick)}" y1="{LINE / 2}" y2="{bottom}"/>')
        parts.append(f'<text class="tick" x="{x(tick)}" y="{bottom + LINE}">{shown(tick)}</text>')
    said = f"{metric.replace('_', ' ')}{common and f', {common}'}: published (rings) and ours (dots with intervals; "
    said += "red where not reproduced)"
    picture = "\n".join(parts)
    return (
        f'<figure><figcaption>{escape(said)}</figcaption><svg role="img" aria-label="{escape(said)}" '
        f'viewBox="0 0 {WIDE} {bottom + 1.5 * LINE}" style="max-width: {WIDE}px">\n{picture}\n</svg></figure>'
    )


def _line(one: Row, name: str, beside: float, y: float, x: Callable[[float], str]) -> Iterator[str]:
    """Draw a row at a height, its name at `beside`."""
    kind = "missed" if one.verdict in MISSES else "ours"
    assert one.ours is not None
    assert one.published is not None
    yield f'<text x="{beside}" y="{y + 4}">{escape(name)}</text>'
    if one.low is not None and one.high is not None:
        yield f'<line class="{kind}" x1="{x(one.low)}" x2="{x(one.high)}" y1="{y}" y2="{y}"/>'
    yield f'<circle class="{kind}" cx="{x(one.ours)}" cy="{y}" r="3"/>'
    yield f'<circle class="published" cx="{x(one.published)}" cy="{y}" r="5"/>'


def _picture(one: Picture) -> str:
    """Show a figure of a publication within the page, or say why it is not drawn."""
    title, caption = one.drawing.title, escape(one.caption)
    if one.why:
        return f"<p><b>{escape(title)}.</b> {caption} It is not drawn here. {escape(one.why)}</p>"
    shown = embedded(one.kind, one.content, one.size, title)
    return f"<figure>{shown}<figcaption><b>{escape(title)}.</b> {caption}</figcaption></figure>"


def _table(rows: Sequence[Row], *, tables: bool = False) -> str:
    """Show rows, with the published table of each if those are several; one reason for all stands above."""
    shared = len(rows) > 1 and len({one.why for one in rows}) == 1
    heads = [*(["table"] if tables else []), *HEADS, *([] if shared else ["why"])]
    lines = []
    for one in rows:
        kind = {"worse": " wrong", "farther": " wrong", "better": " best"}.get(one.verdict, "")
        filled = zip(heads, [*([one.table] if tables else []), *cells(one), one.why], strict=False)
        lines.append(
            "".join(
                f'<td class="text {head}{kind if head == "verdict" else ""}">{escape(text)}</td>'
                for head, text in filled
            )
        )
    head = "".join(f'<th class="text">{escape(head)}</th>' for head in heads)
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    table = f'<div class="scroll"><table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'
    return f"<p>{escape(rows[0].why)}</p>{table}" if shared else table
