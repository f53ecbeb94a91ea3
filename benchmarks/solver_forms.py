"""`python -m benchmarks.solver_forms [FORM...] [--instances N] [--seconds S...] [--page]`: not capacities alone.

Each instance is drawn around an allocation that is known, so that all balls can be placed; there is little more room.
`published` is the search of Wrasse, `ours` the portfolio with local search, both on all cores; CP-SAT of OR-Tools has a
worker for each core and is told the same. Prints, in Markdown, how many instances were solved in the time, and how long
that took; with `--page` into docs/experiments/solver-forms.md.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

import binwright as bw
from agents.solver import problem
from agents.solver.model.problem import Problem
from simcore.cores import usable_threads
from simcore.types import Ints

PAGE = Path(__file__).parents[1] / "docs/experiments/solver-forms.md"
TEXT = """# Problems that are not capacities alone

How many problems with something beside capacities are solved where little room is left, and in what time? Each instance
is drawn around a known allocation.

    python -m benchmarks.solver_forms --page   # with {cores} of the processors, load {load:.1f}

- `pods`: applications spread over three zones, on nodes of two sizes, some of them tainted, 5 % free;
- `foes`: replicas that keep apart;
- `hours`: loads by the hour, some of which may be over (SOFT);
- `links`: machines that talk over shared links;
- `tenants`: virtual clusters below servers and racks, 10 % of the links free.

`published` is Wrasse's search, `ours` is what `binwright solve` does. CP-SAT has as many workers as our search has
threads; the time to build its model counts. Times are of solved instances.

