"""Read declarations, and translate some into what there is without them: statements of UTILFN, resources, sets, goals.

What a specification is given comes first: its parameters, tables and names, from the text and from outside.
`binwright.agents.solver.language.declared` has the statements and goals.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, islice
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from binwright.agents.solver.language import declared
from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.constants import Interpreter, Value, micro
from binwright.agents.solver.language.errors import At, SpecError, indices_beside
from binwright.agents.solver.language.named import Named
from binwright.agents.solver.language.tables import ENTRY_LIMIT, LARGEST, Table, from_file, from_names, from_rows
from binwright.agents.solver.language.values import INT
from binwright.agents.solver.model.program import MICRO, Family
from binwright.simcore.errors import suggest
from binwright.simcore.types import Ints

COUNT_LIMIT = 1_000_000
"""Balls, bins, members of sets."""
INDEX_LIMIT = 8
"""Indices of a table or a resource."""
DIM_LIMIT = 5_000_000
"""Dimensions."""
PAIRED = 50
"""Balls of a DIFFERENT up to which it becomes pairs of FOES; of more it becomes a resource of which bins have one."""


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


class Translated(Constants):
    """The declarations so far, with what they become."""

    def __init__(self, given: Given) -> None:
        super().__init__(given)
        self.families: dict[str, Family] = {}
        self.capacity: list[Ints] = []
        self.dims = 0
        self.balls = self.bins = -1
        self.members = 0
        """Of all sets."""
        self.sets: dict[str, list[tuple[list[int], int]]] = {
            kind: [] for kind in ("FRIENDS", "FOES", declared.DIFFERENT, "GROUPS", declared.DRAIN)
        }
        self.added: list[s.Stmt] = []
        """What declarations add to UTILFN."""
        self.goals: tuple[s.Goal, ...] = ()
        self.lower: list[s.Least] = []
        self.least: list[tuple[int, int, bool]] = []
        """Entries of `Problem.least`."""

    def _items(self, items: Sequence[s.Expr | s.Span], count: int, what: str) -> list[int]:
        """Return balls or bins, each once: they are listed as single ones, ranges, and rows of tables."""
        found: list[int] = []
        for item in items:
            table = self.tables.get(item.table) if isinstance(item, s.Index) else None
            row = isinstance(item, s.Index) and table is not None and len(item.arguments) == table.rank - 1
            if isinstance(item, s.Span) or row:
                some: Iterable[Value] = self.constants.range(item)
            else:
                some = [Value(INT, self.constants.whole(item))]
            for _, member in some:
                if not 0 <= member < count:
                    raise SpecError(f"there is no {what} {member}", f"They go from 0 to {count - 1}.", item.at)
                found.append(member)
                self.members += 1
                if self.members > COUNT_LIMIT:
                    remedy = f"Together they have at most {COUNT_LIMIT:,} members."
                    raise SpecError("the sets are too large", remedy, item.at)
        return list(dict.fromkeys(found))

    def _linked(self, node: s.Linked) -> None:
        self._counted(self.balls, "BALLS", node.at)
        made = (
            (self._items(node.items, self.balls, "ball"), self.constants.number(node.rate))
            for _ in self.constants.over(node.axes)
        )
        tables, statements = links(node, made, self.balls, len(self.added))
        self.tables.update(tables)
        self.added += statements

    def _least(self, node: s.Least) -> None:
        if node.dim.family == declared.BALLS:
            self._count_balls(node.at)
        for _ in self.constants.over(node.axes):
            [dim] = self._dims_of(node.dim, node.dim.arguments)
            amount = micro(self.constants.number(node.amount))
            if not 0 <= amount <= LARGEST * MICRO:
                remedy = "It is 0 to 1e9: choose a larger unit."
                raise SpecError("this amount is out of range", remedy, node.amount.at)
            self.least.append((dim, amount, node.or_none))
        self.lower.append(node)

    def _count_balls(self, at: At) -> None:
        """Count the balls of every bin, in the resource BALLS."""
        if declared.BALLS in self.families:
            return
        self._counted(self.balls, "BALLS", at)
        self._counted(self.bins, "BINS", at)
        self._family(declared.BALLS, (self.bins,), self.balls, at)
        labels = self.called.labels([s.Axis(at, "BIN", s.Name(at, "BINS"))])
        self.families[declared.BALLS] = replace(self.families[declared.BALLS], labels=labels)
        self.added.append(declared.counted(at))

    def _more_goals(self) -> None:
        """Begin with what AT LEAST misses; with `BINS ?`, end with how few bins are opened."""
        if self.given.bins.count is None and self.given.has_goals:
            self._count_balls(self.given.bins.at)
            self.goals = self._opening()
        if self.lower:
            self.goals = (declared.what_is_missing(self.lower), *self.goals)

    def _opening(self) -> tuple[s.Goal, ...]:
        """Let BINS be how many bins are opened, in goals of which the last one is that they are few."""
        asked, number = self.given.bins, s.Name(self.given.bins.at, "BINS")
        few = s.Goal(asked.at, "MINIMISE", number, (0, 0), "BINS")
        goals = self.goals if any(one.value == number for one in self.goals) else (*self.goals, few)
        low = 1 if asked.low is None else self.count(asked.low, "BINS")
        return tuple(replace(one, value=declared.opened(one.value, low)) for one in goals)

    def _pairs(self, different: Sequence[Sequence[int]]) -> None:
        """Let every two balls of small sets that are DIFFERENT be FOES."""
        few = (members for members in different if len(members) <= PAIRED)
        self.sets["FOES"] += [(list(pair), MICRO) for members in few for pair in combinations(members, 2)]

    def _large_sets(self) -> None:
        """Let each of the large sets that are DIFFERENT have one place in every bin."""
        large = [members for members, _ in self.sets[declared.DIFFERENT] if len(members) > PAIRED]
        if large:
            at = self._first(declared.DIFFERENT)
            self.tables[declared.DIFFERENT] = declared.rows_of(self.balls, large, declared.DIFFERENT)
            self._family(declared.DIFFERENT, (len(large), self.bins), 1, at)
            self.added.append(declared.one_of_each(at))

    def _family(self, name: str, sizes: tuple[int, ...], capacity: int, at: At) -> None:
        """Add a resource that no RESOURCES declares, with this capacity everywhere."""
        if self.dims + prod(sizes) > DIM_LIMIT:
            remedy = f"There can be {DIM_LIMIT:,}: name fewer balls, or fewer bins."
            raise SpecError(f"{name} has {prod(sizes):,} dimensions", remedy, at)
        self.families[name] = Family(name, sizes, self.dims, None)
        self.dims += prod(sizes)
        self.capacity.append(np.full(prod(sizes), capacity * MICRO, np.int64))

    def _counted(self, count: int, what: str, at: At) -> None:
        if count < 0:
            raise SpecError(f"{what} is not known yet", f"Write {what} above this line.", at)

    def _dims_of(self, node: s.Soft | s.Used, slots: Sequence[s.Expr | None] | None) -> list[int]:
        """Find the dimensions of a resource with these indices, where None stands for all."""
        family = self.families.get(node.family)
        if family is None:
            raise SpecError(f"unknown resource {node.family}", suggest(node.family, self.families), node.at)
        slots = (None,) * len(family.sizes) if slots is None else slots
        if len(slots) != len(family.sizes):
            problem = f"{family.name} has {indices_beside(len(family.sizes), len(slots))}"
            remedy = "Write * for an index that runs." if isinstance(node, s.Soft) else "Write one for each."
            raise SpecError(problem, remedy, node.at)
        numbers = [0]
        for size, slot in zip(family.sizes, slots, strict=True):
            index = None if slot is None else self.constants.whole(slot)
            if slot is not None and index is not None and not 0 <= index < size:
                raise SpecError(f"index {index} leaves {family.name}", f"It goes from 0 to {size - 1}.", slot.at)
            some = range(size) if index is None else (index,)
            numbers = [number * size + one for number in numbers for one in some]
        return [family.offset + number for number in numbers]

    def _first(self, kind: str) -> At:
        return next(one.at for one in self.given.tree.declarations if isinstance(one, s.Company) and one.kind == kind)


Made = tuple[list[int], Value]
"""The balls of a set, and its rate."""


def links(node: s.Linked, made: Iterable[Made], balls: int, number: int) -> tuple[dict[str, Table], Sequence[s.Stmt]]:
    """Make of declaration `number` the tables, and what it adds to UTILFN; sets without bandwidth add nothing."""
    if unknown := {"BALL", *(axis.name for axis in node.axes)} & s.names_in(node.links):
        remedy = "Links follow from BIN alone: LINK[BIN], UPLINK[BIN // 4], PORT[SWITCH[BIN]]."
        raise SpecError(f"{min(unknown)} is not known behind OVER", remedy, node.links[0].at)
    sets: list[tuple[list[int], int]] = []
    for members, value in made:
        rate = micro(value)
        if not 0 <= rate <= LARGEST * MICRO:
            raise SpecError("this rate is out of range", "It is 0 to 1e9: choose a larger unit.", node.rate.at)
        if not rate:
            continue
        if node.kind == "PIPE" and len(members) != 2:
            here = "is 1 ball" if len(members) == 1 else f"are {len(members)} balls"
            raise SpecError(f"a pipe has two ends, here {here}", "Name two, or write HOSE.", node.at)
        sets.append((members, rate))
    if not sets:
        return {}, ()
    name = f"{node.kind} {number}"
    own, others, rates = f"{name} of", f"{name} balls", f"{name} rates"
    if node.kind == "HOSE":
        far = declared.rows(others, [members for members, _ in sets])
        mine = declared.rows_of(balls, [members for members, _ in sets], own)
        amounts = [rate for _, rate in sets]
        statement = declared.hose(node.at, node.links, own, others, rates)
    else:
        pairs: dict[tuple[int, int], int] = {}  # both ways, and several pipes of two balls, are one
        for members, rate in sets:
            pair = min(members), max(members)
            pairs[pair] = pairs.get(pair, 0) + rate
        ends = [end for one, other in pairs for end in ((one, other), (other, one))]
        mine = declared.rows_of(balls, [[ball] for ball, _ in ends], own)
        far = Table(others, True, (len(ends),), np.array([other for _, other in ends], np.int64))
        amounts = [rate for rate in pairs.values() for _ in range(2)]
        statement = declared.pipe(node.at, node.links, own, others, rates)
    table = Table(rates, False, (len(amounts),), np.array(amounts, np.int64))
    return {own: mine, others: far, rates: table}, (statement,)
