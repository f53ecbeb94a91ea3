"""Tables of the report: why requests were refused, and who beside whom."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from binwright.analysis.compare.comparison import Comparison
from binwright.analysis.compare.sheet import Cell, Sheet
from binwright.analysis.results.folder import ResultsFolder, as_written, refused_shares

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
    shares, total = refused_shares(done, [*results.swept, "agent"])
    named = [reason for reason, _ in total.most_common(MOST_REASONS)]
    rows = []
    for which, runs in shares.items():
        means = [sum(run.get(reason, 0.0) for run in runs) / len(runs) for reason in named]
        others = sum(share for run in runs for reason, share in run.items() if reason not in named) / len(runs)
        rows.append((which, [*means, others] if len(total) > len(named) else means))
    heads = [f"{reason} %" for reason in named] + ["others %"] * (len(total) > len(named))
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
