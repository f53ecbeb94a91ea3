"""The page of the report: the answer, why requests were refused, the table; the rest is folded."""

from __future__ import annotations

import base64
import json
import os
import platform
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from html import escape
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from binwright.analysis.compare.comparison import Comparison
from binwright.analysis.compare.sheet import Cell, Sheet
from binwright.analysis.compare.table import Table, finding, site_table
from binwright.analysis.figures import FIGURES
from binwright.analysis.figures.kind import FigureFailed, draw, image, kind_named
from binwright.analysis.figures.style import Width
from binwright.analysis.measure.overlap import overlap_of
from binwright.analysis.results.folder import ResultsFolder, as_written, check_target, refused_shares
from binwright.simcore.errors import ResultsError, UserError, without_numbers
from binwright.simcore.files import write_text

MOST_ROWS = 3000
"""Of comparisons in one page; the metrics after that are named with the command that shows them."""
MOST_REASONS = 6
"""Reasons that have a column each."""
REFUSED: tuple[str, ...] = ("refused_sizes", "refused_times", "refused_by")
"""Columns that tell of what how much was refused."""


def refusals(results: ResultsFolder) -> str:
    """Write for which reasons every agent refused how much of what was offered, means over its runs."""
    done = results.done
    if "reasons" not in done.columns:
        noted = " for a reason that was noted" if "rejected" in done.columns and done["rejected"].sum() else ""
        return f"<p>No request was refused{noted}.</p>"
    names, shares, _ = refused_shares(done, [*results.swept, "agent"], MOST_REASONS)
    rows = [(which, np.mean(runs, axis=0).tolist()) for which, runs in shares.items()]
    heads = [f"{reason} %" for reason in names]
    caption = "Requests that were refused, in % of all, by reason; means over the runs"
    note = "What stood in the way of one of them: <code>binwright why RESULTS</code>."
    return f'{_shares(results, caption, heads, rows).html("table-refused")}\n<p class="soft">{note}</p>'


def _shares(
    results: ResultsFolder,
    caption: str,
    heads: Sequence[str],
    rows: Sequence[tuple[tuple[Any, ...], Sequence[float | None]]],
) -> Sheet:
    """Make a table of shares in percent, a row per point and agent."""
    cells = [
        [
            *(Cell(as_written(part)) for part in (*which[:-1], results.heading(which[-1]))),
            *(Cell("-") if one is None else Cell(f"{one:.2f}", one) for one in numbers),
        ]
        for which, numbers in rows
    ]
    words = len(results.swept) + 1
    return Sheet([*map(results.heading, results.swept), "agent", *heads], cells, words, caption)


def by_what(results: ResultsFolder) -> str:
    """Write a table per size, time and label of the requests: how much of each value's every agent refused."""
    columns = [column for column in REFUSED if column in results.done.columns]
    shares: dict[tuple[str, str], dict[tuple[Any, ...], dict[str, list[float]]]] = {}
    total: dict[tuple[str, str], Counter[str]] = {}
    nothing: Counter[tuple[Any, ...]] = Counter()
    for row in results.done.select(*results.swept, "agent", *columns).iter_rows():
        group, texts = row[: len(results.swept) + 1], row[len(results.swept) + 1 :]
        told = {column: json.loads(text) for column, text in zip(columns, texts, strict=True) if text}
        nothing[group] += "refused_sizes" not in told
        for which, counts in _told_apart(told):
            mine = shares.setdefault(which, {}).setdefault(group, {})
            for value, (came, refused) in counts.items():
                mine.setdefault(value, []).extend([100 * refused / came] if came else [])
                total.setdefault(which, Counter())[value] += refused
    tables = []
    for number, (which, groups) in enumerate(shares.items()):
        column, label = which
        in_order = column == "refused_times"
        named = list(total[which]) if in_order else [value for value, _ in total[which].most_common(MOST_REASONS)]
        rows = []
        for group, found in groups.items():
            runs = 0 if column == "refused_by" else nothing[group]  # of these it is only noted that none was refused
            counted = (found.get(value, []) for value in named)
            rows.append((group, [sum(one) / (len(one) + runs) if one else None for one in counted]))
        heads = [value if in_order else f"{value or '-'} %" for value in named]
        caption = f"Of the requests of each {label}, how many % were refused; means over the runs"
        tables.append(_shares(results, caption, heads, rows).html(f"table-refused-{number}"))
    note = "Who asks for more is refused more: <code>binwright why RESULTS</code> sets that apart."
    return "\n".join([*tables, f'<p class="soft">{note}</p>']) if tables else ""


