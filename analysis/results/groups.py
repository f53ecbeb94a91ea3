"""Runs by point of the sweep and agent: what tables and comparisons compute their statistics over."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from analysis.measure.metric import Metric
from simcore.lazy_imports import pl
from simcore.types import Floats, Ints

LARGEST = 1e90
"""Larger values are of no metric, but of a spoilt file; their squares would be no numbers."""


class Groups:
    """Divides the runs of a frame into groups, one per point (of the values of `keys`) and agent.

    `heads` has a row per group, with the keys and the agent; `point` numbers its point. Groups of a point are
    neighbours, points and agents in order of first appearance. `runs` and `failed` count. All are int64 [groups].
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
        self._chance = np.bincount(self._group[chance], minlength=len(self.runs)) > 0

    def matrix(self, metric: str) -> Floats:
        """Return a metric as float64 [groups, seeds]: NaN where no run finished, or where it has no value.

        A column is one seed within a point, so that rows of a point are paired column by column.
        """
        values = self._runs[metric].cast(pl.Float64).to_numpy()
        found = np.full((len(self.runs), int(self._seed.max()) + 1), np.nan)
        use = self._done & (abs(values) < LARGEST)
        found[self._group[use], self._seed[use]] = values[use]
        return found

    def numbered(self, keys: Sequence[str]) -> Ints:
        """Give the points with the same values of some of the keys one number, int64 [groups]."""
        return _numbered(self.heads, keys)

    def exact(self, metric: Metric) -> npt.NDArray[np.bool_]:
        """Tell which groups have no chance in a metric, bool [groups]: their runs drew nothing, and agree."""
        values = self.matrix(metric.name)
        agree: npt.NDArray[np.bool_] = np.fmin.reduce(values, axis=1) == np.fmax.reduce(values, axis=1)
        return agree & ~self._chance & (not metric.timed)


def _numbered(frame: pl.DataFrame, keys: Sequence[str]) -> Ints:
    """Give the different values of `keys` numbers from 0, in order of appearance; returns each row's, int64 [rows]."""
    if not keys:
        return np.zeros(len(frame), np.int64)
    groups = frame.with_row_index("_row").group_by(keys, maintain_order=True).agg("_row")["_row"]
    numbers = np.empty(len(frame), np.int64)
    numbers[groups.explode().to_numpy()] = np.repeat(np.arange(len(groups)), groups.list.len().to_numpy())
    return numbers
