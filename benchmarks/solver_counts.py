"""Count what attempts of the published search do, and predict from that how many a graphics card makes.

The counts are of the definition (`agents.solver.backends.reference`) at the problem at hand, with the early exit of
compiled UTILFNs; what a card makes of them is a model, in `predicted`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np

from agents.solver.backends import reference
from agents.solver.backends.flat import Sizes
from agents.solver.backends.reference import Partial, Unit
from agents.solver.model.interpreter import OPERATIONS, Rejected
from agents.solver.model.problem import Problem
from agents.solver.model.program import (
    BALL,
    BIN,
    NULL,
    Add,
    Block,
    Const,
    Expr,
    For,
    If,
    Local,
    Placed,
    Program,
    Read,
    Set,
    Used,
)

COSTS = {
    **dict.fromkeys(("add", "sub"), 2),
    **dict.fromkeys(("and", "or"), 1),
    **dict.fromkeys(("min", "max", "eq", "ne", "lt", "le"), 3),
    "mul": 4,
    **dict.fromkeys(("div", "mod"), 70),
    "qmul": 300,
    "qdiv": 430,
}
"""Instructions of 32 bits that an operation of 64 bits takes, roughly; `qmul` and `qdiv` divide four and six times."""
READ, PLACED, ADD, LOOP = 3, 5, 13, 5
"""The same, of a read of a table, of ALLOC, of an addition (two addresses, two reads, a sum, a test), and of a loop."""


@dataclass
class Counts:
    """What some attempts do; sums over all of them."""

    attempts: int = 0
    units: int = 0
    """Units that are drawn and tried in a group of bins."""
    placed: int = 0
    calls: int = 0
    """Of UTILFN."""
    instructions: int = 0
    """Of UTILFN, by `COSTS`."""
    longest: int = 0
    """Instructions of the longest call: what lanes in lock-step take."""
    reads: int = 0
    """Of numbers of 8 bytes, by UTILFN."""
    groups: int = 0
    rounds: int = 0
    """Times that lanes in lock-step try as many bins and units as there are lanes."""
    rounds_of_bins: int = 0
    """The same, if they tried bins for one unit only."""
    side_by_side: int = 0
    """Calls that lanes wait for, if each makes an attempt of the same grouping: of every unit those of the slowest."""

    def each(self, name: str) -> float:
        """Return a count per attempt."""
        return float(getattr(self, name)) / self.attempts


class _Counting:
    """Runs programs as the interpreter does, up to the first addition beyond a ceiling, and counts."""

    def __init__(self, problem: Problem, counts: Counts) -> None:
        self.counts = counts
        self.early = problem.program.non_negative
        self.ceiling = problem.ceiling.tolist()
        self.data: list[int] = problem.program.data.tolist()
        self.used: Sequence[int] = ()
        self.values: list[int] = []
        self.added: list[tuple[int, int]] = []
        self.alloc: Sequence[int] = ()

    def call(
        self, program: Program, ball: int, place: int, alloc: Sequence[int], over: Callable[[], bool]
    ) -> list[tuple[int, int]] | None:
        """Return what the interpreter returns, or None where an addition alone is beyond a ceiling."""
        self.counts.calls += 1
        self.values = [0] * program.slots
        self.values[BALL], self.values[BIN] = ball, place
        self.alloc, self.added = alloc, []
        before = self.counts.instructions
        try:
            self.run(program.body)
        except Rejected:
            return None
        finally:
            self.counts.longest = max(self.counts.longest, self.counts.instructions - before)
        return self.added

    def value(self, node: Expr) -> int:
        """Evaluate an expression."""
        if isinstance(node, Const):
            return node.value
        if isinstance(node, Local):
            return self.values[node.slot]
        if isinstance(node, Read):
            self.spend(READ, 1)
            return self.data[node.offset + self.value(node.index)]
        if isinstance(node, Placed):
            self.spend(PLACED, 1)
            other = self.value(node.ball)
            return NULL if other == self.values[BALL] else self.alloc[other]
        assert not isinstance(node, Used)
        self.spend(COSTS[node.kind], 0)
        left = self.value(node.left)
        if node.kind in ("and", "or") and bool(left) == (node.kind == "or"):
            return left
        return OPERATIONS[node.kind](left, self.value(node.right))

    def spend(self, instructions: int, reads: int) -> None:
        """Count."""
        self.counts.instructions += instructions
        self.counts.reads += reads

    def run(self, block: Block) -> None:
        """Run statements."""
        for one in block:
            if isinstance(one, Set):
                self.values[one.slot] = self.value(one.value)
            elif isinstance(one, If):
                self.run(one.then if self.value(one.test) else one.other)
            elif isinstance(one, For):
                for number in range(self.value(one.start), self.value(one.stop)):
                    self.spend(LOOP, 0)
                    self.values[one.slot] = number
                    self.run(one.body)
            elif isinstance(one, Add):
                dim, amount = self.value(one.dim), self.value(one.amount)
                self.spend(ADD, 2)
                if self.early and self.used[dim] + amount > self.ceiling[dim]:
                    raise Rejected
                self.added.append((dim, amount))
            else:
                raise Rejected


def counted(problem: Problem, seed: int, numbers: range, width: int) -> Counts:
    """Count what attempts of these numbers do, in all groupings, and the rounds of `width` lanes. No ball is pinned."""
    counts = Counts()
    counting = _Counting(problem, counts)
    tried: list[bool] = []

    class Recording(Partial):
        def put(self, unit: Unit, place: int) -> bool:
            counting.used = self.used
            tried.append(super().put(unit, place))
            return tried[-1]

    with patch.object(reference, "Partial", Recording), patch.object(reference, "call", counting.call):
        for way, grouping in enumerate(problem.groupings):
            slowest: dict[tuple[int, int], int] = {}
            for number in numbers:
                tried.clear()
                reference.attempt(problem, seed, way, number)
                counts.attempts += 1
                groups = _trials(tried, len(problem.units), np.diff(grouping.offsets).tolist())
                for group, (size, trials) in enumerate(groups):
                    for nth, (bins, _) in enumerate(trials):
                        slowest[group, nth] = max(bins, slowest.get((group, nth), 0))
                    counts.groups += 1
                    counts.units += len(trials)
                    counts.placed += sum(taken for _, taken in trials)
                    counts.rounds_of_bins += sum(-(-bins // width) for bins, _ in trials)
                    counts.rounds += _rounds(size, trials, width)
            counts.side_by_side += sum(slowest.values()) * len(numbers)
    return counts


def _trials(tried: Sequence[bool], left: int, sizes: Sequence[int]) -> Iterator[tuple[int, list[tuple[int, bool]]]]:
    """Split what bins answered, group by group, into how many bins each unit tried, and whether the last took it."""
    at = 0
    for size in sizes:
        trials: list[tuple[int, bool]] = []
        for _ in range(left):
            bins = 1
            while not tried[at + bins - 1] and bins < size:
                bins += 1
            trials.append((bins, tried[at + bins - 1]))
            at += bins
        left -= sum(taken for _, taken in trials)
        yield size, trials
    assert at == len(tried)


def _rounds(size: int, trials: Sequence[tuple[int, bool]], width: int) -> int:
    """Count the rounds of lanes that speculate on the next units, too, where the group has few bins."""
    deep = width // size
    if deep <= 1:
        return sum(-(-bins // width) for bins, _ in trials)
    rounds = at = 0
    while at < len(trials):
        window = trials[at : at + deep]
        at += next((k + 1 for k, (_, taken) in enumerate(window) if taken), len(window))
        rounds += 1
    return rounds


@dataclass(frozen=True)
class Card:
    """What a graphics card can do, from its maker's data sheet unless said otherwise."""

    name: str
    processors: int
    """Multiprocessors."""
    clock: float
    """Cycles per second."""
    issued: float
    """Instructions on integers per cycle and multiprocessor, each for all lanes of a lock-step."""
    lanes: int
    """Lanes of a lock-step."""
    resident: int
    """Work-groups of one lock-step on a multiprocessor, at most."""
    bandwidth: float
    """Bytes per second of its memory."""
    sector: int
    """Bytes that it reads at once."""
    near: float
    """Cycles until a number comes from the first cache; as commonly measured on cards of its kind."""
    middle: float
    """The same, from the second cache."""
    far: float
    """The same, from memory."""


