"""Go through the declarations of a specification once: constants, tables and sets become a `Problem`.

Some declarations become what there is without them: statements of UTILFN, resources, sets, goals, as
`binwright.agents.solver.language.declared` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, islice
from math import prod
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from binwright.agents.solver.language import declared
from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.compile import INT, PLACE, Typed, compile_utilfn
from binwright.agents.solver.language.constants import Constants
from binwright.agents.solver.language.errors import At, SpecError, indices_beside
from binwright.agents.solver.language.goals import compile_goals
from binwright.agents.solver.language.named import Named
from binwright.agents.solver.language.tables import ENTRY_LIMIT, LARGEST, Entry, Table, from_file, from_names, from_rows
from binwright.agents.solver.model.problem import Least, Problem, Sets, Source, Wish, leaving
from binwright.agents.solver.model.program import MICRO, NULL, Family, Program
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
T = TypeVar("T")


@dataclass
class Given:
    """A parsed specification with all that comes from outside, and what is the same for every number of bins."""

    tree: s.Tree
    text: str
    file: Path | None
    params: dict[str, Typed]
    tables: dict[str, Table]
    """Those that take the place of TABLEs of the same name."""
    cells: dict[str, list[str | None]]
    """Columns of names that take the place of what TABLEs of the same name read AS names."""
    made: dict[At, Any] = field(default_factory=dict)
    """Tables, sets and pins of declarations that do not depend on BINS, by their place."""
    names: dict[str, dict[str, int]] = field(default_factory=dict)
    """By what stands behind AS: the names of such columns, each with its number."""
    read: dict[str, Table] = field(default_factory=dict)

    @cached_property
    def bins(self) -> s.Bins:
        return next(node for node in self.tree.declarations if isinstance(node, s.Bins))

    @cached_property
    def has_goals(self) -> bool:
        """Tell whether there are goals; what AT LEAST misses is one."""
        return any(isinstance(node, s.Goal | s.Least) for node in self.tree.declarations)

    @cached_property
    def by_name(self) -> bool:
        """Tell whether anything stands there by name, `"web-1"`."""
        return any(isinstance(node, s.Text) for node in s.walk(self.tree))

    def table_from(self, node: s.TableFrom) -> Table:
        """Read a table from its file, or from names that take its place, once."""
        if node.name not in self.read:
            folder = None if self.file is None else self.file.parent
            names = None if node.names is None else self.names.setdefault(node.names, {})
            if names is not None and node.name in self.cells:
                self.read[node.name] = from_names(node.name, self.cells[node.name], names)
            else:
                self.read[node.name] = from_file(node, folder, names)
        return self.read[node.name]


class Build:
    """One pass over the declarations, in order.

    Without `limits` it leaves out what UTILFN cannot name: capacities, SOFT, PIN and sets of balls or bins.
    """

    def __init__(self, given: Given, bins: int | None, *, limits: bool = True) -> None:
        self.given, self._asked_bins, self._limits = given, bins, limits
        self.tables, self.names = dict(given.tables), dict[str, Typed]()
        self.constants = Constants(self.names, self.tables)
        self.by_bins = {"BINS"}
        """Names whose values depend on the number of bins."""
        self.called = Named(given.names)
        self.named: dict[str, int] = {}
        """By what stands behind AS: how many names there are."""
        self.balls = self.bins = self.most = -1
        """So many there are, and bins at most: all of these may be named."""
        self.families: dict[str, Family] = {}
        self.capacity: list[Ints] = []
        self.dims = self.members = 0
        """Dimensions, and members of all sets."""
        kinds = "FRIENDS", "FOES", declared.DIFFERENT, "GROUPS", declared.DRAIN
        self.sets: dict[str, list[tuple[list[int], int]]] = {kind: [] for kind in kinds}
        self.wishes: list[Wish] = []
        self.softs: list[tuple[list[int], int, int]] = []
        self._soft_dims: set[int] = set()
        self.pins: dict[int, tuple[int, At]] = {}
        self.counted = self.bins_differ = False
        """See `Problem`."""
        self.now: Ints | None = None
        self.moves: tuple[int, At] | None = None
        self.added: s.Block = ()
        """What declarations add to UTILFN."""
        self.goals: tuple[s.Goal, ...] = ()
        self.lower: list[s.Least] = []
        self.least: list[tuple[int, int, bool]] = []
        """Entries of `Problem.least`."""
        for written in given.tree.declarations:
            node = written if isinstance(written, s.Goal) else self._numbered(written)
            kind, limiting = getattr(node, "kind", ""), isinstance(node, s.Soft | s.Pin | s.Company)
            if limits or not limiting or kind == declared.DIFFERENT:
                if isinstance(node, s.Balls) or (limiting and kind != "GROUPS"):
                    self.counted = self.counted or self._depends(node)
                getattr(self, f"_{type(node).__name__.lower()}")(node)
        self._large_sets()
        self.goals = self._numbered(self.goals)
        if given.bins.count is None and given.has_goals:
            self._count_balls(given.bins.at)
            self.goals = self._opening()
        if self.lower:
            self.goals = (declared.what_is_missing(self.lower), *self.goals)
        counting = (goal.at for goal in self.goals if declared.NOW in s.names_in(goal))
        at = self.moves[1] if self.moves else next(counting, None)
        if at is not None and self.now is None:
            remedy = (
                "Write NOW TABLE, a table with the bin of every ball now, -1 for none; or give an answer, as --from."
            )
            raise SpecError("MOVES needs to know where the balls are now", remedy, at)

    # The problem

    @property
    def body(self) -> s.Block:
        """Return UTILFN with what declarations add to it, for whoever evaluates it; DRAIN is not in it."""
        limited = () if self.moves is None else declared.added(declared.MOVES, self.moves[1])
        return (*self._numbered(self.given.tree.body), *limited, *self.added)

    def utilfn(self, first: s.Block = (), *, blind: bool = False) -> tuple[Program, tuple[Family, ...]]:
        """Compile UTILFN, with statements before it; if it is `blind`, what depends on ALLOC is left out."""
        body = (*first, *self.body)
        return compile_utilfn(body, self.balls, self.bins, self.names, self.tables, self.families, blind=blind)

    def problem(self, source: Source) -> Problem:
        """Make the whole problem; the source is what it is made from."""
        base, families = self.utilfn()
        program, drained = base, np.zeros(self.bins, np.bool_)
        for members, _ in self.sets[declared.DRAIN]:
            drained[[place for place in members if place < self.bins]] = True
        if self.sets[declared.DRAIN]:
            self.bins_differ = True  # whether or not there are as many bins yet
        if drained.any():
            self.tables[declared.DRAIN] = Table(declared.DRAIN, True, (self.bins,), drained.astype(np.int64))
            program, _ = self.utilfn(declared.added(declared.DRAIN, self._first(declared.DRAIN)))
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
        now = np.full(self.balls, NULL, np.int64) if self.now is None else self.now
        named = {family.name: family for family in families}
        objective = compile_goals(
            self.goals, self.given.text, self.balls, self.bins, self.names, self.tables, named, ceiling
        )
        if objective is not None:
            least = int(leaving(now, drained, pins).sum())
            counting = [goal.value == declared.moved(goal.at) for goal in self.goals]
            objective = objective.at_least([least if counts else None for counts in counting])
        labels = {
            type(node): self._labels(node, self.balls if isinstance(node, s.Balls) else self.bins)
            for node in self.given.tree.declarations
            if isinstance(node, s.Balls | s.Bins)
        }
        lower = np.array(self.least, np.int64).reshape(-1, 3).T
        problem = Problem(
            source, self.balls, self.bins, families, capacity, ceiling, soft_group, allowed, program,
            Sets.of(self.sets["FRIENDS"]), Sets.of(self.sets["FOES"]), Sets.of(self.sets[declared.DIFFERENT]), pins,
            self._groupings(), self.counted or self._depends(self.given.tree.body), self.bins_differ,
            tuple(self.wishes), objective, base, now, drained, self.moves and self.moves[0],
            labels[s.Balls], labels[s.Bins], Least(lower[0], lower[1], lower[2] > 0),
        )  # fmt: skip
        for array in (capacity, ceiling, soft_group, allowed, program.data, pins, now, drained):
            array.flags.writeable = False
        return problem

    def _groupings(self) -> tuple[Sets, ...]:
        """Split the bins into groups as declared, or in the usual ways."""
        groups = [members for members, _ in self.sets["GROUPS"]]
        if not groups:
            return usual_groupings(self.bins, searched=self.given.bins.count is None and not self.given.has_goals)
        named = [place for members in groups for place in members]
        if len(named) != len(set(named)):
            raise SpecError("a bin is in two GROUPS", "Every bin is in one of them.", self._first("GROUPS"))
        return (declared_grouping(groups, self.bins),)

    def _labels(self, node: s.Balls | s.Bins, count: int) -> tuple[str, ...]:
        """Return the names of balls or bins, none if they have none."""
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
            what = type(node).__name__.upper()
            raise SpecError(f"{what} are {count:,}, and there are {len(names):,} names", remedy, node.at)
        return tuple(islice(names, count))

    # What declarations have in common

    def _numbered(self, part: T) -> T:
        """Return a part of the tree with numbers in the place of names."""
        numbered: T = self.called.numbered(part) if self.given.by_name else part
        return numbered

    def _depends(self, part: object) -> bool:
        """Tell whether a part of the tree depends on the number of bins."""
        return not self.by_bins.isdisjoint(s.names_in(part))

    def _once(self, node: s.Node, make: Callable[[], T]) -> T:
        """Return what a declaration makes, once if it is the same for every number of bins."""
        if self._depends(node):
            return make()
        if node.at not in self.given.made:
            self.given.made[node.at] = make()
        found: T = self.given.made[node.at]
        return found

    def count(self, node: s.Expr, what: str) -> int:
        """Evaluate a number of things."""
        number = self.constants.int_of(node, f"the number of {what}")
        if not 1 <= number <= COUNT_LIMIT:
            remedy = f"There can be 1 to {COUNT_LIMIT:,}."
            raise SpecError(f"{number} is not a number of {what}", remedy, node.at)
        return number

    def _amount(self, node: s.Expr, what: str, most: int = LARGEST * MICRO) -> int:
        """Evaluate a quantity that is not below zero, in millionths."""
        amount = self.constants.number(node).micro().low
        if not 0 <= amount <= most:
            remedy = "It is 0 to 1e9: choose a larger unit." if most > 10**9 else f"It is 0 to {most // MICRO}."
            raise SpecError(f"{what} is out of range", remedy, node.at)
        return amount

    def _new(self, name: str, at: At) -> None:
        if name in self.names or name in self.tables:
            raise SpecError(f"{name} has a meaning already", "Choose another name.", at)

    def _known(self, at: At, *, balls: bool = True, bins: bool = False) -> None:
        """Refuse what stands before the number of balls, or of bins."""
        for count, needed, what in ((self.balls, balls, "BALLS"), (self.most, bins, "BINS")):
            if needed and count < 0:
                raise SpecError(f"{what} is not known yet", f"Write {what} above this line.", at)

    def _table_named(self, name: str, at: At) -> Table:
        if name not in self.tables:
            raise SpecError(f"unknown table {name}", suggest(name, self.tables), at)
        return self.tables[name]

    def _first(self, kind: str) -> At:
        return next(node.at for node in self.given.tree.declarations if getattr(node, "kind", "") == kind)

    def _sizes(self, axes: Sequence[s.Axis], limit: int, at: At) -> tuple[int, ...]:
        """Return how far indices go: each to a number, from 0, that does not depend on the others."""
        if len(axes) > INDEX_LIMIT:
            raise SpecError(f"more than {INDEX_LIMIT} indices", "Join some of them: a * n + b.", at)
        sizes = []
        for axis in axes:
            if isinstance(axis.range, s.Span):
                remedy = "Indices start at 0: write NAME in COUNT."
                raise SpecError(f"index {axis.name} has a range with two ends", remedy, axis.at)
            sizes.append(self.constants.int_of(axis.range, f"the range of {axis.name}"))
            if sizes[-1] < 0:
                raise SpecError(f"the range of {axis.name} is below zero", "It goes from 0 up.", axis.at)
        if prod(sizes) > limit:
            raise SpecError(f"{prod(sizes):,} entries are too many", f"There can be {limit:,}.", at)
        return tuple(sizes)

    # Constants, tables, balls and bins

    def _param(self, node: s.Param) -> None:
        self._new(node.name, node.at)
        if self._depends(node):
            self.by_bins.add(node.name)
        self.names[node.name] = self.given.params.get(node.name) or self.constants.number(node.value)

    def _tableis(self, node: s.TableIs) -> None:
        self._table(node, lambda: from_rows(node.name, self._entries(node.value), node.at))

    def _tableof(self, node: s.TableOf) -> None:
        self.called.indices[node.name] = self.called.axes(node.axes)
        self._table(node, lambda: self._evaluated(node))

    def _table(self, node: s.TableIs | s.TableOf, make: Callable[[], Table]) -> None:
        """Make a table of the text, unless one from outside takes its place."""
        if node.name in self.given.tables:
            return
        self._new(node.name, node.at)
        if self._depends(node):
            self.by_bins.add(node.name)
        self.tables[node.name] = self._once(node, make)

    def _entries(self, node: s.Literal) -> list[Any]:
        return [self._entries(each) if isinstance(each, s.Literal) else self._entry(each) for each in node.entries]

    def _entry(self, node: s.Expr) -> Entry:
        value = self.constants.number(node)
        if abs(value.low) > (LARGEST if value.kind == INT else LARGEST * MICRO):
            raise SpecError("an entry is out of range", "Numbers are at most 1e9: choose a larger unit.", node.at)
        return value.low, value.kind == INT

    def _evaluated(self, node: s.TableOf) -> Table:
        sizes = self._sizes(node.axes, ENTRY_LIMIT, node.at)
        entries = [self._entry(node.value) for _ in self.constants.combinations(node.axes)]
        return replace(from_rows(node.name, entries, node.at), sizes=sizes)

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

    def _balls(self, node: s.Balls) -> None:
        self.called.balls = node.names
        self.balls = self.count(node.count, "BALLS")
        self.names["BALLS"] = Typed.of(INT, self.balls)

    def _bins(self, node: s.Bins) -> None:
        self.called.bins = node.names
        self.called.indices[declared.BALLS] = [node.names]
        if node.count is not None:
            self.bins = self.most = self.count(node.count, "BINS")
        else:
            self.most = COUNT_LIMIT if node.high is None else self.count(node.high, "BINS")
            self.bins = -1 if self._asked_bins is None else self._asked_bins
        self.names["BINS"] = Typed.of(INT, self.bins)

    # Resources

    def _resource(self, node: s.Resource) -> None:
        self.called.indices[node.name] = self.called.axes(node.axes)
        if node.name in self.families:
            raise SpecError(f"{node.name} is there twice", "Give every resource a name of its own.", node.at)
        sizes = self._sizes(node.axes, DIM_LIMIT - self.dims, node.at)
        self.families[node.name] = Family(node.name, sizes, self.dims, None, labels=self.called.labels(node.axes))
        self.dims += prod(sizes)
        if not self._limits:
            return
        named = s.names_in(node.capacity)
        over_bins = [axis for axis in node.axes if self._depends(axis.range)]
        self.bins_differ = self.bins_differ or any(axis.name in named for axis in over_bins)
        by_number = any(axis.range != s.Name(axis.at, "BINS") for axis in over_bins)
        self.counted = self.counted or by_number or self._depends(node.capacity)
        copied = self._copied(node, sizes)
        if copied is not None:
            self.capacity.append(copied)
            return
        what = "this capacity"
        if any(axis.name in named for axis in node.axes):
            each = [self._amount(node.capacity, what) for _ in self.constants.combinations(node.axes)]
            self.capacity.append(np.array(each, np.int64))
        else:
            self.capacity.append(np.full(prod(sizes), self._amount(node.capacity, what), np.int64))

    def _copied(self, node: s.Resource, sizes: tuple[int, ...]) -> Ints | None:
        """Return capacities that are a table as it is, A[i in n] => T[i], without evaluating every entry.

        Returns None if they are not.
        """
        table = self.tables.get(node.capacity.table) if isinstance(node.capacity, s.Index) else None
        if table is None or table.starts is not None or table.sizes != sizes:
            return None
        names = [axis.name for axis in node.axes if axis.skip is None and axis.name not in {*self.names, *self.tables}]
        as_it_is = s.Index(node.at, table.name, tuple(s.Name(node.at, name) for name in names))
        if node.capacity != as_it_is or len(set(names)) < len(sizes):
            return None
        values = table.values * MICRO if table.whole else table.values.copy()
        return values if values.min(initial=0) >= 0 else None

    def _family(self, name: str, sizes: tuple[int, ...], capacity: int, at: At) -> None:
        """Add a resource that no RESOURCES declares, with this capacity everywhere."""
        if self.dims + prod(sizes) > DIM_LIMIT:
            remedy = f"There can be {DIM_LIMIT:,}: name fewer balls, or fewer bins."
            raise SpecError(f"{name} has {prod(sizes):,} dimensions", remedy, at)
        self.families[name] = Family(name, sizes, self.dims, None)
        self.dims += prod(sizes)
        self.capacity.append(np.full(prod(sizes), capacity * MICRO, np.int64))

    def _count_balls(self, at: At) -> None:
        """Count the balls of every bin, in the resource BALLS."""
        if declared.BALLS in self.families:
            return
        self._known(at, bins=True)
        self._family(declared.BALLS, (self.bins,), self.balls, at)
        labels = self.called.labels([s.Axis(at, "BIN", s.Name(at, "BINS"))])
        self.families[declared.BALLS] = replace(self.families[declared.BALLS], labels=labels)
        self.added += declared.added(declared.BALLS, at)

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
            some = range(size) if slot is None else (self.constants.within(slot, size, family.name).low,)
            numbers = [number * size + index for number in numbers for index in some]
        return [family.offset + number for number in numbers]

    def _soft(self, node: s.Soft) -> None:
        for _ in self.constants.combinations(node.axes):
            dims = self._dims_of(node, node.slots)
            if not self._soft_dims.isdisjoint(dims):
                raise SpecError("a dimension is in two SOFT groups", "Keep it in one.", node.at)
            self._soft_dims.update(dims)
            share, over = self._amount(node.share, "SHARE", MICRO), self._amount(node.over, "OVER", 1000 * MICRO)
            self.softs.append((dims, share, over))

    def _least(self, node: s.Least) -> None:
        if node.dim.family == declared.BALLS:
            self._count_balls(node.at)
        for _ in self.constants.combinations(node.axes):
            [dim] = self._dims_of(node.dim, node.dim.arguments)
            self.least.append((dim, self._amount(node.amount, "this amount"), node.or_none))
        self.lower.append(node)

    # Sets

    def _items(self, items: Sequence[s.Expr | s.Span], count: int, what: str) -> list[int]:
        """Return balls or bins, each once: they are listed as single ones, ranges, and rows of tables."""
        found: list[int] = []
        for item in items:
            for member in self.constants.members(item):
                if not 0 <= member < count:
                    raise SpecError(f"there is no {what} {member}", f"They go from 0 to {count - 1}.", item.at)
                found.append(member)
                self.members += 1
                if self.members > COUNT_LIMIT:
                    remedy = f"Together they have at most {COUNT_LIMIT:,} members."
                    raise SpecError("the sets are too large", remedy, item.at)
        return list(dict.fromkeys(found))

    def _company(self, node: s.Company) -> None:
        of_bins = node.kind in ("GROUPS", declared.DRAIN)
        self._known(node.at, balls=not of_bins, bins=of_bins)

        def make() -> list[tuple[list[int], int]]:
            sets = []
            for _ in self.constants.combinations(node.axes):
                members = self._items(node.items, *((self.most, "bin") if of_bins else (self.balls, "ball")))
                chance = MICRO if node.chance is None else self._amount(node.chance, "a probability", MICRO)
                if node.kind == "FOES" and len(members) == 1:
                    raise SpecError("a single ball cannot be apart", "Name two or more balls.", node.at)
                if members:
                    sets.append((members, chance))
            return sets

        sets = self._once(node, make)
        self.sets[node.kind] += sets
        if node.kind == declared.DIFFERENT:  # every two balls of small sets are FOES
            few = (members for members, _ in sets if len(members) <= PAIRED)
            self.sets["FOES"] += [(list(pair), MICRO) for members in few for pair in combinations(members, 2)]
        for chance in dict.fromkeys(chance for _, chance in sets if chance < MICRO):
            wishes = tuple(tuple(members) for members, other in sets if other == chance)
            self.wishes.append(Wish(node.kind, chance, wishes))

    def _large_sets(self) -> None:
        """Let each of the large sets that are DIFFERENT have one place in every bin."""
        large = [members for members, _ in self.sets[declared.DIFFERENT] if len(members) > PAIRED]
        if large:
            at = self._first(declared.DIFFERENT)
            self.tables[declared.DIFFERENT] = declared.rows_of(self.balls, large, declared.DIFFERENT)
            self._family(declared.DIFFERENT, (len(large), self.bins), 1, at)
            self.added += declared.added(declared.DIFFERENT, at)

    def _pin(self, node: s.Pin) -> None:
        self._known(node.at, bins=True)
        for ball, place in self._once(node, lambda: list(self._pinned(node))):
            if self.pins.setdefault(ball, (place, node.bin.at))[0] != place:
                name = self.called.name(self.called.balls, ball)
                raise SpecError(f"ball {name} is pinned to two bins", "Keep one of them.", node.at)

    def _pinned(self, node: s.Pin) -> Iterator[tuple[int, int]]:
        """Iterate over pinned balls and their bins."""
        for _ in self.constants.combinations(node.axes):
            ball, to = self.constants.int_of(node.ball), self.constants.value(node.bin)
            place = NULL if to.kind == PLACE and to.high < 0 else self.constants.int_of(node.bin)
            if not 0 <= ball < self.balls:
                raise SpecError(f"there is no ball {ball}", f"They go from 0 to {self.balls - 1}.", node.ball.at)
            if not NULL <= place < self.most:
                raise SpecError(f"there is no bin {place}", f"They go from 0 to {self.most - 1}.", node.bin.at)
            if place != NULL:
                yield ball, place

    def _linked(self, node: s.Linked) -> None:
        """Make of HOSE and PIPE the tables, and what they add to UTILFN; sets without bandwidth add nothing."""
        self._known(node.at)
        if unknown := {"BALL", *(axis.name for axis in node.axes)} & s.names_in(node.links):
            remedy = "Links follow from BIN alone: LINK[BIN], UPLINK[BIN // 4], PORT[SWITCH[BIN]]."
            raise SpecError(f"{min(unknown)} is not known behind OVER", remedy, node.links[0].at)
        sets: list[tuple[list[int], int]] = []
        for _ in self.constants.combinations(node.axes):
            members, rate = self._items(node.items, self.balls, "ball"), self._amount(node.rate, "this rate")
            if rate and node.kind == "PIPE" and len(members) != 2:
                here = "is 1 ball" if len(members) == 1 else f"are {len(members)} balls"
                raise SpecError(f"a pipe has two ends, here {here}", "Name two, or write HOSE.", node.at)
            if rate:
                sets.append((members, rate))
        if not sets:
            return
        name = f"{node.kind} {len(self.added)}"
        own, others, rates = f"{name} of", f"{name} balls", f"{name} rates"
        if node.kind == "HOSE":
            balls, amounts = [members for members, _ in sets], [rate for _, rate in sets]
            mine, far = declared.rows_of(self.balls, balls, own), declared.rows(others, balls)
            self.added += declared.hose(node.at, node.links, own, others, rates)
        else:
            pairs: dict[tuple[int, int], int] = {}  # both ways, and several pipes of two balls, are one
            for members, rate in sets:
                pair = min(members), max(members)
                pairs[pair] = pairs.get(pair, 0) + rate
            ends = [end for low, high in pairs for end in ((low, high), (high, low))]
            mine = declared.rows_of(self.balls, [[ball] for ball, _ in ends], own)
            far = Table(others, True, (len(ends),), np.array([other for _, other in ends], np.int64))
            amounts = [rate for rate in pairs.values() for _ in range(2)]
            self.added += declared.pipe(node.at, node.links, own, others, rates)
        table = Table(rates, False, (len(amounts),), np.array(amounts, np.int64))
        self.tables |= {own: mine, others: far, rates: table}

    # Where balls are now, and goals

    def _now(self, node: s.Now) -> None:
        if self.now is not None:
            raise SpecError("NOW is there twice", "Keep one of them.", node.at)
        self._known(node.at, bins=True)
        table = self._table_named(node.table, node.at)
        if table.rank != 1 or table.starts is not None or len(table.values) > self.balls or not table.whole:
            remedy = f"Give it {self.balls:,} whole numbers: the bin of every ball, -1 for none. New balls come last."
            raise SpecError(f"{node.table} does not say where the balls are", remedy, node.at)
        for ball in np.flatnonzero((table.values < NULL) | (table.values >= self.most))[:1].tolist():
            remedy = f"They go from 0 to {self.most - 1}; -1 is for a ball that is nowhere."
            place = self.called.name(self.called.bins, int(table.values[ball]))
            name = self.called.name(self.called.balls, ball)
            raise SpecError(f"ball {name} is in bin {place}, which there is not", remedy, node.at)
        self.counted = self.counted or node.table in self.by_bins
        self.now = np.full(self.balls, NULL, np.int64)
        self.now[: len(table.values)] = table.constant(node.at).values
        self.tables[declared.NOW] = Table(declared.NOW, True, (self.balls,), self.now)

    def _moves(self, node: s.Moves) -> None:
        if self.moves is not None:
            raise SpecError("MOVES is there twice", "Keep one of them.", node.at)
        most = self.constants.int_of(node.most, "the number of moves")
        if not 0 <= most <= COUNT_LIMIT:
            raise SpecError(f"{most} is not a number of moves", f"There can be 0 to {COUNT_LIMIT:,}.", node.at)
        self.moves = most, node.at
        self._family(declared.MOVES, (), most, node.at)

    def _goal(self, node: s.Goal) -> None:
        self.goals = (*self.goals, declared.with_moves(node))

    def _opening(self) -> tuple[s.Goal, ...]:
        """Let BINS be how many bins are opened, in goals of which the last one is that they are few."""
        asked, number = self.given.bins, s.Name(self.given.bins.at, "BINS")
        few = s.Goal(asked.at, "MINIMISE", number, (0, 0), "BINS")
        goals = self.goals if any(goal.value == number for goal in self.goals) else (*self.goals, few)
        low = 1 if asked.low is None else self.count(asked.low, "BINS")
        return tuple(replace(goal, value=declared.opened(goal.value, low)) for goal in goals)


def declared_grouping(groups: Iterable[Sequence[int]], bins: int) -> Sets:
    """Split the bins as GROUPS say; every other bin is alone at the end.

    With `BINS ?` groups have those of their bins that there are.
    """
    named = [[place for place in members if place < bins] for members in groups]
    rest = sorted(set(range(bins)).difference(*named))
    return Sets.of([(members, MICRO) for members in [*filter(None, named), *([place] for place in rest)]])


def usual_groupings(bins: int, *, searched: bool) -> tuple[Sets, ...]:
    """Split the bins into groups of one, two, four, ... and all of them.

    The largest groups come first, unless the number of bins is `searched`: nobody asked for few of them, and balls are
    spread first.
    """
    sizes = [1 << power for power in range((bins - 1).bit_length())]
    every = np.arange(bins)
    bounds = [np.append(np.arange(0, bins, size), bins) for size in [*sizes, bins]]
    if not searched:
        bounds.reverse()
    return tuple(Sets(offsets, every, np.full(len(offsets) - 1, MICRO)) for offsets in bounds)
