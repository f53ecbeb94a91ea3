"""From a problem to a verified answer."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Literal, Protocol

from agents.solver import reference
from agents.solver.bounds import lower_bound
from agents.solver.fewest import fewest, rounds
from agents.solver.program import NULL, Problem
from agents.solver.verify import faults
from simcore.errors import UserError, suggest

if TYPE_CHECKING:
    from agents.solver.search.packing import Packing

FIRST_ROUND = 16
"""Attempts per number of bins in the first round; every round doubles them."""
Status = Literal["optimal", "solved", "partial", "unsolved"]


class Best(Protocol):
    """What a back end has found so far."""

    @property
    def alloc(self) -> list[int]: ...
    @property
    def left(self) -> int: ...
    @property
    def checked(self) -> int: ...


Attempts = Callable[..., Iterator[Best]]
"""(problem, seed, first, count, trims=, until=): attempts first, ..., first + count - 1 in every grouping, as
`reference.attempts`."""
SEARCHES = ("ours", "published")


@dataclass(frozen=True)
class Answer:
    """What `solve` gives back; it has passed the verifier."""

    problem: Problem = field(repr=False)
    """With the number of bins of the answer."""
    alloc: list[int]
    """[balls]: the bin, -1 for a ball that is left out."""
    bins: int
    bound: int
    """No allocation of all balls needs fewer bins; `bins` itself where the number is fixed."""
    status: Status
    """`optimal`: all balls placed, in `bound` bins. `solved`: all placed. `partial`: some. `unsolved`: none."""
    checked: int
    """Attempts, each a whole allocation that was built and checked."""
    seconds: float
    search: str = "published"
    """What found it: `published`, or of ours `ruin and recreate` or `trimming`."""
    interrupted: bool = False
    """Ctrl-C."""

    @property
    def placed(self) -> int:
        """How many balls are placed."""
        return sum(place != NULL for place in self.alloc)

    @property
    def gap(self) -> int:
        """Bins beyond the bound."""
        return self.bins - self.bound


@dataclass(frozen=True, slots=True)
class Progress:
    """What `progress` is told, several times per second at most."""

    bins: int
    """Of the best allocation so far."""
    bound: int
    placed: int
    """Units (balls, or balls with their friends) in the best allocation so far."""
    checked: int
    seconds: float


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
    `agents.solver.devices.devices()`), or `reference` (plain Python). `search` is `published`, which gives the same
    answer on every device, or `ours`: ruin and recreate where the problem has a dense form (on `cpu`), trimming where a
    ball more may need less, else what is published.

    `time` in seconds ends the search, `attempts` too: then the answer depends on the problem, the search, the seed and
    `attempts` only. It counts the attempts in every grouping for one number of bins; without both the search goes on
    until the answer is optimal. Ctrl-C ends it as time does.
    """
    task = _Search(problem, device, search, seed, time, attempts, progress)
    interrupted = False
    try:
        with suppress(_TimeOver):
            task.run()
    except KeyboardInterrupt:
        interrupted = True
    return task.answer(interrupted)


def _device(device: str, problem: Problem) -> Attempts:
    """Its attempts; kernels are built before the clock runs."""
    name, _, number = device.partition(":")
    if name == "reference" and not number:
        return reference.attempts
    if name == "cpu" and not number:
        from agents.solver.cpu import attempts

        return attempts
    if name == "opencl" and (number.isdecimal() or not number):
        from agents.solver import opencl

        chosen = int(number) if number else None
        opencl.prepare(problem, chosen)
        return partial(opencl.attempts, device=chosen)
    remedy = suggest(device, ["cpu", "opencl", "opencl:0", "reference"])
    raise UserError("is no device", key="device", value=device, remedy=remedy)


def _dense(problem: Problem) -> Packing | None:
    from agents.solver.search.packing import Packing

    return Packing.of(problem)


def _prepare(problem: Problem) -> None:
    """Compile before the clock runs; vector problems need nothing."""
    from agents.solver.cpu import prepare

    if _dense(problem) is None:
        prepare(problem)


