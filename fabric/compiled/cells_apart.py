"""Plays the cells of a run in other processes, wherever these are: each has some cells, and this one routes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fabric.compiled.cells_run import Cell, CellSimulation, Where, tell
from fabric.compiled.numa_loop import NumaRequests
from fabric.ledger import read_only
from simcore.record import Record
from simcore.vocabulary import Compiled, Floats, Ints

COLUMNS = ("outcome", "decided", "server", "node", "reason")
"""What an answer writes into the record."""
ANSWER = np.dtype(
    [("row", "<i4"), ("outcome", "i1"), ("decided", "<f8"), ("server", "<i4"), ("node", "i1"), ("reason", "<i4")]
)
"""An answer, as it is sent."""


class Part(NamedTuple):
    """Tells all that another process has to know of a cell, but for requests and rule.

    `server` and `node` int [k] are the places of `where.holder`.
    """

    first: int
    capacity: Ints
    where: Where
    server: npt.NDArray[np.int32]
    node: npt.NDArray[np.int8]
    numbers: tuple[Floats, ...]


class News(NamedTuple):
    """Tells what happened in a cell since it was asked last.

    `servers` int64 [k] are those that changed, and `left` int64 [k, nodes, resources] is what is free on them.
    """

    servers: Ints
    left: Ints


class Whole(NamedTuple):
    """Tells the rest: where a cell is, what its rule is shown as free, and the rule's numbers."""

    where: Where
    free: Ints
    numbers: tuple[Floats, ...]


def part_of(cell: Cell) -> Part:
    """Say what another process has to know of a cell that has its rule."""
    state, where = cell.state, cell.where()
    return Part(cell.first, state.capacity, where, state.server[where.holder], state.node[where.holder], cell.numbers)


class Apart:
    """Holds some cells of a run in a process of their own; all arrays that it is given are copied."""

    def __init__(self, asked: NumaRequests, scan: Any, parts: Sequence[Part]) -> None:
        *given, nothing = asked
        arrays: list[Any] = [np.array(array) for array in given]
        self._asked = NumaRequests._make([*arrays, nothing])
        self._record = Record(len(asked.arrival), ())
        self._answered: list[npt.NDArray[np.int32]] = []
        self._cells = []
        for part in parts:
            left = np.array(part.where.left)
            books = read_only(np.array(part.capacity)), left.copy(), left
            cell = Cell(self._record, books, part.first, len(asked.rows))
            cell.go_on(part.where)
            rows = part.where.holder
            self._record.server[rows], self._record.node[rows] = part.server, part.node
            cell.take(Compiled(scan, part.numbers))
            cell.prepare(self._asked)
            self._cells.append(cell)

    def settle(self, until: float) -> list[Ints]:
        """Do so as a `Crew`, with these cells."""
        return [cell.settle(self._asked, until) for cell in self._cells]

    def answer(self, rows: Sequence[npt.NDArray[np.int32]], last: int) -> None:
        """Do so as a `Crew`, with these cells."""
        for cell, mine in zip(self._cells, rows, strict=True):
            self._answered.append(mine.copy())
            cell.answer(self._asked, self._answered[-1], last)

    def news(self) -> tuple[npt.NDArray[Any], list[News]]:
        """Tell what was answered since this was asked last, `ANSWER` [any], and of every cell what happened."""
        rows = np.concatenate([np.zeros(0, np.int32), *self._answered])
        self._answered = []
        changed = [np.unique(cell.changed()) for cell in self._cells]
        news = [News(each, cell.state.left[each]) for cell, each in zip(self._cells, changed, strict=True)]
        answers = np.empty(len(rows), ANSWER)
        answers["row"] = rows
        for name in COLUMNS:
            answers[name] = getattr(self._record, name)[rows]
        return answers, news

    def whole(self) -> list[Whole]:
        """Tell all else, of every cell."""
        return [Whole(cell.where(), cell.state.free, cell.numbers) for cell in self._cells]


class Team:
    """Plays the cells of a simulation by several `Apart`, as a `Crew`.

    `shares` are the cells of each, `send` has number k do a method with some arguments, one after another, and returns
    at once what `get` waits for.
    """

    def __init__(
        self,
        simulation: CellSimulation,
        shares: Sequence[Sequence[int]],
        send: Callable[..., Any],
        get: Callable[[list[Any]], list[Any]],
    ) -> None:
        self._simulation, self._shares, self._send, self._get = simulation, shares, send, get
        self._pending: list[Any] = []

    def _ask(self, what: str, *arguments: object) -> list[Any]:
        """Have everyone do a method, and return their answers; what was pending is over then, too."""
        pending, self._pending = self._pending, []
        asked = [self._send(number, what, *arguments) for number in range(len(self._shares))]
        return self._get(pending + asked)[len(pending) :]

    def settle(self, until: float) -> list[Ints]:
        """Do so as a `Crew`."""
        return list(chain.from_iterable(self._ask("settle", until)))

    def answer(self, rows: Sequence[npt.NDArray[np.int32]], last: int) -> None:
        """Do so as a `Crew`, without waiting for it: what goes wrong is raised when they are asked next."""
        for number, share in enumerate(self._shares):
            self._pending.append(self._send(number, "answer", [rows[cell] for cell in share], last))

    def fetch(self, whole: bool) -> None:
        """Do so as a `Crew`."""
        cells = [self._simulation.cells[number] for share in self._shares for number in share]
        told = self._ask("news")
        for answers, _ in told:
            for name in COLUMNS:
                getattr(self._simulation.record, name)[answers["row"]] = answers[name]
        for cell, new in zip(cells, chain.from_iterable(news for _, news in told), strict=True):
            cell.state.left[new.servers] = cell.state.free[new.servers] = new.left
            tell(cell.state.log, new.servers)
        for cell, all_of_it in zip(cells, chain.from_iterable(self._ask("whole") if whole else []), strict=False):
            cell.go_on(all_of_it.where)
            cell.state.free[:] = all_of_it.free
            for mine, array in zip(cell.numbers, all_of_it.numbers, strict=True):
                mine[...] = array
