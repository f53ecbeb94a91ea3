"""Say in the language itself what DIFFERENT means, so that whatever evaluates UTILFN knows it.

Names that begin with a word of the language belong to no specification.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from agents.solver.language import syntax as s
from agents.solver.language.errors import At
from agents.solver.language.tables import Table

DIFFERENT = "DIFFERENT"
ONE = "DIFFERENT set"
"""The variable of a loop over sets."""


def rows(name: str, entries: Sequence[Sequence[int]]) -> Table:
    """Make a table of whole numbers in rows of any lengths."""
    starts = np.cumsum([0, *map(len, entries)], dtype=np.int64)
    return Table(name, True, (len(entries),), np.fromiter(chain.from_iterable(entries), np.int64), starts)


def rows_of(balls: int, sets: Sequence[Sequence[int]], name: str) -> Table:
    """Make a table with the numbers of the sets that each ball is in, a row for every ball."""
    found: list[list[int]] = [[] for _ in range(balls)]
    for number, members in enumerate(sets):
        for ball in members:
            found[ball].append(number)
    return rows(name, found)


def one_of_each(at: At) -> s.Stmt:
    """Take the only place that each set of BALL has in BIN: the table DIFFERENT has the sets of every ball."""
    ball, place = s.Name(at, "BALL"), s.Name(at, "BIN")
    add = s.AddTo(at, DIFFERENT, (s.Name(at, ONE), place), 1, s.Number(at, 1, True))
    return s.Loop(at, s.Axis(at, ONE, s.Index(at, DIFFERENT, (ball,))), (add,))
