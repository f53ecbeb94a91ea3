"""Computes how much every agent differs from a baseline on the same seeds, and whether the seeds can tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from binwright.analysis.compare.family import Family, in_words
from binwright.analysis.compare.statistics import (
    FEWEST,
    bootstrap,
    by_count,
    differences,
    mean_interval,
    seeds_needed,
    skewness,
)
from binwright.analysis.measure.condition import Limit, outside_of
from binwright.analysis.measure.metric import Metric
from binwright.analysis.measure.overlap import overlap_of
from binwright.analysis.results.columns import Groups
from binwright.analysis.results.combined import NOW, points_as_agents, pooled, set_beside
from binwright.analysis.results.escaping import plain
from binwright.analysis.results.folder import ResultsFolder, short_key, telling_keys
from binwright.analysis.results.metric_choice import choose_metrics, metric_named
from binwright.simcore.errors import ResultsError, UnknownName, suggest
from binwright.simcore.types import Floats, Ints

if TYPE_CHECKING:
    import polars as pl

SKEWED, ENOUGH = 1.0, 20
"""A metric is skewed when the median |skewness| of its groups of at least so many seeds is larger than that."""
EFFECT = 0.01
"""The difference that `seeds_for_1pct` is about, as a share of the baseline's mean."""
BASELINE, BETTER, WORSE, MORE, LESS = "baseline", "better", "worse", "more", "less"
EQUAL, SAME, UNTESTED = "equal", "not significant", "not tested"


