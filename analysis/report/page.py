"""The page of the report, section by section."""

from __future__ import annotations

import base64
import os
import platform
import shlex
from collections.abc import Callable, Iterator, Sequence
from html import escape
from importlib.metadata import version
from importlib.resources import files
from string import Template
from typing import NamedTuple

from matplotlib.figure import Figure

from binwright.analysis.compare.finding import finding
from binwright.analysis.compare.table import Table
from binwright.analysis.figures import FIGURES
from binwright.analysis.figures.chosen_style import Width
from binwright.analysis.figures.draw import draw, image
from binwright.analysis.figures.kind import FigureFailed, kind_named
from binwright.analysis.measure.condition import outside_of
from binwright.analysis.measure.overlap import overlap_of
from binwright.analysis.report.tables import by_what, comparison_tables, legend, main_table, refusals, sites
from binwright.analysis.results.folder import ResultsFolder, as_written
from binwright.simcore.errors import ResultsError, UserError, without_numbers

PACKAGES = ("numpy", "numba", "polars", "scipy", "simpy", "matplotlib")
ANSWERS = ("differences", "sweep")
"""One of these figures stands beside the answer."""
MAIN = 3
"""So many metrics are answered in a sentence, the first of the table, and all that are harm."""
MOST_ERRORS = 50
"""Different errors that are shown in full."""


def compose(
    results: ResultsFolder,
    say: Callable[[str], None] = lambda text: None,
    drawing: Callable[[str], None] = lambda name: None,
) -> str:
    """Write the whole page. Whatever comes from users' files is escaped, and nothing is fetched from anywhere.

    `say` is called with what had to be left out, `drawing` with the name of each figure before it is drawn.
    """
    table = Table(results)
    drawn = figures(results, drawing)
    for name, why in drawn.failed.items():
        say(f"The figure {name} is left out: {why}")
    summary = drawn.shown.pop("sweep", "") or drawn.shown.pop("differences", "")
    answers = "\n".join(f'<div class="answer">{paragraph}</div>' for paragraph in _answer(results, table))
    sections = {
        "answer": (
            "The answer",
            f'<div class="beside"><div>{answers}\n{_same(table)}{_family(table)}{_warnings(results)}{_counts(results)}'
            f"</div>\n{summary}</div>",
        ),
        "table": ("Table", f"{main_table(table)}\n{legend(table)}\n{sites(results)}"),
        "differences": ("Paired differences", _differences(results)),
        "refused": (
            "What was refused",
            f"{refusals(results)}\n{by_what(results)}",
        ),
        "figures": ("Figures", _figures(drawn)),
        "failed": ("Failed runs", failed_runs(results)),
        "scenario": ("Scenario", _scenario(results)),
        "versions": ("Versions", _versions(results)),
        "reproduce": ("Run it again", _reproduce(results)),
    }
    return Template(_file("report.html")).substitute(
        title=escape(results.name),
        description=_description(results),
        version=escape(version("binwright")),
        first=next(iter(sections)),
        contents="\n".join(f'<a href="#{key}">{heading}</a>' for key, (heading, _) in sections.items()),
        sections="\n".join(_section(key, *parts) for key, parts in sections.items()),
        css=_file("report.css"),
        script=_file("report.js"),
    )


def _answer(results: ResultsFolder, table: Table) -> list[str]:
    """Write a sentence of HTML for every main metric: who is best, and who does not differ from it significantly."""
    if not len(results.done):
        return ["No run finished: there is nothing to compare."]
    if len({row.agent for row in table.rows}) == 1:
        return ["One agent: there is nothing to compare it with."]
    first = results.choose().first
    main = [one for one in table.metrics if one in first and one.better != "neither" and not one.timed]
    main = [*main[:MAIN], *(one for one in main[MAIN:] if one.table == "harm")]
    return [f"{escape(finding(table, one) or f'All agents have the same {one.heading}')}." for one in main]