| form | balls, bins | by | within, s | solved | median, s | longest, s |
|---|---|---|---|---|---|---|
"""
Say = Callable[[Any, Any, list[list[Any]]], None]
"""(CP-SAT's module, model, a Boolean for each ball and bin): says the rest of a problem."""


class Form(NamedTuple):
    """An instance, for us and for CP-SAT."""

    problem: Problem
    say: Say


PODS = """
BALLS len(APP)
BINS len(ZONE)
RESOURCES CPU[n in BINS] => HAS[n, 0], MEMORY[n in BINS] => HAS[n, 1]
RESOURCES COPIES[a in len(MOST), z in 3] => MOST[a]
procedure UTILFN(BALL, BIN, ALLOC)
    if TAINTED[BIN] == 1 and TOLERATES[BALL] == 0 REJECT end
    UTIL.CPU[BIN] += NEEDS[BALL, 0]
    UTIL.MEMORY[BIN] += NEEDS[BALL, 1]
    UTIL.COPIES[APP[BALL], ZONE[BIN]] += 1
end"""


def pods(seed: int, nodes: int = 30, each: int = 5, slack: float = 0.05) -> Form:
    """Draw pods on nodes of two sizes in three zones: applications are spread over zones, some nodes are tainted."""
    rng = np.random.default_rng(seed)
    has = rng.choice([[16_000, 64_000], [32_000, 128_000]], size=nodes, p=[0.7, 0.3])
    needs, home = cut(rng, has, each, slack)
    zone = np.arange(nodes) % 3
    apps = spread(rng, zone[home])
    app, most = np.empty(len(home), np.int64), []
    for number, members in enumerate(apps):
        app[members] = number
        most.append(int(np.bincount(zone[home[members]]).max()))
    tainted = (rng.random(nodes) < 0.2).astype(int)
    tolerates = np.maximum(tainted[home], rng.random(len(home)) < 0.1).astype(int)
    given = {"HAS": has, "NEEDS": needs, "ZONE": zone, "APP": app, "MOST": most}
    made = problem(PODS, tables=given | {"TAINTED": tainted, "TOLERATES": tolerates})

    def say(python: Any, model: Any, x: list[list[Any]]) -> None:
        _capacities(model, x, needs, has)
        for number, members in enumerate(apps):
            for one in range(3):
                model.add(sum(x[b][n] for b in members for n in np.flatnonzero(zone == one)) <= most[number])
        for ball in np.flatnonzero(tolerates == 0):
            for node in np.flatnonzero(tainted):
                model.add(x[ball][node] == 0)

    return Form(made, say)


FOES = """
BALLS len(NEEDS)
BINS len(HAS)
RESOURCES CPU[n in BINS] => HAS[n, 0], MEMORY[n in BINS] => HAS[n, 1], COUNT[n in BINS // 2, k in 4] => 3
FOES PAIRS[p] for p in len(PAIRS)
procedure UTILFN(BALL, BIN, ALLOC)
    UTIL.CPU[BIN] += NEEDS[BALL, 0]
    UTIL.MEMORY[BIN] += NEEDS[BALL, 1]
    UTIL.COUNT[BIN // 2, KIND[BALL]] += 1
end"""


def foes(seed: int, nodes: int = 24, each: int = 6, slack: float = 0.04) -> Form:
    """Draw services whose replicas keep apart, pair by pair; two nodes share a rack, with three balls of each kind."""
    rng = np.random.default_rng(seed)
    has = np.full((nodes, 2), 10_000)
    needs, home = cut(rng, has, each, slack)
    kind = np.empty(len(home), np.int64)
    kind[np.argsort(home, kind="stable")] = np.arange(len(home)) % 4
    pairs = [
        (a, b)
        for members in spread(rng, home)
        for i, a in enumerate(members)
        for b in members[:i]
        if home[a] != home[b]
    ]
    made = problem(FOES, tables={"HAS": has, "NEEDS": needs, "KIND": kind, "PAIRS": pairs})

    def say(python: Any, model: Any, x: list[list[Any]]) -> None:
        _capacities(model, x, needs, has)
        for node in range(nodes):
            for one, other in pairs:
                model.add_bool_or(~x[one][node], ~x[other][node])
            for k in range(4) if node % 2 else ():
                here = (x[ball][one] for ball in np.flatnonzero(kind == k) for one in (node - 1, node))
                model.add(sum(here) <= 3)

    return Form(made, say)


HOURS = """
BALLS len(NEEDS)
BINS SERVERS
RESOURCES CPU[s in BINS, h in 12] => 1000
SOFT CPU[s, *] SHARE 0.9 OVER 0.2 for s in BINS
procedure UTILFN(BALL, BIN, ALLOC)
    for h in 12
        UTIL.CPU[BIN, h] += NEEDS[BALL, h]
    end
end"""


def hours(seed: int, servers: int = 16, each: int = 6, slack: float = 0.08) -> Form:
    """Draw loads by the hour; of a server's twelve hours one may be over, by a fifth at most."""
    rng = np.random.default_rng(seed)
    needs = []
    for _ in range(servers):
        share = rng.dirichlet(np.full(each, 2.0))[:, None] * rng.uniform(0.5, 1.5, (each, 12))
        most = np.where(np.arange(12) == rng.integers(12), 1200, 1000) * (1 - slack)
        needs.append(np.floor(share / share.sum(axis=0) * most).astype(int))
    table = rng.permutation(np.concatenate(needs))
    made = problem(f"PARAM SERVERS = {servers} {HOURS}", tables={"NEEDS": table})

    def say(python: Any, model: Any, x: list[list[Any]]) -> None:
        for server in range(servers):
            over = [model.new_bool_var("") for _ in range(12)]
            model.add(sum(over) <= 1)
            for h in range(12):
                model.add(sum(int(table[b, h]) * x[b][server] for b in range(len(x))) <= 1000 + 200 * over[h])

    return Form(made, say)


LINKS = """
BALLS len(PEERS)
BINS len(LINK)
RESOURCES SLOTS[s in BINS] => 4, WIRE[s in BINS] => LINK[s], UPLINK[r in len(UP)] => UP[r]
procedure UTILFN(BALL, BIN, ALLOC)
    UTIL.SLOTS[BIN] += 1
    for i in len(PEERS[BALL])
        let there = ALLOC[PEERS[BALL, i]]
        if there != NULL and there != BIN
            UTIL.WIRE[BIN] += RATES[BALL, i]
            UTIL.WIRE[there] += RATES[BALL, i]
            if there // 5 != BIN // 5
                UTIL.UPLINK[BIN // 5] += RATES[BALL, i]
                UTIL.UPLINK[there // 5] += RATES[BALL, i]
            end
        end
    end
end"""


def links(seed: int, racks: int = 4, slack: float = 0.1) -> Form:
    """Draw machines that talk in pairs, on servers of four slots, five to a rack."""
    rng = np.random.default_rng(seed)
    servers = 5 * racks
    home = rng.permutation(np.repeat(np.arange(servers), 4))
    rates: dict[tuple[int, int], int] = {}
    near = np.argsort(home, kind="stable")
    for _ in range(3 * len(home)):  # most of them talk to their neighbours
        i = int(rng.integers(len(home)))
        j = (i + int(rng.geometric(0.3))) % len(home)
        rates[min(near[i], near[j]), max(near[i], near[j])] = int(rng.integers(1, 10)) * 10
    rates.pop((0, 0), None)
    wire, up = np.zeros(servers, np.int64), np.zeros(racks, np.int64)
    peers: list[list[int]] = [[] for _ in home]
    each: list[list[int]] = [[] for _ in home]
    for (a, b), rate in rates.items():
        for one, other in ((a, b), (b, a)):
            peers[one].append(int(other))
            each[one].append(rate)
            wire[home[one]] += rate * (home[a] != home[b])
            up[home[one] // 5] += rate * (home[a] // 5 != home[b] // 5)
    wire, up = (np.ceil(amount * (1 + slack)).astype(int) + 10 for amount in (wire, up))
    made = problem(LINKS, tables={"PEERS": peers, "RATES": each, "LINK": wire, "UP": up})

    def say(python: Any, model: Any, x: list[list[Any]]) -> None:
        for server in range(servers):
            model.add(sum(row[server] for row in x) <= 4)
        rack = [[sum(row[5 * r : 5 * r + 5]) for r in range(racks)] for row in x]
        for places, most in ((x, wire), (rack, up)):
            for place, limit in enumerate(most.tolist()):
                terms = []
                for (a, b), rate in rates.items():
                    apart = model.new_bool_var("")
                    model.add(apart >= places[a][place] - places[b][place])
                    model.add(apart >= places[b][place] - places[a][place])
                    terms.append(rate * apart)
                model.add(sum(terms) <= limit)

    return Form(made, say)


TENANTS = """
BALLS len(TENANT)
BINS len(LINK)
RESOURCES SLOTS[s in BINS] => 4, WIRE[s in BINS] => LINK[s], UPLINK[r in len(UP)] => UP[r]
procedure UTILFN(BALL, BIN, ALLOC)
    UTIL.SLOTS[BIN] += 1
    let c = TENANT[BALL]
    let n = SIZE[c]
    let rack = BIN // 4
    let m = count(o in BALLS except BALL: TENANT[o] == c and ALLOC[o] == BIN)
    UTIL.WIRE[BIN] += RATE[c] * (min(m + 1, n - m - 1) - min(m, n - m))
    let k = count(o in BALLS except BALL: TENANT[o] == c and ALLOC[o] != NULL and ALLOC[o] // 4 == rack)
    UTIL.UPLINK[rack] += RATE[c] * (min(k + 1, n - k - 1) - min(k, n - k))
end"""


def tenants(seed: int, racks: int = 4, slack: float = 0.1) -> Form:
    """Draw virtual clusters: a link with m of a tenant's n machines below it carries min(m, n - m) x its rate."""
    rng = np.random.default_rng(seed)
    servers = 4 * racks
    sizes: list[int] = []
    while sum(sizes) < 4 * servers:
        sizes.append(min(int(rng.integers(2, 12)), 4 * servers - sum(sizes)))
    tenant, rate = np.repeat(np.arange(len(sizes)), sizes), rng.integers(1, 8, len(sizes)) * 50
    home = np.repeat(np.arange(servers), 4)
    for _ in range(len(home) // 4):  # neighbours, but for some that have changed places
        i, j = rng.integers(len(home), size=2)
        home[[i, j]] = home[[j, i]]
    below = np.zeros((len(sizes), servers), np.int64)
    np.add.at(below, (tenant, home), 1)
    use, limits = [below, below.reshape(len(sizes), racks, 4).sum(axis=2)], []
    for counts in use:
        crossing = np.minimum(counts, np.array(sizes)[:, None] - counts) * rate[:, None]
        limits.append(np.ceil(crossing.sum(axis=0) * (1 + slack)).astype(int))
    given = {"TENANT": tenant, "SIZE": sizes, "RATE": rate, "LINK": limits[0], "UP": limits[1]}
    made = problem(TENANTS, tables=given)

    def say(python: Any, model: Any, x: list[list[Any]]) -> None:
        for server in range(servers):
            model.add(sum(row[server] for row in x) <= 4)
        rack = [[sum(row[4 * r : 4 * r + 4]) for r in range(racks)] for row in x]
        for places, most in zip((x, rack), limits, strict=True):
            for place, limit in enumerate(most.tolist()):
                terms = []
                for number, size in enumerate(sizes):
                    inside = sum(places[ball][place] for ball in np.flatnonzero(tenant == number))
                    least = model.new_int_var(0, size, "")
                    model.add_min_equality(least, [inside, size - inside])
                    terms.append(int(rate[number]) * least)
                model.add(sum(terms) <= limit)

    return Form(made, say)


FORMS: dict[str, Callable[[int], Form]] = {
    "pods": pods,
    "foes": foes,
    "hours": hours,
    "links": links,
    "tenants": tenants,
}


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


def _capacities(model: Any, x: list[list[Any]], needs: Ints, has: Ints) -> None:
    for node, room in enumerate(has.tolist()):
        for d, most in enumerate(room):
            model.add(sum(int(needs[ball, d]) * x[ball][node] for ball in range(len(x))) <= most)


def cp_sat(form: Form, seconds: float) -> float | None:
    """Return the seconds that CP-SAT takes, the making of its model included; None if it has no answer in time."""
    from ortools.sat.python import cp_model as python

    began = perf_counter()
    model = python.CpModel()
    x = [[model.new_bool_var("") for _ in range(form.problem.bins)] for _ in range(form.problem.balls)]
    for row in x:
        model.add_exactly_one(row)
    form.say(python, model, x)
    solver = python.CpSolver()
    solver.parameters.num_workers = usable_threads()
    solver.parameters.max_time_in_seconds = max(0.01, seconds - (perf_counter() - began))
    status = solver.solve(model)
    return perf_counter() - began if status in (python.OPTIMAL, python.FEASIBLE) else None


def by(search: str) -> Callable[[Form, float], float | None]:
    """Return the seconds that one of our searches takes, as `cp_sat`."""

    def solved(form: Form, seconds: float) -> float | None:
        answer = bw.solve(form.problem, search=search, time=seconds)
        return answer.seconds if answer.placed == form.problem.balls else None

    return solved


SOLVERS = {"published": by("published"), "ours": by("ours"), "cp-sat": cp_sat}


def rows(name: str, solver: str, instances: Sequence[Form], limits: Sequence[float]) -> Iterator[str]:
    """Solve instances of a form within limits, the longer ones only where the shorter ones did not do."""
    size = f"{instances[0].problem.balls}, {instances[0].problem.bins}"
    SOLVERS[solver](instances[0], 1.0)  # compiled
    times: list[float | None] = [None] * len(instances)
    for seconds in sorted(limits):
        for number, form in enumerate(instances):
            if times[number] is None:
                times[number] = SOLVERS[solver](form, seconds)
        took = sorted(one for one in times if one is not None)
        middle = f"{np.median(took):.3g} | {took[-1]:.3g}" if took else " | "
        yield f"| {name} | {size} | {solver} | {seconds:g} | {len(took)}/{len(times)} | {middle} |\n"


def main(argv: Sequence[str] | None = None) -> None:
    """Print a table, or write the page."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("forms", nargs="*", choices=[[], *FORMS], metavar="FORM", default=[])
    asked.add_argument("--instances", type=int, help="by default 100 of pods and 10 of each other form")
    asked.add_argument("--seconds", type=float, nargs="+", default=[1.0, 5.0])
    asked.add_argument("--with", dest="solvers", nargs="+", choices=SOLVERS, default=list(SOLVERS))
    asked.add_argument("--page", action="store_true", help=f"write {PAGE.name}")
    given = asked.parse_args(argv)
    text = TEXT.format(cores=usable_threads(), load=os.getloadavg()[0])
    for name in given.forms or FORMS:
        instances = [FORMS[name](seed) for seed in range(given.instances or (100 if name == "pods" else 10))]
        for solver in given.solvers:
            limits = given.seconds if solver != "published" else [min(given.seconds)]
            for row in rows(name, solver, instances, limits):
                print(row, end="", flush=True)
                text += row
    if given.page:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
