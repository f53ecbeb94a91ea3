"""How much every agent differs from a baseline on the same seeds, whether the seeds can tell, and how that is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np

from binwright.analysis.compare.groups import BASELINE, BETTER, EXACT, SAME, UNTESTED, WORSE, Groups, in_words
from binwright.analysis.compare.sheet import Cell, Sheet, hidden, latex
from binwright.analysis.compare.statistics import FEWEST, mean_interval, overlap_of
from binwright.analysis.measure.metric import Metric
from binwright.analysis.results import escaping
from binwright.analysis.results.columns import TOLERANCE, metric_named
from binwright.analysis.results.folder import ResultsFolder, as_written, combined, points_as_agents, telling_keys
from binwright.simcore.errors import ResultsError, UnknownName, suggest
from binwright.simcore.extras import pl
from binwright.simcore.types import Floats
from binwright.simcore.units import many_of

if TYPE_CHECKING:
    import rich.console

WAYS = {"higher": ", higher is better", "lower": ", lower is better", "neither": ""}
WORDS = {SAME: "=", UNTESTED: "?", BASELINE: "", None: "-"}
TESTS = {"wilcoxon": "signed-rank", "t": "t"}
STYLES = {BETTER: "best", WORSE: "wrong"}
NUMBERS = ("mean", "difference", "verdict", "%", "p", "runs")
"""docs/results/results.md says how they are computed."""


class Comparison:
    """Sets agents beside a baseline, for every point and metric; `frame` is tidy, a row per (keys..., agent, metric).

    `keys` are the swept keys, `scenario` first where there are several, and `shown_keys` those of them that do not
    follow from others; `agents` the labels; `metrics` what is compared, of which the `same` need no table, and the
    `headlines` are those that the scenario names, or the first, what is accepted, and harm; `paired` has each metric's
    differences float64 [rows, seeds]; `overlap` says that of the seeds' windows of a trace, if it is worth saying.
    docs/results/results.md says what each column is, and how it is computed.
    """

    def __init__(
        self,
        results: ResultsFolder | Sequence[ResultsFolder],
        baseline: str | None = None,
        metrics: Sequence[str] | str | None = None,
        *,
        all_pairs: bool = False,
    ) -> None:
        """Compare agents with the baseline, by default the first one.

        Who names a baseline asks for the comparisons with it, and p-values are corrected for these; without one they
        are corrected for every two agents, and so they are with `all_pairs`: when the results chose the baseline.
        """
        if not isinstance(results, ResultsFolder):
            results = results[0] if len(results) == 1 else combined(results)
        is_named = baseline is not None and not all_pairs
        results = points_as_agents(results)
        runs = results.runs if "_agent" in results.runs.columns else results.runs.with_columns(_agent=pl.col("agent"))
        self.row_heading, self.heading, self.short = results.row_heading, results.heading, results.short
        self.keys, self.done, self.unfinished = results.swept, results.done, results.unfinished
        self.shown_keys = telling_keys(runs, self.keys)
        self.agents: list[str] = runs["agent"].unique(maintain_order=True).to_list()
        known = dict.fromkeys([*runs["agent"], *runs["_agent"]])
        if baseline is not None and baseline not in known:
            remedy = suggest(baseline, known)
            if self.keys:
                alone = quote(str(runs["_agent"][0]))
                remedy += f" To compare points, run one agent alone: binwright run FILE --agents {alone} --out DIR."
            raise UnknownName("this baseline was not run", key="baseline", value=baseline, remedy=remedy)
        self.baseline = str(runs["_agent"][0]) if baseline is None else baseline
        self.same: list[Metric] = []
        if not metrics:
            choice = results.choose()
            self.same = choice.same
            self.metrics = [*choice.first, *choice.others, *choice.same]
            named = {choice.first[0].name, *results.headlines} if choice.first else set()
            self.headlines = [
                metric
                for metric in [*choice.first, *choice.others]
                if metric.name in named or metric.name.startswith("acceptance") or metric.table == "harm"
            ]
        else:
            names = dict.fromkeys([metrics] if isinstance(metrics, str) else metrics)
            self.metrics = [metric_named(name, self.done, results.metrics) for name in names]
            self.headlines = self.metrics
        self.overlap = overlap_of(runs, self.keys)
        groups = Groups(runs, self.keys)
        heads, point = groups.heads, groups.point
        mine = runs.filter(pl.any_horizontal(pl.col("agent", "_agent") == self.baseline))["agent"].to_list()
        own = np.flatnonzero(heads["agent"].is_in(mine))[::-1]
        bases = np.full(int(point.max()) + 1, -1)
        bases[point[own]] = own  # the first one of a point, where folders have several
        base = bases[point]
        seeds = groups.matrix("seed")
        others = np.isfinite(seeds[base != np.arange(len(base))])
        if others.any() and np.isnan(groups.against(seeds, base)).all():
            problem = f"unpaired seeds: the baseline {self.baseline!r} finished no point and seed of any other agent"
            remedy = "Run all agents with the same `seed`, `replications` and sweep, or name another --baseline."
            raise ResultsError(problem, remedy=remedy)
        self.paired = dict[str, Floats]()
        columns, largest, numbered = [], 0, heads.with_row_index("_row")
        for metric in self.metrics:
            frame, self.paired[metric.name], family = groups.beside(metric, base, is_named=is_named)
            largest = max(largest, family)
            columns.append(numbered.with_columns(metric=pl.lit(metric.name)).hstack(frame))
        empty = heads.with_columns(metric=pl.lit("")).clear()
        self.frame = pl.concat(columns).sort("_row", maintain_order=True).drop("_row") if columns else empty
        beside = f" with {self.heading(self.baseline)}" if is_named else ""
        self.family = in_words(largest, apart=bool(self.keys), beside=beside)
        """Which comparisons the p-values are corrected for, in words; "" where nothing was tested."""

    # -- what is shown ---------------------------------------------------------------------------------------------

    def sheets(self, whole: bool = True) -> list[Sheet]:
        """Make a table for each metric that is not the same everywhere, or for headlines and harm."""
        keys, result = [self.short(key) for key in self.shown_keys], []
        for metric in [each for each in (self.metrics if whole else self.headlines) if each not in self.same]:
            rows = self.frame.filter(self.frame["metric"] == metric.name).to_dicts()
            sizes = [metric.shared_size(row[name] for row in rows) for name in ("mean", "diff")]
            cells = [self._cells(metric, row, *sizes) for row in rows]
            points = "; differences in percentage points" if metric.unit == "%" else ""
            title = metric.heading + WAYS[metric.better] + points
            groups = [tuple(row[key] for key in self.shown_keys) for row in rows]
            result.append(
                Sheet([*keys, self.row_heading, *NUMBERS], cells, len(keys) + 1, title, groups, ("mean", "verdict"))
            )
        return result

    def _cells(
        self, metric: Metric, row: dict[str, Any], size: float | None, of_differences: float | None
    ) -> list[Cell]:
        """Write a row of the frame, times in the units of these sizes."""
        diff, own = row["diff"], row["verdict"] == BASELINE
        runs = f"{row['n']}/{row['n'] + row['failed']}" if row["failed"] else str(row["n"])
        if not own and row["pairs"] != row["n"]:
            runs += f" ({many_of(row['pairs'], 'pair')})"
        difference = "-"
        if diff is not None:
            ends = (None, None) if row["test"] == EXACT else (row["diff_low"], row["diff_high"])
            difference = metric.between(diff, *ends, sign="+", size=of_differences)
        verdict = WORDS.get(row["verdict"], row["verdict"])
        against = [difference, verdict, _relative(row["relative"]), "exact" if row["test"] == EXACT else _p(row["p"])]
        against = ["baseline", verdict, "", ""] if own else against
        texts = [self.heading(row["agent"]), mean_of(metric, row, size), *against, runs]
        keys, style = [as_written(row[key]) for key in self.shown_keys], STYLES.get(row["verdict"], "")
        return [*map(Cell, keys), *(Cell(text, style) for text in texts)]

    @property
    def legend(self) -> str:
        """Say what the columns mean, and what was left out."""
        frame = self.frame
        if not len(frame):
            return "No run finished: there is nothing to compare."
        timed = [metric.name for metric in self.metrics if metric.timed]
        drawn = frame.filter(frame["interval"].ne_missing(EXACT), ~frame["metric"].is_in(timed), frame["n"] > 0)
        paired = frame.filter(frame["pairs"] > 0, frame["test"].ne_missing(EXACT))
        parts = ["Mean ± half of its 95 % t interval over the seeds"]
        parts += ["values without an interval are exact"] * (EXACT in frame["interval"])
        if "t" not in frame["interval"]:
            parts = ["One seed: no intervals and no tests" if len(drawn) else "Nothing was drawn: values are exact"]
        if len(paired):
            parts.append(f"differences to {self.heading(self.baseline)} are paired by seed")
            tests = " and ".join(words for test, words in TESTS.items() if test in paired["test"])
            corrected = f"their intervals and verdicts are by {tests} tests, {self.family}"
            parts += [f"{corrected}; {WORDS[SAME]} is not significant"] * bool(self.family)
            few = (paired["pairs"] < FEWEST).any()
            parts += [f"fewer than {FEWEST} paired seeds are not tested ({WORDS[UNTESTED]})"] * few
        notes = [f"{'; '.join(parts)}."]
        if failed := frame.filter(frame["metric"] == frame["metric"][0])["failed"].sum():
            notes.append(f"{many_of(int(failed), 'failed run')} left out.")
        notes.append(joint_note(self.done, self.same, points=bool(self.keys)))
        return "\n".join(filter(None, [self.unfinished, self.overlap, " ".join(filter(None, notes))]))

    def rich(self, width: int, *, whole: bool = True) -> rich.console.Group:
        """Show a table per metric in a terminal that is `width` characters wide."""
        from rich.console import Group
        from rich.text import Text

        sheets = self.sheets(whole)
        more = [metric.heading for metric in self.metrics if metric not in (*self.same, *self.headlines) and not whole]
        notes = [escaping.plain(self.legend), hidden(sheets, width, "give --out FILE.md")]
        notes += [f"--all has {', '.join(map(escaping.plain, more))}."] * bool(more)
        tables = [sheet.terminal(width) for sheet in sheets]
        return Group(*tables, Text(" ".join(filter(None, notes)), style="italic"))

    def markdown(self) -> str:
        """Write a Markdown table per metric."""
        legend = "\n".join(map(escaping.markdown, self.legend.splitlines()))
        return "\n\n".join([*(sheet.markdown() for sheet in self.sheets()), legend]) + "\n"

    def latex(self) -> str:
        r"""Write one table for a paper: needs `\usepackage{booktabs}`."""
        return latex(self.sheets(), self.legend)

    def csv(self) -> str:
        """Write the whole frame."""
        return self.frame.write_csv()

    __str__ = _repr_markdown_ = markdown


def mean_of(metric: Metric, row: Mapping[str, Any], size: float | None) -> str:
    """Write the mean of a group, with its interval unless it is exact; times in the unit of a `size`."""
    if row["mean"] is None:
        return "-"
    return metric.write(row["mean"], inf if row["half"] is None else row["half"], size, exact=row["interval"] == EXACT)


def joint_note(done: pl.DataFrame, same: Sequence[Metric], *, points: bool) -> str:
    """Say the values of metrics that are the same for all agents, and at all `points` of a sweep; "" for none."""
    notes = []
    for metric in same:
        values = done.drop_nulls(metric.name).unique("seed")[metric.name].cast(float).to_numpy()
        mean, half = mean_interval(values)
        half = inf if half <= TOLERANCE * abs(mean) else half  # the same in all seeds: ±0 would be of no interest
        heading = metric.heading.removesuffix(" %")
        percent = " %" if heading != metric.heading else ""
        notes.append(f"{heading} {metric.write(mean, half)}{percent}")
    return f"The same for all agents{' at all points' if points else ''}: {', '.join(notes)}." if notes else ""


def _relative(percent: float | None) -> str:
    if percent is None:
        return "-"
    decimals = 2 if abs(percent) < 10 else 1 if abs(percent) < 100 else 0
    return f"{percent:+,.{decimals}f}"


def _p(p: float | None) -> str:
    if p is None:
        return "-"
    return "<0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"