class _TimeOver(Exception):
    pass


class _Search:
    """Rounds of attempts, each with a number of bins that `fewest` chooses."""

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
            raise UserError("is no search", key="search", value=search, remedy=suggest(search, SEARCHES))
        self.problem = problem
        self.device = _device(device, problem)
        self.dense = device == "cpu"
        self.ours = search == "ours"
        self.seed = seed
        self.attempts = attempts
        self.progress = progress
        if self.dense:
            _prepare(problem)
        self.start = clock.monotonic()
        self.end = inf if time is None else self.start + time
        self.shown = 0.0
        self.checked = 0
        self.method = "published"
        self.best: tuple[int, Problem, list[int]] | None = None
        """(units left, problem, allocation): fewest left, then fewest bins."""
        self.known: int | None = None
        self.made: dict[int, tuple[Problem, Packing | None]] = {}
        """By number of bins: the problem and its dense form, which every round needs again."""
        self.bound, self.most = problem.bins, problem.bins
        if problem.searched:
            self.bound, self.most = lower_bound(problem), problem.spec.limits[1]

    def run(self) -> None:
        """Until optimal, or out of attempts; raises when out of time."""
        fewest(self.bound, self.most, None, rounds(FIRST_ROUND, self.attempts), self.attempt)

    def attempt(self, bins: int, numbers: range) -> int | None:
        """Some attempts with this many bins; the fewest bins known then."""
        if bins not in self.made:
            problem = self.problem.with_bins(bins) if self.problem.searched else self.problem
            self.made[bins] = problem, _dense(problem) if self.dense else None
        if self.try_bins(*self.made[bins], numbers.start, len(numbers)):
            self.known = bins
        return self.known

    def backend(self, problem: Problem, packing: Packing | None, first: int, count: int) -> Iterator[Best]:
        """The attempts of the search that suits the problem."""
        if packing is not None:
            from agents.solver.dense_attempts import attempts

            self.method = "ruin and recreate" if self.ours else "published"
            kind = "ruin" if self.ours else "published"
            return attempts(problem, packing, kind, self.seed, first, count, self.end)
        trims = self.ours and bool(problem.elastic.any())
        self.method = "trimming" if trims else "published"
        return self.device(problem, self.seed, first, count, trims=trims, until=self.end)

    def try_bins(self, problem: Problem, packing: Packing | None, first: int, count: int) -> bool:
        """Some attempts with this many bins; did one place all?"""
        before = self.checked
        for found in self.backend(problem, packing, first, count):
            self.checked = before + found.checked
            if self.best is None or found.left < self.best[0] or found.left == 0:
                self.best = found.left, problem, found.alloc
            if found.left == 0:
                return True
            self.look_at_clock()
        return False

    def look_at_clock(self) -> None:
        """Tell how it goes, and stop in time."""
        now = clock.monotonic()
        if self.progress is not None and now - self.shown > 0.2 and self.best is not None:
            self.shown = now
            best = self.best[1].bins
            self.progress(
                Progress(best, self.bound, len(self.best[1].units) - self.best[0], self.checked, now - self.start)
            )
        if now > self.end:
            raise _TimeOver

    def answer(self, interrupted: bool) -> Answer:
        """The best there is, verified."""
        left, problem, alloc = self.best or (1, self.problem, [NULL] * self.problem.balls)
        wrong = faults(problem, alloc)
        if wrong and not problem.program.alloc_free:
            remedy = "Make two balls add the same whichever of them is placed first, and REJECT likewise."
            raise UserError(
                f"UTILFN depends on the order of the balls: {wrong[0]}", file=problem.spec.file, remedy=remedy
            )
        assert not wrong, f"the search gave a wrong answer: {wrong}"
        status: Status = "unsolved" if max(alloc) == NULL else "partial"
        bound = min(self.bound, problem.bins)
        if left == 0:
            status = "optimal" if problem.bins == bound else "solved"
        seconds = clock.monotonic() - self.start
        return Answer(
            problem, list(alloc), problem.bins, bound, status, self.checked, seconds, self.method, interrupted
        )
