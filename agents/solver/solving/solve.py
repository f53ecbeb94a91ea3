"""Solve a problem: search for an allocation, and verify it."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property, partial
from math import inf
from typing import Protocol

import numpy as np

from agents.solver.backends import reference
from agents.solver.local import portfolio
from agents.solver.local.better import better
from agents.solver.local.better import prepare as prepare_goals
from agents.solver.local.portfolio import Portfolio
from agents.solver.model.bounds import lower_bound
from agents.solver.model.impossible import hopeless, impossible
from agents.solver.model.problem import Problem
from agents.solver.model.program import NULL
from agents.solver.model.verify import faults
from agents.solver.search import find
from agents.solver.search.fewest import fewest, rounds
from agents.solver.search.first_fit import first_fit, next_fit
from agents.solver.search.lowest import LONGEST
from agents.solver.search.packing import Packing
from agents.solver.solving.answer import Answer, Kept, Progress, Reached, Status
from agents.solver.solving.compiling import Compiling
from agents.solver.solving.proofs import SEARCH, Proofs
from simcore.errors import UserError, suggest

FIRST_ROUND = 16
"""Attempts per number of bins in the first round; every round doubles them."""
LARGE = 20_000
"""Balls from which on first fit comes before any search: a search may not get through them in time."""
RESERVE = 0.5
"""Seconds, or a quarter of the time if that is less, for an answer in plain Python if compiling takes too long."""
NODE, NODE_AND_BALL, BALL = 8e-6, 1e-9, 8e-6
"""Seconds that the verifier takes for a node of UTILFN, and more of it for every ball; and what all else after the
search, next fit for one, takes for a ball; roughly."""
PATIENCE = 2_000
"""Attempts without a better answer after which a search without limits gives up wishes, once all balls are placed."""
TOLD = 0.5
"""Seconds of compilation that are told."""
COST = "COST"
"""The resource of which the agent `solver` uses as little as it can."""


class Best(Protocol):
    """What a back end has found so far."""

    @property
    def alloc(self) -> list[int]: ...
    @property
    def left(self) -> int: ...
    @property
    def checked(self) -> int: ...
    @property
    def attempt(self) -> int: ...


Attempts = Callable[..., Iterator[Best]]
"""(problem, seed, first, count, trims=, until=): attempts first, ..., first + count - 1 in every grouping, as
`reference.attempts`."""
SEARCHES = ("ours", "published")


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
    `agents.solver.backends.devices.devices()`), or `reference` (plain Python). `search` is `published`, which gives the
    same answer on every device, or `ours`. On `cpu` that is ruin and recreate where the problem has a dense form, else
    a portfolio of the published search, trimming where a ball more may need less, and local search; on other devices it
    is trimming, or what is published.

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


def _device(device: str, problem: Problem) -> tuple[Attempts, Callable[[], None]]:
    """Return the attempts of a device, and a function to call before them: it compiles."""
    name, _, number = device.partition(":")
    if name == "reference" and not number:
        return reference.attempts, lambda: None
    if name == "cpu" and not number:
        from agents.solver.backends import cpu

        return cpu.attempts, lambda: cpu.prepare(problem)
    if name == "opencl" and (number.isdecimal() or not number):
        from agents.solver.backends import opencl

        chosen = int(number) if number else None
        return partial(opencl.attempts, device=chosen), lambda: opencl.prepare(problem, chosen)
    remedy = suggest(device, ["cpu", "opencl", "opencl:0", "reference"])
    raise UserError("unknown device", key="device", value=device, remedy=remedy)


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
        if search not in SEARCHES:
            raise UserError("unknown search", key="search", value=search, remedy=suggest(search, SEARCHES))
        self.start = clock.monotonic()
        self.problem = problem
        self.device, self.prepare = _device(device, problem)
        self.dense = device == "cpu"
        self.ours = search == "ours"
        self.seed = seed
        self.attempts = attempts
        self.progress = progress
        self.end = inf
        if time is not None:
            checks = problem.program.steps * (NODE + NODE_AND_BALL * problem.balls) + BALL * problem.balls
            self.end = self.start + time - min(time / 2, checks)
        self.reserve = RESERVE if time is None else min(RESERVE, time / 4)
        self.shown = 0.0
        self.checked = 0
        self.compiling = 0.0
        """Seconds that it took."""
        self.late = self.fits = False
        """It took too long; first fit, at least, is compiled."""
        self.method = "published"
        self.best: tuple[int, Problem, list[int], str] | None = None
        """(units left, problem, allocation, what found it): the one with the lowest rank."""
        self.rank = (0, 0, 0)
        """Of the best: units left, sets missing that are wished for, bins."""
        self.fallback: tuple[int, Problem, list[int], str] | None = None
        """What first fit came to."""
        self.known: int | None = None
        self.made: dict[int, tuple[Problem, Packing | None]] = {}
        """By number of bins: the problem and its dense form, which every round needs again."""
        self.local: Compiling | None = None
        """Local search is being compiled, or has been."""
        self.portfolios: dict[int, Portfolio] = {}
        """By number of bins."""
        self.goals: tuple[float, ...] = ()
        """What the goals have come to."""
        self.limited = time is not None or attempts is not None
        self.better = 0
        """Of `checked`: when the best was found."""
        self.impossible = ""
        self.costs = any(family.name == COST and not family.sizes for family in problem.families)
        self.bound, self.most = problem.bins, problem.bins

    def run(self) -> None:
        """Search until the answer is optimal, or attempts are used up; raises `_Over` when time is over."""
        self.impossible = impossible(self.problem)
        if self.problem.searched:
            self.bound, self.most = lower_bound(self.problem), self.problem.limits[1]
            if self.bound > self.most and not self.impossible:
                balls = f"{self.problem.balls:,} balls"
                self.impossible = f"{balls} need at least {self.bound:,} bins, and TO allows {self.most:,}"
            self.bound = min(self.bound, self.most)
        if self.impossible:
            self.attempts = min(1, self.attempts or 1)
        self.compile()
        upward = self.ours and self.dense and self.problem.searched
        if upward or (self.problem.balls > LARGE and self.end < inf):
            self.first_fit(self.end)
            if upward and self.fallback is not None and self.fallback[0] == 0:
                self.known = self.fallback[1].bins
                if self.known == self.bound:
                    return
        fewest(self.bound, self.most, self.known, rounds(FIRST_ROUND, self.attempts), self.attempt)
        if self.problem.objective is not None and self.best is not None and self.best[0] == 0:
            self.improve(self.best[1], self.best[2])

    def improve(self, problem: Problem, alloc: list[int]) -> None:
        """Look for allocations that are better by the goals."""
        assert problem.objective is not None
        before, goals = self.checked, problem.objective.goals
        for found in better(problem, alloc, self.seed, self.attempts, self.end):
            self.checked = before + found.checked
            self.best = 0, problem, found.alloc, "local search"
            self.goals = tuple(one.number(one.signed(raw)) for one, raw in zip(goals, found.values, strict=True))
            self.look_at_clock()

    @cached_property
    def hopeless(self) -> list[int]:
        """How many sets of each wish cannot hold."""
        return hopeless(self.problem)

    @cached_property
    def packing(self) -> Packing | None:
        """The dense form, if there is one."""
        return Packing.of(self.problem)

    def prepare_dense(self) -> None:
        """Compile first fit and the search on the dense form."""
        tiny = Packing.alike(np.full((3, 1), 2), np.full(1, 3), 3)
        first_fit(tiny, tiny.capacity)
        self.fits = True
        find.prepare("ruin" if self.ours else "published")

    def compile(self) -> None:
        """Compile the search, or read it from disk, while there is time; a thread goes on with it after that.

        What is there without local search is used while that takes more than a third of the time.
        """
        if self.problem.objective is not None and not (self.dense and self.ours):
            remedy = "Leave --search and --device as they are: on processors our search looks at goals."
            raise UserError("goals are not for this search", key="search", value="published", remedy=remedy)
        prepare = self.prepare
        if self.dense and self.packing is not None:
            prepare = self.prepare_dense
        began = clock.monotonic()
        done = Compiling(prepare).wait(self.end - self.reserve - began)
        if done and self.dense and self.ours and self.packing is None:
            self.local = Compiling(lambda: portfolio.prepare(self.problem))
            self.local.wait((self.end - clock.monotonic()) / 3)
        if done and self.problem.objective is not None:
            done = Compiling(lambda: prepare_goals(self.problem)).wait(self.end - self.reserve - clock.monotonic())
        self.compiling = clock.monotonic() - began
        if not done:
            self.late = True
            raise _Over

    def first_fit(self, until: float) -> None:
        """Try first fit, if bins are alike or their number is given; writes `fallback`."""
        given, packing = self.problem, self.packing
        if packing is None or (given.searched and (given.counted or given.bins_differ)):
            return
        capacity = packing.capacity
        if given.searched:
            most = min(self.most, len(packing.demand) + given.bins)
            capacity = np.broadcast_to(capacity[0], (most, capacity.shape[1]))
        where = first_fit(packing, capacity, until) if self.fits else next_fit(packing, capacity, packing.pins)
        bins = max(given.bins, int(where.max()) + 1)
        left = int((where == NULL).sum())
        problem = given.with_bins(bins) if given.searched else given
        self.fallback = left, problem, where[problem.unit_of].tolist(), "first fit"

    def attempt(self, bins: int, numbers: range) -> int | None:
        """Make some attempts with this many bins; returns the fewest bins known then."""
        if bins < self.bound:
            return self.known
        if bins not in self.made:
            problem = self.problem.with_bins(bins) if self.problem.searched else self.problem
            self.made[bins] = problem, Packing.of(problem) if self.dense else None
        if self.try_bins(*self.made[bins], numbers.start, len(numbers)):
            self.known = bins
        return self.known

    @cached_property
    def proofs(self) -> Proofs | None:
        """What proves bounds: for vector problems whose bins are alike, where nothing but time is the limit."""
        problem, packing = self.problem, self.packing
        if packing is None or not self.ours or not self.dense or self.attempts is not None:
            return None
        if problem.objective is not None or (problem.searched and (problem.bins_differ or problem.counted)):
            return None
        return Proofs(problem, packing, self.end) if Proofs.suit(packing) else None

    def prove(self, proofs: Proofs) -> None:
        """Give proofs their share of the time; raises `_Over` if what is known is optimal, or nothing is possible."""
        bound, found = proofs.work(self.known if self.problem.searched else self.problem.bins + 1)
        self.bound = max(self.bound, min(bound, self.most))
        if bound > self.most:
            limit = "TO allows" if self.problem.searched else "there are"
            self.impossible = f"{self.problem.balls:,} balls need at least {bound:,} bins, and {limit} {self.most:,}"
            raise _Over
        if found is not None:
            problem, alloc = found
            self.best, self.rank, self.known = (0, problem, alloc, SEARCH), (0, 0, problem.bins), problem.bins
        if self.known is not None and self.known <= self.bound:
            raise _Over

    def backend(self, problem: Problem, packing: Packing | None, first: int, count: int) -> Iterator[Best]:
        """Choose the search that suits the problem, and return its attempts."""
        if packing is not None:
            from agents.solver.solving.dense_attempts import attempts

            self.method = "ruin and recreate" if self.ours else "published"
            kind = "ruin" if self.ours else "published"
            return attempts(problem, packing, kind, self.seed, first, count, self.end)
        if self.local is not None:
            return self.several(problem, self.local, first, count)
        trims = self.ours and bool(problem.elastic.any())
        self.method = "trimming" if trims else "published"
        return self.device(problem, self.seed, first, count, trims=trims, until=self.end)

    def several(self, problem: Problem, local: Compiling, first: int, count: int) -> Iterator[Best]:
        """Make attempts of the portfolio, whose members take turns."""
        if problem.bins not in self.portfolios:
            self.portfolios[problem.bins] = Portfolio(problem, self.seed, local.done)
        for found in self.portfolios[problem.bins].attempts(first, count, self.end):
            self.method = found.search
            yield found

    def try_bins(self, problem: Problem, packing: Packing | None, first: int, count: int) -> bool:
        """Make some attempts with this many bins; returns whether one placed all balls."""
        number, end = first, first + count
        while number < end:
            before, last = self.checked, None
            for found in self.backend(problem, packing, number, end - number):
                self.checked, last = before + found.checked, found
                missing = self.missing(problem, found.alloc) if found.left == 0 else 0
                rank = found.left, missing, problem.bins
                if self.best is None or rank < self.rank:
                    self.best, self.rank = (found.left, problem, found.alloc, self.method), rank
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
            best = self.best[1].bins
            self.progress(
                Progress(
                    best, self.bound, len(self.best[1].units) - self.best[0], self.checked, now - self.start, self.goals
                )
            )
        left, missing, _ = self.rank
        waited = not self.limited and self.checked - self.better >= PATIENCE
        if now > self.end or (waited and left == 0 and missing):
            raise _Over

    def last_resort(self) -> None:
        """Answer although time is over: by first fit if there is a dense form, else by one attempt with all bins."""
        if self.best is not None and self.best[0] == 0:
            return
        until = clock.monotonic() + self.reserve
        if self.packing is not None:
            if self.fallback is None:
                self.first_fit(until)
        elif self.best is None or self.problem.searched:
            problem = self.problem.with_bins(self.most) if self.problem.searched else self.problem
            device = reference.attempts if self.late else self.device
            for found in device(problem, self.seed, 0, 1, until=until):
                self.fallback = found.left, problem, found.alloc, "published"

    def notes(self, wishes: tuple[Kept, ...]) -> Iterator[str]:
        """List what a user would not expect."""
        if self.late:
            yield "compiling took longer than there was time; it goes on, for the next time"
        elif self.compiling > TOLD:
            yield f"compiling took {self.compiling:.1f} s of the time"
        if self.costs:
            yield f"{COST} is a capacity here, and not made small: the agent `solver` does that"
        yield from (str(one) for one in wishes if one.broken)

    def reached(self, problem: Problem, alloc: list[int]) -> tuple[Reached, ...]:
        """Evaluate the goals for an allocation of all balls, from their text."""
        if problem.objective is None:
            return ()
        goals = zip(problem.objective.goals, problem.source.goals(problem.bins, alloc), strict=True)
        return tuple(Reached(one.aim, one.text, one.number(raw), one.number(one.bound)) for one, raw in goals)

    def answer(self, interrupted: bool) -> Answer:
        """Return the best answer that is known, verified."""
        if self.end < inf or interrupted:
            self.last_resort()
        if self.fallback is not None and (self.best is None or self.ours or self.best[0] > 0):
            self.best = min(self.best or self.fallback, self.fallback, key=lambda one: (one[0], one[1].bins))
        left, problem, alloc, method = self.best or (1, self.problem, [NULL] * self.problem.balls, self.method)
        wrong = faults(problem, alloc)
        if wrong and not problem.program.alloc_free:
            remedy = "Make two balls add the same whichever of them is placed first, and REJECT likewise."
            raise UserError(
                f"UTILFN depends on the order of the balls: {wrong[0]}", file=problem.source.file, remedy=remedy
            )
        assert not wrong, f"the search gave a wrong answer: {wrong}"
        wishes = tuple(Kept.of(one, alloc) for one in problem.wishes)
        status: Status = "unsolved" if max(alloc) == NULL else "partial"
        bound = min(self.bound, problem.bins)
        goals: tuple[Reached, ...] = ()
        if left == 0:
            goals = self.reached(problem, alloc)
            proven = problem.bins == bound and not self.costs and all(one.enough for one in wishes)
            proven = proven and all(one.value == one.bound for one in goals)
            status = "optimal" if proven else "solved"
        seconds = clock.monotonic() - self.start
        return Answer(
            problem, list(alloc), problem.bins, bound, status, self.checked, seconds, method, interrupted,
            self.impossible, wishes, goals, tuple(self.notes(wishes)),
        )  # fmt: skip