def _told_apart(told: dict[str, Any]) -> Iterator[tuple[tuple[str, str], dict[str, list[int]]]]:
    """Yield the column and the label by which requests of a run are told apart, with what it counted of each value."""
    if sizes := told.get("refused_sizes"):
        yield ("refused_sizes", "size"), sizes
    if times := told.get("refused_times"):
        yield ("refused_times", "tenth of the time"), {f"tenth {n}": counts for n, counts in enumerate(times, 1)}
    for label, counts in told.get("refused_by", {}).items():
        yield ("refused_by", label), counts


def comparison_tables(results: ResultsFolder) -> str:
    """Write a table per metric, the first one open: every agent beside the first, paired by seed."""
    comparison = Comparison(results)
    parts: list[str] = []
    left, dropped = MOST_ROWS, []
    for number, sheet in enumerate(comparison.sheets):
        if parts and len(sheet.rows) > left:
            dropped.append(sheet.title.partition(",")[0])
            continue
        left -= len(sheet.rows)
        table = sheet.html(f"compare-{number}")
        parts.append(f"<details{' open' * (not parts)}><summary>{escape(sheet.title)}</summary>\n{table}\n</details>")
    notes = [comparison.legend]
    notes += [f"Left out to keep this file small; binwright compare shows {', '.join(dropped)}."] * bool(dropped)
    return "\n".join([*parts, *(f'<p class="soft">{escape(note)}</p>' for note in notes)])


PACKAGES = ("numpy", "numba", "polars", "scipy", "simpy", "matplotlib")
HEROES = ("sweep", "differences")
"""The first of these figures that there is stands beside the answer."""
MAIN = 3
"""So many metrics are answered in a sentence, the first of the table, and all that are harm."""
MOST_ERRORS = 50
"""Different errors that are shown in full."""


def write(
    results: ResultsFolder,
    path: str | Path | None = None,
    say: Callable[[str], None] = lambda text: None,
    drawing: Callable[[str], None] = lambda name: None,
) -> Path:
    """Write the report to `path` (default: report.html in the results' folder), whole or not at all; returns it.

    `say` is called with what had to be left out, `drawing` with the name of each figure before it is drawn.
    """
    target = Path(path) if path is not None else results.folder / "report.html"
    check_target(target)
    write_text(target, compose(results, say, drawing))
    return target


