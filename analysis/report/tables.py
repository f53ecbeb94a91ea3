"""Tables of the report: accessible HTML that its script sorts and filters."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from binwright.analysis.compare import render_text
from binwright.analysis.compare.differences import Differences
from binwright.analysis.compare.sites import site_table
from binwright.analysis.compare.table import BEST, Table
from binwright.analysis.measure.metric import Metric
from binwright.analysis.results.folder import ResultsFolder, as_written, refused_shares

FILTERED, TALL = 12, 16
"""Tables of more rows than that get a box to filter them, and a height that they scroll in."""
MOST_ROWS = 3000
"""Of comparisons in one page; the metrics after that are named with the command that shows them."""
MOST_REASONS = 6
"""Reasons that have a column each."""
REFUSED: tuple[str, ...] = ("refused_sizes", "refused_times", "refused_by")
"""Columns that tell of what how much was refused."""
CLASSES = {BEST: "best", "better": "best", "worse": "wrong"}


@dataclass(frozen=True, slots=True)
class HtmlCell:
    """Says what a cell shows, the number that it is sorted by, if it is one, and its class of report.css."""

    text: str
    value: float | None = None
    style: str = ""


def html(
    name: str,
    caption: str,
    heads: Sequence[tuple[str, str]],
    texts: int,
    rows: Sequence[Sequence[HtmlCell]],
    *,
    sortable: bool = True,
) -> str:
    """Write a table called `name`.

    Heads are (text, meaning); the first `texts` columns are words, and the last of these names the row.
    """
    tag, how = ("button", ' type="button"') if sortable else ("span", "")
    first = "".join(
        f'<th scope="col"{_class_of_head(number, texts)}><{tag}{how}{_title(meaning)}>{escape(text)}</{tag}></th>'
        for number, (text, meaning) in enumerate(heads)
    )
    body = "\n".join(f"<tr>{''.join(_cells(row, texts))}</tr>" for row in rows)
    kind = ' class="sortable"' if sortable else ""
    tall = " tall" if len(rows) > TALL else ""
    return (
        f"{_filter(name) if sortable and len(rows) > FILTERED else ''}"
        f'<div class="scroll{tall}" tabindex="0" role="region" aria-label="{escape(caption)}">\n'
        f'<table{kind} id="{name}">\n<caption>{escape(caption)}</caption>\n'
        f"<thead><tr>{first}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>"
    )


def _class_of_head(number: int, texts: int) -> str:
    return ' class="text row"' if number == texts - 1 else " class=text" if number < texts else ""


def _cells(row: Sequence[HtmlCell], texts: int) -> Iterator[str]:
    for number, cell in enumerate(row):
        style = f' class="{cell.style}"' if cell.style else ""
        value = "" if cell.value is None else f' data-v="{cell.value:.6g}"'
        if number == texts - 1:
            yield f'<th scope="row"{style}>{escape(cell.text)}</th>'
        elif number < texts:
            yield f'<td class="text">{escape(cell.text)}</td>'
        else:
            yield f"<td{style}{value}>{escape(cell.text)}</td>"


def _title(meaning: str) -> str:
    return f' title="{escape(meaning)}"' if meaning else ""


def _filter(name: str) -> str:
    return (
        f'<p class="filter" hidden><label for="{name}-filter">Only rows with</label>'
        f'<input type="search" id="{name}-filter" autocomplete="off"><output id="{name}-count"></output></p>\n'
    )


def main_table(table: Table) -> str:
    """Write the table at the end of `binwright run`: means with intervals, and whether the seeds can tell."""
    metrics = [(metric.heading, metric.meaning) for metric in table.metrics]
    heads = [
        *((table.heading(key), "a key of the sweep") for key in table.swept),
        ("agent", ""),
        ("runs", "finished runs"),
        *metrics,
    ]
    rows = []
    for row, line in zip(table.rows, table.texts(), strict=True):
        render_text = [HtmlCell(text) for text in line[: len(table.swept) + 1]]
        runs = HtmlCell(line[len(render_text)], row.runs - row.failed, "wrong" if row.failed else "")
        numbers = [
            HtmlCell("-") if cell is None else HtmlCell(text, _written(metric, cell.mean), CLASSES.get(cell.mark, ""))
            for metric, cell, text in zip(table.metrics, row.entries, line[len(render_text) + 1 :], strict=True)
        ]
        rows.append([*render_text, runs, *numbers])
    return html("table-all", "Agents and metrics", heads, len(table.swept) + 1, rows)


def sites(results: ResultsFolder) -> str:
    """Write what became of every site, where there are some."""
    headings, lines = site_table(results)
    if not lines:
        return ""
    words = headings.index("site") + 1
    rows = [[HtmlCell(text) for text in line] for line in lines]
    caption = "Sites: means and 95 % intervals over the runs"
    return html("table-sites", caption, [(heading, "") for heading in headings], words, rows, sortable=False)


def legend(table: Table) -> str:
    """Write what the marks mean; the answer says already what p-values are corrected for."""
    said = table.legend.replace(f", {table.family}", "") if table.family else table.legend
    return f'<p class="soft">{escape(said)}</p>'


def refusals(results: ResultsFolder) -> str:
    """Write for which reasons every agent refused how much of what was offered, means over its runs."""
    done = results.done
    if "reasons" not in done.columns:
        noted = " for a reason that was noted" if "rejected" in done.columns and done["rejected"].sum() else ""
        return f"<p>No request was refused{noted}.</p>"
    shares, total = refused_shares(done, [*results.swept, "agent"])
    named = [reason for reason, _ in total.most_common(MOST_REASONS)]
    rows = []
    for which, runs in shares.items():
        means = [sum(run.get(reason, 0.0) for run in runs) / len(runs) for reason in named]
        others = sum(share for run in runs for reason, share in run.items() if reason not in named) / len(runs)
        numbers = [*means, others] if len(total) > len(named) else means
        rows.append(
            [
                *(HtmlCell(as_written(part)) for part in (*which[:-1], results.heading(which[-1]))),
                *(HtmlCell(f"{one:.2f}", one) for one in numbers),
            ]
        )
    heads = [*((results.heading(key), "a key of the sweep") for key in results.swept), ("agent", "")]
    heads += [(f"{reason} %", "") for reason in named] + [("others %", "")] * (len(total) > len(named))
    caption = "Requests that were refused, in % of all, by reason; means over the runs"
    note = "What stood in the way of one of them: <code>binwright why RESULTS</code>."
    return f'{html("table-refused", caption, heads, len(results.swept) + 1, rows)}\n<p class="soft">{note}</p>'


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
            means = [sum(one) / (len(one) + runs) if one else None for one in counted]
            render_text = (*group[:-1], results.heading(group[-1]))
            cells = (HtmlCell("-") if mean is None else HtmlCell(f"{mean:.2f}", mean) for mean in means)
            rows.append([*(HtmlCell(as_written(part)) for part in render_text), *cells])
        heads = [*((results.heading(key), "a key of the sweep") for key in results.swept), ("agent", "")]
        heads += [(value if in_order else f"{value or '-'} %", f"{label}: {value or '-'}") for value in named]
        caption = f"Of the requests of each {label}, how many % were refused; means over the runs"
        tables.append(html(f"table-refused-{number}", caption, heads, len(results.swept) + 1, rows))
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
    comparison = Differences(results)
    heads = [(text, MEANINGS.get(text, "")) for text in render_text.headings(comparison)]
    texts = len(comparison.shown_keys) + 1
    parts: list[str] = []
    left, dropped = MOST_ROWS, []
    for number, (metric, lines) in enumerate(render_text.blocks(comparison)):
        if parts and len(lines) > left:
            dropped.append(metric.name)
            continue
        left -= len(lines)
        rows = [_compared(metric, texts, row, line) for row, line in lines]
        name = render_text.title(metric)
        table = html(
            f"compare-{number}",
            f"{metric.heading}: differences to {comparison.heading(comparison.baseline)}",
            heads,
            texts,
            rows,
        )
        parts.append(f"<details{' open' * (not parts)}><summary>{escape(name)}</summary>\n{table}\n</details>")
    notes = [render_text.legend(comparison)]
    if dropped:
        notes.append(f"Left out here to keep this file small, and shown by binwright compare: {', '.join(dropped)}.")
    return "\n".join([*parts, *(f'<p class="soft">{escape(note)}</p>' for note in notes)])


MEANINGS = {
    "difference": "mean of the differences to the baseline, paired by seed, and its 95 % interval, uncorrected",
    "verdict": "better or worse than the baseline by the corrected p-values; = not significant; ? not "
    "tested, with fewer than five seeds in common",
    "%": "the difference in % of the baseline's mean",
    "p": "of the signed-rank test where it can tell anything, else of the paired t-test; corrected by Holm over all "
    "pairs of agents at this point, whatever the baseline",
    "seeds for 1 %": "how many seeds would show a difference of 1 % of the baseline's mean",
}


def _written(metric: Metric, value: float) -> float:
    """Return a value as its heading means it: shares are in percent there, and times in seconds."""
    return 100 * value if metric.unit == "%" else value


def _compared(metric: Metric, texts: int, row: dict[str, Any], line: list[str]) -> list[HtmlCell]:
    columns = ("mean", "diff", "", "relative", "p", "n", "seeds_for_1pct")
    values = [row.get(name) for name in columns]
    values[:2] = [None if value is None else _written(metric, value) for value in values[:2]]
    style = CLASSES.get(str(row["verdict"]), "")
    return [
        *(HtmlCell(text) for text in line[:texts]),
        *(
            HtmlCell(text, float(value) if isinstance(value, int | float) else None, style if name == "" else "")
            for text, value, name in zip(line[texts:], values, columns, strict=True)
        ),
    ]
