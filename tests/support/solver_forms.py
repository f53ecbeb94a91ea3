"""Problems in which capacities are not all, drawn around an allocation that is known, with little more room."""

from collections.abc import Callable

import numpy as np

from binwright.agents.solver import problem
from binwright.agents.solver.model.problem import Problem
from binwright.simcore.types import Ints

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


def cut(rng: np.random.Generator, has: Ints, each: int, slack: float) -> tuple[Ints, Ints]:
    """Cut what every bin [bins, d] has, but for the slack, into parts: int64 [balls, d], and the bin of each, mixed."""
    shares = rng.dirichlet(np.full(each, 2.0), size=has.shape)  # [bins, d, each]
    parts = np.floor(shares.transpose(0, 2, 1) * has[:, None, :] * (1 - slack)).astype(np.int64)
    order = rng.permutation(len(has) * each)
    return parts.reshape(-1, has.shape[1])[order], np.repeat(np.arange(len(has)), each)[order]


def spread(rng: np.random.Generator, place: Ints) -> list[list[int]]:
    """Split balls into sets of two to eight, each as evenly over places [balls] as may be."""
    left = {int(each): np.flatnonzero(place == each).tolist() for each in np.unique(place)}
    sets: list[list[int]] = []
    while any(left.values()):
        members: list[int] = []
        fullest = sorted(left, key=lambda each: -len(left[each]))
        for number in range(int(rng.integers(2, 9))):
            members += left[fullest[number % len(fullest)]][-1:]
            del left[fullest[number % len(fullest)]][-1:]
        sets.append(members)
    return sets


def pods(seed: int, balls: int = 150, slack: float = 0.05) -> Problem:
    """Draw applications spread over three zones, on nodes of two sizes, some of them tainted."""
    rng, nodes = np.random.default_rng(seed), balls // 5
    has = rng.choice([[16_000, 64_000], [32_000, 128_000]], size=nodes, p=[0.7, 0.3])
    needs, home = cut(rng, has, 5, slack)
    zone, app = np.arange(nodes) % 3, np.empty(len(home), np.int64)
    apps = spread(rng, zone[home])
    for number, members in enumerate(apps):
        app[members] = number
    most = np.array([np.bincount(zone[home[members]]).max() for members in apps])
    tainted = rng.random(nodes) < 0.2
    tolerates = tainted[home] | (rng.random(len(home)) < 0.1)
    tables = {"HAS": has, "NEEDS": needs, "ZONE": zone, "APP": app, "MOST": most}
    return problem(PODS, tables=tables | {"TAINTED": tainted.astype(int), "TOLERATES": tolerates.astype(int)})


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
        for item, other in ((a, b), (b, a)):
            peers[item].append(int(other))
            each[item].append(rate)
            wire[home[item]] += rate * (home[a] != home[b])
            up[home[item] // 5] += rate * (home[a] // 5 != home[b] // 5)
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
    options = {"TENANT": tenant, "SIZE": sizes, "RATE": rate, "LINK": limits[0], "UP": limits[1]}
    return problem(TENANTS, tables=options)


FORMS: dict[str, Callable[[int], Problem]] = {
    "pods": pods,
    "foes": foes,
    "hours": hours,
    "links": links,
    "tenants": tenants,
}
