"""How much every agent differs from a baseline on the same seeds, whether the seeds can tell, and how that is shown."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from binwright.analysis.compare.sheet import Cell, Sheet, hidden, latex
from binwright.analysis.compare.statistics import (
    FEWEST,
    Bools,
    Family,
    Groups,
    by_count,
    differences,
    in_words,
    mean_interval,
    overlap_of,
)
from binwright.analysis.compare.table import in_one_note
from binwright.analysis.measure.metric import Metric
from binwright.analysis.results import escaping
from binwright.analysis.results.columns import metric_named
from binwright.analysis.results.folder import CombinedResults, ResultsFolder, as_written, points_as_agents, telling_keys
from binwright.simcore.errors import ResultsError, UnknownName, suggest
from binwright.simcore.extras import pl
from binwright.simcore.types import Floats, Ints
from binwright.simcore.units import many_of

if TYPE_CHECKING:
    import rich.console

BASELINE, BETTER, WORSE, MORE, LESS = "baseline", "better", "worse", "more", "less"
EQUAL, SAME, UNTESTED = "equal", "not significant", "not tested"
UP_AND_DOWN = {"higher": (BETTER, WORSE), "lower": (WORSE, BETTER), "neither": (MORE, LESS)}

WAYS = {"higher": ", higher is better", "lower": ", lower is better", "neither": ""}
WORDS = {SAME: "=", UNTESTED: "?", BASELINE: "", None: "-"}
STYLES = {BETTER: "best", WORSE: "wrong"}
NUMBERS = ("mean", "difference", "verdict", "%", "p", "runs")
"""docs/results/results.md says how they are computed."""


class Comparison:
    """Sets agents beside a baseline, for every point and metric; `frame` is tidy, a row per (keys..., agent, metric).

    `keys` are the swept keys, `scenario` first where there are several, and `shown_keys` those of them that do not
    follow from others; `agents` the labels; `metrics` what is compared, of which the `same` need
    no table; `families` how many comparisons by each are corrected for at most, as `family` says in words; `overlap`
    that of the seeds' windows of a trace, if it is worth saying; `versions` those of Binwright that wrote the runs.
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
            results = results[0] if len(results) == 1 else CombinedResults(results)
        self.is_named = baseline is not None and not all_pairs
        results = points_as_agents(results)
        runs = results.runs if "_agent" in results.runs.columns else results.runs.with_columns(_agent=pl.col("agent"))
        self.row_heading, self.heading, self.short = results.row_heading, results.heading, results.short
        self.keys, self.done, self.unfinished = results.swept, results.done, results.unfinished
        self.shown_keys = telling_keys(runs, self.keys)
        self.agents: list[str] = runs["agent"].unique(maintain_order=True).to_list()
        self.versions: list[str] = runs["version"].unique().drop_nulls().sort().to_list()
        known = dict.fromkeys([*runs["agent"], *runs["_agent"]])
        if baseline is not None and baseline not in known:
            remedy = suggest(baseline, known)
            raise UnknownName("this baseline was not run", key="baseline", value=baseline, remedy=remedy)
        self.baseline = str(runs["_agent"][0]) if baseline is None else baseline
        self.same: list[Metric] = []
        if not metrics:
            choice = results.choose()
            self.same = choice.same
            self.metrics = [*choice.first, *choice.others, *choice.same]
        else:
            names = dict.fromkeys([metrics] if isinstance(metrics, str) else metrics)
            self.metrics = [metric_named(name, self.done, results.metrics) for name in names]
        self.overlap = overlap_of(runs, self.keys)
        self._groups = Groups(runs, self.keys)
        heads, point = self._groups.heads, self._groups.point
        mine = runs.filter((pl.col("agent") == self.baseline) | (pl.col("_agent") == self.baseline))
        base = np.flatnonzero(heads["agent"].is_in(mine["agent"].unique().to_list()).to_numpy())[::-1]
        bases = np.full(int(point.max()) + 1, -1)
        bases[point[base]] = base  # the first one of a point, where folders have several
        self._base: Ints = bases[point]
        """The baseline's group at the point of each group, int64 [groups]; -1 where it was not run."""
        self._own: Bools = np.equal(self._base, np.arange(len(self._base)))
        self._check_pairs()
        self.families, self.paired = dict[str, int](), dict[str, Floats]()
        named = heads.with_row_index("_row")
        columns = [
            named.with_columns(metric=pl.lit(metric.name)).hstack(self._statistics(metric)) for metric in self.metrics
        ]
        empty = heads.with_columns(metric=pl.lit("")).clear()
        self.frame = pl.concat(columns).sort("_row", maintain_order=True).drop("_row") if columns else empty

    def _check_pairs(self) -> None:
        seeds = self._groups.matrix("seed")
        if np.isfinite(seeds[~self._own]).any() and np.isnan(self._against(seeds)).all():
            problem = f"unpaired seeds: the baseline {self.baseline!r} finished no point and seed of any other agent"
            remedy = "Run all agents with the same `seed`, `replications` and sweep, or name another --baseline."
            raise ResultsError(problem, remedy=remedy)

    def _against(self, values: Floats) -> Floats:
        """Put the baseline's values in the place of each group's, float64 [groups, seeds]; NaN in its own row."""
        has_base = (self._base >= 0) & ~self._own
        return np.where(has_base[:, None] & ~np.isnan(values), values[self._base], np.nan)

    @property
    def family(self) -> str:
        """Which comparisons the p-values are corrected for, in words; "" where nothing was tested."""
        size = max(self.families.values(), default=0)
        beside = f"with {self.heading(self.baseline)}" if self.is_named else ""
        return in_words(size, apart=bool(self.keys), beside=beside) if size else ""

    def _statistics(self, metric: Metric) -> pl.DataFrame:
        """Compute the columns of a metric, a row per group."""
        family = Family(self._groups, metric, base=self._base if self.is_named else None)
        self.families[metric.name] = family.size
        values, n = family.values, (~np.isnan(family.values)).sum(axis=1)
        low, high = metric.ends(family.mean, family.half)
        against = self._against(values)
        self.paired[metric.name] = difference = differences(values, against)
        pairs = (~np.isnan(difference)).sum(axis=1)
        diff, diff_half = by_count(difference, mean_interval, 2)
        (base,) = by_count(against, lambda some: (some.mean(axis=1),), 1)
        answers = family.beside(self._base)
        diff_half[answers["exact"]] = 0.0
        up, down = UP_AND_DOWN[metric.better]
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = 100 * diff / abs(base)
        tested = ~np.isnan(answers["p"])
        verdicts = {
            BASELINE: self._own,
            None: pairs == 0,
            EQUAL: answers["exact"] & ~answers["told"],
            UNTESTED: ~answers["exact"] & ~tested,
            SAME: ~answers["told"],
            up: diff > 0,
            down: diff < 0,
        }
        columns: dict[str, Any] = {
            "n": n,
            "failed": self._groups.failed,
            "mean": family.mean,
            "low": low,
            "high": high,
            "interval": _first_of({"exact": family.exact & (n > 0), "t": n > 1}),
            "half": family.half,
            "pairs": np.where(self._own, 0, pairs),
            "diff": diff,
            "diff_low": diff - diff_half,
            "diff_high": diff + diff_half,
            "relative": relative,
            "p": answers["p"],
            "p_alone": answers["alone"],
            "test": _first_of({"exact": answers["exact"] & (pairs > 0), "wilcoxon": answers["ranks"], "t": tested}),
            "verdict": _first_of(verdicts),
        }
        numbers = pl.col(pl.Float64)
        return pl.DataFrame(columns).with_columns(pl.when(numbers.is_finite()).then(numbers))

    # -- what is shown ---------------------------------------------------------------------------------------------

    @property
    def sheets(self) -> list[Sheet]:
        """A table for each metric that is not the same everywhere."""
        return [self._sheet(metric) for metric in self.metrics if metric not in self.same]

    def _sheet(self, metric: Metric) -> Sheet:
        keys = [self.short(key) for key in self.shown_keys]
        rows = self.frame.filter(self.frame["metric"] == metric.name).to_dicts()
        size, of_differences = (metric.shared_size(row[name] for row in rows) for name in ("mean", "diff"))
        words = len(keys) + 1
        points = "; differences in percentage points" if metric.unit == "%" else ""
        return Sheet(
            [*keys, self.row_heading, *NUMBERS],
            [self._cells(metric, row, size, of_differences) for row in rows],
            words,
            metric.heading + WAYS[metric.better] + points,
            groups=[tuple(row[key] for key in self.shown_keys) for row in rows],
        )

    def _cells(
        self, metric: Metric, row: dict[str, Any], size: float | None, of_differences: float | None
    ) -> list[Cell]:
        """Write a row of the frame, times in the units of these sizes."""
        mean, diff, own = row["mean"], row["diff"], row["verdict"] == BASELINE
        runs = f"{row['n']}/{row['n'] + row['failed']}" if row["failed"] else str(row["n"])
        if not own and row["pairs"] != row["n"]:
            runs += f" ({many_of(row['pairs'], 'pair')})"
        shown = difference = "-"
        if mean is not None:
            half = inf if row["half"] is None else row["half"]
            exact = row["interval"] == "exact"
            shown = metric.exactly(mean, size) if exact else metric.write(mean, half, size)
        if diff is not None:
            ends = (None, None) if row["test"] == "exact" else (row["diff_low"], row["diff_high"])
            difference = metric.between(diff, *ends, sign="+", size=of_differences)
        verdict = WORDS.get(row["verdict"], row["verdict"])
        against = [difference, verdict, _relative(row["relative"]), "exact" if row["test"] == "exact" else _p(row["p"])]
        texts = [self.heading(row["agent"]), shown, *(["baseline", verdict, "", ""] if own else against), runs]
        keys, style = [as_written(row[key]) for key in self.shown_keys], STYLES.get(row["verdict"], "")
        return [*map(Cell, keys), *(Cell(text, style) for text in texts)]

    @property
    def legend(self) -> str:
        """Say what the columns mean, and what was left out."""
        frame = self.frame
        if not len(frame):
            return "No run finished: there is nothing to compare."
        exact, intervals = frame["interval"].eq_missing("exact"), frame["interval"].drop_nulls().unique()
        paired = frame.filter(frame["pairs"] > 0, frame["test"].ne_missing("exact"))
        parts = ["Mean ± half of its 95 % t interval over the seeds"]
        if "t" not in intervals:
            timed = {metric.name for metric in self.metrics if metric.timed}
            drawn = frame.filter(~exact, frame["n"] > 0, ~frame["metric"].is_in(list(timed)))
            parts = ["One seed: no intervals and no tests" if len(drawn) or not exact.any() else
                    "Nothing was drawn: values and differences are exact, other seeds give the same"]  # fmt: skip
        elif exact.any():
            parts.append("values without an interval are exact")
        if len(paired):
            parts.append(f"differences to {self.heading(self.baseline)} are paired by seed")
            parts += [f"verdicts are by {self.family}, {WORDS[SAME]} is not significant"] * bool(self.family)
            few = (paired["pairs"] < FEWEST).any()
            parts += [f"fewer than {FEWEST} paired seeds are not tested ({WORDS[UNTESTED]})"] * few
        notes = [f"{'; '.join(parts)}."]
        if failed := frame.filter(frame["metric"] == frame["metric"][0])["failed"].sum():
            notes.append(f"{many_of(int(failed), 'failed run')} left out.")
        unpaired = frame.filter(frame["verdict"].is_null() & (frame["n"] > 0))
        if alone := unpaired.select(*self.keys, "agent").n_unique() if len(unpaired) else 0:
            notes.append(f"{many_of(alone, 'row')} without a seed in common with the baseline.")
        if len(self.versions) > 1:
            notes.append(f"Different versions of Binwright wrote these runs: {', '.join(self.versions)}.")
        notes.append(in_one_note(self.done, self.same, points=bool(self.keys)))
        return "\n".join(filter(None, [self.unfinished, self.overlap, " ".join(filter(None, notes))]))

    def rich(self, width: int) -> rich.console.Group:
        """Show a table per metric in a terminal that is `width` characters wide."""
        from rich.console import Group
        from rich.text import Text

        sheets = self.sheets
        notes = [escaping.plain(self.legend), hidden(sheets, width, "give --out FILE.md")]
        tables = [sheet.terminal(width) for sheet in sheets]
        return Group(*tables, Text(" ".join(filter(None, notes)), style="italic"))

    def markdown(self) -> str:
        """Write a Markdown table per metric."""
        legend = "\n".join(map(escaping.markdown, self.legend.splitlines()))
        return "\n\n".join([*(sheet.markdown() for sheet in self.sheets), legend]) + "\n"

    def latex(self) -> str:
        r"""Write one table for a paper: needs `\usepackage{booktabs}`."""
        return latex(self.sheets, self.legend)

    def csv(self) -> str:
        """Write the whole frame."""
        return self.frame.write_csv()

    __str__ = _repr_markdown_ = markdown


def _first_of(choices: dict[str | None, Bools]) -> pl.Series:
    """Pick for each group the word of the first choice that holds, null where none does, String [groups]."""
    words = np.select([*choices.values()], [np.array(word, object) for word in choices], np.array(None, object))
    return pl.Series(words.tolist(), dtype=pl.String)


def _relative(percent: float | None) -> str:
    if percent is None:
        return "-"
    decimals = 2 if abs(percent) < 10 else 1 if abs(percent) < 100 else 0
    return f"{percent:+,.{decimals}f}"


def _p(p: float | None) -> str:
    if p is None or isnan(p):
        return "-"
    return "<0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"
