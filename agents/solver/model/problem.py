"""Describe an allocation problem with a given number of bins, as all searches read it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from binwright.agents.solver.model.program import MICRO, NULL, Family, Objective, Program
from binwright.agents.solver.model.source import demands
from binwright.simcore.types import Flags, Ints


@dataclass(frozen=True)
class Sets:
    """Sets of numbers, one after another, each with a chance in millionths of being imposed on an attempt."""

    offsets: Ints
    """[sets + 1]"""
    members: Ints
    chance: Ints
    """[sets]; MICRO means always."""

    def __len__(self) -> int:
        return len(self.chance)

    def __iter__(self) -> Iterator[tuple[list[int], int]]:
        """Iterate over the sets: the members of each and its chance."""
        members, bounds = self.members.tolist(), self.offsets.tolist()
        for number, chance in enumerate(self.chance.tolist()):
            yield members[bounds[number] : bounds[number + 1]], chance

    def in_one_bin(self, places: Ints) -> Flags:
        """Tell of each set whether its balls are all in the same of these places [balls]."""
        at, begins = places[self.members], self.offsets[:-1]
        alike: Flags = np.minimum.reduceat(at, begins) == np.maximum.reduceat(at, begins)
        return alike

    @classmethod
    def of(cls, sets: list[tuple[list[int], int]]) -> Self:
        """Make sets from lists of (members, chance)."""
        sizes = [0, *(len(members) for members, _ in sets)]
        flat = [member for members, _ in sets for member in members]
        chances = [chance for _, chance in sets]
        return cls(np.cumsum(sizes, dtype=np.int64), np.array(flat, np.int64), np.array(chances, np.int64))


@dataclass(frozen=True)
class Wish:
    """The sets of one declaration, of which a share is to hold if possible."""

    kind: str
    """`FRIENDS` or `FOES`."""
    chance: int
    """The share, in millionths: of an attempt's sets so many are imposed."""
    sets: tuple[tuple[int, ...], ...]

    @property
    def wanted(self) -> int:
        """Count how many of the sets are to hold."""
        return -(-len(self.sets) * self.chance // MICRO)

    def broken(self, alloc: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        """Return the sets that do not hold in an allocation [balls]; a set with a ball that has no bin does not."""
        places = ({alloc[ball] for ball in members} for members in self.sets)
        every = zip(self.sets, places, strict=True)
        return tuple(members for members, at in every if NULL in at or (len(at) == 1) != (self.kind == "FRIENDS"))

    def missing(self, alloc: Sequence[int]) -> int:
        """Count how many sets more are to hold than do in an allocation [balls]."""
        return max(0, len(self.broken(alloc)) - len(self.sets) + self.wanted)


class Matrix(NamedTuple):
    """A vector problem: ball i adds demand[i] to the vector of its bin, whichever it is. It is never written to."""

    demand: Ints
    """[balls, d], millionths"""
    capacity: Ints
    """[bins, d], millionths"""
    names: tuple[str, ...]
    """[d]: `CPU`, or `CPU[2]` for a family with further indices."""
    dims: Ints
    """[bins, d]: the dimensions of the capacities"""


class Fault(NamedTuple):
    """A declaration without which a problem might be possible."""

    what: str
    """`RESOURCES CPU`, `FOES`."""
    line: int | None
    """Of the text; None where it comes from outside, such as by an option."""


@dataclass(frozen=True)
class Problem:
    """An allocation problem with a given number of bins. Nothing here is ever written."""

    source: Any = field(repr=False, compare=False)
    """The `specification.spec.Spec` that it was made from, which makes others of its kind."""
    searched: bool
    """`BINS ?` was asked for, without goals."""
    limits: tuple[int, int]
    """The least and the largest number of bins that may be tried; both are `bins` unless it is `searched`."""
    balls: int
    bins: int
    families: tuple[Family, ...]
    capacity: Ints
    """[dims]"""
    ceiling: Ints
    """[dims]: `capacity`, and for members of a soft group what they may reach at most."""
    soft_group: Ints
    """[dims]: the soft group, or -1."""
    soft_allowed: Ints
    """[soft groups]: how many members may be above `capacity`."""
    program: Program
    friends: Sets
    """Balls that belong into one bin."""
    foes: Sets
    """Balls that must not all be in one bin."""
    different: Sets
    """Balls of which no two may be in one bin. Whoever keeps `foes` keeps this: every two are there."""
    pins: Ints
    """[balls]: the bin that the ball must be in, or -1."""
    groupings: tuple[Sets, ...]
    """Ways to split the bins into groups, each an order of disjoint groups with every bin in one of them. Search key
    `group` is the index here. The chance has no meaning."""
    bins_alike: bool
    """No declaration besides PIN and GROUPS tells bins apart, and on how many there are nothing depends but how many
    dimensions there are."""
    wishes: tuple[Wish, ...]
    """What is declared WITH a chance below one."""
    objective: Objective | None
    """The goals, if there are any."""
    now: Ints
    """[balls]: the bin that the ball is in now, or -1."""
    ball_names: tuple[str, ...]
    """[balls], or none."""
    bin_names: tuple[str, ...]
    """[bins], or none."""
    bounded_below: bool
    """The first goal is what AT LEAST misses, which is to be nothing."""

    @property
    def dims(self) -> int:
        """Count the dimensions."""
        return len(self.capacity)

    def with_bins(self, bins: int) -> Self:
        """Return the problem with this many bins; only for `BINS ?` another number than it has."""
        other: Self = self if bins == self.bins else self.source.problem(bins)
        return other

    @cached_property
    def owner(self) -> Ints:
        """The bin that each dimension belongs to, int64 [dims]; -1 for none. It is for bin-local programs only."""
        owner = np.full(self.dims, -1, np.int64)
        for family in self.families:
            if family.bin_axis is not None:
                owner[family.offset : family.offset + family.count] = np.indices(family.sizes)[family.bin_axis].ravel()
        return owner

    @cached_property
    def elastic(self) -> Ints:
        """Dimension of which one ball more may need less: 1 there, otherwise 0, int64 [dims].

        A search that trims lets a group of bins exceed them meanwhile.
        """
        falls = [family.falls for family in self.families]
        elastic = np.repeat(np.array(falls, np.int64), [family.count for family in self.families])
        return np.where(self.soft_group < 0, elastic, 0)

    @cached_property
    def units(self) -> Sets:
        """Balls that are placed together, by first ball: those that certain friendship joins; others are alone."""
        return joined(self.balls, (members for members, chance in self.friends if chance == MICRO))

    @cached_property
    def unit_of(self) -> Ints:
        """The unit that each ball belongs to, int64 [balls].

        A placement of units, indexed with it, is a placement of balls.
        """
        result = np.empty(self.balls, np.int64)
        result[self.units.members] = np.repeat(np.arange(len(self.units)), np.diff(self.units.offsets))
        return result

    @cached_property
    def unit_pin(self) -> Ints:
        """The bin that a ball of each unit is pinned to, int64 [units]; -1 for none."""
        result = np.full(len(self.units), NULL)
        np.maximum.at(result, self.unit_of, self.pins)
        return result

    @cached_property
    def unit_now(self) -> Ints:
        """The bin that each unit is in now, int64 [units]; -1 where its balls are apart, or any is nowhere."""
        first = self.now[self.units.members[self.units.offsets[:-1]]]
        return np.where(self.units.in_one_bin(self.now) & (first < self.bins), first, NULL)

    def moved(self, alloc: Sequence[int]) -> tuple[tuple[int, int, int], ...]:
        """Return the moves of an allocation [balls]: ball, from, to; -1 for a ball that is left out."""
        places = np.asarray(alloc)
        gone = np.flatnonzero((self.now != NULL) & (self.now != places))
        return tuple(zip(gone.tolist(), self.now[gone].tolist(), places[gone].tolist(), strict=True))

    def ball(self, number: int) -> str:
        """Return what people call a ball: its name, or else its number."""
        return self.ball_names[number] if self.ball_names else str(number)

    def bin(self, number: int) -> str:
        """Return what people call a bin."""
        return self.bin_names[number] if self.bin_names else str(number)

    def name(self, dim: int) -> str:
        """Return what people call a dimension: `CPU[3]`, `CPU[n-c]`."""
        return next(family for family in self.families if dim in family).name_of(dim)

    @cached_property
    def matrix(self) -> Matrix | None:
        """The dense form of `units`, if there is one: no ALLOC, bin-local, the same demand in every bin, nothing soft.

        No demand is below zero. It says nothing of foes and pins: whoever uses it looks at those separately.
        """
        program, parts, names = self.program, list[Ints](), list[str]()
        vectors = program.alloc_free and program.bin_local and program.bin_blind
        if not vectors or len(self.soft_allowed):
            return None
        for family in self.families:
            if family.bin_axis is not None:
                if family.sizes[family.bin_axis] != self.bins:
                    return None
                numbers = family.offset + np.arange(family.count).reshape(family.sizes)
                parts.append(np.moveaxis(numbers, family.bin_axis, 0).reshape(self.bins, -1))
                names += [family.name_of(dim, family.bin_axis) for dim in parts[-1][0].tolist()]
        dims = np.ascontiguousarray(np.concatenate(parts, axis=1)) if parts else None  # kernels know one layout
        if dims is None or (demand := demands(program, self.balls, dims[0])) is None or (demand < 0).any():
            return None
        of_units = np.add.reduceat(demand[self.units.members], self.units.offsets[:-1], axis=0)
        return Matrix(of_units, self.capacity[dims], tuple(names), dims)

    @cached_property
    def packing(self) -> Matrix | None:
        """The dense form where no other rule counts: no PIN, NOW, FOES and wishes."""
        others = len(self.foes) or (self.friends.chance < MICRO).any()
        return None if others or (self.pins != NULL).any() or (self.now != NULL).any() else self.matrix


def joined(balls: int, sets: Iterable[Sequence[int]]) -> Sets:
    """Join the balls that are in a set together, directly or by others: sets of all balls, sorted by first ball."""
    ends = np.array([(members[0], ball) for members in sets for ball in members], np.int64).reshape(-1, 2)
    graph = csr_matrix((np.ones(len(ends)), ends.T), (balls, balls))
    count, label = connected_components(graph, directed=False)
    offsets = np.append(0, np.cumsum(np.bincount(label, minlength=count)))
    return Sets(offsets, np.argsort(label, kind="stable"), np.full(count, MICRO))


def groupings(bins: int, groups: Sequence[Sequence[int]], smallest_first: bool) -> tuple[Sets, ...]:
    """Split the bins as `groups` say, others alone at the end; or in groups of one, two, four, ... and all of them.

    The largest of these come first, unless the smallest are to: balls are spread first then.
    """
    if groups:
        grouped = {place for members in groups for place in members}
        present = [[place for place in members if place < bins] for members in groups]
        every = [*filter(None, present), *([place] for place in range(bins) if place not in grouped)]
        return (Sets.of([(members, MICRO) for members in every]),)
    sizes = [*(1 << power for power in range((bins - 1).bit_length())), bins]
    bounds = [np.append(np.arange(0, bins, size), bins) for size in sizes]
    ordered = bounds if smallest_first else bounds[::-1]
    return tuple(Sets(ends, np.arange(bins), np.full(len(ends) - 1, MICRO)) for ends in ordered)
