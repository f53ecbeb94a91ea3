"""Which agents differ: the comparisons that are asked for at a point are one family, and each has one test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from binwright.analysis.compare.statistics import ALPHA, FEWEST, by_count, differences, holm, paired_t, signed_rank
from binwright.analysis.measure.metric import Metric
from binwright.analysis.results.columns import Groups
from binwright.simcore.types import Floats, Ints

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Says of each group how it stands beside another one of its point.

    All are [groups], `p` and `alone` float64, the others bool. `p` is Holm's, `alone` the same uncorrected, both of the
    signed-rank test where `ranks` and of the t-test elsewhere, NaN where nothing was tested; `exact` where neither
    group has any chance in it; `told` whether they differ.
    """

    p: Floats
    alone: Floats
    ranks: Bools
    exact: Bools
    told: Bools


class Family:
    """Compares agents at every point by one metric; `size` is the largest number of comparisons in a family.

    A family is what is asked for at a point: every two agents, or all agents with the one that `base` int64 [groups]
    names there (-1 is nobody). Points that `together` int64 [groups] gives one number share a family.

    Pairs of groups with FEWEST seeds in common or more are tested; groups without chance are not: what differs there
    differs. The signed-rank test decides where its smallest possible p, 2^(1 - n) of n pairs, would survive the
    correction for every two agents, and the t-test elsewhere: so each pair has one test, whatever is asked for, which
    goes by numbers of agents and seeds and not by what they found.
    """

    def __init__(
        self, groups: Groups, metric: Metric, *, base: Ints | None = None, together: Ints | None = None
    ) -> None:
        values, self._exact = groups.matrix(metric.name), groups.exact(metric)
        one, other = _pairs(groups.point)
        number = (groups.point if together is None else together)[one]
        difference = differences(values[one], values[other])
        count = (~np.isnan(difference)).sum(axis=1)
        largest, p_t = by_count(difference, lambda some: (abs(some).max(axis=1), paired_t(some)), 2)
        exact = self._exact[one] & self._exact[other]
        tested = (count >= FEWEST) & ~exact
        ranks = tested & (np.bincount(number, tested)[number] * 2.0 ** (1 - count) <= ALPHA)
        asked = np.ones(len(one), bool) if base is None else (one == base[one]) | (other == base[one])
        self.size = int(np.bincount(number, tested & asked).max(initial=0))
        alone = np.where(tested, p_t, np.nan)
        (alone[ranks],) = by_count(difference[ranks], lambda some: (signed_rank(some),), 1)
        p = np.full(len(one), np.nan)
        for some in _alike(number[tested & asked], np.flatnonzero(tested & asked)):
            p[some] = holm(alone[some])
        told = np.where(exact, largest > 0, p <= ALPHA)
        width = int(np.bincount(groups.point).max(initial=1))
        first = np.unique(groups.point, return_index=True)[1]
        self._place: Ints = np.arange(len(groups.point)) - first[groups.point]
        self._columns = [
            self._both(one, other, column, np.full((len(values), width), empty))
            for column, empty in ((p, np.nan), (alone, np.nan), (ranks, False), (exact, False), (told, False))
        ]

    def _both(self, one: Ints, other: Ints, column: Any, table: Any) -> Any:
        """Turn a column of pairs into [groups, place of the other within its point], the same for both of a pair."""
        table[one, self._place[other]] = table[other, self._place[one]] = column
        return table

    def beside(self, other: Ints) -> Answers:
        """Answer for each group beside the one that `other` int64 [groups] names; not beside itself, nor beside -1."""
        there = (other >= 0) & (other != np.arange(len(other)))
        rows, places = np.arange(len(other)), np.where(there, self._place[other], 0)
        p, alone, ranks, exact, told = (table[rows, places] for table in self._columns)
        blank = np.where(there, 0, np.nan)
        return Answers(p + blank, alone + blank, ranks & there, exact & there, told & there)


def in_words(size: int, *, apart: bool, beside: str = "") -> str:
    """Say over how many pairs of agents Holm corrected p-values, of all or of those `beside` an agent.

    `size` is the number of comparisons in the largest family; `apart` says that each point has one of its own.
    """
    at = " at each point" if apart else ""
    return f"Holm over {size:,} pair{'' if size == 1 else 's'}{beside and f' {beside}'}{at}"


def _pairs(point: Ints) -> tuple[Ints, Ints]:
    """Pair every two groups of a point, which are neighbours: the first of each and the second, int64 [pairs]."""
    ones, others = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for step in range(1, int(np.bincount(point).max(initial=0))):
        one = np.flatnonzero(point[step:] == point[:-step])
        ones.append(one)
        others.append(one + step)
    return np.concatenate(ones), np.concatenate(others)


def _alike(number: Ints, rows: Ints) -> list[Ints]:
    """Divide rows by the number that each has."""
    order = np.argsort(number, kind="stable")
    return np.split(rows[order], np.flatnonzero(np.diff(number[order])) + 1)
