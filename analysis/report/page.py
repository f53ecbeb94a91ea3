"""The page of the report: the answer, why requests were refused, the table; the rest is folded."""

import base64
import shlex
from collections.abc import Iterator
from dataclasses import replace
from html import escape
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template

import numpy as np
from matplotlib.figure import Figure

from binwright.analysis.compare.comparison import Comparison
from binwright.analysis.compare.sheet import Cell, Sheet
from binwright.analysis.compare.statistics import overlap_of
from binwright.analysis.compare.table import Table, finding
from binwright.analysis.figures import FIGURES
from binwright.analysis.figures.kind import draw, image, kind_named
from binwright.analysis.figures.style import Width
from binwright.analysis.results.escaping import unbroken
from binwright.analysis.results.folder import ResultsFolder, as_written, refused_shares
from binwright.simcore.errors import ResultsError, UserError
from binwright.simcore.files import write_text
from binwright.simcore.units import many_of

MOST_REASONS = 6
"""Reasons that have a column each."""


def refusals(results: ResultsFolder) -> str:
    """Write for which reasons every agent refused how much of what was offered, means over its runs."""
    done = results.done
    if "reasons" not in done.columns:
        noted = " for a reason that was noted" if "rejected" in done.columns and done["rejected"].sum() else ""
        return f"<p>No request was refused{noted}.</p>"
    names, shares, _ = refused_shares(done, [*results.swept, "agent"], MOST_REASONS)
    cells = [
        [
            *(Cell(as_written(part)) for part in (*which[:-1], results.heading(which[-1]))),
            *(Cell(f"{share:.2f}") for share in np.mean(runs, axis=0).tolist()),
        ]
        for which, runs in shares.items()
    ]
    heads = [*map(results.heading, results.swept), "agent", *(f"{reason} %" for reason in names)]
    caption = "Requests that were refused, in % of all, by reason; means over the runs"
    table = Sheet(heads, cells, len(results.swept) + 1, caption).html("table-refused")
    return f'{table}\n<p class="soft">What stood in the way of one of them: <code>binwright why RESULTS</code>.</p>'


HEROES = ("sweep", "differences")
"""The first of these figures that there is stands beside the answer."""
MAIN = 3
"""So many metrics are answered in a sentence, the first of the table, and all that are harm."""


def write(results: ResultsFolder, path: str | Path | None = None) -> Path:
    """Write the report to `path` (default: report.html in the results' folder), whole or not at all; returns it."""
    target = Path(path) if path is not None else results.folder / "report.html"
    if target.suffix != ".html":
        raise ResultsError("does not end in .html", file=target, remedy="Name another file with --out.")
    write_text(target, compose(results))
    return target


def compose(results: ResultsFolder) -> str:
    """Write the whole page. Whatever comes from users' files is escaped, and nothing is fetched from anywhere."""
    table, drawn = Table(results), figures(results)
    hero = next((drawn.pop(name) for name in HEROES if name in drawn), "")
    answers = "\n".join(f'<div class="answer">{escape(text)}.</div>' for text in _answer(results, table))
    sheet = replace(table.sheet, title="Metrics of every agent; means over the runs")
    sections = {
        "answer": (
            "The answer",
            f'<div class="beside"><div>{answers}\n{_soft(table.same)}{_counts(results)}</div>\n{hero}</div>',
        ),
        "refused": ("Why requests were refused", refusals(results)),
        "table": ("Table", f"{sheet.html('table-all')}\n{_soft(table.legend)}"),
    }  # fmt: skip
    rest = {
        "differences": ("Paired differences", _differences(results)),
        "figures": ("Figures", "\n".join(['<div class="figures">', *drawn.values(), "</div>\n"]) * bool(drawn)),
        "failed": ("Failed runs", "\n".join(_failed(results))),
        "scenario": ("Scenario", _scenario(results)),
        "versions": ("Versions, and how to run it again", _versions(results)),
    }
    rest = {key: part for key, part in rest.items() if part[1]}
    parts = [_section(key, *part) for key, part in sections.items()]
    parts += [_section(key, heading, text, is_folded=True) for key, (heading, text) in rest.items()]
    return Template(_file("report.html")).substitute(
        title=escape(results.name),
        description=f"<p>{escape(str(text))}</p>" if (text := results.setting("description")) else "",
        version=escape(version("binwright")),
        first=next(iter(sections)),
        contents="\n".join(f'<a href="#{key}">{heading}</a>' for key, (heading, _) in (sections | rest).items()),
        sections="\n".join(parts),
        css=_file("report.css"),
    )


def _answer(results: ResultsFolder, table: Table) -> list[str]:
    """Write a sentence for every main metric: who is best and by how much, and who does not differ significantly."""
    if not len(results.done):
        return ["No run finished: there is nothing to compare"]
    if len({row.agent for row in table.rows}) == 1:
        return ["One agent: there is nothing to compare it with"]
    main = [metric for metric in table.metrics if metric.better != "neither" and not metric.timed]
    main = [*main[:MAIN], *(metric for metric in main[MAIN:] if metric.table == "harm")]
    return [finding(table, metric) or f"All agents have the same {metric.heading}" for metric in main]


