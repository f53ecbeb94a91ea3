"""Solve a problem: search for an allocation, and verify it."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from math import inf

import numpy as np

from agents.solver.local.better import better
from agents.solver.local.portfolio import LOCAL
from agents.solver.model.bounds import lower_bound
from agents.solver.model.impossible import hopeless, impossible, too_few
from agents.solver.model.problem import Fault, Problem, leaving
from agents.solver.model.program import NULL
from agents.solver.model.verify import faults
from agents.solver.search.fewest import fewest, rounds
from agents.solver.search.lowest import LONGEST
from agents.solver.search.packing import Packing
from agents.solver.solving.answer import Answer, Progress
from agents.solver.solving.conclude import Allocated, conclude
from agents.solver.solving.proofs import SEARCH, Proofs
from agents.solver.solving.searches import Searches
from simcore.errors import UserError

FIRST_ROUND = 16
"""Attempts per number of bins in the first round; every round doubles them."""
LARGE = 20_000
"""Balls from which on first fit comes before any search: a search may not get through them in time."""
SETTLED = 0.9
"""The share of balls that are somewhere now from which on the search is through them at once."""
RESERVE = 0.5
"""Seconds, or a quarter of the time if that is less, for an answer in plain Python if compiling takes too long."""
NODE, NODE_AND_BALL, BALL = 8e-6, 1e-9, 8e-6
"""Seconds that the verifier takes for a node of UTILFN, and more of it for every ball; and what all else after the
search, next fit for one, takes for a ball; roughly."""
PATIENCE = 2_000
"""Attempts without a better answer after which a search without limits gives up wishes, once all balls are placed."""
TOLD = 0.5
"""Seconds of compilation that are told."""


def solve(
    problem: Problem,
    *,
    device: str = "cpu",
    search: str = "ours",
    seed: int = 0,
    time: float | None = None,
    attempts: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Answer:
    """Search for an allocation of all balls, with `BINS ?` in as few bins as possible.

    `device` is `cpu` (all cores), `opencl` (the first OpenCL device that can be used), `opencl:n` (number n of
    `agents.solver.backends.devices.devices()`), `opencl:0,2-3` (several at once), or `reference` (plain Python).
    `search` is `published`, which gives the same answer on every device, or `ours`. On `cpu` that is ruin and recreate
    where the problem has a dense form, else a portfolio of the published search, trimming where a ball more may need
    less, and local search; on other devices it is trimming, or what is published.

    `time` in seconds ends everything, compilation too: by then, or within a second, there is an answer. `attempts`
    ends the search: with it and without `time` the answer depends on the problem, the search, the seed and `attempts`
    only. It counts the attempts in every grouping for one number of bins; without both the search goes on until the
    answer is optimal, or all balls are placed and `PATIENCE` attempts have not kept more of what is asked for WITH a
    chance. A problem that is plainly impossible is tried once. Ctrl-C ends it as time does.
    """
    if attempts is not None and attempts < 1:
        raise UserError("is out of range", key="attempts", value=attempts, remedy="Give at least 1, or leave it out.")
    if not 0 <= seed < 2**63:
        raise UserError("is out of range", key="seed", value=seed, remedy="Give a whole number from 0 to 2^63 - 1.")
    if time is not None and not 0 < time <= LONGEST:
        remedy = f"Give seconds above zero, {LONGEST:,} at most, or leave it out."
        raise UserError("is out of range", key="time", value=time, remedy=remedy)
    task = _Search(problem, device, search, seed, time, attempts, progress)
    interrupted = False
    try:
        with suppress(_Over):
            task.run()
    except KeyboardInterrupt:
        interrupted = True
    return task.answer(interrupted)


class _Over(Exception):
    """Raised when time is over, or patience with wishes."""


class _Search:
    """Makes rounds of attempts, each with a number of bins that `fewest` chooses."""

    def __init__(
        self,
        problem: Problem,
        device: str,
        search: str,
        seed: int,
        time: float | None,
        attempts: int | None,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self.start = clock.monotonic()
        self.problem = problem
        self.seed = seed
        self.attempts = attempts
        self.progress = progress
        self.end = inf
        if time is not None:
            checks = problem.program.steps * (NODE + NODE_AND_BALL * problem.balls) + BALL * problem.balls
            self.end = self.start + time - min(time / 2, checks)
        self.reserve = RESERVE if time is None else min(RESERVE, time / 4)
        self.searches = Searches(problem, device, search, seed, self.end)
        self.shown = 0.0
        self.checked = 0
        self.best: Allocated | None = None
        """The one with the lowest rank."""
        self.rank = (0, 0, 0)
        """Of the best: units left, sets missing that are wished for, bins."""
        self.fallback: Allocated | None = None
        """What first fit came to."""
        self.known: int | None = None
        self.made: dict[int, tuple[Problem, Packing | None]] = {}
        """By number of bins: the problem and its dense form, which every round needs again."""
        self.goals: tuple[float, ...] = ()
        """What the goals have come to."""
        self.limited = time is not None or attempts is not None
        self.better = 0
        """Of `checked`: when the best was found."""
        self.impossible = ""
        self.eager = True
        """Whether it is possible is looked at before the first attempt: without a dense form that may take longer, and
        so it may where balls are somewhere now."""
        self.bound, self.most = problem.bins, problem.bins

    def run(self) -> None:
        """Search until the answer is optimal, or attempts are used up; raises `_Over` when time is over."""
        staying = (self.problem.now != NULL).any()  # what is possible now most likely is so after a small change
        self.eager = self.problem.searched or (self.searches.packing is not None and not staying)
        if self.eager:
            self.impossible = impossible(self.problem)
        if self.problem.searched:
            self.bound, self.most = lower_bound(self.problem), self.problem.limits[1]
            self.bound = min(self.bound, self.most)
        if self.impossible:
            self.attempts = min(1, self.attempts or 1)
        if not self.searches.compile(self.end - self.reserve):
            raise _Over
        upward = self.searches.ours and self.searches.dense and self.problem.searched
        if upward and staying:
            self.attempt(min(max(self.bound, int(self.problem.now.max()) + 1), self.most), range(1))
        settled = (self.problem.now != NULL).sum() >= SETTLED * self.problem.balls
        if upward or (self.problem.balls > LARGE and self.end < inf and not settled):
            self.first_fit(self.end)
            if upward and self.fallback is not None and self.fallback.left == 0:
                self.known = min(self.known or self.most, self.fallback.problem.bins)
                if self.known == self.bound:
                    return
        fewest(lambda: self.bound, self.most, self.known, rounds(FIRST_ROUND, self.attempts), self.attempt)
        if self.problem.objective is not None and self.best is not None and self.best.left == 0:
            self.improve(self.best.problem, self.best.alloc)

    def improve(self, problem: Problem, alloc: list[int]) -> None:
        """Look for allocations that are better by the goals."""
        assert problem.objective is not None
        if not self.searches.compile_goals():
            raise _Over
        before, goals = self.checked, problem.objective.goals
        for found in better(problem, alloc, self.seed, self.attempts, self.end):
            self.checked = before + found.checked
            self.best = Allocated(0, problem, found.alloc, LOCAL)
            self.goals = tuple(one.number(one.signed(raw)) for one, raw in zip(goals, found.values, strict=True))
            self.look_at_clock()

    @cached_property
    def hopeless(self) -> list[int]:
        """How many sets of each wish cannot hold."""
        return hopeless(self.problem)

    def first_fit(self, until: float) -> None:
        """Try first fit, if bins are alike or their number is given; writes `fallback`."""
        given, packing = self.problem, self.searches.packing
        if packing is None or (given.searched and (given.counted or given.bins_differ)):
            return
        capacity = packing.capacity
        if given.searched:
            most = min(self.most, len(packing.demand) + given.bins)
            capacity = np.broadcast_to(capacity[0], (most, capacity.shape[1]))
        where = self.searches.first_fit(packing, capacity, until)
        bins = max(given.bins, int(where.max()) + 1)
        left = int((where == NULL).sum())
        problem = given.with_bins(bins) if given.searched else given
        self.fallback = Allocated(left, problem, where[problem.unit_of].tolist(), "first fit")

    def attempt(self, bins: int, numbers: range) -> int | None:
        """Make some attempts with this many bins; returns the fewest bins known then."""
        if bins not in self.made:
            problem = self.problem.with_bins(bins) if self.problem.searched else self.problem
            self.made[bins] = problem, Packing.of(problem) if self.searches.dense else None
        if not self.eager:
            self.eager, first, numbers = True, numbers[:1], numbers[1:]
            if self.try_bins(*self.made[bins], first.start, 1):
                self.known = bins
                return bins
            self.impossible = impossible(self.problem)
            if self.impossible:
                raise _Over
        if self.try_bins(*self.made[bins], numbers.start, len(numbers)):
            self.known = bins
        return self.known

    @cached_property
    def proofs(self) -> Proofs | None:
        """What proves bounds: for vector problems whose bins are alike, where nothing but time is the limit."""
        problem, packing = self.problem, self.searches.packing
        if packing is None or not self.searches.ours or not self.searches.dense or self.attempts is not None:
            return None
        if problem.objective is not None or (problem.searched and (problem.bins_differ or problem.counted)):
            return None
        return Proofs(problem, packing, self.end) if Proofs.suit(packing) else None

    def prove(self, proofs: Proofs) -> None:
        """Give proofs their share of the time; raises `_Over` if what is known is optimal, or nothing is possible."""
        bound, found = proofs.work(self.known if self.problem.searched else self.problem.bins + 1)
        self.bound = max(self.bound, min(bound, self.most))
        if bound > self.most:
            self.impossible = too_few(self.problem, bound)
            raise _Over
        if found is not None:
            problem, alloc = found
            self.best, self.rank = Allocated(0, problem, alloc, SEARCH), (0, 0, problem.bins)
            self.known = problem.bins
        if self.known is not None and self.known <= self.bound:
            raise _Over

    def try_bins(self, problem: Problem, packing: Packing | None, first: int, count: int) -> bool:
        """Make some attempts with this many bins; returns whether one placed all balls."""
        number, end = first, first + count
        while number < end:
            before, last = self.checked, None
            for found in self.searches.attempts(problem, packing, number, end - number):
                self.checked, last = before + found.checked, found
                missing = self.missing(problem, found.alloc) if found.left == 0 else 0
                rank = found.left, missing, problem.bins
                if self.best is None or rank < self.rank:
                    self.best = Allocated(found.left, problem, found.alloc, self.searches.name)
                    self.rank = rank
                    self.better = self.checked
                self.look_at_clock()
                if found.left and self.proofs is not None:
                    self.prove(self.proofs)
                    if self.known is not None and self.known <= problem.bins:
                        return False
            if last is None or last.left:
                self.look_at_clock()  # attempts that were cut short before they came to anything tell nothing
                return False
            if not self.missing(problem, last.alloc):
                return True
            number = last.attempt + 1  # all are placed, and wishes are not kept
        return False

    def missing(self, problem: Problem, alloc: list[int]) -> int:
        """Count the sets that should hold, could hold, and do not."""
        wishes = zip(problem.wishes, self.hopeless, strict=True)
        return sum(max(0, len(one.broken(alloc)) - max(len(one.sets) - one.asked, never)) for one, never in wishes)

    def look_at_clock(self) -> None:
        """Tell how it goes, and stop in time, or when there is no hope for wishes."""
        now = clock.monotonic()
        if self.progress is not None and now - self.shown > 0.2 and self.best is not None:
            self.shown = now
            best, placed = self.best.problem.bins, len(self.best.problem.units) - self.best.left
            self.progress(Progress(best, self.bound, placed, self.checked, now - self.start, self.goals))
        left, missing, _ = self.rank
        waited = not self.limited and self.checked - self.better >= PATIENCE
        if now > self.end or (waited and left == 0 and missing):
            raise _Over

    def last_resort(self) -> None:
        """Answer although time is over: by first fit if there is a dense form, else by one attempt with all bins."""
        if self.best is not None and self.best.left == 0:
            return
        until = clock.monotonic() + self.reserve
        stayed = self.stayed()
        if stayed is not None and (self.best is None or stayed.left < self.best.left):
            self.best = stayed
        if self.searches.packing is not None:
            if self.fallback is None:
                self.first_fit(until)
        elif self.best is None or self.problem.searched:
            problem = self.problem.with_bins(self.most) if self.problem.searched else self.problem
            for found in self.searches.one_attempt(problem, until):
                self.fallback = Allocated(found.left, problem, found.alloc, "published")

    def stayed(self) -> Allocated | None:
        """Leave all balls where they are now, but for those that cannot stay; None if that is not right."""
        problem = self.problem
        if (problem.now == NULL).all():
            return None
        if problem.searched:
            problem = problem.with_bins(min(max(problem.bins, int(problem.now.max()) + 1), self.most))
        gone = (problem.now == NULL) | leaving(problem.now, problem.drained, problem.pins)
        apart = np.isin(problem.unit_of, problem.unit_of[gone])  # friends go together
        alloc = np.where(apart, NULL, problem.now).tolist()
        left = len(np.unique(problem.unit_of[apart]))
        return None if faults(problem, alloc) else Allocated(left, problem, alloc, "as it was")

    def notes(self) -> Iterator[str]:
        """List what a user would not expect of the search."""
        if self.searches.late:
            yield "compiling took longer than there was time; it goes on, for the next time"
        elif self.searches.compiling > TOLD:
            yield f"compiling took {self.searches.compiling:.1f} s of the time"

    def blame(self) -> tuple[Fault, ...]:
        """Find the declarations because of which not all balls can be placed; writes `impossible`, in their words."""
        found, why = self.problem.source.at_fault(inf if self.end == inf else clock.monotonic() + self.reserve)
        self.impossible = why or self.impossible
        return found

    def answer(self, interrupted: bool) -> Answer:
        """Return the best answer that is known, verified."""
        if self.end < inf or interrupted:
            self.last_resort()
        if self.fallback is not None and (self.best is None or self.searches.ours or self.best.left > 0):
            self.best = min(self.best or self.fallback, self.fallback, key=lambda one: (one.left, one.problem.bins))
        at_fault = self.blame() if self.impossible and not interrupted else ()
        nothing = Allocated(1, self.problem, [NULL] * self.problem.balls, self.searches.name)
        return conclude(
            self.best or nothing,
            self.bound,
            checked=self.checked,
            since=self.start,
            interrupted=interrupted,
            impossible=self.impossible,
            at_fault=at_fault,
            notes=tuple(self.notes()),
        )
