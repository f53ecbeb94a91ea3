"""The runs of every agent at every point of a sweep: their means, and which of them the seeds tell from another one."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from binwright.analysis.compare.statistics import (
    ALPHA,
    FEWEST,
    corrected_ends,
    differences,
    holm,
    mean_interval,
    paired_t,
    signed_rank,
)
from binwright.analysis.measure.metric import Metric
from binwright.simcore.extras import pl
from binwright.simcore.types import Flags, Floats, Ints
from binwright.simcore.units import many_of

BASELINE, BETTER, WORSE, MORE, LESS = "baseline", "better", "worse", "more", "less"
EQUAL, SAME, UNTESTED = "equal", "not significant", "not tested"
UP_AND_DOWN = {"higher": (BETTER, WORSE), "lower": (WORSE, BETTER), "neither": (MORE, LESS)}
EXACT = "exact"
DIFFERENT = (BETTER, WORSE, MORE, LESS)


class Groups:
    """Divides the runs of a frame into groups, one per point (of the values of `keys`) and agent.

    `heads` has a row per group, with the keys and the agent; `point` numbers its point. Groups of a point are
    neighbours, points and agents in order of first appearance. `runs` and `failed` count. All are int64 [groups].
    `drawn` bool [groups] says which have runs that drew anything.
    """

    def __init__(self, runs: pl.DataFrame, keys: Sequence[str]) -> None:
        runs = runs.with_columns(pl.Series("_point", _numbered(runs, keys))).sort("_point", maintain_order=True)
        self._group = _numbered(runs, ["_point", "agent"])
        first = np.unique(self._group, return_index=True)[1]
        self.point: Ints = runs["_point"].to_numpy()[first]
        self.heads = runs[first].select(*keys, "agent")
        self._done = (runs["status"] == "done").to_numpy()
        self.runs: Ints = np.bincount(self._group)
        self.failed: Ints = np.bincount(self._group[~self._done], minlength=len(self.runs))
        self._seed = runs.select(pl.col("seed").rank("dense").over("_point"))["seed"].to_numpy().astype(np.int64) - 1
        self._runs = runs
        chance = runs["random"].fill_null(True).to_numpy() if "random" in runs.columns else np.ones(len(runs), bool)
        self.drawn: Flags = np.bincount(self._group[chance], minlength=len(self.runs)) > 0

    def matrix(self, metric: str) -> Floats:
        """Return a metric as float64 [groups, seeds]: NaN where no run finished, or where it has no value.

        A column is one seed within a point, so that rows of a point are paired column by column.
        """
        values = self._runs[metric].cast(pl.Float64).to_numpy()
        result = np.full((len(self.runs), int(self._seed.max()) + 1), np.nan)
        use = self._done & np.isfinite(values)
        result[self._group[use], self._seed[use]] = values[use]
        return result

    def means(self, metric: Metric) -> tuple[Floats, Flags, Floats, Floats]:
        """Return a metric's `matrix`, which groups drew nothing and agree, and means and half widths of intervals."""
        values = self.matrix(metric.name)
        mean, half = mean_interval(values)
        agree = np.fmin.reduce(values, axis=1) == np.fmax.reduce(values, axis=1)
        exact = agree & ~self.drawn & (not metric.timed)
        half[exact] = 0.0
        return values, exact, mean, half

    def against(self, values: Floats, base: Ints) -> Floats:
        """Put the values of the group that `base` int64 [groups] names (-1 is nobody) in the place of each group's.

        The result is float64 [groups, seeds], NaN where a group is its own baseline, and where either has no value.
        """
        has_base = (base >= 0) & (base != np.arange(len(base)))
        return np.where(has_base[:, None] & ~np.isnan(values), values[base], np.nan)

    def beside(
        self, metric: Metric, base: Ints | None = None, *, is_named: bool = False
    ) -> tuple[pl.DataFrame, Floats, int]:
        """Set each group beside the one that `base` int64 [groups] names (-1 is nobody), or the best of its point.

        Returns a row per group, with columns as in docs/results/results.md, the paired differences float64 [groups,
        seeds], NaN where there are none, and how many comparisons at a point p-values are corrected for at most: those
        of every two agents, or, where the base `is_named`, those with it. `diff_low` and `diff_high` are the ends
        of its test's interval at the corrected level, between which 0 lies only where that is not significant; without
        a test those of the 95 % t interval.

        Groups without chance, whose runs drew nothing and agree, are exact, and not tested: what differs there differs.
        """
        values, exact, mean, half = self.means(metric)
        low, high = metric.ends(mean, half)
        base = self._best(mean, metric) if base is None else base
        pairs, size = self._pairs(values, exact, base if is_named else None)
        each = pl.DataFrame({"row": np.arange(len(base)), "other": base})
        answers = each.join(pairs, on=("row", "other"), how="left", maintain_order="left")
        differ, without, ranks = (answers[name].fill_null(False).to_numpy() for name in ("differ", "exact", "ranks"))
        is_tested = answers["p"].is_not_null().to_numpy()
        is_base = base == np.arange(len(base))
        against = self.against(values, base)
        difference = differences(values, against)
        n, count = ((~np.isnan(some)).sum(axis=1) for some in (values, difference))
        diff, diff_half = mean_interval(difference)
        diff_half[without] = 0.0
        ends = np.stack([diff - diff_half, diff + diff_half])
        p, alone = (answers[name].to_numpy() for name in ("p", "alone"))
        for row in np.flatnonzero(is_tested):
            level = ALPHA * alone[row] / p[row] if 0 < p[row] < 1 else ALPHA / size  # Holm multiplied by so much
            paired = difference[row][~np.isnan(difference[row])]
            lowest, highest = corrected_ends(paired, level, ranks=ranks[row])
            lowest, highest = min(lowest, diff[row]), max(highest, diff[row])
            if not differ[row]:  # of 0 the test itself decides, in which zeros and ties count
                lowest, highest = min(lowest, 0.0), max(highest, 0.0)
            elif diff[row] > 0:
                lowest = max(lowest, 0.0)
            else:
                highest = min(highest, 0.0)
            ends[:, row] = lowest, highest
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = 100 * diff / abs(mean_interval(against)[0])
        up, down = UP_AND_DOWN[metric.better]
        verdicts = {
            BASELINE: is_base,
            None: count == 0,
            EQUAL: without & ~differ,
            UNTESTED: ~without & ~is_tested,
            SAME: ~differ,
            up: diff > 0,
            down: differ,
        }
        columns: dict[str, Any] = {
            "n": n,
            "failed": self.failed,
            "mean": mean,
            "low": low,
            "high": high,
            "interval": _first_of({EXACT: exact & (n > 0), "t": n > 1}),
            "half": half,
            "pairs": count,
            "diff": diff,
            "diff_low": ends[0],
            "diff_high": ends[1],
            "relative": relative,
            "p": answers["p"],
            "p_alone": answers["alone"],
            "test": _first_of({EXACT: without & (count > 0), "wilcoxon": ranks, "t": is_tested}),
            "verdict": _first_of(verdicts),
        }
        numbers = pl.col(pl.Float64)
        frame = pl.DataFrame(columns).with_columns(pl.when(numbers.is_finite()).then(numbers))
        return frame, difference, size

    def _best(self, mean: Floats, metric: Metric) -> Ints:
        """Find the best group of each one's point, int64 [groups]; the first of equals."""
        order = np.lexsort((-mean if metric.better == "higher" else mean, self.point))  # NaN comes last
        best: Ints = order[np.unique(self.point[order], return_index=True)[1]][self.point]
        return best

    def _pairs(self, values: Floats, exact: Flags, base: Ints | None) -> tuple[pl.DataFrame, int]:
        """Test every two groups of a point, with p-values corrected for all of them, or for those with the `base`.

        Returns a row for each `row` and `other`, both ways round, and the size of the largest family: `p` is Holm's,
        `alone` the same uncorrected, both of the signed-rank test where `ranks` and of the t-test elsewhere, null where
        nothing was tested; `exact` where neither has any chance in it; `differ` where they do.

        Pairs with FEWEST seeds in common or more are tested. The signed-rank test decides where its smallest possible
        p, 2^(1 - n) of n pairs, would survive the correction for every two agents, and the t-test elsewhere: so each
        pair has one test, whatever is asked for, which goes by numbers of agents and seeds and not by what they found.
        """
        sizes = np.bincount(self.point)
        first = np.cumsum(sizes) - sizes
        of_point = [begin + np.triu_indices(size, 1) for begin, size in zip(first, sizes, strict=True)]
        left, right = np.concatenate(of_point, axis=1)
        point = self.point[left]
        difference = differences(values[left], values[right])
        count = (~np.isnan(difference)).sum(axis=1)
        without = exact[left] & exact[right]
        tested = (count >= FEWEST) & ~without
        ranks = tested & (np.bincount(point, tested)[point] * 2.0 ** (1 - count) <= ALPHA)
        alone = np.where(tested, paired_t(difference), np.nan)
        alone[ranks] = signed_rank(difference[ranks])
        in_family = tested if base is None else tested & ((left == base[left]) | (right == base[left]))
        p = np.full(len(left), np.nan)
        for number in np.unique(point[in_family]):
            family = in_family & (point == number)
            p[family] = holm(alone[family])
        differ = np.where(without, (abs(difference) > 0).any(axis=1), p <= ALPHA)
        names = "row", "other", "p", "alone", "ranks", "exact", "differ"
        pairs = pl.DataFrame([left, right, p, alone, ranks, without, differ], names).with_columns(
            pl.col("p", "alone").fill_nan(None)
        )
        turned = pairs.rename({"row": "other", "other": "row"}).select(pairs.columns)
        return pl.concat([pairs, turned]), int(np.bincount(point, in_family).max(initial=0))


def _numbered(frame: pl.DataFrame, keys: Sequence[str]) -> Ints:
    """Give the different values of `keys` numbers from 0, in order of appearance; returns each row's, int64 [rows]."""
    known = dict[tuple[Any, ...], int]()
    rows = frame.select(keys).rows() if keys else [()] * len(frame)
    return np.array([known.setdefault(row, len(known)) for row in rows], np.int64)


def _first_of(choices: dict[str | None, Flags]) -> pl.Series:
    """Pick for each group the word of the first choice that holds, null where none does, String [groups]."""
    words = np.select([*choices.values()], [np.array(word, object) for word in choices], np.array(None, object))
    return pl.Series(words.tolist(), dtype=pl.String)


def in_words(size: int, *, apart: bool, beside: str = "") -> str:
    """Say over how many pairs of agents Holm corrected p-values, of all or of those `beside` an agent; "" for none.

    `size` is the number of comparisons in the largest family; `apart` says that each point has one of its own.
    """
    return f"Holm over {many_of(size, 'pair')}{beside}{' at each point' * apart}" if size else ""