def compose(
    results: ResultsFolder,
    say: Callable[[str], None] = lambda text: None,
    drawing: Callable[[str], None] = lambda name: None,
) -> str:
    """Write the whole page. Whatever comes from users' files is escaped, and nothing is fetched from anywhere.

    `say` is called with what had to be left out, `drawing` with the name of each figure before it is drawn.
    """
    table, drawn = Table(results), figures(results, drawing)
    for name, why in drawn.failed.items():
        say(f"The figure {name} is left out: {why}")
    hero = next((drawn.shown.pop(name) for name in HEROES if name in drawn.shown), "")
    answers = "\n".join(f'<div class="answer">{escape(text)}.</div>' for text in _answer(results, table))
    sites = site_table(results)
    all_of_it = table.sheet.html("table-all") + (sites.html("table-sites", is_sortable=False) if sites else "")
    sections = {
        "answer": (
            "The answer",
            f'<div class="beside"><div>{answers}\n{_soft(table.same)}{_warnings(results)}{_counts(results)}</div>\n'
            f"{hero}</div>",
        ),
        "refused": ("Why requests were refused", refusals(results) + _folded("By size and time", by_what(results))),
        "table": ("Table", f"{all_of_it}\n{_soft(table.legend)}"),
    }  # fmt: skip
    rest = {
        "differences": ("Paired differences", _differences(results)),
        "figures": ("Figures", _figures(drawn)),
        "failed": ("Failed runs", "\n".join(_failed(results)) or "<p>None.</p>"),
        "scenario": ("Scenario", _scenario(results)),
        "versions": ("Versions, and how to run it again", _versions(results)),
    }
    parts = [_section(key, *part) for key, part in sections.items()]
    parts += [_section(key, heading, text, is_folded=True) for key, (heading, text) in rest.items()]
    return Template(_file("report.html")).substitute(
        title=escape(results.name),
        description=_description(results),
        version=escape(version("binwright")),
        first=next(iter(sections)),
        contents="\n".join(f'<a href="#{key}">{heading}</a>' for key, (heading, _) in (sections | rest).items()),
        sections="\n".join(parts),
        css=_file("report.css"),
        script=_file("report.js"),
    )


def _answer(results: ResultsFolder, table: Table) -> list[str]:
    """Write a sentence for every main metric: who is best and by how much, and who does not differ significantly."""
    if not len(results.done):
        return ["No run finished: there is nothing to compare"]
    if len({row.agent for row in table.rows}) == 1:
        return ["One agent: there is nothing to compare it with"]
    main = [one for one in table.metrics if one.better != "neither" and not one.timed]
    main = [*main[:MAIN], *(one for one in main[MAIN:] if one.table == "harm")]
    return [finding(table, one) or f"All agents have the same {one.heading}" for one in main]


def _section(key: str, heading: str, text: str, *, is_folded: bool = False) -> str:
    head = f'<h2 id="{key}-heading">{heading}</h2>'
    inside = f"<details><summary>{head}</summary>\n{text}\n</details>" if is_folded else f"{head}\n{text}"
    return f'<section id="{key}" aria-labelledby="{key}-heading">\n{inside}\n</section>'


def _folded(summary: str, text: str) -> str:
    return f"<details><summary>{summary}</summary>\n{text}\n</details>" if text else ""


def _soft(text: str) -> str:
    return f'<p class="soft">{escape(text)}</p>\n' if text else ""


def _file(name: str) -> str:
    return files("binwright.analysis.report").joinpath(name).read_text("utf-8")


def _description(results: ResultsFolder) -> str:
    text = results.said("description")
    return f"<p>{escape(str(text))}</p>" if text else ""


def _counts(results: ResultsFolder) -> str:
    runs = results.runs
    points = f" at {_count(runs.select(results.swept).n_unique(), 'point')}" if results.swept else ""
    agents, seeds = _count(runs["agent"].n_unique(), "agent"), _count(runs["seed"].n_unique(), "seed")
    failed = len(results.failed)
    failures = f' <a class="wrong" href="#failed">{_count(failed, "run")} failed.</a>' if failed else ""
    return f'<p class="soft">{_count(len(runs), "run")}: {agents}, {seeds}{points}.{failures}</p>'


def _warnings(results: ResultsFolder) -> str:
    found = overlap_of(results.runs, results.swept)
    return f'<p class="wrong">{escape(str(found))}</p>\n' if found else ""


def _differences(results: ResultsFolder) -> str:
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
    left = _folded("Not drawn", f"<ul>\n{reasons}\n</ul>" if reasons else "")
    shown = "\n".join(drawn.shown.values())
    return f'{failed}<div class="figures">\n{shown}\n</div>\n{left}'


