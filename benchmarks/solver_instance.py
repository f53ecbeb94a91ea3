"""An instance of a coupled problem: in the language, as a linear model, and placed by a greedy and a local search."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.simcore.types import Ints

Floats = NDArray[Any]


class Linear(NamedTuple):
    """Maximise worth x with rows x <= high and 0 <= x <= most, all whole."""

    worth: Floats
    most: Floats
    rows: Any
    high: Floats

    @classmethod
    def of(cls, worth: Floats, most: Any, *rows: tuple[Any, Any]) -> Linear:
        """Stack blocks of rows, each with what it comes to at most."""
        high = [np.broadcast_to(np.asarray(at_most, float), block.shape[0]) for block, at_most in rows]
        every = sparse.vstack([block for block, _ in rows], "csr")
        return cls(worth, np.broadcast_to(np.asarray(most, float), len(worth)), every, np.concatenate(high))


def one_of(labels: Ints) -> Any:
    """Return [labels, entries], 1 where an entry has the label."""
    return sparse.csr_array((np.ones(len(labels)), (labels, np.arange(len(labels)))))


def each(count: int) -> Any:
    """Return the identity: a row for each of so many."""
    return sparse.eye_array(count, format="csr")


def all_of(count: int) -> Any:
    """Return one row of so many ones."""
    return np.ones((1, count))


class Instance(ABC):
    """A problem of so many balls of which as many as can be are to be placed."""

    need: Ints
    """[balls, resources]"""
    has: Ints
    """[bins, resources]"""

    @abstractmethod
    def problem(self) -> Problem:
        """State it in the language."""

    @abstractmethod
    def linear(self) -> Linear:
        """State it as a linear model."""

    @abstractmethod
    def greedy(self, order: Ints) -> Ints:
        """Place what is placed at once in an order, each where there is least room."""

    @property
    def variables(self) -> int:
        """Count the variables of the linear model, roughly."""
        return len(self.need) * len(self.has)

    @property
    def sizes(self) -> Floats:
        """Return how large what is placed at once is."""
        return np.asarray((self.need / self.has.mean(0)).sum(1))

    def value(self, alloc: Ints) -> int:
        """Count the balls that are placed."""
        return int((alloc != NULL).sum())

    def missing(self, alloc: Ints) -> NDArray[np.bool_]:
        """Tell what of all that is placed at once is not placed."""
        return np.asarray(alloc == NULL)

    def local_search(self, seconds: float, seed: int) -> Ints:
        """Repeat greedy: what found no place comes earlier, the more often the more, and the rest by chance."""
        rng, until, weight = np.random.default_rng(seed), perf_counter() + seconds, self.sizes.copy()
        best = self.greedy(np.argsort(-weight, kind="stable"))
        while perf_counter() < until and self.missing(best).any():
            found = self.greedy(np.argsort(-weight * rng.uniform(0.9, 1.1, len(weight)), kind="stable"))
            weight[self.missing(found)] *= 1.2
            if self.value(found) > self.value(best):
                best = found
        return best

    def capacities(self) -> Iterator[tuple[Any, Any]]:
        """Iterate over the rows of capacities, and those by which a ball is in one bin."""
        bins = each(len(self.has))
        for need, has in zip(self.need.T, self.has.T, strict=True):
            yield sparse.kron(need[None].astype(float), bins), has
        yield sparse.kron(each(len(self.need)), all_of(len(self.has))), 1


class SingleBalls(Instance):
    """A problem whose balls are placed one by one."""

    @abstractmethod
    def begin(self) -> None:
        """Note that nothing is placed."""

    @abstractmethod
    def may(self, ball: int) -> NDArray[np.bool_]:
        """Tell into which bins a ball may go, capacities aside."""

    @abstractmethod
    def put(self, ball: int, place: int) -> None:
        """Note that a ball is placed."""

    def greedy(self, order: Ints) -> Ints:
        """Place the balls in an order, each into the bin that may take it and has least room."""
        free, share, alloc = self.has.copy(), 1 / self.has.mean(0), np.full(len(self.need), NULL)
        room = free @ share
        self.begin()
        for ball in order.tolist():
            fits = np.flatnonzero((free >= self.need[ball]).all(1) & self.may(ball))
            if len(fits):
                alloc[ball] = place = int(fits[room[fits].argmin()])
                free[place] -= self.need[ball]
                room[place] = free[place] @ share
                self.put(ball, place)
        return alloc


def cut(rng: np.random.Generator, has: Ints, each: int, slack: float) -> tuple[Ints, Ints]:
    """Cut what every bin [bins, d] has, but for the slack, into parts: int64 [balls, d], and the bin of each, mixed."""
    shares = rng.dirichlet(np.full(each, 2.0), size=has.shape)  # [bins, d, each]
    parts = np.floor(shares.transpose(0, 2, 1) * has[:, None, :] * (1 - slack)).astype(np.int64)
    order = rng.permutation(len(has) * each)
    return parts.reshape(-1, has.shape[1])[order], np.repeat(np.arange(len(has)), each)[order]


def spread(rng: np.random.Generator, place: Ints) -> list[list[int]]:
    """Split balls into sets of two to eight, each as evenly over places [balls] as may be."""
    left = {int(one): np.flatnonzero(place == one).tolist() for one in np.unique(place)}
    sets: list[list[int]] = []
    while any(left.values()):
        members: list[int] = []
        fullest = sorted(left, key=lambda one: -len(left[one]))
        for number in range(int(rng.integers(2, 9))):
            members += left[fullest[number % len(fullest)]][-1:]
            del left[fullest[number % len(fullest)]][-1:]
        sets.append(members)
    return sets
