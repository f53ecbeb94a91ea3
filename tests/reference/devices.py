"""Servers with devices as slow, obvious rules over lists: what fits, what each agent chooses, what is fragmented."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from math import exp, floor

UNIT = 1_000_000


@dataclass
class Server:
    """A server: what it has free, and its devices."""

    cpu: int
    mem: int
    left: list[int]
    model: int = 0
    kinds: list[int] = field(default_factory=list)
    """Of every request with devices on it: 0 for a part of one, or how many whole ones."""


@dataclass(frozen=True)
class Ask:
    """A request: a part of one device, or several whole ones, of any model or of some."""

    cpu: int
    mem: int
    gpu: int
    models: frozenset[int] = frozenset()

    @property
    def count(self) -> int:
        return -(-self.gpu // UNIT)

    @property
    def each(self) -> int:
        return min(self.gpu, UNIT)

    @property
    def kind(self) -> int:
        return self.count if self.each == UNIT else 0


def choices(server: Server, ask: Ask) -> list[tuple[int, ...]]:
    """All sets of devices that the request could take, in lexical order."""
    if ask.cpu > server.cpu or ask.mem > server.mem or (ask.count and ask.models and server.model not in ask.models):
        return []
    enough = [device for device, left in enumerate(server.left) if left >= ask.each]
    return list(combinations(enough, ask.count))


def tightest(server: Server, ask: Ask) -> tuple[int, ...]:
    """The set with least free, the first of equals."""
    return min(choices(server, ask), key=lambda chosen: (sum(server.left[d] for d in chosen), chosen))


Typical = list[tuple[int, int, int, frozenset[int], float]]
"""cpu, quanta of each device, devices, models, and share."""


def fragments(server: Server, kinds: Typical) -> list[float]:
    """The seven causes of `binwright.fabric.fragmentation.CAUSES`, in thousandths of a device."""
    found = [0.0] * 7
    total = sum(server.left)
    for cpu, each, count, models, share in kinds:
        enough = server.cpu >= cpu
        fit = [left for left in server.left if left >= each]
        small = total - sum(fit)
        if count == 0:
            found[4 if enough else 5] += share * total / 1000
        elif models and server.model not in models:
            found[6] += share * total / 1000
        elif len(fit) >= count and enough:
            found[1] += share * small / 1000
            found[2] += share * (total - small) / 1000
        elif len(fit) >= count:
            found[3] += share * total / 1000
        else:
            found[1 if enough else 0] += share * total / 1000
    return found


def fragmented(server: Server, kinds: Typical) -> float:
    """All but what is usable."""
    return sum(amount for cause, amount in enumerate(fragments(server, kinds)) if cause != 2)


def after(server: Server, ask: Ask, chosen: tuple[int, ...]) -> Server:
    """The server with the request on these devices."""
    left = [room - ask.each * (device in chosen) for device, room in enumerate(server.left)]
    kinds = [*server.kinds, ask.kind] if ask.count else server.kinds
    return Server(server.cpu - ask.cpu, server.mem - ask.mem, left, server.model, kinds)


Score = Callable[[Server, Ask, int, int], int]


def dot_product(server: Server, ask: Ask, cpu: int, gpu: int) -> int:
    """Percent of what the product of free and asked shares leaves of 1."""
    both = Fraction(server.cpu * ask.cpu, cpu * cpu) + Fraction(sum(server.left) * ask.gpu, gpu * gpu)
    return floor(100 * (1 - both / 2))


def best_fit(server: Server, ask: Ask, cpu: int, gpu: int) -> int:
    """Percent of what is left of both leaves of 1."""
    left = Fraction(server.cpu - ask.cpu, cpu) + Fraction(sum(server.left) - ask.gpu, gpu)
    return floor(100 * (1 - left / 2))


def packing(server: Server, ask: Ask, cpu: int, gpu: int) -> int:
    """Shared devices first, then idle devices of used servers, then idle servers."""
    if not ask.count:
        return 0
    idle = sum(left == UNIT for left in server.left)
    if idle == len(server.left):
        return max(33 - idle, idle)
    chosen = tightest(server, ask)
    broken = sum(server.left[device] == UNIT for device in chosen)
    if broken:
        return max(50 - broken, 33)
    return max(100 - sum(server.left[device] * 100 // UNIT for device in chosen) // 10, 50)


def clustering(server: Server, ask: Ask, cpu: int, gpu: int) -> int:
    """Beside its like alone, beside its like and others, on an idle server, beside others alone."""
    if not ask.count:
        return 0
    full = 25 * (gpu - sum(server.left)) // gpu
    if ask.kind in server.kinds:
        return full + (75 if len(set(server.kinds)) == 1 else 50)
    return full + (0 if server.kinds else 25)


SCORES: dict[str, Score] = {
    "gpu-dot-product": dot_product,
    "gpu-best-fit": best_fit,
    "gpu-packing": packing,
    "gpu-clustering": clustering,
}


def choose(name: str, servers: list[Server], ask: Ask, cpu: int, gpu: int) -> tuple[int, tuple[int, ...]] | None:
    """The server with the highest score, the first of equals, and its tightest devices."""
    places = [number for number, server in enumerate(servers) if choices(server, ask)]
    if not places:
        return None
    best = max(places, key=lambda number: (SCORES[name](servers[number], ask, cpu, gpu), -number))
    return best, tightest(servers[best], ask)


def gradient(server: Server, ask: Ask, chosen: tuple[int, ...], kinds: Typical, steps: int) -> int:
    """Steps of a sigmoid of by how many devices the fragments shrink."""
    grown = fragmented(after(server, ask, chosen), kinds) - fragmented(server, kinds)
    return floor(steps / (1 + exp(grown / 1000)))


def fgd(servers: list[Server], ask: Ask, kinds: Typical, steps: int = 100) -> tuple[int, tuple[int, ...]] | None:
    """The server and device with the highest gradient, the first of equals; whole devices are the first idle ones."""
    found: tuple[int, tuple[int, ...]] | None = None
    highest = -1
    for number, server in enumerate(servers):
        for chosen in choices(server, ask)[: None if ask.kind == 0 else 1]:
            if (score := gradient(server, ask, chosen, kinds, steps)) > highest:
                found, highest = (number, chosen), score
    return found


Held = tuple[int, int, tuple[int, ...], Ask]
"""A request that runs: its row, its server, its devices, and what it asked for."""


def before(server: Server, ask: Ask, chosen: tuple[int, ...]) -> Server:
    """The server without the request on these devices."""
    left = [room + ask.each * (device in chosen) for device, room in enumerate(server.left)]
    kinds = list(server.kinds)
    if ask.count:
        kinds.remove(ask.kind)
    return Server(server.cpu + ask.cpu, server.mem + ask.mem, left, server.model, kinds)