H200 = Card("H200", 132, 1.98e9, 2.0, 32, 32, 4.8e12, 32, 35, 270, 700)
ROUND, BESIDE, DRAW, APPLY, GROUP, BEGIN = 150, 50, 25, 40, 200, 60
"""Instructions of a round beside UTILFN (picks, turns, indices, barriers), of a call of a lane by itself, of a draw, of
applying an addition, of a group's end, and of a unit at the beginning; estimated from search.cl."""
CHAIN = 6
"""Reads of a round that wait for one another: unit, ball, its row, what is used of a dimension, and twice what lanes
share."""
DEPENDENT = 3.0
"""Cycles until an instruction's result is there for the next one of the same lanes: 4.5, with some overlap."""


@dataclass(frozen=True)
class Predicted:
    """Attempts per second that each limit of a card alone allows."""

    issue: float
    """Instructions."""
    latency: tuple[float, float]
    """What waits for one another: with all reads from the farther cache or memory, and from the nearer."""
    memory: float
    """Bytes."""

    @property
    def least(self) -> float:
        """Return the lower end of the prediction."""
        return min(self.issue, self.latency[0], self.memory)

    @property
    def most(self) -> float:
        """Return the upper end."""
        return min(self.issue, self.latency[1], self.memory)


def room(problem: Problem) -> int:
    """Return the bytes that an attempt writes to, as in agents/solver/backends/session.py."""
    sizes = Sizes.of_problem(problem)
    return 8 * (sizes.dims + sizes.balls + 4 * sizes.units + sizes.soft + 1 + sizes.sets)


