"""What a specification is given: its parameters, tables and names, from the text and from outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.constants import Interpreter, Value, micro
from binwright.agents.solver.language.errors import At, SpecError
from binwright.agents.solver.language.named import Named
from binwright.agents.solver.language.tables import ENTRY_LIMIT, LARGEST, Table, from_file, from_names, from_rows
from binwright.agents.solver.language.values import INT
from binwright.agents.solver.model.program import MICRO

COUNT_LIMIT = 1_000_000
"""Balls, bins, members of sets."""
INDEX_LIMIT = 8
"""Indices of a table or a resource."""


@dataclass
class Given:
    """A parsed specification with all that comes from outside, and what is the same for every number of bins."""

    tree: s.Tree
    text: str
    file: Path | None
    params: dict[str, Value]
    tables: dict[str, Table]
    """Those that take the place of TABLEs of the same name."""
    cells: dict[str, list[str | None]] = field(default_factory=dict)
    """Columns of names that take the place of what TABLEs of the same name read AS names."""
    made: dict[str, Table] = field(default_factory=dict)
    """The tables whose entries do not depend on BINS."""
    made_sets: dict[At, list[tuple[list[int], int]]] = field(default_factory=dict)
    """The sets, with their chances, of a declaration that does not depend on BINS."""
    made_pins: dict[At, list[tuple[int, int]]] = field(default_factory=dict)
    """The balls and bins of a PIN that does not depend on BINS."""
    names: dict[str, dict[str, int]] = field(default_factory=dict)
    """By what stands behind AS: the names of such columns, each with its number."""
    _read: dict[str, Table] = field(default_factory=dict)

    @cached_property
    def bins(self) -> s.Bins:
        return next(one for one in self.tree.declarations if isinstance(one, s.Bins))

    @cached_property
    def has_goals(self) -> bool:
        """Tell whether there are goals; what AT LEAST misses is one."""
        return any(isinstance(one, s.Goal | s.Least) for one in self.tree.declarations)

    @cached_property
    def by_name(self) -> bool:
        """Tell whether anything stands there by name, `"web-1"`."""
        return any(isinstance(node, s.Text) for node in s.walk(self.tree))

    def table_from(self, node: s.TableFrom) -> Table:
        """Read a table from its file, or from names that take its place, once."""
        if node.name not in self._read:
            folder = None if self.file is None else self.file.parent
            names = None if node.names is None else self.names.setdefault(node.names, {})
            if names is not None and node.name in self.cells:
                self._read[node.name] = from_names(node.name, self.cells[node.name], names)
            else:
                self._read[node.name] = from_file(node.name, node.file, node.columns, folder, node.at, names)
        return self._read[node.name]


class Constants:
    """The PARAMs, TABLEs and names that are declared so far."""

    def __init__(self, given: Given) -> None:
        self.given = given
        self.tables = dict(given.tables)
        self.names: dict[str, Value] = {}
        self.constants = Interpreter(self.names, self.tables)
        self.by_bins = {"BINS"}
        """Names whose values depend on the number of bins."""
        self.named: dict[str, int] = {}
        """By what stands behind AS: how many names there are."""
        self.called = Named(given.names)

    def count(self, node: s.Expr | None, what: str) -> int:
        """Evaluate a number of things."""
        assert node is not None
        number = self.constants.whole(node, f"the number of {what}")
        if not 1 <= number <= COUNT_LIMIT:
            remedy = f"There can be 1 to {COUNT_LIMIT:,}."
            raise SpecError(f"{number} is not a number of {what}", remedy, node.at)
        return number

    def _new(self, name: str, at: At) -> None:
        if name in self.names or name in self.tables:
            raise SpecError(f"{name} has a meaning already", "Choose another name.", at)

    def _param(self, node: s.Param) -> None:
        self._new(node.name, node.at)
        if not self.by_bins.isdisjoint(s.names_in(node.value)):
            self.by_bins.add(node.name)
        self.names[node.name] = self.given.params.get(node.name) or self.constants.number(node.value)

    def _table(self, node: s.TableIs | s.TableOf) -> None:
        """Make a table of the text, once if it is the same for every number of bins."""
        self._new(node.name, node.at)
        if not self.by_bins.isdisjoint(
            s.names_in(node.value) | (s.names_in(node.axes) if isinstance(node, s.TableOf) else set())
        ):
            self.by_bins.add(node.name)
        table = self.given.made.get(node.name)
        if table is None:
            if isinstance(node, s.TableIs):
                table = from_rows(node.name, self._entries(node.value), node.at)
            else:
                table = self._tableof(node)
            if node.name not in self.by_bins:
                self.given.made[node.name] = table
        self.tables[node.name] = table

    def _entries(self, node: s.Literal) -> list[Any]:
        return [
            self._entries(entry)
            if isinstance(entry, s.Literal)
            else self._entry(self.constants.number(entry), entry.at)
            for entry in node.entries
        ]

    def _entry(self, value: Value, at: At) -> tuple[int, bool]:
        if abs(micro(value)) > LARGEST * MICRO:
            raise SpecError("an entry is out of range", "Numbers are at most 1e9: choose a larger unit.", at)
        return value.raw, value.kind == INT

    def _tableof(self, node: s.TableOf) -> Table:
        sizes = self._sizes(node.axes, ENTRY_LIMIT, node.at)
        number = self.constants.number
        entries = [self._entry(number(node.value), node.at) for _ in self.constants.over(node.axes)]
        whole = all(is_whole for _, is_whole in entries)
        values = [raw if is_whole == whole else raw * MICRO for raw, is_whole in entries]
        return Table(node.name, whole, sizes, np.array(values, np.int64))

    def _tablefrom(self, node: s.TableFrom) -> None:
        if node.name not in self.given.tables:
            self._new(node.name, node.at)
            self.tables[node.name] = self.given.table_from(node)
        if node.names is not None:
            if node.names not in self.named:
                self._new(node.names, node.at)
            most = int(self.tables[node.name].values.max(initial=-1)) + 1
            self.called.entries[node.name] = node.names
            self.named[node.names] = max(most, self.named.get(node.names, 0))
            known = np.arange(self.named[node.names])
            self.tables[node.names] = Table(node.names, True, known.shape, known)

    def _labels(self, node: s.Balls | s.Bins, count: int) -> tuple[str, ...]:
        """Return the names of balls or bins, none if they have none."""
        what = "BALLS" if isinstance(node, s.Balls) else "BINS"
        if node.names is None:
            return ()
        if node.names not in self.named:
            remedy = f'Write TABLE ... FROM "file.csv" COLUMN "name" AS {node.names} above this line.'
            raise SpecError(f"nothing is read AS {node.names}", remedy, node.at)
        names = self.given.names.get(node.names)
        if names is None:  # they came from outside, as numbers
            return ()
        if len(names) < count:
            remedy = f"Read as many AS {node.names}, each once, or leave AS out."
            raise SpecError(f"{what} are {count:,}, and there are {len(names):,} names", remedy, node.at)
        return tuple(islice(names, count))

    def _sizes(self, axes: Sequence[s.Axis], limit: int, at: At) -> tuple[int, ...]:
        """Return how far indices go: each to a number, from 0, that does not depend on the others."""
        if len(axes) > INDEX_LIMIT:
            raise SpecError(f"more than {INDEX_LIMIT} indices", "Join some of them: a * n + b.", at)
        sizes = []
        for axis in axes:
            if isinstance(axis.range, s.Span):
                remedy = "Indices start at 0: write NAME in COUNT."
                raise SpecError(f"index {axis.name} has a range with two ends", remedy, axis.at)
            sizes.append(self.constants.whole(axis.range, f"the range of {axis.name}"))
            if sizes[-1] < 0:
                raise SpecError(f"the range of {axis.name} is below zero", "It goes from 0 up.", axis.at)
        total = 1
        for size in sizes:
            total *= size
        if total > limit:
            raise SpecError(f"{total:,} entries are too many", f"There can be {limit:,}.", at)
        return tuple(sizes)
