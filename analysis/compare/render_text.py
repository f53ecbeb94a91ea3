"""Writes a comparison as text: for terminals, Markdown and LaTeX. Its numbers are computed in differences.py."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from math import isnan
from typing import TYPE_CHECKING, Any

from binwright.analysis.compare.statistics import FEWEST
from binwright.analysis.compare.table import CUT, EXACT, in_one_note, is_cut
from binwright.analysis.compare.terminal import enough, fitted
from binwright.analysis.measure.condition import Limit
from binwright.analysis.measure.metric import Metric
from binwright.analysis.results import escaping
from binwright.analysis.results.folder import as_written

if TYPE_CHECKING:
    import rich.console

    from binwright.analysis.compare.differences import Differences

Line = list[str]
STYLES = {"better": "bold green", "worse": "red"}
SAME, UNKNOWN = "=", "?"
MOST = 100
"""More rows of a metric than that a terminal does not get."""
MANY = 1_000_000
"""More seeds than that nobody runs."""
BETTER = {"higher": ", higher is better", "lower": ", lower is better", "neither": ""}
Escape = Callable[[str], str]
"""How a text that a user wrote is to stand in what is written."""


def terminal(comparison: Differences, width: int) -> rich.console.Group:
    """Lay out a rich table per metric, with what they mean below."""
    from rich.console import Group
    from rich.text import Text

    first = len(comparison.shown_keys) + 2
    shown = [(metric, lines[:MOST], len(lines)) for metric, lines in blocks(comparison)]
    whole = (
        enough((headings(comparison, short=True), [line for _, line in lines]) for _, lines, _ in shown)
        if shown
        else None
    )
    tables = [
        fitted(
            headings(comparison, short=True),
            [line for _, line in lines],
            width,
            first=first,
            groups=[tuple(row[key] for key in comparison.shown_keys) for row, _ in lines],
            styles=[_styles(row, line) for row, line in lines],
            foremost=[headings(comparison, short=True).index(name, first) for name in ("verdict", "difference")],
            title=title(metric),
            caption=f"{count - MOST:,} more rows: --format csv has all." if count > MOST else "",
            whole=whole,
            otherwise="give --format markdown",
        )
        for metric, lines, count in shown
    ]
    return Group(*tables, Text(legend(comparison, escaping.plain), style="italic"))


def markdown(comparison: Differences) -> str:
    """Write a Markdown table per metric, with what they mean below."""
    parts = []
    heads = headings(comparison, escaping.markdown)
    for metric, lines in blocks(comparison, escaping.markdown):
        table = [heads, ["---"] * len(heads), *(line for _, line in lines)]
        rows = "\n".join(f"| {' | '.join(line)} |" for line in table)
        parts.append(f"**{escaping.markdown(title(metric))}**\n\n{rows}")
    return "\n\n".join([*parts, legend(comparison, escaping.markdown)]) + "\n"


def latex(comparison: Differences) -> str:
    """Write one `tabular` with a block per metric; needs booktabs and textcomp, which LaTeX has since 2020."""
    heads = headings(comparison, escaping.latex)
    first = len(comparison.shown_keys) + 1
    lines = [
        r"% \usepackage{booktabs}",
        *(f"% {note}" for note in legend(comparison, escaping.plain).splitlines()),
        rf"\begin{{tabular}}{{{'l' * first}{'r' * (len(heads) - first)}}}",
        r"\toprule",
        _latex_row(heads),
    ]
    for metric, block in blocks(comparison, escaping.latex):
        lines += [r"\midrule", rf"\multicolumn{{{len(heads)}}}{{l}}{{\textit{{{escaping.latex(title(metric))}}}}} \\"]
        lines += [
            _latex_row([*line[:first], *(_number(text, escaping.latex(metric.unit)) for text in line[first:])])
            for _, line in block
        ]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def legend(comparison: Differences, escape: Escape = str) -> str:
    """Say what the columns mean, and what was left out."""
    frame = comparison.frame
    if not len(frame):
        return "No run finished: there is nothing to compare."
    exact = frame["interval"].eq_missing("exact")
    timed = [metric.name for metric in comparison.metrics if metric.timed]
    chance = frame.filter(~exact, ~frame["metric"].is_in(timed), frame["n"] > 0)
    warnings = [escape(str(one)) for one in (comparison.overlap, comparison.outside) if one]
    notes = []
    if exact.any():
        which = "Values without an interval are exact: nothing in them was drawn" if len(chance) else EXACT
        notes.append(f"{which}, other seeds give the same, and differences between them are exact too.")
    if frame["interval"].is_in(["t", "bootstrap"]).any():
        notes.append("Mean with its 95 % interval over the seeds: ± from Student's t.")
        known = {metric.name: metric for metric in comparison.metrics}
        written = frame.filter(frame["interval"] == "t").select("metric", "mean", "half").iter_rows()
        cut = any(is_cut(known[name], mean, half) for name, mean, half in written)
        if (frame["interval"] == "bootstrap").any():
            notes[-1] = notes[-1][:-1] + ", [low, high] by bootstrap where a metric is skewed."
        if cut:
            notes.append(CUT)
    elif len(chance) or not exact.any():
        notes.append("One seed: no intervals and no tests.")
    if not frame["pairs"].sum():
        notes.append("Nothing is there to compare with.")
    elif len(paired := frame.filter(frame["pairs"] > 0, frame["test"].ne_missing("exact"))):
        base = escape(comparison.heading(comparison.baseline))
        notes.append(f"Differences to {base} are paired by seed; each 95 % t interval is for its difference alone.")
        if comparison.family:
            notes += [f"Verdicts go by p-values ({escape(comparison.family)}){_wherefore(comparison)}."]
            notes += [f"An interval may miss 0 and the verdict still be {SAME}, not significant."]
        if (paired["pairs"] < FEWEST).any():
            notes.append(f"Fewer than {FEWEST} paired seeds are not tested ({UNKNOWN}).")
    failed = frame.filter(frame["metric"] == frame["metric"][0])["failed"].sum()
    if failed:
        notes.append(f"{_count(int(failed), 'failed run')} left out.")
    alone = frame.filter(frame["verdict"].is_null() & (frame["n"] > 0)).select(*comparison.keys, "agent").n_unique()
    if alone:
        notes.append(f"{_count(alone, 'row')} without a seed in common with the baseline.")
    if len(comparison.versions) > 1:
        notes.append(f"Different versions of Binwright wrote these runs: {escape(', '.join(comparison.versions))}.")
    same = [metric.escaped(escape) for metric in comparison.same]
    notes.append(in_one_note(comparison.done, same, points=bool(comparison.keys)))
    return "\n".join([*warnings, " ".join(filter(None, notes))])


def _wherefore(comparison: Differences) -> str:
    """Say what follows from what p-values are corrected for."""
    if comparison.is_named:
        return ", as if it had been chosen before anybody saw results"
    if comparison.is_since:
        return ""
    return "; they are the same for any baseline, and --baseline asks for the comparisons with one alone"


def blocks(comparison: Differences, escape: Escape = str) -> Iterator[tuple[Metric, list[tuple[dict[str, Any], Line]]]]:
    """Yield every metric with its rows, and the cells of each as text."""
    by_metric = comparison.frame.partition_by("metric", as_dict=True)
    for metric in [metric for metric in comparison.metrics if metric not in comparison.same]:
        known = metric.escaped(escape)
        rows = by_metric[metric.name,].iter_rows(named=True)
        yield metric, [(row, _line(comparison, known, row, escape)) for row in rows]


def headings(comparison: Differences, escape: Escape = str, *, short: bool = False) -> Line:
    """Return the headings of the cells in a line of `blocks`; of keys their ends alone, where they are `short`."""
    heads = [comparison.short(key) if short else comparison.heading(key) for key in comparison.shown_keys]
    heads = ["agent" if head == "of" else head for head in heads] if comparison.is_since else heads
    agent = "results" if comparison.is_since else "agent"
    numbers = ["mean", "difference", "verdict", "%", "p", "runs", "seeds for 1 %"]
    return [escape(head) for head in (*heads, agent, *numbers)]


def broken(comparison: Differences, limit: Limit) -> list[str]:
    """Say which rows are beyond a limit, a line each."""
    lines = []
    for row in comparison.beyond(limit).iter_rows(named=True):
        point = ", ".join(
            f"{comparison.heading(key)} {as_written(row[key])}" for key in comparison.shown_keys if key != "of"
        )
        agent = comparison.heading(row.get("of", row["agent"]))
        value = _mean(limit.metric, row)
        if limit.of != "mean":
            relative = "" if row["relative"] is None else f" ({_relative(row['relative'])} %)"
            value = f"{_difference(limit.metric, row)}{relative} beside {comparison.heading(comparison.baseline)}"
        lines.append(f"{agent}{f' at {point}' if point else ''}: {value}")
    return lines


def title(metric: Metric) -> str:
    """Name the metric, and say which way is better, and what differences are in."""
    points = "; differences in percentage points" if metric.unit == "%" else ""
    return metric.heading + BETTER[metric.better] + points


def _line(comparison: Differences, metric: Metric, row: dict[str, Any], escape: Escape) -> Line:
    runs = f"{row['n']}/{row['n'] + row['failed']}" if row["failed"] else str(row["n"])
    if row["verdict"] != "baseline" and row["pairs"] != row["n"]:
        runs += f" ({_count(row['pairs'], 'pair')})"
    own = row["verdict"] == "baseline"
    return [
        *(
            escape(comparison.heading(row[key]) if key == "of" else as_written(row[key]))
            for key in comparison.shown_keys
        ),
        escape(comparison.heading(row["agent"])),
        "-" if row["mean"] is None else _mean(metric, row),
        "baseline" if own else _difference(metric, row),
        {"not significant": SAME, "not tested": UNKNOWN, "baseline": "", None: "-"}.get(row["verdict"], row["verdict"]),
        "" if own else "-" if row["relative"] is None else _relative(row["relative"]),
        "" if own else "exact" if row["test"] == "exact" else _p(row["p"]),
        runs,
        "" if own else _seeds(row["seeds_for_1pct"]),
    ]


def _mean(metric: Metric, row: dict[str, Any]) -> str:
    if row["interval"] == "exact":
        return metric.exactly(row["mean"])
    if row["interval"] == "bootstrap":
        return metric.between(row["mean"], row["low"], row["high"])
    return metric.write(row["mean"], float("inf") if row["half"] is None else row["half"])


def _difference(metric: Metric, row: dict[str, Any]) -> str:
    if row["diff"] is None:
        return "-"
    if row["test"] == "exact":
        return metric.between(row["diff"], None, None, sign="+")
    return metric.between(row["diff"], row["diff_low"], row["diff_high"], sign="+")


def _relative(percent: float) -> str:
    decimals = 2 if abs(percent) < 10 else 1 if abs(percent) < 100 else 0
    return f"{percent:+,.{decimals}f}"


def _p(p: float | None) -> str:
    if p is None or isnan(p):
        return "-"
    return "<0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def _seeds(seeds: int | None) -> str:
    return "-" if seeds is None else f"{seeds:,}" if seeds <= MANY else f">{MANY:,}"


def _styles(row: dict[str, Any], line: Line) -> Line:
    return [STYLES.get(row["verdict"], "")] * len(line)


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _number(text: str, unit: str) -> str:
    """Set a cell of numbers as mathematics, for its minus signs; words and the `unit` stay as they are."""
    if not any(sign.isdigit() for sign in text):
        return {"-": "--", SAME: "$=$"}.get(text, text)
    number = text.removesuffix(f" {unit}")
    behind = text[len(number) :]
    if found := re.search(r" (\(.*\)|min|s|h|d)$", number):
        number, behind = number[: found.start()], found[0] + behind
    number = re.sub(r"(?<=\d),(?=\d)", "{,}", number).replace(" ±", r" \pm ")
    return f"${number}${behind}"


def _latex_row(cells: Line) -> str:
    return f"{' & '.join(cells)} \\\\"
