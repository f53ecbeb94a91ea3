"""Go through the declarations of a specification once: constants, tables and sets become a `Problem`.

Some declarations become what there is without them: statements of UTILFN, resources, sets, goals, as
`binwright.agents.solver.language.declared` says.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, islice
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from binwright.agents.solver.language import declared
from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.errors import COUNT_LIMIT, ENTRY_LIMIT, At, SpecError, existing, look_up, refuse
from binwright.agents.solver.language.programs import Constants, compile_goals, compile_utilfn
from binwright.agents.solver.language.tables import Table, from_array, from_file, from_names, from_places
from binwright.agents.solver.language.writer import INT, PLACE, Scope, Typed
from binwright.agents.solver.model.problem import Problem, Sets, Wish, groupings
from binwright.agents.solver.model.program import MICRO, NULL, WIDE, Family
from binwright.simcore.types import Ints

if TYPE_CHECKING:
    from binwright.agents.solver.specification.spec import Spec
SETS = ("friends", "foes", "different", "groups", "drain")
AFTER = {
    "BALLS": ("friends", "foes", "different", "linked", "pin", "now"),
    "BINS": ("groups", "drain", "pin", "now"),
}
"""Kinds of declarations that stand below the one of BALLS, or of BINS."""


class Build(Constants):
    """One pass over the declarations, in order: each kind of node by the method of its name."""

    def __init__(self, spec: "Spec", bins: int | None) -> None:
        super().__init__(Scope(spec.names, tables=dict(spec.tables)))
        self.spec, self._fixed_bins = spec, bins
        self.named: dict[str, int] = {}
        """By what stands behind AS: how many names there are."""
        self.least = self.most = -1
        """So many bins there may be."""
        self.capacity: list[Ints] = []
        self.dims = 0
        self.sets: dict[str, list[tuple[list[int], int]]] = {kind: [] for kind in SETS}
        self.wishes: list[Wish] = []
        self.softs: list[tuple[list[int], int, int]] = []
        self.pins: dict[int, int] = {}
        self.now: Ints | None = None
        self.moves: At | None = None
        self.added: s.Block = ()
        """What declarations add to UTILFN."""
        self.goals: tuple[s.Node, ...] = ()
        self.lower: list[s.Node] = []
        for node in spec.tree.declarations:
            for what, count in (("BALLS", self.scope.balls), ("BINS", self.most)):
                early = count < 0 and node.kind in AFTER[what]
                refuse(early, f"{what} is not known yet", f"Write {what} above this line.", node.at)
            getattr(self, f"_{node.kind}")(node, *node.parts)
        self.drained = sorted({place for members, _ in self.sets["drain"] for place in members})
        if closed := [place for place in self.drained if place < self.scope.bins]:
            room = np.full(self.scope.bins, self.scope.balls * MICRO)
            room[closed] = 0
            self._add_counted(self._first("drain"), declared.DRAIN, room)
        if spec.bins.parts[0] is None and spec.has_goals:
            self._count_balls(spec.bins.at)
            self.goals = declared.opening(self.goals, self.least, spec.bins.at)
        if self.lower:
            self.goals = (declared.what_is_missing(self.lower), *self.goals)
        counting = (goal.at for goal in self.goals if declared.NOW in s.names_in(goal))
        at = self.moves or next(counting, None)
        remedy = "Write NOW TABLE, a table with the bin of every ball now, -1 for none; or give an answer, as --from."
        refuse(at and self.now is None, "MOVES needs to know where the balls are now", remedy, at)

    # The problem

    @property
    def body(self) -> s.Block:
        """Return UTILFN with what declarations add to it."""
        return (*self.spec.tree.body, *self.added)

    def problem(self) -> Problem:
        """Make the whole problem."""
        balls, bins = self.scope.balls, self.scope.bins
        limits = self.spec.limits if self.spec.searched else (bins, bins)
        program, families = compile_utilfn(self.body, self.scope)
        capacity = np.concatenate(self.capacity) if self.capacity else np.zeros(0, np.int64)
        ceiling, soft_group = capacity.copy(), np.full(self.dims, -1, np.int64)
        for group, (dims, _, over) in enumerate(self.softs):
            soft_group[dims] = group
            ceiling[dims] = [amount + amount * over // MICRO for amount in capacity[dims].tolist()]
        allowed = np.array([len(dims) - -(-len(dims) * share // MICRO) for dims, share, _ in self.softs], np.int64)
        pins = np.full(balls, NULL, np.int64)
        pins[list(self.pins)] = list(self.pins.values())
        now = np.full(balls, NULL, np.int64) if self.now is None else self.now
        proven = replace(self.scope, families={family.name: family for family in families})
        objective = compile_goals(self.goals, proven, ceiling)
        if objective is not None:
            leaving = (now != NULL) & (np.isin(now, self.drained) | ((pins != NULL) & (pins != now)))
            least = int(leaving.sum())
            counting = [goal.parts[:2] == ("MINIMISE", declared.moved(goal.at)) for goal in self.goals]
            objective = objective.bounded([least if counts else -WIDE for counts in counting])
        return Problem(
            self.spec, self.spec.searched, limits, balls, bins,
            families, capacity, ceiling, soft_group, allowed, program,
            Sets.of(self.sets["friends"]), Sets.of(self.sets["foes"]), Sets.of(self.sets["different"]), pins,
            groupings(bins, [members for members, _ in self.sets["groups"]], self.spec.searched),
            self._bins_alike(families),
            tuple(self.wishes), objective, now,
            self._labels("balls", balls), self._labels("bins", bins), bool(self.lower),
        )  # fmt: skip

    def _labels(self, kind: str, count: int) -> tuple[str, ...]:
        """Return the names of balls or bins, none if they have none."""
        named = self.scope.means[kind.upper()]
        if named is None:
            return ()
        remedy = f'Write TABLE ... FROM "file.csv" COLUMN "name" AS {named} above this line.'
        refuse(named not in self.named, f"nothing is read AS {named}", remedy, self._first(kind))
        if (names := self.spec.names.get(named)) is None:  # they came from outside, as numbers
            return ()
        problem = f"{kind.upper()} are {count:,}, and there are {len(names):,} names"
        refuse(len(names) < count, problem, f"Read as many AS {named}, or leave AS out.", self._first(kind))
        return tuple(islice(names, count))

    # What declarations have in common

    def _bins_alike(self, families: Sequence[Family]) -> bool:
        """Tell what `Problem.bins_alike` says: BINS only says how long resources are."""
        indexed, others = {(family.name, family.bin_axis) for family in families}, list[Any]()
        for node in self.spec.tree.declarations:
            if node.kind == "family":
                name, axes, value = node.parts
                others.append(value)
                for number, axis in enumerate(axes):
                    of_bins = axis.parts[1] == s.name(node.at, "BINS")
                    if axis.parts[0] in s.names_in(value) if of_bins else (name, number) in indexed:
                        return False
                    others += () if of_bins else axis.parts
            elif node.kind not in ("bins", "groups", "moves"):
                others.append(node)
        kinds = {node.kind for node in self.spec.tree.declarations}
        return "drain" not in kinds and "BINS" not in s.names_in((*others, self.spec.tree.body))

    def _first(self, kind: str) -> At:
        return next(node.at for node in self.spec.tree.declarations if node.kind == kind)

    # Constants, tables, balls and bins

    def _param(self, node: s.Node, name: str, value: s.Node) -> None:
        self.check_free(name, node.at)
        self.names[name] = self.number(self.spec.params.get(name, value))

    def _table(self, node: s.Node, name: str, literal: s.Node) -> None:
        if self._is_made(node, name):
            self.tables[name] = from_array(name, self.entries(literal), node.at)

    def _table_of(self, node: s.Node, name: str, axes: Sequence[s.Node], value: s.Node) -> None:
        self.scope.name_axes(name, axes)
        if self._is_made(node, name):
            sizes = self.sizes(axes, ENTRY_LIMIT, node.at)
            entries = [self.entry(value) for _ in self.combinations(axes)]
            self.tables[name] = replace(from_array(name, entries, node.at), sizes=sizes)

    def _is_made(self, node: s.Node, name: str) -> bool:
        """Tell whether a table is to be made, whose name must be free then: one from outside takes its place."""
        if name in self.spec.tables:
            return False
        self.check_free(name, node.at)
        return True

    def _table_from(self, node: s.Node, name: str, file: str, columns: Sequence[str], of: str | None) -> None:
        if self._is_made(node, name):
            names, files = None if of is None else self.spec.names.setdefault(of, {}), self.spec.files
            if names is not None and name in self.spec.cells:
                files[name] = from_names(name, self.spec.cells[name], names)
            elif name not in files:
                folder = self.spec.file and self.spec.file.parent
                files[name] = from_file(name, file, columns, folder, names, node.at)
            self.tables[name] = files[name]
        if of is not None:
            if of not in self.named:
                self.check_free(of, node.at)
            most = int(self.tables[name].values.max(initial=-1)) + 1
            self.scope.means[name] = of
            self.named[of] = max(most, self.named.get(of, 0))
            known = np.arange(self.named[of])
            self.tables[of] = Table(of, True, known.shape, known)

    def _balls(self, node: s.Node, count: s.Node, names: str | None) -> None:
        self.scope.means |= {"BALLS": names, "BALL": names}
        self.scope.balls = self.count(count, "BALLS")
        self.names["BALLS"] = Typed.of(INT, self.scope.balls)

    def _bins(self, node: s.Node, count: s.Node | None, names: str | None, *ends: s.Node | None) -> None:
        self.scope.means |= {"BINS": names, "BIN": names}
        self.scope.indices |= {(declared.BALLS, 0): names, (declared.DRAIN, 0): names}
        counts = (count, *(ends or (None, None)))
        fixed, low, high = (None if each is None else self.count(each, "BINS") for each in counts)
        self.least, self.most = fixed or low or 1, fixed or high or COUNT_LIMIT
        self.scope.bins = fixed or self._fixed_bins or -1
        self.names["BINS"] = Typed.of(INT, self.scope.bins)

    # Resources

    def _family(self, node: s.Node, name: str, axes: Sequence[s.Node], value: s.Node) -> None:
        self.scope.name_axes(name, axes)
        twice = name in self.families
        refuse(twice, f"{name} is there twice", "Give every resource a name of its own.", node.at)
        sizes = self.sizes(axes, ENTRY_LIMIT // 4 - self.dims, node.at)
        indices = tuple(s.name(axis.at, axis.parts[0]) for axis in axes)
        new = {axis.parts[0] for axis in axes} - self.names.keys() - self.tables.keys()
        straight = value.kind == "index" and value.parts[1] == indices and len(new) == len(axes)  # A[i in n] => T[i]
        table = self.tables.get(value.parts[0]) if straight else None
        capacity: Ints | int
        if table is not None and table.starts is None and table.sizes == sizes and table.values.min(initial=0) >= 0:
            capacity = table.values * MICRO if table.whole else table.values
        elif s.names_in(value).isdisjoint(axis.parts[0] for axis in axes):
            capacity = self.amount(value, "this capacity")
        else:
            capacity = np.array([self.amount(value, "this capacity") for _ in self.combinations(axes)])
        self._add_family(name, sizes, capacity)

    def _add_family(self, name: str, sizes: tuple[int, ...], capacity: Ints | int) -> None:
        named = (self.scope.indices.get((name, number)) or "" for number in range(len(sizes)))
        labels = tuple(tuple(self.scope.numbers.get(of, ())) for of in named)
        self.families[name] = Family(name, sizes, self.dims, None, labels=labels)
        self.dims += prod(sizes)
        self.capacity.append(np.full(prod(sizes), capacity, np.int64))

    def _add_counted(self, at: At, word: str, capacity: Ints) -> None:
        """Add the resource that counts for a declaration, and what UTILFN adds to it."""
        self._add_family(word, capacity.shape, capacity)
        self.added += declared.statements(at, declared.ADDED[word])

    def _count_balls(self, at: At) -> None:
        """Count the balls of every bin, in the resource BALLS."""
        if declared.BALLS not in self.families:
            refuse(self.most < 0, "BINS is not known yet", "Write BINS above this line.", at)
            self._add_counted(at, declared.BALLS, np.full(self.scope.bins, self.scope.balls * MICRO))

    def _soft(self, node: s.Node, name: str, slots: Any, share: s.Node, over: s.Node, axes: Sequence[s.Node]) -> None:
        for _ in self.combinations(axes):
            family = self.resource(node, slots)
            numbers = np.arange(family.offset, family.offset + family.count).reshape(family.sizes)
            at = [
                slice(None) if slot is None else self.within(slot, size, name, self.scope.indices.get((name, axis))).low
                for axis, (size, slot) in enumerate(zip(family.sizes, slots or (), strict=False))
            ]
            dims = numbers[tuple(at)].ravel().tolist()
            limits = self.amount(share, "SHARE", MICRO), self.amount(over, "OVER", 1000 * MICRO)
            self.softs.append((dims, *limits))
        every = [dim for dims, *_ in self.softs for dim in dims]
        refuse(len(every) > len(set(every)), "a dimension is in two SOFT groups", "Keep it in one.", node.at)

    def _least(self, node: s.Node, amount: s.Node, dim: s.Node, _: Any, axes: Sequence[s.Node]) -> None:
        if dim.parts[0] == declared.BALLS:
            self._count_balls(node.at)
        for _ in self.combinations(axes):
            self.amount(amount, "this amount")
        self.lower.append(node)

    # Sets

    def _items(self, items: Sequence[s.Node], what: str) -> list[int]:
        """Return balls or bins, each once: they are listed as single ones, ranges, and rows of tables."""
        members: list[int] = []
        of_bins = what == "bin"
        count, of = (self.most, self.scope.means["BINS"]) if of_bins else (self.scope.balls, self.scope.means["BALLS"])
        for item in items:
            listed = item.kind == "span" or (item.kind == "index" and self.row_of(item) is not None)
            for member in self.numbers(item) if listed else (self.int_of(item, of=of),):
                members.append(existing(member, what, count, item.at))
                self.step(item.at)
        return list(dict.fromkeys(members))

    def _company(self, node: s.Node, items: Sequence[s.Node], *more: Any) -> None:
        """Add the sets of a declaration, each with its chance."""
        *chance, axes = more
        sets = list[tuple[list[int], int]]()
        for _ in self.combinations(axes):
            members = self._items(items, "bin" if node.kind in ("groups", "drain") else "ball")
            share = self.amount(chance[0], "a probability", MICRO) if any(chance) else MICRO
            alone = node.kind == "foes" and len(members) == 1
            refuse(alone, "a single ball cannot be apart", "Name two or more balls.", node.at)
            sets += [(members, share)] if members else []
        self.sets[node.kind] += sets
        if node.kind == "groups":
            grouped = [place for members, _ in self.sets["groups"] for place in members]
            refuse(len(grouped) > len(set(grouped)), "a bin is in two GROUPS", "Every bin is in one of them.", node.at)
        for members, _ in sets if node.kind == "different" else ():  # every two balls are FOES
            self.step(node.at, len(members) * (len(members) - 1) // 2)
            self.sets["foes"] += [(list(pair), MICRO) for pair in combinations(members, 2)]
        for share in dict.fromkeys(share for _, share in sets if share < MICRO):
            wishes = tuple(tuple(members) for members, other in sets if other == share)
            self.wishes.append(Wish(node.kind.upper(), share, wishes))

    _friends = _foes = _different = _groups = _drain = _company

    def _pin(self, node: s.Node, ball: s.Node, to: s.Node, axes: Sequence[s.Node]) -> None:
        balls, bins = self.scope.means["BALLS"], self.scope.means["BINS"]
        for _ in self.combinations(axes):
            number = existing(self.int_of(ball, of=balls), "ball", self.scope.balls, ball.at)
            place = self.value(to, bins)
            place = place if place.kind == PLACE else self.whole(to, of=bins)
            if place.low != NULL:
                pin = existing(place.low, "bin", self.most, to.at)
                twice = self.pins.setdefault(number, pin) != pin
                problem = f"ball {self.scope.name(balls, number)} is pinned to two bins" if twice else ""
                refuse(twice, problem, "Keep one of them.", node.at)

    def _linked(
        self, node: s.Node, word: str, items: Sequence[s.Node], rate: s.Node, links: s.Block, axes: Sequence[s.Node]
    ) -> None:
        """Make of HOSE and PIPE the tables, and what they add to UTILFN; sets without bandwidth add nothing."""
        remedy = "Links follow from BIN alone: LINK[BIN], UPLINK[BIN // 4], PORT[SWITCH[BIN]]."
        for name in ("BALL", *(axis.parts[0] for axis in axes)):
            refuse(name in s.names_in(links), f"{name} is not known behind OVER", remedy, links[0].at)
        sets: list[tuple[list[int], int]] = []
        for _ in self.combinations(axes):
            members, amount = self._items(items, "ball"), self.amount(rate, "this rate")
            wrong = amount and word == "PIPE" and len(members) != 2
            refuse(wrong, f"a pipe has two ends, not {len(members)}", "Name two, or write HOSE.", node.at)
            if amount:
                sets.append((members, amount))
        if sets:
            block, tables = declared.linked(node, f"{word} {len(self.added)}", sets, self.scope.balls)
            self.added += block
            self.tables.update((table.name, table) for table in tables)

    # Where balls are now, and goals

    def _now(self, node: s.Node, name: str) -> None:
        if name == declared.NOW:  # it comes from outside
            names = self._labels("balls", self.scope.balls), self._labels("bins", self.most)
            table = from_places(self.spec.now, *names, node.at)
        else:
            table = look_up("table", name, self.tables, node.at)
        wrong = table.rank != 1 or table.starts is not None or len(table.values) > self.scope.balls or not table.whole
        remedy = f"Give it {self.scope.balls:,} whole numbers: the bin of every ball, -1 for none. New balls come last."
        refuse(wrong, f"{name} does not say where the balls are", remedy, node.at)
        for ball in np.flatnonzero((table.values < NULL) | (table.values >= self.most))[:1].tolist():
            place = self.scope.name(self.scope.means["BINS"], int(table.values[ball]))
            of = self.scope.name(self.scope.means["BALLS"], ball)
            remedy = f"They go from 0 to {self.most - 1}; -1 is for a ball that is nowhere."
            raise SpecError(f"ball {of} is in bin {place}, which there is not", remedy, node.at)
        self.now = np.full(self.scope.balls, NULL, np.int64)
        self.now[: len(table.values)] = table.constant(node.at).values
        self.tables[declared.NOW] = Table(declared.NOW, True, (self.scope.balls,), self.now)

    def _moves(self, node: s.Node, limit: s.Node) -> None:
        self.moves = node.at
        self._add_counted(node.at, declared.MOVES, np.array(self.count(limit, "moves") * MICRO))

    def _goal(self, node: s.Node, *_: Any) -> None:
        moves = s.name(node.at, declared.MOVES)
        counted = s.mapped(node, lambda part: declared.moved(part.at) if part == moves else None)
        self.goals = (*self.goals, counted)