class Differences:
    """Sets agents beside a baseline, for every point and metric; `frame` is tidy, a row per (keys..., agent, metric).

    `keys` are the swept keys, `scenario` first where there are several, and `shown_keys` those of them that do not
    follow from others; `points` their values; `agents` the labels; `metrics` what is compared, of which the `same` need
    no table; `is_since` whether each agent is beside itself in earlier results: the key `of` is then the agent, and
    `agent` is `before` or `now`; `families` how many comparisons by each are corrected for at most, as `family` says in
    words; `overlap` that of the seeds' windows of a trace, if it is worth saying; `outside` which weights are used on
    something else than they were learned on; `versions` those of Binwright that wrote the runs.
    docs/guides/results.md says what each column is, and how it is computed.
    """

    def __init__(
        self,
        results: ResultsFolder | Sequence[ResultsFolder],
        baseline: str | None = None,
        metrics: Sequence[str] | str | None = None,
        since: ResultsFolder | None = None,
        *,
        all_pairs: bool = False,
    ) -> None:
        """Compare agents with the baseline, or each of them with itself in the earlier results `since`.

        Who names a baseline asks for the comparisons with it, and p-values are corrected for these; without one they
        are corrected for every two agents, and so they are with `all_pairs`: when the results chose the baseline.
        """
        import polars as pl

        if metrics is not None and not metrics:
            raise ResultsError(
                "no metric is named", key="metrics", remedy="Name one, or leave it out for all worth showing."
            )
        self.is_since = since is not None
        self.is_named = baseline is not None and not all_pairs
        several = [results] if isinstance(results, ResultsFolder) else results
        if since is not None and baseline is not None:
            remedy = "Leave out one of the two: with earlier results, each agent's baseline is itself."
            raise ResultsError("does not go with earlier results", key="baseline", value=baseline, remedy=remedy)
        several = [points_as_agents(one) for one in several] if len(several) == 1 and since is None else several
        self.row_heading = several[0].row_heading if several else "agent"
        runs, self.keys, columns = pooled(several) if since is None else set_beside(several, since)
        self.headings = columns.headings
        self.shown_keys = telling_keys(runs, self.keys)
        self.done = done = runs.filter(pl.col("status") == "done")
        self.agents: list[str] = runs["agent"].unique(maintain_order=True).to_list()
        self.versions: list[str] = runs["version"].unique().drop_nulls().sort().to_list()
        self.baseline = _known_baseline(baseline, runs)
        self.same: list[Metric] = []
        if metrics is None:
            headlines = [name for one in several for name in one.headlines]
            choice = choose_metrics(done, columns.metrics, self.keys, headlines, columns.added)
            self.same = choice.same
            self.metrics = [*choice.first, *choice.others, *choice.same]
        else:
            self.metrics = [
                metric_named(name, done, columns.metrics)
                for name in dict.fromkeys([metrics] if isinstance(metrics, str) else metrics)
            ]
        by_agent = runs.with_columns(pl.col("of").alias("agent")) if self.is_since else runs
        self.overlap, self.outside = overlap_of(runs, self.keys), outside_of(by_agent, self.keys)
        self._groups = Groups(runs, self.keys)
        named = (runs["agent"] == self.baseline) | (runs["_agent"] == self.baseline)
        self._base = self._bases(runs.filter(named)["agent"].unique().to_list())
        self._own: npt.NDArray[np.bool_] = np.equal(self._base, np.arange(len(self._base)))
        self.points: list[tuple[Any, ...]] = (
            self._groups.heads.select(self.keys).unique(maintain_order=True).rows() if self.keys else [()]
        )
        self._check_pairs()
        self.families: dict[str, int] = {}
        self.frame = self._frame()

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
        done, own = np.asarray(np.isfinite(seeds).any(axis=1)), self._own
        if not done[~own].any():
            return  # nobody to compare with
        if not done[own].any():
            raise ResultsError(
                f"every run of the baseline {self.baseline!r} failed",
                remedy="Name another one with --baseline, or mend the agent and run the scenario again.",
            )
        if np.isnan(self._against(seeds)).all():
            raise ResultsError(
                f"unpaired seeds: the baseline {self.baseline!r} shares no point and seed with any other agent",
                remedy="Run all agents with the same `seed`, `replications` and sweep, or name another --baseline.",
            )

    def _against(self, values: Floats) -> Floats:
        """Put the baseline's values in the place of each group's, float64 [groups, seeds]; NaN in its own row."""
        there = (self._base >= 0) & ~self._own
        return np.where(there[:, None] & ~np.isnan(values), values[self._base], np.nan)

    def _frame(self) -> pl.DataFrame:
        import polars as pl

        each = [self._statistics(metric) for metric in self.metrics]
        rows = np.repeat(np.arange(len(self._groups.runs)), len(each))
        heads = self._groups.heads[rows].with_columns(
            pl.Series("metric", [metric.name for metric in self.metrics] * len(self._groups.runs), pl.String)
        )
        if not each:
            return heads
        columns = []
        for name, first in each[0].items():
            values = np.stack([one[name] for one in each], axis=1).reshape(-1)
            if first.dtype.kind == "f":
                columns.append(pl.Series(name, np.where(np.isfinite(values), values, np.nan), nan_to_null=True))
            else:
                columns.append(pl.Series(name, values.tolist() if first.dtype.kind == "O" else values))
        frame = heads.with_columns(columns)
        return frame.with_columns(pl.col("seeds_for_1pct").cast(pl.Int64, strict=False))

    def _family(self, metric: Metric) -> Family:
        """Make the comparisons that are asked for: agents with their earlier selves are one family at a point."""
        together = self._groups.numbered(self.keys[:-1]) if self.is_since else None
        return Family(self._groups, metric, base=self._base if self.is_named else None, together=together)

    @property
    def family(self) -> str:
        """Which comparisons the p-values are corrected for, in words; "" where nothing was tested."""
        size = max(self.families.values(), default=0)
        beside = "with earlier results" if self.is_since else ""
        if self.is_named:
            beside = f"with {self.heading(self.baseline)}"
        return in_words(size, apart=len(self.keys) > self.is_since, beside=beside) if size else ""

    def _statistics(self, metric: Metric) -> dict[str, Any]:
        """Compute the columns of a metric, each [groups]."""
        values = self._groups.matrix(metric.name)
        n = (~np.isnan(values)).sum(axis=1)
        mean, half = by_count(values, mean_interval, 2)
        exact = self._groups.exact(metric)
        half[exact] = 0.0
        skewed, boot_low, boot_high = self._bootstrapped(values, n)
        skewed &= ~exact
        t_low, t_high = metric.ends(mean, half)
        low, high = np.where(skewed, boot_low, t_low), np.where(skewed, boot_high, t_high)

        against = self._against(values)
        difference = differences(values, against)
        pairs = (~np.isnan(difference)).sum(axis=1)
        diff, diff_half, deviation = by_count(difference, _spread, 3)
        (base,) = by_count(against, lambda some: (some.mean(axis=1),), 1)
        family = self._family(metric)
        self.families[metric.name] = family.size
        answers = family.beside(self._base)
        diff_half[answers.exact] = 0.0
        deviation[answers.exact] = np.nan
        up, down = {"higher": (BETTER, WORSE), "lower": (WORSE, BETTER), "neither": (MORE, LESS)}[metric.better]
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = 100 * diff / abs(base)
        own = self._own
        return {
            "n": n,
            "failed": self._groups.failed,
            "mean": mean,
            "low": low,
            "high": high,
            "interval": _words(n, (exact, "exact"), (skewed, "bootstrap"), (n > 1, "t")),
            "half": half,
            "boot_low": boot_low,
            "boot_high": boot_high,
            "pairs": np.where(own, 0, pairs),
            "diff": diff,
            "diff_low": diff - diff_half,
            "diff_high": diff + diff_half,
            "relative": relative,
            "p": answers.p,
            "p_alone": answers.alone,
            "test": _words(
                n, (answers.exact & (pairs > 0), "exact"), (answers.ranks, "wilcoxon"), (~np.isnan(answers.p), "t")
            ),
            "verdict": _words(
                n,
                (own, BASELINE),
                (pairs == 0, None),
                (answers.exact & ~answers.told, EQUAL),
                (~answers.exact & np.isnan(answers.p), UNTESTED),
                (~answers.told, SAME),
                (diff > 0, up),
                (diff < 0, down),
            ),
            "seeds_for_1pct": seeds_needed(deviation, EFFECT * abs(base)),
        }

    def _bootstrapped(self, values: Floats, n: Ints) -> tuple[Any, Floats, Floats]:
        """Tell which groups show a bootstrap interval, bool [groups], and return its ends; NaN elsewhere."""
        large = np.where((n >= ENOUGH)[:, None], values, np.nan)
        (skew,) = by_count(large, lambda some: (skewness(some),), 1)
        some = ~np.isnan(skew)
        if not some.any() or np.median(abs(skew[some])) <= SKEWED:
            return np.zeros(len(n), bool), np.full(len(n), np.nan), np.full(len(n), np.nan)
        low, high = by_count(large, bootstrap, 2)
        return n >= ENOUGH, low, high

    def heading(self, name: str) -> str:
        """Return what people read in place of the name of an agent, also with its folder, or of a key."""
        folder, slash, agent = name.rpartition("/")
        return plain(self.headings.get(name, folder + slash + self.headings.get(agent, agent)))

    def short(self, key: str) -> str:
        """Return what people read in place of a key where there is little room."""
        return self.heading(key) if key in self.headings else short_key(key, self.keys)

    def beyond(self, limit: Limit) -> pl.DataFrame:
        """Return the rows of `frame` that are beyond a limit; a difference counts where the seeds can tell it from 0.

        Refuses a limit that nothing could break: where no row has the metric, or none has enough seeds to be tested.
        """
        import polars as pl

        column = {"mean": "mean", "difference": "diff", "relative": "relative"}[limit.of]
        rows = self.frame.filter(pl.col("metric") == limit.metric.name, pl.col(column).is_not_null())
        if self.is_since:
            rows = rows.filter(pl.col("agent") == NOW)
        if limit.of != "mean":
            rows = rows.filter(pl.col("pairs") > 0)
        if rows.is_empty():
            remedy = "Name results that have it, on the same points and seeds as the baseline's."
            raise ResultsError("there is nothing to hold against it", key="--fail-if", value=limit.text, remedy=remedy)
        broken = rows.filter(pl.Series([limit.broken(value) for value in rows[column]], dtype=pl.Boolean))
        if limit.of == "mean":
            return broken
        if (untested := broken.filter(pl.col("verdict") == UNTESTED)).height:
            first = untested.row(0, named=True)
            problem = f"{first['pairs']} seeds in common are too few to test whether {first['agent']} is beyond it"
            remedy = f"Run {FEWEST} seeds or more."
            raise ResultsError(problem, key="--fail-if", value=limit.text, remedy=remedy)
        return broken.filter(~pl.col("verdict").is_in([SAME, EQUAL]))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.frame)} rows, baseline {self.baseline!r})"


def _spread(values: Floats) -> tuple[Any, Any, Any]:
    """Compute mean, half width of its t interval and standard deviation of [k, n] values; one value has none."""
    mean, half = mean_interval(values)
    deviation = values.std(axis=1, ddof=1) if values.shape[1] > 1 else np.full(len(values), np.nan)
    return mean, half, deviation


def _words(like: Ints, *choices: tuple[Any, str | None]) -> Any:
    """Pick for each group the word of the first choice that holds, object [groups]; None where none does."""
    found = np.full(len(like), None, object)
    for where, word in reversed(choices):
        found[where] = word
    return found


def _known_baseline(asked: str | None, runs: pl.DataFrame) -> str:
    """Return the agent that was asked for, or the first of the runs."""
    if asked is None:
        return str(runs["_agent"][0])
    known = dict.fromkeys([*runs["agent"], *runs["_agent"]])
    if asked not in known:
        raise UnknownName("this baseline was not run", key="baseline", value=asked, remedy=suggest(asked, known))
    return asked