def alone(problem: Problem, counts: Counts) -> float:
    """Return the instructions of an attempt beside rounds or calls."""
    sizes = Sizes.of_problem(problem)
    applied = DRAW * counts.each("units") + APPLY * sizes.adds * counts.each("placed")
    return applied + GROUP * counts.each("groups") + BEGIN * sizes.units


def speculating(problem: Problem, counts: Counts, card: Card, rounds: float) -> Predicted:
    """Predict for an attempt per work-group, whose lanes take so many rounds."""
    instructions = rounds * (ROUND + counts.longest) + alone(problem, counts)
    waits = rounds * CHAIN + counts.each("units")
    at_once = card.processors * card.clock * card.resident
    latency = [at_once / (instructions * DEPENDENT + waits * wait) for wait in (card.middle, card.near)]
    moved = 2 * room(problem) + 8 * counts.each("reads")
    issue = card.processors * card.clock * card.issued / instructions
    return Predicted(issue, (latency[0], latency[1]), card.bandwidth / moved)


def side_by_side(problem: Problem, counts: Counts, card: Card) -> Predicted:
    """Predict for an attempt per lane: neighbours wait for one another, and each reads sectors of its own."""
    per_call = BESIDE + counts.instructions / counts.calls
    instructions = counts.each("side_by_side") * per_call + alone(problem, counts)
    at_once = card.processors * card.clock * card.lanes
    waits = counts.each("side_by_side") * CHAIN / 2 + counts.each("units")
    latency = [at_once * card.resident / (instructions * DEPENDENT + waits * wait) for wait in (card.far, card.middle)]
    moved = 2 * room(problem) + card.sector * (counts.each("reads") + 4 * counts.each("units"))
    return Predicted(at_once * card.issued / instructions, (latency[0], latency[1]), card.bandwidth / moved)
