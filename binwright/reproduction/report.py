"""A reproduction as one HTML file with a figure for every table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from string import Template

from analysis.report.images import embedded
from binwright.reproduction.figures import Picture
from binwright.reproduction.outcome import Outcome, counted
from binwright.reproduction.pages import HEADS, cells, misses, sections
from binwright.reproduction.rows import Row
from binwright.reproduction.verdict import Verdict

WIDE, LINE, LETTER = 330, 16, 5.8
"""How wide the values of a figure are, how far its rows are apart, and how wide a letter is, in pixels."""
PAGE = Template("""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Published and ours</title>
<style>
$css
svg text { font: 11px system-ui, sans-serif; fill: currentColor; }
svg .ours { stroke: var(--link); fill: var(--link); } svg .published { fill: none; stroke: currentColor; }
figure { overflow-x: auto; }
figure > svg { display: block; width: 100%; min-width: 32rem; height: auto; }
svg .worse { stroke: var(--wrong); fill: var(--wrong); }
</style>
<h1>Published and ours</h1>
<p>Written by <code>$command</code> on $date; $machine; its runs took $minutes minutes one
after the other. Intervals are 95 % over the seeds.</p>
<nav>$contents</nav>
$sections
</html>
""")


def report(found: Outcome) -> str:
    """Write the whole report; nothing in it is fetched from anywhere."""
    names = [(one.name, one.title) for one in found.publications]
    return PAGE.substitute(
        css=files("analysis.report").joinpath("report.css").read_text("utf-8"),
        command=escape(found.made.command),
        date=found.made.date,
        machine=escape(found.made.machine),
        minutes=f"{sum(found.made.minutes.values()):.1f}",
        contents=" ".join(f'<a href="#{name}">{escape(title)}</a>' for name, title in names),
        sections="\n".join(_sections(found)),
    )


def _sections(found: Outcome) -> Iterator[str]:
    for publication in found.publications:
        rows = found.of(publication)
        yield f'<h2 id="{publication.name}">{escape(publication.title)}: {counted(rows)}</h2>'
        yield f"<p>{escape(publication.reference)}</p>"
        if missed := misses(rows):
            yield f"<h3>Worse than published</h3>\n{_table(missed)}"
        for heading, notes, table in sections(publication, rows):
            yield f"<h3>{escape(heading)}</h3>"
            yield from (f"<p>{escape(note)}</p>" for note in notes)
            for metric in dict.fromkeys(one.metric for one in table):
                drawn = [one for one in table if one.metric == metric and one.difference is not None]
                if drawn:
                    yield figure(metric, drawn)
            many = "<details><summary>Table</summary>" if len(table) > 20 else ""
            yield f"{many}{_table(table)}{'</details>' if many else ''}"
        for heading, figures in found.figures(publication).items():
            yield f"<h3>{escape(heading)}</h3>"
            yield from map(_picture, figures)


def figure(metric: str, rows: Sequence[Row]) -> str:
    """Draw the published values of a metric (rings) and ours (dots with intervals), a line for each, as SVG."""
    values = [value for one in rows for value in (one.published, one.ours, one.low, one.high) if value is not None]
    low, high = min(0.0, *values), max(values)
    names = [", ".join(cells(one)[:2]) for one in rows]
    left = round(LETTER * max(map(len, names))) + LINE
    right = left + WIDE
    scale = WIDE / ((high - low) or 1.0)

    def x(value: float) -> str:
        return f"{left + (value - low) * scale:.1f}"

    parts = []
    for number, (one, name) in enumerate(zip(rows, names, strict=True)):
        y = LINE * (number + 1)
        kind = "worse" if one.verdict == Verdict.WORSE else "ours"
        assert one.ours is not None
        assert one.published is not None
        parts.append(f'<text x="0" y="{y + 4}">{escape(name)}</text>')
        if one.low is not None and one.high is not None:
            parts.append(f'<line class="{kind}" x1="{x(one.low)}" x2="{x(one.high)}" y1="{y}" y2="{y}"/>')
        parts.append(f'<circle class="{kind}" cx="{x(one.ours)}" cy="{y}" r="3"/>')
        parts.append(f'<circle class="published" cx="{x(one.published)}" cy="{y}" r="5"/>')
    bottom = LINE * (len(rows) + 1)
    ends = (
        f'<text x="{left}" y="{bottom + 4}">{low:.4g}</text><text x="{right - 20}" y="{bottom + 4}">{high:.4g}</text>'
    )
    said = f"{metric}: published (rings) and ours (dots with intervals; red where worse)"
    picture = "\n".join([*parts, ends])
    return (
        f'<figure><svg role="img" aria-label="{escape(said)}" viewBox="0 0 {right + 20} {bottom + LINE}" '
        f'style="max-width: {right + 20}px">\n{picture}\n</svg><figcaption>{escape(said)}</figcaption></figure>'
    )


def _picture(one: Picture) -> str:
    """Show a figure of a publication within the page, or say why it is not drawn."""
    title, caption = one.drawing.title, escape(one.caption)
    if one.why:
        return f"<p><b>{escape(title)}.</b> {caption} It is not drawn here. {escape(one.why)}</p>"
    shown = embedded(one.kind, one.content, one.size, title)
    return f"<figure>{shown}<figcaption><b>{escape(title)}.</b> {caption}</figcaption></figure>"


def _table(rows: Sequence[Row]) -> str:
    heads = "".join(f'<th class="text">{escape(head)}</th>' for head in (*HEADS, "why"))
    lines = []
    for one in rows:
        kind = {"worse": " wrong", "better": " best"}.get(one.verdict, "")
        texts = "".join(f'<td class="text">{escape(cell)}</td>' for cell in cells(one)[:-1])
        verdict = f'<td class="text{kind}">{escape(cells(one)[-1])}</td>'
        lines.append(f'<tr>{texts}{verdict}<td class="text">{escape(one.why)}</td></tr>')
    body = "\n".join(lines)
    return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'
