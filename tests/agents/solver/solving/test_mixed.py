"""Small problems with everything that the language has, mixed at random, beside plain rules and all allocations."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import binwright as bw
from binwright.agents.solver import problem
from binwright.agents.solver.language.errors import SpecError
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.verify import faults, goals_of
from binwright.agents.solver.solving import exact
from binwright.simcore.errors import UserError
from tests.support.properties import scaled
from tests.support.solving import nothing_compiled, plain_kernels, possible, right
from tests.support.specifications import specifications

HOURS = 2


@dataclass(frozen=True)
class Mixed:
    """A problem as numbers."""

    need: list[int]
    bins: int
    open: bool
    """The bins are `BINS ?`, up to so many."""
    capacity: int
    price: list[int]
    pins: dict[int, int]
    friends: list[list[int]]
    foes: list[list[int]]
    different: list[list[int]]
    hoses: list[tuple[list[int], int]]
    pipes: list[tuple[list[int], int]]
    link: int
    soft: bool
    drain: list[int]
    now: list[int]
    moves: int
    least: list[tuple[str, int, int, bool]]
    goal: bool

    def text(self) -> str:
        """State it, with names for the balls."""
        balls, names = len(self.need), [f'"p{ball}"' for ball in range(len(self.need))]

        def listed(members: Sequence[int]) -> str:
            return ", ".join(names[ball] for ball in members)

        bins = f"? TO {self.bins}" if self.open else str(self.bins)
        lines = [
            'TABLE POD FROM "pods.csv" COLUMN "name" AS pod',
            f"TABLE NEED = {self.need} TABLE PRICE = {self.price} TABLE HOME = {self.now}",
            f"BALLS {balls} AS pod BINS {bins}",
            f"RESOURCES CPU[s in BINS] => {self.capacity}, LINK[s in BINS] => {self.link}, UP[r in 2] => {self.link}",
            f"RESOURCES HOUR[s in BINS, h in {HOURS}] => 3",
            *(f"PIN {names[ball]} TO {place}" for ball, place in self.pins.items()),
            *(f"FRIENDS {listed(some)}" for some in self.friends),
            *(f"FOES {listed(some)}" for some in self.foes),
            *(f"DIFFERENT {listed(some)}" for some in self.different),
            *(f"HOSE {listed(some)} RATE {rate} OVER LINK[BIN], UP[BIN % 2]" for some, rate in self.hoses),
            *(f"PIPE {listed(some)} RATE {rate} OVER LINK[BIN], UP[BIN % 2]" for some, rate in self.pipes),
            *(f"DRAIN {place}" for place in self.drain),
            *(f"AT LEAST {q} OF {of}[{s}] {'OR NONE' if none else ''}" for of, s, q, none in self.least),
        ]
        if self.soft:
            lines.append("SOFT HOUR[s, *] SHARE 0.5 OVER 0.5 for s in BINS")
        if any(place >= 0 for place in self.now):
            lines += ["NOW HOME", f"MOVES {self.moves}"]
        if self.goal:
            lines.append("MINIMISE sum(s in BINS: if UTIL.CPU[s] > 0 then PRICE[s] else 0)")
        body = (
            "UTIL.CPU[BIN] += NEED[BALL] for h in 2 UTIL.HOUR[BIN, h] += if BALL % 2 == h then NEED[BALL] else 0.5 end"
        )
        return "\n".join([*lines, f"procedure UTILFN(BALL, BIN, ALLOC) {body} end"])

    def problem(self) -> Problem:
        """Make the problem of it."""
        return problem(self.text(), tables={"POD": [f"p{ball}" for ball in range(len(self.need))]})

    def holds(self, alloc: Sequence[int]) -> bool:
        """Tell whether an allocation of all balls keeps every rule."""
        cpu, hour, link, up = (Counter[tuple[int, ...]]() for _ in range(4))
        for ball, place in enumerate(alloc):
            cpu[place,] += self.need[ball]
            for h in range(HOURS):
                hour[place, h] += 2 * self.need[ball] if ball % 2 == h else 1  # halves
        for some, rate in [*self.hoses, *self.pipes]:
            for part, m in Counter(alloc[ball] for ball in some).items():
                link[part,] += min(m, len(some) - m) * rate
            for part, m in Counter(alloc[ball] % 2 for ball in some).items():
                up[part,] += min(m, len(some) - m) * rate
        if max(cpu.values()) > self.capacity or max([0, *link.values(), *up.values()]) > self.link:
            return False
        over = Counter(place for (place, _), used in hour.items() if used > 6)
        if max(hour.values()) > (9 if self.soft else 6) or max([0, *over.values()]) > (1 if self.soft else 0):
            return False
        where = [[alloc[ball] for ball in some] for some in self.friends]
        apart = [[alloc[ball] for ball in some] for some in self.foes]
        alone = [[alloc[ball] for ball in some] for some in self.different]
        if any(len(set(at)) > 1 for at in where) or any(len(set(at)) == 1 for at in apart):
            return False
        if any(len(set(at)) < len(at) for at in alone) or any(alloc[ball] != at for ball, at in self.pins.items()):
            return False
        if set(alloc) & set(self.drain):
            return False
        moves = sum(home not in (-1, place) for home, place in zip(self.now, alloc, strict=True))
        if any(home >= 0 for home in self.now) and moves > self.moves:
            return False
        amounts: dict[str, Counter[tuple[int, ...]]] = {"CPU": cpu, "BALLS": Counter((place,) for place in alloc)}
        return all(amounts[of][s,] >= q or (none and not amounts[of][s,]) for of, s, q, none in self.least)

    def cost(self, alloc: Sequence[int]) -> int:
        """Add up the prices of the bins in use."""
        return sum(self.price[place] for place in set(alloc))


@st.composite
def mixed(draw: st.DrawFn) -> Mixed:
    """Draw a problem of which some are possible."""
    balls, bins = draw(st.integers(3, 5)), draw(st.integers(2, 3))
    ball, place = st.integers(0, balls - 1), st.integers(0, bins - 1)
    some = st.lists(st.lists(ball, min_size=2, max_size=3, unique=True), max_size=1)
    rates = st.lists(st.tuples(st.lists(ball, min_size=2, max_size=5, unique=True), st.integers(0, 2)), max_size=2)
    pairs = st.lists(st.tuples(st.lists(ball, min_size=2, max_size=2, unique=True), st.integers(0, 2)), max_size=2)
    hoses, soft = draw(rates), draw(st.booleans())
    bounds = st.tuples(st.sampled_from(["CPU", "BALLS"]), place, st.integers(0, 3), st.booleans())
    return Mixed(
        need=draw(st.lists(st.integers(1, 3), min_size=balls, max_size=balls)),
        bins=bins,
        open=draw(st.booleans()),
        capacity=draw(st.integers(3, 8)),
        price=draw(st.lists(st.integers(0, 4), min_size=bins, max_size=bins)),
        pins=draw(st.dictionaries(ball, place, max_size=1)),
        friends=draw(some),
        foes=draw(some),
        different=draw(some),
        hoses=hoses,
        pipes=draw(pairs),
        link=draw(st.integers(1, 6)),
        soft=soft,
        drain=draw(st.lists(place, max_size=1)),
        now=draw(st.lists(st.integers(-1, bins - 1), min_size=balls, max_size=balls))
        if draw(st.booleans())
        else [-1] * balls,
        moves=draw(st.integers(0, 2)),
        least=draw(st.lists(bounds, max_size=2)),
        goal=draw(st.booleans()),
    )


@scaled(1)
@given(mixed(), st.integers(0, 9))
def test_nothing_wrong_is_answered(what: Mixed, seed: int) -> None:
    made = what.problem()
    every = list(product(range(what.bins), repeat=len(what.need)))
    right = [alloc for alloc in every if what.holds(alloc)]
    if not made.searched:
        for alloc in every[seed :: 1 + len(every) // 30]:
            enough = not made.bounded_below or goals_of(made, alloc)[0] == 0
            assert (not faults(made, alloc) and enough) == (alloc in right)
    through = exact.installed() and exact.suits(made)
    with nothing_compiled() if through else plain_kernels():
        attempts = None if through else 100 if right else 2
        answer = bw.solve(made, time=1 if through else 10, attempts=attempts, seed=seed)
    done = answer.status in ("optimal", "solved")
    assert not done or what.holds(answer.alloc)
    assert not answer.impossible or not right
    assert done == bool(right)
    if answer.status == "optimal" and made.objective is not None and what.goal:
        best = min((what.cost(alloc), len(set(alloc)) if what.open else 0) for alloc in right)
        assert (what.cost(answer.alloc), answer.used if what.open else 0) == best
    if answer.status == "optimal" and made.searched:
        assert answer.bins == min(max(alloc) + 1 for alloc in right)
    if through and right and made.objective is not None:
        assert answer.status == "optimal"


@pytest.mark.long
@scaled(1.5)
@given(specifications(), st.integers(0, 9))
def test_an_allocation_is_found_if_there_is_one(text: str, seed: int) -> None:
    """Of whatever the language can say, although it may depend on the order of the balls."""
    try:
        requested = problem(text)
    except SpecError:
        return
    solvable = possible(requested)
    try:
        with plain_kernels():
            answer = bw.solve(requested, time=10, attempts=100 if solvable else 2, seed=seed)
    except UserError as error:
        if "depends on the order of the balls" not in str(error) or requested.program.alloc_free:
            raise
        return
    assert right(requested, answer.alloc) if answer.placed == requested.balls else not solvable
    assert not answer.impossible or not solvable
