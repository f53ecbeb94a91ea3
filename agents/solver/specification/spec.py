"""A specification: its text, parameters and tables; `problem` makes the `Problem` for a number of bins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from agents.solver.checker.check import check
from agents.solver.language import syntax as s
from agents.solver.language.columns import Columns
from agents.solver.language.constants import INT, QUANTITY, Interpreter, Value, is_null, micro
from agents.solver.language.errors import At, SpecError
from agents.solver.language.parse import number, parse
from agents.solver.language.tables import ENTRY_LIMIT, LARGEST, Table, from_array, from_file, from_rows
from agents.solver.model.problem import Problem, Sets, Wish
from agents.solver.model.program import MICRO, NULL, Family
from simcore.errors import suggest
from simcore.vocabulary import Ints

T = TypeVar("T")
COUNT_LIMIT = 1_000_000
"""Balls, bins, members of sets."""
DIM_LIMIT = 5_000_000
"""Dimensions."""
INDEX_LIMIT = 8
"""Indices of a table or a resource."""


class Spec:
    """A parsed specification with everything that comes from outside: tables are read once."""

    def __init__(
        self,
        text: str,
        *,
        file: Path | None = None,
        params: Mapping[str, object] | None = None,
        tables: Mapping[str, Any] | None = None,
    ) -> None:
        self.text = text
        self.file = file
        self.tree = self._located(lambda: parse(text))
        self.params = {name: self._param(name, value) for name, value in (params or {}).items()}
        given = (tables or {}).items()
        self.given = {name: self._located(partial(from_array, name, data, None)) for name, data in given}
        self._located(self._check_declarations)
        self._read: dict[str, Table] = {}
        self._problems: dict[int | None, Problem] = {}
        self.made: dict[str, Table] = {}
        """The tables whose entries do not depend on BINS."""
        self.made_sets: dict[At, list[tuple[list[int], int]]] = {}
        """The sets, with their chances, of a declaration that does not depend on BINS."""
        self.made_pins: dict[At, list[tuple[int, int]]] = {}
        """The balls and bins of a PIN that does not depend on BINS."""

    @property
    def declared(self) -> list[str]:
        """The names of its parameters."""
        return [one.name for one in self.tree.declarations if isinstance(one, s.Param)]

    @property
    def searched(self) -> bool:
        """`BINS ?`."""
        return self._bins.count is None

    @cached_property
    def limits(self) -> tuple[int, int]:
        """The least and the largest number of bins that `BINS ?` may try: bins that balls are pinned to are there."""
        return self._located(self._limits)

    def _limits(self) -> tuple[int, int]:
        build, asked = Build(self, 1), self._bins
        low = 1 if asked.low is None else build.count(asked.low, "BINS")
        if asked.high is not None and low > build.most:
            remedy = "Write the smaller number first."
            raise SpecError(f"BINS ? goes from {low} to {build.most}", remedy, asked.at)
        low = max([low, *(place + 1 for place, _ in build.pins.values())])
        return low, max(low, build.balls) if asked.high is None else build.most

    def problem(self, bins: int | None = None) -> Problem:
        """The problem; with `BINS ?` for this many bins, by default the least that may be tried."""
        if bins is not None and not self.searched:
            raise SpecError(
                "the number of bins is fixed", "Write BINS ? to choose it.", self._bins.at, self.text, self.file
            )
        if self.searched and bins is None:
            bins = self.limits[0]
        if bins not in self._problems:
            self._problems = {bins: self._located(lambda: Build(self, bins).problem())}  # the latest is enough
        return self._problems[bins]

    def utilisation(self, bins: int, alloc: Sequence[int]) -> tuple[Ints, Ints]:
        """Evaluate UTILFN from its text for an allocation [balls], as `Source` says."""
        build = Build(self, bins, limits=False)
        return Columns(build.names, build.tables, build.families, alloc).run(self.tree.body, build.dims)

    def _located(self, run: Callable[[], T]) -> T:
        """Errors get the text and the file."""
        try:
            return run()
        except SpecError as error:
            raise error.located(self.text, self.file) from None

    def _param(self, name: str, value: object) -> Value:
        try:
            if isinstance(value, bool):
                raise ValueError
            raw, whole = number(str(value).strip(), None)
        except (ArithmeticError, ValueError):
            raise SpecError(f"parameter {name} is no number: {value!r}", "Give a number, like 4 or 0.5.") from None
        return Value(INT if whole else QUANTITY, raw)

    def _check_declarations(self) -> None:
        """What must be there once is there once; what is given exists."""
        declared = self.tree.declarations
        for kind, what in ((s.Balls, "BALLS"), (s.Bins, "BINS"), (s.Resource, "RESOURCES")):
            found = [one for one in declared if isinstance(one, kind)]
            if not found:
                remedy = f"Write {what} {'NAME => capacity' if kind is s.Resource else 'number'}."
                raise SpecError(f"there is no {what}", remedy, At(1, 1))
            if kind is not s.Resource and len(found) > 1:
                raise SpecError(f"{what} is there twice", "Keep one of them.", found[1].at)
        self._bins = next(one for one in declared if isinstance(one, s.Bins))
        for name in self.params:
            if name not in self.declared:
                raise SpecError(f"there is no parameter {name}", suggest(name, self.declared))

    def table_from(self, node: s.TableFrom) -> Table:
        """A table from a file, read once."""
        if node.name not in self._read:
            folder = None if self.file is None else self.file.parent
            self._read[node.name] = from_file(node.name, node.file, node.columns, folder, node.at)
        return self._read[node.name]


class Build:
    """One pass over the declarations, in order; without `limits` over those only that UTILFN can name."""

    def __init__(self, spec: Spec, bins: int | None, *, limits: bool = True) -> None:
        self.spec = spec
        self.tables = dict(spec.given)
        self.names: dict[str, Value] = {}
        self.constants = Interpreter(self.names, self.tables)
        self.families: dict[str, Family] = {}
        self.capacity: list[Ints] = []
        self.dims = 0
        self.balls = self.bins = -1
        self.sets: dict[str, list[tuple[list[int], int]]] = {"FRIENDS": [], "FOES": [], "GROUPS": []}
        self.wishes: list[Wish] = []
        self.members = 0
        self.softs: list[tuple[list[int], int, int]] = []
        self.soft_dims: set[int] = set()
        self.pins: dict[int, tuple[int, At]] = {}
        self.by_bins = {"BINS"}
        """Names whose values depend on the number of bins."""
        self.counted = self.bins_differ = False
        """See `Problem`."""
        self.most = -1
        """So many bins there may be; all of them may be named."""
        for node in spec.tree.declarations:
            if isinstance(node, s.Bins):
                self.most = COUNT_LIMIT if node.high is None else self.count(node.high, "BINS")
                count = bins if node.count is None else self.count(node.count, "BINS")
                self.bins = -1 if count is None else count
                self.most = self.most if node.count is None else self.bins
                self.names["BINS"] = Value(INT, self.bins)
            elif isinstance(node, s.TableIs | s.TableOf):
                if node.name not in spec.given:
                    self._table(node)
            elif limits or not isinstance(node, s.Soft | s.Pin | s.Company):
                if isinstance(node, s.Balls | s.Soft | s.Pin) or (
                    isinstance(node, s.Company) and node.kind != "GROUPS"
                ):
                    self.counted = self.counted or not self.by_bins.isdisjoint(_names(node))
                getattr(self, f"_{type(node).__name__.lower()}")(node)

    def problem(self) -> Problem:
        """The whole problem, UTILFN checked."""
        tree = self.spec.tree
        families = tuple(self.families.values())
        program, families = check(tree, self.balls, self.bins, self.names, self.tables, families)
        capacity = np.concatenate(self.capacity) if self.capacity else np.zeros(0, np.int64)
        ceiling, soft_group = capacity.copy(), np.full(self.dims, -1, np.int64)
        for group, (dims, _, over) in enumerate(self.softs):
            soft_group[dims] = group
            ceiling[dims] = [amount + amount * over // MICRO for amount in capacity[dims].tolist()]
        allowed = np.array([len(dims) - -(-len(dims) * share // MICRO) for dims, share, _ in self.softs], np.int64)
        pins = np.full(self.balls, NULL, np.int64)
        for ball, (place, at) in self.pins.items():
            if place >= self.bins:
                raise SpecError(f"there is no bin {place}", f"They go from 0 to {self.bins - 1}.", at)
            pins[ball] = place
        problem = Problem(
            self.spec, self.balls, self.bins, families, capacity, ceiling, soft_group, allowed, program,
            Sets.of(self.sets["FRIENDS"]), Sets.of(self.sets["FOES"]), pins, self.groupings(),
            self.counted or not self.by_bins.isdisjoint(_names(tree.body)), self.bins_differ, tuple(self.wishes),
        )  # fmt: skip
        for array in (capacity, ceiling, soft_group, allowed, program.data, pins):
            array.flags.writeable = False
        return problem

    def count(self, node: s.Expr | None, what: str) -> int:
        """A number of things."""
        assert node is not None
        number = self.constants.whole(node, f"the number of {what}")
        if not 1 <= number <= COUNT_LIMIT:
            remedy = f"There can be 1 to {COUNT_LIMIT:,}."
            raise SpecError(f"{number} is no number of {what}", remedy, node.at)
        return number

    def _new(self, name: str, at: At) -> None:
        if name in self.names or name in self.tables:
            raise SpecError(f"{name} has a meaning already", "Choose another name.", at)

    def _param(self, node: s.Param) -> None:
        self._new(node.name, node.at)
        if not self.by_bins.isdisjoint(_names(node.value)):
            self.by_bins.add(node.name)
        self.names[node.name] = self.spec.params.get(node.name) or self.constants.number(node.value)

    def _table(self, node: s.TableIs | s.TableOf) -> None:
        """A table of the text, computed once if it is the same for every number of bins."""
        self._new(node.name, node.at)
        if not self.by_bins.isdisjoint(
            _names(node.value) | (_names(node.axes) if isinstance(node, s.TableOf) else set())
        ):
            self.by_bins.add(node.name)
        table = self.spec.made.get(node.name)
        if table is None:
            if isinstance(node, s.TableIs):
                table = from_rows(node.name, self._entries(node.value), node.at)
            else:
                table = self._tableof(node)
            if node.name not in self.by_bins:
                self.spec.made[node.name] = table
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
        if node.name in self.spec.given:
            return
        self._new(node.name, node.at)
        self.tables[node.name] = self.spec.table_from(node)

    def _sizes(self, axes: Sequence[s.Axis], limit: int, at: At) -> tuple[int, ...]:
        """How far indices go: each must be a number, from 0, and not depend on the others."""
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

    def _balls(self, node: s.Balls) -> None:
        self.balls = self.count(node.count, "BALLS")
        self.names["BALLS"] = Value(INT, self.balls)

    def _resource(self, node: s.Resource) -> None:
        if node.name in self.families:
            raise SpecError(f"{node.name} is there twice", "Give every resource a name of its own.", node.at)
        sizes = self._sizes(node.axes, DIM_LIMIT - self.dims, node.at)
        named = _names(node.capacity)
        over_bins = [axis for axis in node.axes if not self.by_bins.isdisjoint(_names(axis.range))]
        self.bins_differ = self.bins_differ or any(axis.name in named for axis in over_bins)
        by_number = any(axis.range != s.Name(axis.at, "BINS") for axis in over_bins)
        self.counted = self.counted or by_number or not self.by_bins.isdisjoint(named)
        copied = self._copied(node, sizes)
        if copied is not None:
            capacity = copied
        elif any(axis.name in _names(node.capacity) for axis in node.axes):
            each = [self._capacity(node) for _ in self.constants.over(node.axes)]
            capacity = np.array(each, np.int64)
        else:
            capacity = np.full(int(np.prod(sizes, dtype=np.int64)), self._capacity(node), np.int64)
        self.families[node.name] = Family(node.name, sizes, self.dims, None)
        self.capacity.append(capacity)
        self.dims += capacity.size

    def _copied(self, node: s.Resource, sizes: tuple[int, ...]) -> Ints | None:
        """The capacities that are a table as it is, A[i in n] => T[i], without evaluating every entry; or None."""
        table = self.tables.get(node.capacity.table) if isinstance(node.capacity, s.Index) else None
        if table is None or table.starts is not None or table.sizes != sizes:
            return None
        names = [axis.name for axis in node.axes if axis.skip is None and axis.name not in {*self.names, *self.tables}]
        as_it_is = s.Index(node.at, table.name, tuple(s.Name(node.at, name) for name in names))
        if node.capacity != as_it_is or len(set(names)) < len(sizes):
            return None
        values = table.values * MICRO if table.whole else table.values.copy()
        return values if values.min(initial=0) >= 0 else None

    def _capacity(self, node: s.Resource) -> int:
        amount = micro(self.constants.number(node.capacity))
        if not 0 <= amount <= LARGEST * MICRO:
            remedy = "Capacities are 0 to 1e9: choose a larger unit."
            raise SpecError("this capacity is out of range", remedy, node.capacity.at)
        return amount

    def _share(self, node: s.Expr | None, what: str, most: int = MICRO) -> int:
        if node is None:
            return MICRO
        share = micro(self.constants.number(node))
        if not 0 <= share <= most:
            raise SpecError(f"{what} is out of range", f"It is 0 to {most // MICRO}.", node.at)
        return share

    def _items(self, items: Sequence[s.Expr | s.Span], count: int, what: str) -> list[int]:
        """Balls or bins: single ones, ranges, rows of tables; each once."""
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

    def _company(self, node: s.Company) -> None:
        count, what = (self.most, "bin") if node.kind == "GROUPS" else (self.balls, "ball")
        self._counted(count, "BINS" if node.kind == "GROUPS" else "BALLS", node.at)
        sets = self.spec.made_sets.get(node.at)
        if sets is None:
            sets = []
            for _ in self.constants.over(node.axes):
                members = self._items(node.items, count, what)
                chance = self._share(node.chance, "a probability")
                if node.kind == "FOES" and len(members) == 1:
                    raise SpecError("a single ball cannot be apart", "Name two or more balls.", node.at)
                if members:
                    sets.append((members, chance))
            if self.by_bins.isdisjoint(_names(node)):
                self.spec.made_sets[node.at] = sets
        self.sets[node.kind] += sets
        wished: dict[int, list[tuple[int, ...]]] = {}
        for members, chance in sets:
            if chance < MICRO:
                wished.setdefault(chance, []).append(tuple(members))
        for chance, wishes in wished.items():
            self.wishes.append(Wish(node.kind, chance, tuple(wishes)))

    def _counted(self, count: int, what: str, at: At) -> None:
        if count < 0:
            raise SpecError(f"{what} is not known yet", f"Write {what} above this line.", at)

    def _soft(self, node: s.Soft) -> None:
        for _ in self.constants.over(node.axes):
            family = self.families.get(node.family)
            if family is None:
                raise SpecError(f"unknown resource {node.family}", suggest(node.family, self.families), node.at)
            slots = node.slots or (None,) * len(family.sizes)
            if len(slots) != len(family.sizes):
                problem = f"{family.name} has {len(family.sizes)} indices, here are {len(slots)}"
                raise SpecError(problem, "Write * for an index that runs.", node.at)
            numbers = [0]
            for size, slot in zip(family.sizes, slots, strict=True):
                index = None if slot is None else self.constants.whole(slot)
                if slot is not None and index is not None and not 0 <= index < size:
                    raise SpecError(f"index {index} leaves {family.name}", f"It goes from 0 to {size - 1}.", slot.at)
                some = range(size) if index is None else (index,)
                numbers = [number * size + one for number in numbers for one in some]
            dims = [family.offset + number for number in numbers]
            if not self.soft_dims.isdisjoint(dims):
                raise SpecError("a dimension is in two SOFT groups", "Keep it in one.", node.at)
            self.soft_dims.update(dims)
            self.softs.append((dims, self._share(node.share, "SHARE"), self._share(node.over, "OVER", 1000 * MICRO)))

    def _pin(self, node: s.Pin) -> None:
        self._counted(self.balls, "BALLS", node.at)
        self._counted(self.bins, "BINS", node.at)
        pins = self.spec.made_pins.get(node.at)
        if pins is None:
            pins = list(self._pinned(node))
            if self.by_bins.isdisjoint(_names(node)):
                self.spec.made_pins[node.at] = pins
        for ball, place in pins:
            if self.pins.setdefault(ball, (place, node.bin.at))[0] != place:
                raise SpecError(f"ball {ball} is pinned to two bins", "Keep one of them.", node.at)

    def _pinned(self, node: s.Pin) -> Iterator[tuple[int, int]]:
        """Balls and their bins."""
        for _ in self.constants.over(node.axes):
            ball, to = self.constants.whole(node.ball), self.constants.value(node.bin)
            place = NULL if is_null(to) else self.constants.whole(node.bin)
            if not 0 <= ball < self.balls:
                raise SpecError(f"there is no ball {ball}", f"They go from 0 to {self.balls - 1}.", node.ball.at)
            if not NULL <= place < self.most:
                raise SpecError(f"there is no bin {place}", f"They go from 0 to {self.most - 1}.", node.bin.at)
            if place != NULL:
                yield ball, place

    def groupings(self) -> tuple[Sets, ...]:
        """Groups of one, two, four, ... and all bins; or as declared, every other bin alone at the end.

        If the number of bins is given, the largest groups come first.

        With `BINS ?` groups have those of their bins that there are.
        """
        if self.sets["GROUPS"]:
            named = [[place for place in members if place < self.bins] for members, _ in self.sets["GROUPS"]]
            groups = [members for members in named if members]
            seen = [place for members, _ in self.sets["GROUPS"] for place in members]
            if len(seen) != len(set(seen)):
                raise SpecError("a bin is in two GROUPS", "Every bin is in one of them.", self._first("GROUPS"))
            rest = sorted(set(range(self.bins)) - set(seen))
            return (Sets.of([(group, MICRO) for group in [*groups, *([place] for place in rest)]]),)
        sizes, size = [], 1
        while size < self.bins:
            sizes.append(size)
            size *= 2
        every = np.arange(self.bins)
        bounds = [np.append(np.arange(0, self.bins, size), self.bins) for size in [*sizes, self.bins]]
        if not self.spec.searched:  # nobody asked for few bins: balls are spread first
            bounds.reverse()
        return tuple(Sets(offsets, every, np.full(len(offsets) - 1, MICRO)) for offsets in bounds)

    def _first(self, kind: str) -> At:
        return next(one.at for one in self.spec.tree.declarations if isinstance(one, s.Company) and one.kind == kind)


def _names(node: object) -> set[str]:
    """Names in an expression, of tables too."""
    if isinstance(node, s.Name):
        return {node.name}
    if isinstance(node, tuple) and not isinstance(node, At):
        return set().union(*map(_names, node))
    if isinstance(node, s.Node):
        own = {node.table} if isinstance(node, s.Index) else set()
        return own.union(*(_names(getattr(node, name)) for name in type(node).__slots__))
    return set()
