"""A comparison as people use it: the differences, and how they are shown in a terminal, Markdown, LaTeX and CSV."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Any

from binwright.analysis.compare.differences import BASELINE, SAME, UNTESTED, Differences
from binwright.analysis.compare.sheet import Cell, Sheet, latex, widest
from binwright.analysis.compare.statistics import FEWEST
from binwright.analysis.compare.table import in_one_note
from binwright.analysis.measure.condition import Limit
from binwright.analysis.measure.metric import Metric
from binwright.analysis.results import escaping
from binwright.analysis.results.folder import as_written

if TYPE_CHECKING:
    import rich.console

MOST = 100
"""More rows of a metric than that a terminal does not get."""
MANY = 1_000_000
"""More seeds than that nobody runs."""
WAYS = {"higher": ", higher is better", "lower": ", lower is better", "neither": ""}
WORDS = {SAME: "=", UNTESTED: "?", BASELINE: "", None: "-"}
STYLES = {"better": "best", "worse": "wrong"}
NUMBERS = {
    "mean": "over the runs, with its 95 % interval",
    "difference": "mean of the differences to the baseline, paired by seed, and its 95 % interval, uncorrected",
    "verdict": "better or worse than the baseline by the corrected p-values; = not significant; ? not "
    "tested, with fewer than five seeds in common",
    "%": "the difference in % of the baseline's mean",
    "p": "of the signed-rank test where it can tell anything, else of the paired t-test; corrected by Holm over all "
    "pairs of agents at this point, whatever the baseline",
    "runs": "finished runs",
    "seeds for 1 %": "how many seeds would show a difference of 1 % of the baseline's mean",
}


class Comparison(Differences):
    """Differences that can show themselves. docs/guides/results.md says what each column is, and how it is computed."""

    @property
    def sheets(self) -> list[Sheet]:
        """A table for each metric that is not the same everywhere."""
        return [self._sheet(metric) for metric in self.metrics if metric not in self.same]

    def _sheet(self, metric: Metric) -> Sheet:
        keys = ["agent" if key == "of" else self.short(key) for key in self.shown_keys]
        heads = [*keys, "results" if self.is_since else self.row_heading, *NUMBERS]
        rows = self.frame.filter(self.frame["metric"] == metric.name).to_dicts()
        words = len(keys) + 1
        points = "; differences in percentage points" if metric.unit == "%" else ""
        return Sheet(
            heads,
            [self._cells(metric, row) for row in rows],
            words,
            metric.heading + WAYS[metric.better] + points,
            groups=[tuple(row[key] for key in self.shown_keys) for row in rows],
            foremost=[words + 2, words + 1],
            meanings=["a key of the sweep"] * len(keys) + ["", *NUMBERS.values()],
        )

    def _cells(self, metric: Metric, row: dict[str, Any]) -> list[Cell]:
        runs = f"{row['n']}/{row['n'] + row['failed']}" if row["failed"] else str(row["n"])
        own = row["verdict"] == BASELINE
        if not own and row["pairs"] != row["n"]:
            runs += f" ({_count(row['pairs'], 'pair')})"
        style = STYLES.get(row["verdict"], "")
        keys = [self.heading(row[key]) if key == "of" else as_written(row[key]) for key in self.shown_keys]
        mean, diff = (None if row[name] is None else metric.plain(row[name]) for name in ("mean", "diff"))
        return [
            *map(Cell, keys),
            Cell(self.heading(row["agent"]), style=style),
            Cell("-" if row["mean"] is None else _mean(metric, row), mean, style),
            Cell("baseline" if own else _difference(metric, row), diff, style),
            Cell(WORDS.get(row["verdict"], row["verdict"]), style=style),
            Cell("" if own else _relative(row["relative"]), row["relative"], style),
            Cell("" if own else "exact" if row["test"] == "exact" else _p(row["p"]), row["p"], style),
            Cell(runs, row["n"], style),
            Cell("" if own else _seeds(row["seeds_for_1pct"]), row["seeds_for_1pct"], style),
        ]

    @property
    def legend(self) -> str:
        """Say what the columns mean, and what was left out."""
        frame = self.frame
        if not len(frame):
            return "No run finished: there is nothing to compare."
        exact, intervals = frame["interval"].eq_missing("exact"), frame["interval"].drop_nulls().unique()
        paired = frame.filter(frame["pairs"] > 0, frame["test"].ne_missing("exact"))
        said = ["Mean ± half of its 95 % t interval over the seeds"]
        said[0] += ", or [low, high] by bootstrap where a metric is skewed" * ("bootstrap" in intervals)
        if not {"t", "bootstrap"} & {*intervals}:
            timed = {metric.name for metric in self.metrics if metric.timed}
            drawn = frame.filter(~exact, frame["n"] > 0, ~frame["metric"].is_in(list(timed)))
            said = ["One seed: no intervals and no tests" if len(drawn) or not exact.any() else
                    "Nothing was drawn: values and differences are exact, other seeds give the same"]  # fmt: skip
        elif exact.any():
            said.append("values without an interval are exact")
        if len(paired):
            said.append(f"differences to {self.heading(self.baseline)} are paired by seed")
            said += [f"verdicts are by {self.family}, {WORDS[SAME]} is not significant"] * bool(self.family)
            few = (paired["pairs"] < FEWEST).any()
            said += [f"fewer than {FEWEST} paired seeds are not tested ({WORDS[UNTESTED]})"] * few
        notes = [f"{'; '.join(said)}."]
        if failed := frame.filter(frame["metric"] == frame["metric"][0])["failed"].sum():
            notes.append(f"{_count(int(failed), 'failed run')} left out.")
        unpaired = frame.filter(frame["verdict"].is_null() & (frame["n"] > 0))
        if alone := unpaired.select(*self.keys, "agent").n_unique() if len(unpaired) else 0:
            notes.append(f"{_count(alone, 'row')} without a seed in common with the baseline.")
        if len(self.versions) > 1:
            notes.append(f"Different versions of Binwright wrote these runs: {', '.join(self.versions)}.")
        notes.append(in_one_note(self.done, self.same, points=bool(self.keys)))
        warnings = [str(one) for one in (self.overlap, self.outside) if one]
        return "\n".join([*warnings, " ".join(filter(None, notes))])

    def rich(self, width: int) -> rich.console.Group:
        """Show a table per metric in a terminal that is `width` characters wide."""
        from rich.console import Group
        from rich.text import Text

        sheets = self.sheets
        how: dict[str, Any] = {"whole": widest(sheets, MOST), "otherwise": "give --format markdown"}
        tables = [sheet.terminal(width, most=MOST, **how) for sheet in sheets]
        return Group(*tables, Text(escaping.plain(self.legend), style="italic"))

    def markdown(self) -> str:
        """Write a Markdown table per metric."""
        legend = "\n".join(map(escaping.markdown, self.legend.splitlines()))
        return "\n\n".join([*(sheet.markdown() for sheet in self.sheets), legend]) + "\n"

    def latex(self) -> str:
        r"""Write one table for a paper: needs `\usepackage{booktabs}`."""
        return latex(self.sheets, self.legend)

    def csv(self) -> str:
        """Write the whole frame."""
        text: str = self.frame.write_csv()
        return text

    def broken(self, limit: Limit) -> list[str]:
        """Say which rows are beyond a limit, a line each."""
        lines = []
        for row in self.beyond(limit).iter_rows(named=True):
            keys = [key for key in self.shown_keys if key != "of"]
            point = ", ".join(f"{self.heading(key)} {as_written(row[key])}" for key in keys)
            value = _mean(limit.metric, row)
            if limit.of != "mean":
                relative = "" if row["relative"] is None else f" ({_relative(row['relative'])} %)"
                value = f"{_difference(limit.metric, row)}{relative} beside {self.heading(self.baseline)}"
            lines.append(f"{self.heading(row.get('of', row['agent']))}{f' at {point}' if point else ''}: {value}")
        return lines

    def __str__(self) -> str:
        return self.markdown()

    def _repr_markdown_(self) -> str:
        return self.markdown()


def _mean(metric: Metric, row: dict[str, Any]) -> str:
    if row["interval"] == "exact":
        return metric.exactly(row["mean"])
    if row["interval"] == "bootstrap":
        return metric.between(row["mean"], row["low"], row["high"])
    return metric.write(row["mean"], float("inf") if row["half"] is None else row["half"])


def _difference(metric: Metric, row: dict[str, Any]) -> str:
    if row["diff"] is None:
        return "-"
    low, high = (None, None) if row["test"] == "exact" else (row["diff_low"], row["diff_high"])
    return metric.between(row["diff"], low, high, sign="+")


def _relative(percent: float | None) -> str:
    if percent is None:
        return "-"
    decimals = 2 if abs(percent) < 10 else 1 if abs(percent) < 100 else 0
    return f"{percent:+,.{decimals}f}"


def _p(p: float | None) -> str:
    if p is None or isnan(p):
        return "-"
    return "<0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def _seeds(seeds: int | None) -> str:
    return "-" if seeds is None else f"{seeds:,}" if seeds <= MANY else f">{MANY:,}"


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