def _section(key: str, heading: str, text: str, *, is_folded: bool = False) -> str:
    head = f'<h2 id="{key}-heading">{heading}</h2>'
    inside = _folded(head, text) if is_folded else f"{head}\n{text}"
    return f'<section id="{key}" aria-labelledby="{key}-heading">\n{inside}\n</section>'


def _folded(summary: str, text: str) -> str:
    return f"<details><summary>{summary}</summary>\n{text}\n</details>"


def _soft(text: str) -> str:
    return f'<p class="soft">{escape(unbroken(text))}</p>\n' if text else ""


def _file(name: str) -> str:
    return files("binwright.analysis.report").joinpath(name).read_text("utf-8")


def _counts(results: ResultsFolder) -> str:
    runs = results.runs
    points = f" at {many_of(runs.select(results.swept).n_unique(), 'point')}" if results.swept else ""
    agents, seeds = many_of(runs["agent"].n_unique(), "agent"), many_of(runs["seed"].n_unique(), "seed")
    failed = len(results.failed)
    failures = f' <a class="wrong" href="#failed">{many_of(failed, "run")} failed.</a>' * bool(failed)
    warnings = filter(None, [results.unfinished, overlap_of(runs, results.swept)])
    above = "".join(f'<p class="wrong">{escape(text)}</p>\n' for text in warnings)
    return f'{above}<p class="soft">{many_of(len(runs), "run")}: {agents}, {seeds}{points}.{failures}</p>'


def _differences(results: ResultsFolder) -> str:
    """Write a table per metric, the first one open: every agent beside the first, paired by seed."""
    try:
        comparison, parts = Comparison(results), list[str]()
    except ResultsError as error:
        return f"<p>{escape(error.problem)}. {escape(error.remedy or '')}</p>"
    for number, sheet in enumerate(comparison.sheets()):
        text = f"<summary>{escape(sheet.title)}</summary>\n{sheet.html(f'compare-{number}')}"
        parts.append(f"<details{' open' * (not number)}>{text}\n</details>")
    return "\n".join([*parts, _soft(comparison.legend)])


def _failed(results: ResultsFolder) -> Iterator[str]:
    """Yield every failed run; those that failed for the same reason together, with the error of the first."""
    for runs in results.failures:
        error, names = runs[0][1], "; ".join(name for name, _ in runs)
        yield _folded(f"{many_of(len(runs), 'run')}: {escape(names)}", f"<pre>{escape(error)}</pre>")


def _scenario(results: ResultsFolder) -> str:
    try:
        return _code(results.scenario_file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return "<p>The file scenario.yaml is not in the results' folder any more, or cannot be read.</p>"


def _code(text: str) -> str:
    return f'<pre tabindex="0">{escape(text)}</pre>'


def _versions(results: ResultsFolder) -> str:
    made = ", ".join(map(str, results.runs["version"].unique(maintain_order=True)))
    command = ["binwright", "run", str(results.scenario_file), "--out", f"{results.folder}-again"]
    return (
        f'<p>binwright {escape(made)} made the runs.</p>\n<p class="soft">The same numbers, times '
        "apart, come from the folder where it was made, or with the scenario above saved to a file:</p>\n"
        f"{_code(shlex.join(command))}"
    )


def figures(results: ResultsFolder) -> dict[str, str]:
    """Draw every kind that the results allow, those that may stand beside the answer for telephones, too: as HTML."""
    result = {}
    for name in FIGURES:
        try:
            kind = kind_named(name)
            if kind.source == "results":
                widths: tuple[Width, ...] = ("page", "column") if name in HEROES else ("page",)
                drawn = [draw(results, name, width=width, style="report", titles=False) for width in widths]
                result[name] = _embedded(name, kind.meaning, *drawn)
        except UserError:
            continue  # these results do not have what it needs
    return result


def _embedded(name: str, meaning: str, figure: Figure, narrow: Figure | None = None) -> str:
    """Embed a figure, and its `narrow` form for telephones, if it has one, with what it says below."""
    kind, content, (width, height) = image(figure)
    caption = escape(unbroken(str(figure.get_label())))
    alt = escape(f"{name}: {meaning}. The tables have the numbers.")
    # It is an image, because an SVG that is part of the page would share its names and styles with all others.
    shown = f'<img alt="{alt}" width="{width}" height="{height}" src="{_data(kind, content)}">'
    if narrow is not None:
        kind, content, _ = image(narrow)
        shown = f'<picture><source media="(max-width: 30rem)" srcset="{_data(kind, content)}">{shown}</picture>'
    return f'<figure id="figure-{name}">{shown}<figcaption>{caption}</figcaption></figure>'


def _data(kind: str, content: bytes) -> str:
    return f"data:image/{'svg+xml' if kind == 'svg' else kind};base64,{base64.b64encode(content).decode()}"
