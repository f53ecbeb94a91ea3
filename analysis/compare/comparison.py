"""How much every agent differs from a baseline on the same seeds, whether the seeds can tell, and how that is shown."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isnan
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from binwright.analysis.compare.sheet import Cell, Sheet, hidden, latex
from binwright.analysis.compare.statistics import (
    FEWEST,
    Family,
    by_count,
    differences,
    in_words,
    mean_interval,
)
from binwright.analysis.compare.table import in_one_note
from binwright.analysis.measure.metric import Metric
from binwright.analysis.measure.overlap import overlap_of
from binwright.analysis.results import escaping
from binwright.analysis.results.columns import Groups, metric_named
from binwright.analysis.results.combined import Together, points_as_agents
from binwright.analysis.results.folder import ResultsFolder, as_written, telling_keys
from binwright.simcore.errors import ResultsError, UnknownName, suggest
from binwright.simcore.types import Floats, Ints
from binwright.simcore.units import many_of

if TYPE_CHECKING:
    import polars as pl
    import rich.console

BASELINE, BETTER, WORSE, MORE, LESS = "baseline", "better", "worse", "more", "less"
EQUAL, SAME, UNTESTED = "equal", "not significant", "not tested"
UP_AND_DOWN = {"higher": (BETTER, WORSE), "lower": (WORSE, BETTER), "neither": (MORE, LESS)}

MOST = 100
"""More rows of a metric than that a terminal does not get."""
WAYS = {"higher": ", higher is better", "lower": ", lower is better", "neither": ""}
WORDS = {SAME: "=", UNTESTED: "?", BASELINE: "", None: "-"}
STYLES = {BETTER: "best", WORSE: "wrong"}
NUMBERS = ("mean", "difference", "verdict", "%", "p", "runs")
"""docs/results/results.md says how they are computed."""


class Comparison:
    """Sets agents beside a baseline, for every point and metric; `frame` is tidy, a row per (keys..., agent, metric).

    `keys` are the swept keys, `scenario` first where there are several, and `shown_keys` those of them that do not
    follow from others; `points` their values; `agents` the labels; `metrics` what is compared, of which the `same` need
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
        import polars as pl

        if metrics is not None and not metrics:
            remedy = "Name one, or leave it out for all worth showing."
            raise ResultsError("no metric is named", key="metrics", remedy=remedy)
        if not isinstance(results, ResultsFolder):
            results = results[0] if len(results) == 1 else Together(results)
        self.is_named = baseline is not None and not all_pairs
        results = points_as_agents(results)
        runs = results.runs if "_agent" in results.runs.columns else results.runs.with_columns(_agent=pl.col("agent"))
        self.row_heading, self.heading, self.short = results.row_heading, results.heading, results.short
        self.keys, self.done = results.swept, results.done
        self.shown_keys = telling_keys(runs, self.keys)
        self.agents: list[str] = runs["agent"].unique(maintain_order=True).to_list()
        self.versions: list[str] = runs["version"].unique().drop_nulls().sort().to_list()
        self.baseline = _known_baseline(baseline, runs)
        self.same: list[Metric] = []
        if metrics is None:
            choice = results.choose()
            self.same = choice.same
            self.metrics = [*choice.first, *choice.others, *choice.same]
        else:
            names = dict.fromkeys([metrics] if isinstance(metrics, str) else metrics)
            self.metrics = [metric_named(name, self.done, results.metrics) for name in names]
        self.overlap = overlap_of(runs, self.keys)
        self._groups = Groups(runs, self.keys)
        named = (runs["agent"] == self.baseline) | (runs["_agent"] == self.baseline)
        self._base = self._bases(runs.filter(named)["agent"].unique().to_list())
        self._own: npt.NDArray[np.bool_] = np.equal(self._base, np.arange(len(self._base)))
        heads = self._groups.heads
        self.points: list[tuple[Any, ...]] = (
            heads.select(self.keys).unique(maintain_order=True).rows() if self.keys else [()]
        )
        self._check_pairs()
        self.families: dict[str, int] = {}
        columns = [
            heads.with_columns(pl.Series("metric", [metric.name] * len(heads), pl.String), *self._statistics(metric))
            for metric in self.metrics
        ]
        order = heads.with_row_index("_row").select("_row")
        self.frame: pl.DataFrame = (
            pl.concat([order.hstack(one) for one in columns]).sort("_row", maintain_order=True).drop("_row")
            if columns
            else heads.with_columns(pl.lit("").alias("metric")).clear()
        )

    def _bases(self, labels: list[str]) -> Ints:
        """Find the baseline's group at the point of each group, int64 [groups]; -1 where it was not run."""
        groups = self._groups
        bases = np.full(int(groups.point.max()) + 1, -1)
        mine = np.flatnonzero(groups.heads["agent"].is_in(labels).to_numpy())[::-1]
        bases[groups.point[mine]] = mine  # the first one, where folders have several
        found: Ints = bases[groups.point]
        return found

    def _check_pairs(self) -> None:
        seeds = self._groups.matrix("seed")
        if np.isfinite(seeds[~self._own]).any() and np.isnan(self._against(seeds)).all():
            problem = f"unpaired seeds: the baseline {self.baseline!r} finished no point and seed of any other agent"
            remedy = "Run all agents with the same `seed`, `replications` and sweep, or name another --baseline."
            raise ResultsError(problem, remedy=remedy)

    def _against(self, values: Floats) -> Floats:
        """Put the baseline's values in the place of each group's, float64 [groups, seeds]; NaN in its own row."""
        there = (self._base >= 0) & ~self._own
        return np.where(there[:, None] & ~np.isnan(values), values[self._base], np.nan)

    @property
    def family(self) -> str:
        """Which comparisons the p-values are corrected for, in words; "" where nothing was tested."""
        size = max(self.families.values(), default=0)
        beside = f"with {self.heading(self.baseline)}" if self.is_named else ""
        return in_words(size, apart=bool(self.keys), beside=beside) if size else ""

    def _statistics(self, metric: Metric) -> list[pl.Series]:
        """Compute the columns of a metric, each [groups]."""
        import polars as pl

        values = self._groups.matrix(metric.name)
        n = (~np.isnan(values)).sum(axis=1)
        mean, half = by_count(values, mean_interval, 2)
        exact = self._groups.exact(metric)
        half[exact] = 0.0
        low, high = metric.ends(mean, half)

        own, against = self._own, self._against(values)
        difference = differences(values, against)
        pairs = (~np.isnan(difference)).sum(axis=1)
        diff, diff_half = by_count(difference, mean_interval, 2)
        (base,) = by_count(against, lambda some: (some.mean(axis=1),), 1)
        family = Family(self._groups, metric, base=self._base if self.is_named else None)
        self.families[metric.name] = family.size
        answers = family.beside(self._base)
        diff_half[answers["exact"]] = 0.0
        up, down = UP_AND_DOWN[metric.better]
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = 100 * diff / abs(base)
        tested = ~np.isnan(answers["p"])
        verdicts = {
            BASELINE: own,
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
            "mean": mean,
            "low": low,
            "high": high,
            "interval": _first_of({"exact": exact & (n > 0), "t": n > 1}),
            "half": half,
            "pairs": np.where(own, 0, pairs),
            "diff": diff,
            "diff_low": diff - diff_half,
            "diff_high": diff + diff_half,
            "relative": relative,
            "p": answers["p"],
            "p_alone": answers["alone"],
            "test": _first_of({"exact": answers["exact"] & (pairs > 0), "wilcoxon": answers["ranks"], "t": tested}),
            "verdict": _first_of(verdicts),
        }
        found = []
        for name, column in columns.items():
            if column.dtype.kind == "f":
                column = np.where(np.isfinite(column), column, np.nan)
            kind = pl.String if column.dtype.kind == "O" else None
            found.append(pl.Series(name, column.tolist() if kind else column, kind, nan_to_null=True))
        return found

    # -- what is shown ---------------------------------------------------------------------------------------------

    @property
    def sheets(self) -> list[Sheet]:
        """A table for each metric that is not the same everywhere."""
        return [self._sheet(metric) for metric in self.metrics if metric not in self.same]

    def _sheet(self, metric: Metric) -> Sheet:
        keys = [self.short(key) for key in self.shown_keys]
        rows = self.frame.filter(self.frame["metric"] == metric.name).to_dicts()
        words = len(keys) + 1
        points = "; differences in percentage points" if metric.unit == "%" else ""
        return Sheet(
            [*keys, self.row_heading, *NUMBERS],
            [self._cells(metric, row) for row in rows],
            words,
            metric.heading + WAYS[metric.better] + points,
            groups=[tuple(row[key] for key in self.shown_keys) for row in rows],
            foremost=[words + 2, words + 1],
        )

    def _cells(self, metric: Metric, row: dict[str, Any]) -> list[Cell]:
        runs = f"{row['n']}/{row['n'] + row['failed']}" if row["failed"] else str(row["n"])
        own = row["verdict"] == BASELINE
        if not own and row["pairs"] != row["n"]:
            runs += f" ({many_of(row['pairs'], 'pair')})"
        style = STYLES.get(row["verdict"], "")
        mean, diff = (None if row[name] is None else metric.plain(row[name]) for name in ("mean", "diff"))
        numbers = (
            ("-" if row["mean"] is None else _mean(metric, row), mean),
            ("baseline" if own else _difference(metric, row), diff),
            (WORDS.get(row["verdict"], row["verdict"]), None),
            ("" if own else _relative(row["relative"]), row["relative"]),
            ("" if own else "exact" if row["test"] == "exact" else _p(row["p"]), row["p"]),
            (runs, row["n"]),
        )
        keys = [as_written(row[key]) for key in self.shown_keys]
        agent = Cell(self.heading(row["agent"]), style=style)
        return [*map(Cell, keys), agent, *(Cell(text, value, style) for text, value in numbers)]

    @property
    def legend(self) -> str:
        """Say what the columns mean, and what was left out."""
        frame = self.frame
        if not len(frame):
            return "No run finished: there is nothing to compare."
        exact, intervals = frame["interval"].eq_missing("exact"), frame["interval"].drop_nulls().unique()
        paired = frame.filter(frame["pairs"] > 0, frame["test"].ne_missing("exact"))
        said = ["Mean ± half of its 95 % t interval over the seeds"]
        if "t" not in intervals:
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
            notes.append(f"{many_of(int(failed), 'failed run')} left out.")
        unpaired = frame.filter(frame["verdict"].is_null() & (frame["n"] > 0))
        if alone := unpaired.select(*self.keys, "agent").n_unique() if len(unpaired) else 0:
            notes.append(f"{many_of(alone, 'row')} without a seed in common with the baseline.")
        if len(self.versions) > 1:
            notes.append(f"Different versions of Binwright wrote these runs: {', '.join(self.versions)}.")
        notes.append(in_one_note(self.done, self.same, points=bool(self.keys)))
        warnings = [str(self.overlap)] if self.overlap else []
        return "\n".join([*warnings, " ".join(filter(None, notes))])

    def rich(self, width: int) -> rich.console.Group:
        """Show a table per metric in a terminal that is `width` characters wide."""
        from rich.console import Group
        from rich.text import Text

        sheets = self.sheets
        notes = [escaping.plain(self.legend), hidden(sheets, width, MOST, "give --out FILE.md")]
        tables = [sheet.terminal(width, most=MOST) for sheet in sheets]
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
        text: str = self.frame.write_csv()
        return text

    def __str__(self) -> str:
        return self.markdown()

    def _repr_markdown_(self) -> str:
        return self.markdown()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.frame)} rows, baseline {self.baseline!r})"


def _first_of(choices: dict[Any, Any]) -> Any:
    """Pick for each group the word of the first choice that holds, object [groups]; None where none does."""
    return np.select([*choices.values()], [np.array(word, object) for word in choices], np.array(None, object))


def _known_baseline(name: str | None, runs: pl.DataFrame) -> str:
    """Return the agent of this name, or the first of the runs."""
    if name is None:
        return str(runs["_agent"][0])
    known = dict.fromkeys([*runs["agent"], *runs["_agent"]])
    if name not in known:
        raise UnknownName("this baseline was not run", key="baseline", value=name, remedy=suggest(name, known))
    return name


def _mean(metric: Metric, row: dict[str, Any]) -> str:
    if row["interval"] == "exact":
        return metric.exactly(row["mean"])
    return metric.write(row["mean"], inf if row["half"] is None else row["half"])


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
