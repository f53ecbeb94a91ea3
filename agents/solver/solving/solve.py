"""Solve a problem: search for an allocation, and verify it."""

import time as clock
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from numbers import Real
from typing import NamedTuple

import numpy as np

from binwright.agents.solver.backends import cpu
from binwright.agents.solver.backends.cpu import Attempts, Over, fewest
from binwright.agents.solver.backends.vectors import first_fit, fullest_bins, is_loaded
from binwright.agents.solver.local import polish
from binwright.agents.solver.local import search as local_search
from binwright.agents.solver.local.construct import Construction, Tenants, tenants
from binwright.agents.solver.model.bounds import impossible, lower_bound
from binwright.agents.solver.model.problem import Fault, Problem
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.agents.solver.model.verify import faults, goals_of
from binwright.agents.solver.solving import exact
from binwright.agents.solver.solving.answer import Answer, Progress, verify
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.extras import install
from binwright.simcore.removed import removed

OURS, PUBLISHED, LOCAL = "ours", "published", "local search"
FIRST_FIT, TENANTS = "first fit", "whole tenants"
OF_VECTORS = {FIRST_FIT: first_fit, "fullest bins": fullest_bins}
"""How vector problems are placed without a search."""
TRIES = 64
"""Orders in which whole tenants are placed."""
PATIENCE = 2_000
"""Attempts for each number of bins after which wishes are given up, once all balls are placed."""
RESERVE = 0.4
"""Seconds, or a quarter of the time if that is less, for what is cut short to come back, and again for an answer in
plain Python if it does not, as it is being compiled."""
SMALL = 100_000
"""Balls times bins up to which single balls are placed in plain Python."""
PROVEN = "no allocation of all balls keeps all rules together: that is proven"


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

    `device` is that of `binwright.solve`. `search` is `published`, or `ours`: tenants, or balls of small problems, are
    placed by first fit, then CP-SAT looks for proofs, then local search, of vector problems after first fit, for
    answers. The same attempts give the same answer on every device, but `ours` on a device other than `cpu`
    takes turns between published attempts there and local search.

    `time` in seconds ends everything, compilation too: by then, or within a second, there is an answer. `attempts`
    ends the search: with it and without `time` the answer depends on the problem, the search, the seed and `attempts`
    only. It counts the attempts in every grouping for one number of bins; without it the search ends sooner if the
    answer is optimal, or all balls are placed and 2,000 attempts have not kept what is asked for WITH a chance. A
    problem that is plainly impossible gets few attempts. Ctrl-C ends it as time does.
    """
    attempts = None if attempts is None else _whole("attempts", attempts, 1)
    if time is not None and not (isinstance(time, Real) and time > 0):
        remedy = "Give seconds above zero, like 10 or 0.5, or leave it out."
        raise UserError("is no time", key="time", value=time, remedy=remedy)
    task = _Search(problem, device, search, _whole("seed", seed, 0), time, attempts, progress)
    return task.answer(interrupted=task.run_in_time())


def _whole(key: str, value: object, least: int) -> int:
    """Convert a whole number, of numpy too, to one of Python."""
    if not (isinstance(value, int | np.integer) and least <= value < 2**63):
        remedy = f"Give one from {least} to 2^63 - 1."
        raise UserError("is not a whole number of the range", key=key, value=value, remedy=remedy)
    return int(value)


def searches(problem: Problem, device: str, search: str) -> dict[str, Attempts]:
    """Return the searches for a problem by name, in the order in which they take turns."""
    if search not in (OURS, PUBLISHED):
        raise UserError("unknown search", key="search", value=search, remedy=suggest(search, (OURS, PUBLISHED)))
    if problem.objective is not None and search == PUBLISHED:
        remedy = "Leave search as it is: ours looks at goals."
        raise UserError("goals are for our search", key="search", value=search, remedy=remedy)
    published: Attempts = cpu.attempts
    if device == "opencl":
        from binwright.agents.solver.backends import opencl

        published = opencl.attempts
    elif device != "cpu":
        remedy = removed().get(f"device {device}") or suggest(str(device), ["cpu", "opencl"])
        raise UserError("unknown device", key="device", value=device, remedy=remedy)
    if search == PUBLISHED or problem.dims > 2_000_000:  # of which local search keeps a dozen numbers each
        return {PUBLISHED: published}
    alone = device == "cpu" and not problem.wishes
    return ({} if alone else {PUBLISHED: published}) | {LOCAL: local_search.attempts}


class _Over(Exception):
    """Raised when time is over."""


class _Best(NamedTuple):
    """The best allocation so far."""

    problem: Problem
    """With the number of bins."""
    alloc: list[int]
    """[balls]: the bin, -1 for a ball that is left out."""
    search: str
    """What found it."""
    rank: tuple[int, int, int]
    """Balls left, those of tenants that are not placed whole, too; wishes not met; bins."""
    best_after: float


@dataclass
class _Search:
    """Places balls in plain Python, proves what it can, and makes rounds of attempts with bins that `fewest` says."""

    problem: Problem
    device: str
    search: str
    seed: int
    time: float | None
    attempts: int | None
    progress: Callable[[Progress], None] | None

    def __post_init__(self) -> None:
        problem = self.problem
        self.start, self.end, self.reserve, self.shown = clock.monotonic(), inf, RESERVE, 0.0
        if self.time is not None:
            # What the verifier takes for a node and a ball, and first fit and the rest for a ball.
            checks = (3e-8 * problem.program.steps + 1e-5) * problem.balls
            self.end = self.start + min(self.time, 10**7) - min(self.time / 2, checks)  # systems count no billions
            self.reserve = min(RESERVE, self.time / 4)
        self.searches = searches(problem, self.device, self.search)
        self.ours, self.small = self.search == OURS, problem.balls * problem.bins <= SMALL
        self.bound = self.most = problem.bins
        """No allocation of all balls has fewer bins, and none may have more."""
        self.best: _Best | None = None
        self.checked = 0
        """Attempts so far."""
        self.tenants: Tenants | None = None
        """Those of several balls, where there are any: one that is not placed whole counts as not placed."""
        self.impossible = ""
        """Why no allocation places all balls."""
        self.goals: tuple[float, ...] = ()
        """What the goals have come to."""
        self.compiling = self.stopped = False
        """Time was over while kernels were compiled; the search is to end."""

    def run_in_time(self) -> bool:
        """Search in a thread until that is done, or time is over; returns whether Ctrl-C ended it.

        A thread that compiles goes on, for the next time.
        """
        interrupted, thread = False, Future[None]()
        try:
            self.impossible = impossible(self.problem)
            self.most = self.problem.limits[1]
            self.bound = self.most if self.impossible else min(lower_bound(self.problem), self.most)
            thread = ThreadPoolExecutor(1, "solve").submit(self.run)
            wait([thread], None if self.end == inf else self.end - clock.monotonic())
        except KeyboardInterrupt:
            interrupted = True
        self.stopped = True
        wait([thread], self.reserve)
        self.compiling = not (interrupted or thread.done())
        with suppress(_Over, TimeoutError):
            thread.result(0)
        return interrupted

    def over(self) -> bool:
        """Tell whether time is over, or Ctrl-C has come."""
        return self.stopped or clock.monotonic() >= self.end

    def run(self) -> None:
        """Search until the answer is optimal, or attempts are used up; raises `_Over` when time is over."""
        if self.ours:
            self.construct()
            if self.attempts is None and not self.impossible:
                self.prove()
        # Of a problem that is impossible, what first fit has placed is the answer: no kernel is waited for.
        if not self.settled and not (self.impossible and self.best is not None):
            for name in OF_VECTORS if self.ours and self.problem.searched else ():
                self.fit(name, self.over)
            if not self.settled:
                fewest(lambda: self.bound, self.most, self.bins, self.most_attempts, self.attempt)
        if self.device != "cpu":  # whether it is there is told
            list(self.searches[PUBLISHED](self.problem, 0, 0, 1, lambda: True))
        if self.problem.objective is not None and self.best is not None and not self.best.rank[0]:
            self.improve(self.best)

    def keep(self, problem: Problem, alloc: list[int], search: str) -> bool:
        """Keep what is better than the best; returns whether all balls are placed, and no set is missing."""
        places = np.array(alloc) if self.tenants is None else self.tenants.whole(alloc)
        left = int((places == NULL).sum())
        missing = 0 if left else sum(wish.missing(alloc) for wish in problem.wishes)
        rank = left, missing, problem.bins
        if self.best is None or rank < self.best.rank:
            self.best = _Best(problem, alloc, search, rank, clock.monotonic() - self.start)
        return not (left or missing)

    @property
    def bins(self) -> int | None:
        """The fewest with which an allocation of all balls misses nothing."""
        return None if self.best is None or any(self.best.rank[:2]) else self.best.rank[2]

    @property
    def settled(self) -> bool:
        """Tell whether no allocation is better, leaving goals aside."""
        return self.bins is not None and self.bins <= self.bound

    def most_attempts(self) -> int:
        """Return how many attempts to make for each number of bins, by what is known so far."""
        placed = self.best is not None and self.best.rank[0] == 0
        patience = PATIENCE if placed and self.problem.wishes else 1 << 62
        return 1 if self.impossible else self.attempts or patience

    def construct(self) -> None:
        """Place whole tenants, in plain Python, if several have several balls, for half of the time or 10 s at most.

        Of a small problem single balls are placed so, for a moment: its first answer comes before anything is compiled.
        """
        problem, left = self.problem, self.end - clock.monotonic() if self.time or self.attempts else 20.0
        # Finding tenants takes half a second at most.
        too_long = (problem.balls + problem.bins) * problem.program.steps > 25_000_000
        if too_long or (problem.packing is not None and not (self.small and self.attempts is None)):
            return
        over, soon = self.within(left / 2), self.within(left / 8)
        units = tenants(problem, over)
        if units is None or not (self.small or units.several):
            return
        if units.several:
            self.tenants, most = units, min(TRIES, self.attempts or TRIES)
        else:
            units, over, most = units._replace(sets=problem.units), self.within(min(self.reserve, left)), 1
        tries, into = lambda: 1 if soon() else most, self.construct_into
        fewest(lambda: self.bound, self.most, None, tries, lambda bins, at: into(bins, units, over, at))
        if self.best is None or (2 * self.best.rank[0] > problem.balls and not over()):  # most are too large
            self.tenants = None
        self.look_at_clock()

    def construct_into(self, bins: int, units: Tenants | None, over: Over, numbers: range = range(1)) -> int | None:
        """Place tenants, or units, until all are placed or time is `over`; the best is kept. Returns `self.bins`."""
        problem, done = self.problem.with_bins(bins), False
        for number in numbers:
            if done or over():
                break
            made = Construction(problem, units, over)
            made.construct(np.random.default_rng([self.seed, number]) if number else None)
            # Some tenant may take what depends on other tenants after all.
            if max(made.where) != NULL and not faults(problem, made.where):
                self.checked += 1
                done = self.keep(problem, made.where, TENANTS if self.tenants is not None else FIRST_FIT)
        return self.bins

    def within(self, seconds: float) -> Over:
        """Return what tells that so many seconds are over from now on, or all time is."""
        until = clock.monotonic() + seconds
        return lambda: self.over() or clock.monotonic() >= until

    def prove(self) -> None:
        """Have CP-SAT look for the best answer to a small problem, or for a proof that there is none.

        That takes a quarter of the time at most. It keeps the best that is found.
        """
        over = self.within(10.0 if self.end == inf else (self.end - clock.monotonic()) / 4)
        all_alike = self.problem.objective is None and (self.problem.now == NULL).all()
        while not (over() or self.impossible or (all_alike and self.settled)):
            problem, best = self.problem.with_bins(self.bound), self.best
            if not (exact.installed() and exact.suits(problem)):
                break
            begin = best.alloc if best is not None and best.rank == (0, 0, problem.bins) else None
            proof = exact.prove(problem, over, begin)
            self.checked += 1
            if proof.alloc is not None:
                self.best = None  # it is as good, and no more balls move
                if problem.objective is not None:
                    problem = replace(problem, objective=problem.objective.bounded(proof.bounds))
                self.keep(problem, proof.alloc, "CP-SAT")
            if not proof.impossible:
                break
            self.impossible = PROVEN if self.bound == self.most else ""
            self.bound = min(self.bound + 1, self.most)

    def fit(self, name: str, over: Over) -> None:
        """Keep what one of `OF_VECTORS` comes to if bins are alike or their number is given."""
        problem, packing = self.problem, self.problem.packing
        if self.settled or packing is None or (problem.searched and not problem.bins_alike):
            return
        if problem.searched:
            bins = min(self.most, len(packing.demand) + problem.bins)
            packing = packing._replace(capacity=np.tile(packing.capacity[0], (bins, 1)))
        where = OF_VECTORS[name](packing, over)
        problem = self.problem.with_bins(max(problem.bins, int(where.max()) + 1))
        self.keep(problem, where[problem.unit_of].tolist(), name)

    def attempt(self, bins: int, numbers: range) -> int | None:
        """Let all searches make some attempts with this many bins; returns the fewest bins known then."""
        problem = self.problem.with_bins(bins)
        for name, attempts in self.searches.items():
            number, left = numbers.start, 0
            while number < numbers.stop and left == 0:  # all are placed, and wishes are not kept
                before, left = self.checked, 1
                for result in attempts(problem, self.seed, number, numbers.stop - number, self.over):
                    self.checked, left, number = before + result.checked, result.left, result.attempt + 1
                    done = self.keep(problem, result.where.tolist(), name)
                    self.look_at_clock()
                    if done:
                        return self.bins
                self.look_at_clock()  # attempts that were cut short before they came to anything tell nothing
        return self.bins

    def improve(self, best: _Best) -> None:
        """Look for allocations that are better by the goals, by local search."""
        problem, objective, before = best.problem, best.problem.objective, self.checked
        assert objective is not None
        if objective.bounds == goals_of(problem, best.alloc):
            return
        self.look_at_clock()  # nothing begins, and is compiled, after the end
        patience = 100 if self.attempts is None and self.time is None else inf
        for run in polish.improved(problem, self.seed, best.alloc, self.attempts, self.over, patience):
            self.checked = before + run.checked
            self.goals = tuple(goal.number(raw) for goal, raw in zip(objective.goals, run.values, strict=True))
            self.best = best._replace(alloc=run.where.tolist(), search=LOCAL)
            self.look_at_clock()

    def look_at_clock(self) -> None:
        """Tell how it goes, and stop in time."""
        now, best = clock.monotonic(), self.best
        if self.over():
            raise _Over
        if best is not None and self.progress is not None and now - self.shown > 0.2:
            self.shown = now
            placed = best.problem.balls - best.alloc.count(NULL)
            self.progress(Progress(best.problem.bins, self.bound, placed, self.checked, now - self.start, self.goals))

    def last_resort(self) -> None:
        """Answer although time is over, by first fit with all bins: what can stay where it is does."""
        until = clock.monotonic() + self.reserve
        if self.best is not None and NULL not in self.best.alloc:
            return
        if self.problem.packing is not None:
            self.fit(FIRST_FIT, lambda: not is_loaded() or clock.monotonic() >= until)
        elif self.best is None or self.problem.searched:
            self.construct_into(self.most, self.tenants, lambda: clock.monotonic() >= until)

    def notes(self, answer: Answer) -> Iterator[str]:
        """List what a user would not expect of the search, and the sets of wishes that do not hold."""
        if self.compiling:
            yield "compiling took longer than there was time; it goes on, for the next time"
        proofs = self.ours and self.attempts is None and answer.status != "optimal" and not self.impossible
        if proofs and not exact.installed() and exact.suits(answer.problem):
            yield f"fewer proofs are looked for without OR-Tools. {install('solver')}"
        for wish in answer.problem.wishes:
            if broken := wish.broken(answer.alloc):
                which = "; ".join(", ".join(map(answer.problem.ball, members)) for members in broken[:10])
                held = f"{len(wish.sets) - len(broken)} of {len(wish.sets)} sets hold, {wish.wanted} asked for"
                which += "; ..." if len(broken) > 10 else ""
                yield f"{wish.kind} WITH {wish.chance / MICRO:g}: {held}; not {which}"

    def blame(self) -> tuple[Fault, ...]:
        """Find the declarations because of which not all balls can be placed; writes `impossible`, in their words."""
        now = clock.monotonic()
        until = min(max(self.end, now + self.reserve), now + 10)

        def why(problem: Problem) -> str:
            if (reason := impossible(problem)) or not (self.ours and exact.installed()):
                return reason
            most = replace(problem.with_bins(problem.limits[1]), objective=None, wishes=())
            proven = exact.suits(most) and exact.prove(most, lambda: clock.monotonic() >= until).impossible
            return PROVEN if proven else ""

        conflict: tuple[tuple[Fault, ...], str] = self.problem.source.at_fault(until, why)
        self.impossible = conflict[1] or self.impossible
        return conflict[0]

    def answer(self, interrupted: bool) -> Answer:
        """Return the best answer that is known, verified."""
        if self.time is not None or interrupted:
            self.last_resort()
        nothing = self.problem, [NULL] * self.problem.balls, next(iter(self.searches)), (), inf
        problem, alloc, search, _, best_after = self.best or nothing
        if NULL in alloc and self.tenants is not None:  # without parts of tenants, unless others need what they give
            whole = self.tenants.whole(alloc).tolist()
            alloc = alloc if faults(problem, whole) else whole
        at_fault = self.blame() if self.impossible and not interrupted else ()
        verify(problem, alloc)
        seconds, proofs = clock.monotonic() - self.start, (min(self.bound, problem.bins), self.impossible, at_fault)
        answer = Answer(problem, alloc, search, *proofs, self.checked, seconds, min(best_after, seconds), interrupted)
        return replace(answer, notes=tuple(self.notes(answer)))
