"""The published experiment of SPANE's program (arXiv:2504.14946, baseline.py), as slow, obvious rules."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

Row: TypeAlias = tuple[int, int, int, int]
"""Arrival and lifetime in seconds, cores, GB."""
Nodes: TypeAlias = list[list[list[float]]]
"""Cores and GB free, [servers][2][2]."""
Decide: TypeAlias = Callable[[Nodes, list[bool], bool], int]
"""(free, what of the nodes it fits on, spread) -> server * 2 + node."""
CPU, MEM, SPREAD_ABOVE, SERVERS, MORE = 40, 90, 10, 5, 40


def first_fit(free: Nodes, fits: list[bool], spread: bool) -> int:
    """Choose the first."""
    return fits.index(True)


def balance_fit(free: Nodes, fits: list[bool], spread: bool) -> int:
    """Choose the server that fits whose nodes differ most, as floats; its emptier node, else the other."""
    shares = [[min(cpu / CPU, mem / MEM) for cpu, mem in server] for server in free]
    apart = [abs(a - b) if any(fits[2 * s : 2 * s + 2]) else 0.0 for s, (a, b) in enumerate(shares)]
    if spread or not any(apart):
        return fits.index(True)
    server = apart.index(max(apart))
    node = shares[server].index(max(shares[server]))
    return 2 * server + (node if fits[2 * server + node] else 1 - node)


class Episode:
    """Requests in a first-come line, from one row on."""

    def __init__(self, rows: Sequence[Row], start: int) -> None:
        self.rows, self.start, self.at = rows, start, start
        self.free: Nodes = [[[CPU, MEM], [CPU, MEM]] for _ in range(SERVERS)]
        self.ends: list[tuple[int, int, list[tuple[int, int, float, float]]]] = []
        self.now, self.waited = rows[start][0], 0

    def fits(self) -> list[bool]:
        """Which nodes may take the next request, both of a server where it is spread."""
        _, _, cpu, mem = self.rows[self.at]
        if mem <= SPREAD_ABOVE:
            return [node[0] >= cpu and node[1] >= mem for server in self.free for node in server]
        whole = [all(node[0] >= cpu / 2 and node[1] >= mem / 2 for node in server) for server in self.free]
        return [fits for fits in whole for _ in range(2)]

    def place(self, decide: Decide) -> None:
        """Give the next request its place, now."""
        arrival, lifetime, cpu, mem = self.rows[self.at]
        spread = mem > SPREAD_ABOVE
        server, node = divmod(decide(self.free, self.fits(), spread), 2)
        taken = [(server, n, cpu / 2, mem / 2) for n in (0, 1)] if spread else [(server, node, float(cpu), float(mem))]
        for s, n, a, b in taken:
            self.free[s][n] = [self.free[s][n][0] - a, self.free[s][n][1] - b]
        self.ends.append((self.now + lifetime, self.at, taken))
        self.ends.sort()
        self.waited += self.now - arrival
        self.at += 1

    def release(self) -> None:
        """Give back what ends next."""
        self.now, _, taken = self.ends.pop(0)
        for s, n, a, b in taken:
            self.free[s][n] = [self.free[s][n][0] + a, self.free[s][n][1] + b]

    def go_on(self) -> None:
        """To the time when the next request has arrived, and fits."""
        arrival = self.rows[self.at][0]
        while self.ends and self.ends[0][0] <= arrival:
            self.release()
        if any(self.fits()):
            self.now = max(self.now, arrival)
            return
        while not any(self.fits()):
            self.release()
            while self.ends and self.ends[0][0] == self.now:
                self.release()


def length(rows: Sequence[Row], start: int) -> int:
    """How many requests: what first-fit places until the next one would not fit, before time goes on, and 40."""
    episode = Episode(rows, start)
    episode.place(first_fit)
    while any(episode.fits()):
        episode.go_on()
        episode.place(first_fit)
    return episode.at - start + MORE


def total_wait(rows: Sequence[Row], start: int, requests: int, decide: Decide) -> int:
    """Seconds that all requests wait, together."""
    episode = Episode(rows, start)
    episode.place(decide)
    while episode.at < start + requests:
        episode.go_on()
        episode.place(decide)
    return episode.waited
