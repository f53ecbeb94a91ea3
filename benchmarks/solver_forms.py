"""`python -m benchmarks.solver_forms [FORM...] [--instances N] [--seconds S...]`: not capacities alone.

Each instance is drawn around an allocation that is known, so that all balls can be placed; there is little more room.
`published` is the search of Wrasse, `ours` the portfolio with local search, both on all cores. Prints, in Markdown, how
many instances were solved in the time, and how long that took: the median and the longest.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence

import numpy as np

import binwright as bw
from benchmarks.solver_families import Pods
from benchmarks.solver_instance import cut, spread
from binwright.agents.solver import problem
from binwright.agents.solver.model.problem import Problem

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


def foes(seed: int, nodes: int = 24, each: int = 6, slack: float = 0.04) -> Problem:
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
    return problem(FOES, tables={"HAS": has, "NEEDS": needs, "KIND": kind, "PAIRS": pairs})


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


def hours(seed: int, servers: int = 16, each: int = 6, slack: float = 0.08) -> Problem:
    """Draw loads by the hour; of a server's twelve hours one may be over, by a fifth at most."""
    rng = np.random.default_rng(seed)
    needs = []
    for _ in range(servers):
        share = rng.dirichlet(np.full(each, 2.0))[:, None] * rng.uniform(0.5, 1.5, (each, 12))
        most = np.where(np.arange(12) == rng.integers(12), 1200, 1000) * (1 - slack)
        needs.append(np.floor(share / share.sum(axis=0) * most).astype(int))
    table = rng.permutation(np.concatenate(needs))
    return problem(f"PARAM SERVERS = {servers} {HOURS}", tables={"NEEDS": table})


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


def links(seed: int, racks: int = 4, slack: float = 0.1) -> Problem:
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
    return problem(LINKS, tables={"PEERS": peers, "RATES": each, "LINK": wire, "UP": up})


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


def tenants(seed: int, racks: int = 4, slack: float = 0.1) -> Problem:
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
    return problem(TENANTS, tables=given)


FORMS: dict[str, Callable[[int], Problem]] = {
    "pods": lambda seed: Pods(150, seed).problem(),
    "foes": foes,
    "hours": hours,
    "links": links,
    "tenants": tenants,
}
SEARCHES = ("published", "ours")


def rows(name: str, search: str, instances: Sequence[Problem], limits: Sequence[float]) -> Iterator[str]:
    """Solve instances of a form within limits, the longer ones only where the shorter ones did not do."""
    size = f"{instances[0].balls}, {instances[0].bins}"
    bw.solve(instances[0], search=search, time=1.0)  # compiled
    times: list[float | None] = [None] * len(instances)
    for seconds in sorted(limits):
        for number, form in enumerate(instances):
            if times[number] is None:
                answer = bw.solve(form, search=search, time=seconds)
                times[number] = answer.seconds if answer.placed == form.balls else None
        took = sorted(one for one in times if one is not None)
        middle = f"{np.median(took):.3g} | {took[-1]:.3g}" if took else " | "
        yield f"| {name} | {size} | {search} | {seconds:g} | {len(took)}/{len(times)} | {middle} |\n"


def main(argv: Sequence[str] | None = None) -> None:
    """Print a table."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("forms", nargs="*", choices=[[], *FORMS], metavar="FORM", default=[])
    asked.add_argument("--instances", type=int, help="by default 100 of pods and 10 of each other form")
    asked.add_argument("--seconds", type=float, nargs="+", default=[1.0, 5.0])
    given = asked.parse_args(argv)
    for name in given.forms or FORMS:
        instances = [FORMS[name](seed) for seed in range(given.instances or (100 if name == "pods" else 10))]
        for search in SEARCHES:
            limits = given.seconds if search == "ours" else [min(given.seconds)]
            for row in rows(name, search, instances, limits):
                print(row, end="", flush=True)


if __name__ == "__main__":
    main()