def _section(key: str, heading: str, text: str) -> str:
    named = f'<section id="{key}" aria-labelledby="{key}-heading">\n<h2 id="{key}-heading">{heading}</h2>'
    return f"{named}\n{text}\n</section>"


def _file(name: str) -> str:
    return files("binwright.analysis.report").joinpath(name).read_text("utf-8")


def _description(results: ResultsFolder) -> str:
    import yaml

    try:
        data = yaml.safe_load(results.scenario_file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return ""
    text = data.get("description") if isinstance(data, dict) else None
    return f"<p>{escape(str(text))}</p>" if text else ""


def _counts(results: ResultsFolder) -> str:
    runs = results.runs
    points = f" at {_count(runs.select(results.swept).n_unique(), 'point')}" if results.swept else ""
    agents, seeds = _count(runs["agent"].n_unique(), "agent"), _count(runs["seed"].n_unique(), "seed")
    failed = len(results.failed)
    failures = f' <a class="wrong" href="#failed">{_count(failed, "run")} failed.</a>' if failed else ""
    return f'<p class="soft">{_count(len(runs), "run")}: {agents}, {seeds}{points}.{failures}</p>'


def _family(table: Table) -> str:
    """Say which comparisons all of the page is corrected for."""
    if not table.family:
        return ""
    return f'<p class="soft">Significant: p &lt;= .05, {escape(table.family)}.</p>\n'


def _same(table: Table) -> str:
    """Say in which metrics no agents differ."""
    return f'<p class="soft">{escape(table.same)}</p>\n' if table.same else ""


def _warnings(results: ResultsFolder) -> str:
    found = (overlap_of(results.runs, results.swept), outside_of(results.runs, results.swept))
    return "".join(f'<p class="wrong">{escape(str(one))}</p>\n' for one in found if one)


def _differences(results: ResultsFolder) -> str:
    if results.runs["agent"].n_unique() == 1:
        return "<p>One agent: there is nothing to compare it with.</p>"
    try:
        return comparison_tables(results)
    except ResultsError as error:
        return f"<p>{escape(error.problem)}. {escape(error.remedy or '')}</p>"


def _figures(drawn: Drawn) -> str:
    failed = "".join(
        f'<p class="wrong">The figure {escape(name)} is left out: {escape(why)}</p>\n'
        for name, why in drawn.failed.items()
    )
    reasons = "\n".join(f"<li>{escape(name)}: {escape(why)}</li>" for name, why in drawn.missing.items())
    left = f"<details><summary>Not drawn</summary>\n<ul>\n{reasons}\n</ul>\n</details>" if drawn.missing else ""
    shown = "\n".join(drawn.shown.values())
    return f'{failed}<div class="figures">\n{shown}\n</div>\n{left}'


def failed_runs(results: ResultsFolder) -> str:
    """List every failed run; runs that failed with the same words, whatever the numbers among them, are together."""
    return "\n".join(_failed(results)) or "<p>None.</p>"


def _failed(results: ResultsFolder) -> Iterator[str]:
    together: dict[str, tuple[str, list[str]]] = {}
    for row in results.failed.iter_rows(named=True):
        point = "".join(f", {results.short(key)} {as_written(row[key])}" for key in results.swept)
        error = str(row["error"]).strip()
        _, names = together.setdefault(without_numbers(error), (error, []))
        names.append(f"{results.heading(row['agent'])}, seed {row['seed']}{point}")
    for number, (error, names) in enumerate(together.values()):
        runs = f"{_count(len(names), 'run')}: {escape('; '.join(names))}"
        if number < MOST_ERRORS:
            yield f"<details><summary>{runs}</summary>\n<pre>{escape(error)}</pre>\n</details>"
        else:
            yield f"<p>{runs}: {escape(error.rpartition(chr(10))[2])}</p>"


def _scenario(results: ResultsFolder) -> str:
    try:
        text = results.scenario_file.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return "<p>The file scenario.yaml is not in the results' folder any more, or cannot be read.</p>"
    summary = f"scenario.yaml, with every default written out ({_count(text.count(chr(10)), 'line')})"
    return f"<details><summary>{summary}</summary>\n{_copied('scenario-yaml', text)}\n</details>"


def _copied(name: str, text: str) -> str:
    return (
        f'<div class="copied"><pre id="{name}" tabindex="0">{escape(text)}</pre>'
        f'<button type="button" class="plain" data-copies="{name}" hidden>Copy</button></div>'
    )


def _versions(results: ResultsFolder) -> str:
    made = ", ".join(map(str, results.runs["version"].unique(maintain_order=True)))
    rows = {"the runs": f"binwright {made}", "this report": f"binwright {version('binwright')}"}
    rows["Python"] = f"{platform.python_implementation()} {platform.python_version()}"
    for name in PACKAGES:
        rows[name] = version(name)
    rows["machine"] = f"{platform.platform()}, {os.cpu_count()} cores"
    listed = "".join(f"<dt>{escape(key)}</dt><dd>{escape(value)}</dd>" for key, value in rows.items())
    return f'<dl>{listed}</dl>\n<p class="soft">Python, packages and machine are those that wrote this report.</p>'


def _reproduce(results: ResultsFolder) -> str:
    folder = results.folder
    command = shlex.join(["binwright", "run", str(results.scenario_file), "--out", f"{folder}-again"])
    return (
        f"{_copied('command', command)}\n"
        "<p>The same numbers, times apart, with the versions above: from the folder where this report was made, or "
        "with the scenario above saved to a file.</p>"
    )


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


class Drawn(NamedTuple):
    """Holds the figures as HTML, by kind, why kinds are `missing`, and what went wrong with those that `failed`."""

    shown: dict[str, str]
    missing: dict[str, str]
    failed: dict[str, str]


def figures(results: ResultsFolder, drawing: Callable[[str], None] = lambda name: None) -> Drawn:
    """Draw every kind that the results allow; what they say stands below them, and is said once."""
    found = Drawn({}, {}, {})
    seen: set[str] = set()
    for name in FIGURES:
        try:
            kind = kind_named(name)
        except FigureFailed as error:
            found.failed[name] = error.problem
            continue
        if kind.source != "results":
            continue
        drawing(name)
        try:
            widths: tuple[Width, ...] = ("page", "column") if name in ANSWERS else ("page",)
            figures = [draw(results, name, width=width, style="report", titles=False) for width in widths]
            said = [text for text in str(figures[0].get_label()).split(". ", 1) if text and text not in seen]
            seen.update(said)
            found.shown[name] = _embedded(name, kind.meaning, said, *figures)
        except FigureFailed as error:
            found.failed[name] = error.problem
        except UserError as error:
            found.missing[name] = f"{error.problem} (needs {kind.needs})"
    return found


def _embedded(name: str, meaning: str, said: Sequence[str], figure: Figure, narrow: Figure | None = None) -> str:
    """Embed a figure, and its `narrow` form for telephones, if it has one, with what is `said` of it below."""
    kind, content, size = image(figure)
    shown = image_element(kind, content, size, f"{name}: {meaning}. The tables have the numbers.")
    if narrow is not None:
        kind, content, _ = image(narrow)
        source = f'<source media="(max-width: 30rem)" srcset="{_data(kind, content)}">'
        shown = f"<picture>{source}{shown}</picture>"
    text = ". ".join(escape(part) for part in (*said, f"{name}: {meaning}"))
    return f'<figure id="figure-{name}">{shown}<figcaption>{text}</figcaption></figure>'


def image_element(kind: str, content: bytes, size: tuple[int, int], alt: str) -> str:
    """Write an image, `svg` or `png`, of this width and height in pixels.

    It is an image, because an SVG that is part of the page would share its names and styles with all others.
    """
    return f'<img alt="{escape(alt)}" width="{size[0]}" height="{size[1]}" src="{_data(kind, content)}">'


def _data(kind: str, content: bytes) -> str:
    return f"data:image/{'svg+xml' if kind == 'svg' else kind};base64,{base64.b64encode(content).decode()}"
