"""Go through the declarations of a specification once: constants, tables and sets become a `Problem`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import TypeVar

import numpy as np

from binwright.agents.solver.language import declared
from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.compile import check, check_goals
from binwright.agents.solver.language.constants import Value, is_null, micro
from binwright.agents.solver.language.errors import At, SpecError
from binwright.agents.solver.language.tables import LARGEST, Table
from binwright.agents.solver.language.values import INT
from binwright.agents.solver.model.problem import Least, Problem, Sets, Source, Wish, leaving
from binwright.agents.solver.model.program import MICRO, NULL, Family, Program
from binwright.agents.solver.specification.translated import COUNT_LIMIT, DIM_LIMIT, Given, Translated
from binwright.simcore.errors import suggest
from binwright.simcore.types import Ints

T = TypeVar("T")


class Build(Translated):
    """One pass over the declarations, in order.

    Without `limits` it leaves out what UTILFN cannot name: capacities, SOFT, PIN and sets of balls or bins.
    """

    def __init__(self, given: Given, bins: int | None, *, limits: bool = True) -> None:
        super().__init__(given)
        self._limits = limits
        self.wishes: list[Wish] = []
        self.softs: list[tuple[list[int], int, int]] = []
        self.soft_dims: set[int] = set()
        self.pins: dict[int, tuple[int, At]] = {}
        self.counted = self.bins_differ = False
        """See `Problem`."""
        self.now: Ints | None = None
        self.moves: tuple[int, At] | None = None
        self.most = -1
        """So many bins there may be; all of them may be named."""
        for written in given.tree.declarations:
            node = written if isinstance(written, s.Goal) else self._numbered(written)
            if isinstance(node, s.Balls):
                self.called.balls = node.names
            elif isinstance(node, s.Resource | s.TableOf):
                self.called.indices[node.name] = self.called.axes(node.axes)
            if isinstance(node, s.Bins):
                self.called.bins = node.names
                self.called.indices[declared.BALLS] = [node.names]
                self.most = COUNT_LIMIT if node.high is None else self.count(node.high, "BINS")
                count = bins if node.count is None else self.count(node.count, "BINS")
                self.bins = -1 if count is None else count
                self.most = self.most if node.count is None else self.bins
                self.names["BINS"] = Value(INT, self.bins)
            elif isinstance(node, s.TableIs | s.TableOf):
                if node.name not in given.tables:
                    self._table(node)
            elif limits or not isinstance(node, s.Soft | s.Pin | s.Company) or _is_different(node):
                if isinstance(node, s.Balls | s.Soft | s.Pin) or (
                    isinstance(node, s.Company) and node.kind != "GROUPS"
                ):
                    self.counted = self.counted or not self.by_bins.isdisjoint(s.names_in(node))
                getattr(self, f"_{type(node).__name__.lower()}")(node)
        self._large_sets()
        self.goals = self._numbered(self.goals)
        self._more_goals()
        counting = (one.at for one in self.goals if declared.NOW in s.names_in(one))
        at = self.moves[1] if self.moves else next(counting, None)
        if at is not None and self.now is None:
            remedy = (
                "Write NOW TABLE, a table with the bin of every ball now, -1 for none; or give an answer, as --from."
            )
            raise SpecError("MOVES needs to know where the balls are now", remedy, at)

    @property
    def body(self) -> s.Block:
        """Return UTILFN with what declarations add to it, for whoever evaluates it; DRAIN is not in it."""
        limited = () if self.moves is None else (declared.limited(self.moves[1]),)
        return (*self._numbered(self.given.tree.body), *limited, *self.added)

    def _numbered(self, part: T) -> T:
        """Return a part of the tree with numbers in the place of names."""
        numbered: T = self.called.numbered(part) if self.given.by_name else part
        return numbered

    def utilfn(self, first: s.Block = (), *, blind: bool = False) -> tuple[Program, tuple[Family, ...]]:
        """Check UTILFN, with statements before it; if it is `blind`, what depends on ALLOC is left out."""
        families = tuple(self.families.values())
        return check((*first, *self.body), self.balls, self.bins, self.names, self.tables, families, blind=blind)

    def problem(self, source: Source) -> Problem:
        """Make the whole problem, with UTILFN checked; the source is what it is made from."""
        base, families = self.utilfn()
        program, drained = base, np.zeros(self.bins, np.bool_)
        for members, _ in self.sets[declared.DRAIN]:
            drained[[place for place in members if place < self.bins]] = True
        if self.sets[declared.DRAIN]:
            self.bins_differ = True  # whether or not there are as many bins yet
        if drained.any():
            self.tables[declared.DRAIN] = Table(declared.DRAIN, True, (self.bins,), drained.astype(np.int64))
            program, _ = self.utilfn((declared.drained(self._first(declared.DRAIN)),))
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
        objective = check_goals(
            self.goals, self.given.text, self.balls, self.bins, self.names, self.tables, named, ceiling
        )
        if objective is not None:
            least = int(leaving(now, drained, pins).sum())
            counting = [one.value == declared.moved(one.at) for one in self.goals]
            objective = objective.at_least([least if counts else None for counts in counting])
        counted = self.counted or not self.by_bins.isdisjoint(s.names_in(self.given.tree.body))
        ball_names, bin_names = (
            self._labels(node, self.balls if isinstance(node, s.Balls) else self.bins)
            for kind in (s.Balls, s.Bins)
            for node in self.given.tree.declarations
            if isinstance(node, kind)
        )
        lower = np.array(self.least, np.int64).reshape(-1, 3).T
        problem = Problem(
            source, self.balls, self.bins, families, capacity, ceiling, soft_group, allowed, program,
            Sets.of(self.sets["FRIENDS"]), Sets.of(self.sets["FOES"]), Sets.of(self.sets[declared.DIFFERENT]), pins,
            self._groupings(),
            counted, self.bins_differ, tuple(self.wishes), objective, base, now, drained, self.moves and self.moves[0],
            ball_names, bin_names, Least(lower[0], lower[1], lower[2] > 0),
        )  # fmt: skip
        for array in (capacity, ceiling, soft_group, allowed, program.data, pins, now, drained):
            array.flags.writeable = False
        return problem

    def _balls(self, node: s.Balls) -> None:
        self.balls = self.count(node.count, "BALLS")
        self.names["BALLS"] = Value(INT, self.balls)

    def _resource(self, node: s.Resource) -> None:
        if node.name in self.families:
            raise SpecError(f"{node.name} is there twice", "Give every resource a name of its own.", node.at)
        sizes = self._sizes(node.axes, DIM_LIMIT - self.dims, node.at)
        self.families[node.name] = Family(node.name, sizes, self.dims, None, labels=self.called.labels(node.axes))
        self.dims += prod(sizes)
        if not self._limits:
            return
        named = s.names_in(node.capacity)
        over_bins = [axis for axis in node.axes if not self.by_bins.isdisjoint(s.names_in(axis.range))]
        self.bins_differ = self.bins_differ or any(axis.name in named for axis in over_bins)
        by_number = any(axis.range != s.Name(axis.at, "BINS") for axis in over_bins)
        self.counted = self.counted or by_number or not self.by_bins.isdisjoint(named)
        copied = self._copied(node, sizes)
        if copied is not None:
            capacity = copied
        elif any(axis.name in s.names_in(node.capacity) for axis in node.axes):
            each = [self._capacity(node) for _ in self.constants.over(node.axes)]
            capacity = np.array(each, np.int64)
        else:
            capacity = np.full(prod(sizes), self._capacity(node), np.int64)
        self.capacity.append(capacity)

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

    def _company(self, node: s.Company) -> None:
        of_bins = node.kind in ("GROUPS", declared.DRAIN)
        count, what = (self.most, "bin") if of_bins else (self.balls, "ball")
        self._counted(count, "BINS" if of_bins else "BALLS", node.at)
        sets = self.given.made_sets.get(node.at)
        if sets is None:
            sets = []
            for _ in self.constants.over(node.axes):
                members = self._items(node.items, count, what)
                chance = self._share(node.chance, "a probability")
                if node.kind == "FOES" and len(members) == 1:
                    raise SpecError("a single ball cannot be apart", "Name two or more balls.", node.at)
                if members:
                    sets.append((members, chance))
            if self.by_bins.isdisjoint(s.names_in(node)):
                self.given.made_sets[node.at] = sets
        self.sets[node.kind] += sets
        if node.kind == declared.DIFFERENT:
            self._pairs([members for members, _ in sets])
        wished: dict[int, list[tuple[int, ...]]] = {}
        for members, chance in sets:
            if chance < MICRO:
                wished.setdefault(chance, []).append(tuple(members))
        for chance, wishes in wished.items():
            self.wishes.append(Wish(node.kind, chance, tuple(wishes)))

    def _soft(self, node: s.Soft) -> None:
        for _ in self.constants.over(node.axes):
            dims = self._dims_of(node, node.slots)
            if not self.soft_dims.isdisjoint(dims):
                raise SpecError("a dimension is in two SOFT groups", "Keep it in one.", node.at)
            self.soft_dims.update(dims)
            self.softs.append((dims, self._share(node.share, "SHARE"), self._share(node.over, "OVER", 1000 * MICRO)))

    def _pin(self, node: s.Pin) -> None:
        self._counted(self.balls, "BALLS", node.at)
        self._counted(self.bins, "BINS", node.at)
        pins = self.given.made_pins.get(node.at)
        if pins is None:
            pins = list(self._pinned(node))
            if self.by_bins.isdisjoint(s.names_in(node)):
                self.given.made_pins[node.at] = pins
        for ball, place in pins:
            if self.pins.setdefault(ball, (place, node.bin.at))[0] != place:
                raise SpecError(f"ball {self._called(ball)} is pinned to two bins", "Keep one of them.", node.at)

    def _called(self, ball: int) -> str:
        return self.called.name(self.called.balls, ball)

    def _pinned(self, node: s.Pin) -> Iterator[tuple[int, int]]:
        """Iterate over pinned balls and their bins."""
        for _ in self.constants.over(node.axes):
            ball, to = self.constants.whole(node.ball), self.constants.value(node.bin)
            place = NULL if is_null(to) else self.constants.whole(node.bin)
            if not 0 <= ball < self.balls:
                raise SpecError(f"there is no ball {ball}", f"They go from 0 to {self.balls - 1}.", node.ball.at)
            if not NULL <= place < self.most:
                raise SpecError(f"there is no bin {place}", f"They go from 0 to {self.most - 1}.", node.bin.at)
            if place != NULL:
                yield ball, place

    def _now(self, node: s.Now) -> None:
        if self.now is not None:
            raise SpecError("NOW is there twice", "Keep one of them.", node.at)
        self._counted(self.balls, "BALLS", node.at)
        self._counted(self.bins, "BINS", node.at)
        table = self.tables.get(node.table)
        if table is None:
            raise SpecError(f"unknown table {node.table}", suggest(node.table, self.tables), node.at)
        if table.rank != 1 or table.starts is not None or len(table.values) > self.balls or not table.whole:
            remedy = f"Give it {self.balls:,} whole numbers: the bin of every ball, -1 for none. New balls come last."
            raise SpecError(f"{node.table} does not say where the balls are", remedy, node.at)
        for ball in np.flatnonzero((table.values < NULL) | (table.values >= self.most))[:1].tolist():
            remedy = f"They go from 0 to {self.most - 1}; -1 is for a ball that is nowhere."
            place = self.called.name(self.called.bins, int(table.values[ball]))
            raise SpecError(f"ball {self._called(ball)} is in bin {place}, which there is not", remedy, node.at)
        self.counted = self.counted or node.table in self.by_bins
        self.now = np.full(self.balls, NULL, np.int64)
        self.now[: len(table.values)] = table.constant(node.at).values
        self.tables[declared.NOW] = Table(declared.NOW, True, (self.balls,), self.now)

    def _moves(self, node: s.Moves) -> None:
        if self.moves is not None:
            raise SpecError("MOVES is there twice", "Keep one of them.", node.at)
        most = self.constants.whole(node.most, "the number of moves")
        if not 0 <= most <= COUNT_LIMIT:
            raise SpecError(f"{most} is not a number of moves", f"There can be 0 to {COUNT_LIMIT:,}.", node.at)
        self.moves = most, node.at
        self._family(declared.MOVES, (), most, node.at)

    def _goal(self, node: s.Goal) -> None:
        self.goals = (*self.goals, node)

    def _groupings(self) -> tuple[Sets, ...]:
        """Split the bins into groups as declared, or in the usual ways."""
        declared = [members for members, _ in self.sets["GROUPS"]]
        if not declared:
            return usual_groupings(self.bins, searched=self.given.bins.count is None and not self.given.has_goals)
        named = [place for members in declared for place in members]
        if len(named) != len(set(named)):
            raise SpecError("a bin is in two GROUPS", "Every bin is in one of them.", self._first("GROUPS"))
        return (declared_grouping(declared, self.bins),)


def _is_different(node: s.Node) -> bool:
    return isinstance(node, s.Company) and node.kind == declared.DIFFERENT


def declared_grouping(groups: Sequence[Sequence[int]], bins: int) -> Sets:
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
    sizes, size = [], 1
    while size < bins:
        sizes.append(size)
        size *= 2
    every = np.arange(bins)
    bounds = [np.append(np.arange(0, bins, size), bins) for size in [*sizes, bins]]
    if not searched:
        bounds.reverse()
    return tuple(Sets(offsets, every, np.full(len(offsets) - 1, MICRO)) for offsets in bounds)