def _failed(results: ResultsFolder) -> Iterator[str]:
    """Yield every failed run; those that failed with the same words, whatever the numbers among them, together."""
    together: dict[str, tuple[str, list[str]]] = {}
    for row in results.failed.iter_rows(named=True):
        point = "".join(f", {results.short(key)} {as_written(row[key])}" for key in results.swept)
        error = str(row["error"]).strip()
        _, names = together.setdefault(without_numbers(error), (error, []))
        names.append(f"{results.heading(row['agent'])}, seed {row['seed']}{point}")
    for number, (error, names) in enumerate(together.values()):
        runs = f"{_count(len(names), 'run')}: {escape('; '.join(names))}"
        last = error.rpartition("\n")[2]
        yield _folded(runs, f"<pre>{escape(error)}</pre>") if number < MOST_ERRORS else f"<p>{runs}: {escape(last)}</p>"


def _scenario(results: ResultsFolder) -> str:
    try:
        return _copied("scenario-yaml", results.scenario_file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return "<p>The file scenario.yaml is not in the results' folder any more, or cannot be read.</p>"


def _copied(name: str, text: str) -> str:
    return (
        f'<div class="copied"><pre id="{name}" tabindex="0">{escape(text)}</pre>'
        f'<button type="button" class="plain" data-copies="{name}" hidden>Copy</button></div>'
    )


def _versions(results: ResultsFolder) -> str:
    made = ", ".join(map(str, results.runs["version"].unique(maintain_order=True)))
    rows = {"the runs": f"binwright {made}", "this report": f"binwright {version('binwright')}"}
    rows["Python"] = f"{platform.python_implementation()} {platform.python_version()}"
    rows |= {name: version(name) for name in PACKAGES}
    rows["machine"] = f"{platform.platform()}, {os.cpu_count()} cores"
    listed = "".join(f"<dt>{escape(key)}</dt><dd>{escape(value)}</dd>" for key, value in rows.items())
    command = ["binwright", "run", str(results.scenario_file), "--out", f"{results.folder}-again"]
    return (
        f'<dl>{listed}</dl>\n<p class="soft">Python, packages and machine are those that wrote this report. The same '
        "numbers, times apart, come from the folder where it was made, or with the scenario above saved to a file:"
        f"</p>\n{_copied('command', shlex.join(command))}"
    )


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


class Drawn(NamedTuple):
    """Holds the figures as HTML, by kind, why kinds are `missing`, and what went wrong with those that `failed`."""

    shown: dict[str, str]
    missing: dict[str, str]
    failed: dict[str, str]


def figures(results: ResultsFolder, drawing: Callable[[str], None] = lambda name: None) -> Drawn:
    """Draw every kind that the results allow, those that may stand beside the answer for telephones, too."""
    found = Drawn({}, {}, {})
    for name in FIGURES:
        try:
            kind = kind_named(name)
            if kind.source != "results":
                continue
            drawing(name)
            widths: tuple[Width, ...] = ("page", "column") if name in HEROES else ("page",)
            drawn = [draw(results, name, width=width, style="report", titles=False) for width in widths]
            found.shown[name] = _embedded(name, kind.meaning, *drawn)
        except FigureFailed as error:
            found.failed[name] = error.problem
        except UserError as error:
            found.missing[name] = f"{error.problem} (needs {kind.needs})"
    return found


def _embedded(name: str, meaning: str, figure: Figure, narrow: Figure | None = None) -> str:
    """Embed a figure, and its `narrow` form for telephones, if it has one, with what it says below."""
    kind, content, (width, height) = image(figure)
    alt = escape(f"{name}: {meaning}. The tables have the numbers.")
    # It is an image, because an SVG that is part of the page would share its names and styles with all others.
    shown = f'<img alt="{alt}" width="{width}" height="{height}" src="{_data(kind, content)}">'
    if narrow is not None:
        kind, content, _ = image(narrow)
        shown = f'<picture><source media="(max-width: 30rem)" srcset="{_data(kind, content)}">{shown}</picture>'
    return f'<figure id="figure-{name}">{shown}<figcaption>{escape(str(figure.get_label()))}</figcaption></figure>'


def _data(kind: str, content: bytes) -> str:
    return f"data:image/{'svg+xml' if kind == 'svg' else kind};base64,{base64.b64encode(content).decode()}"
