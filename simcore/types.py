"""The words every part shares: request, workload, placement, agent, and the view an agent sees.

Quantities are int64 multiples of a quantum, a millionth of the resource's unit; times are float seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias, TypeVar, final

import numpy as np
import numpy.typing as npt

from binwright.simcore.gangs import Gang
from binwright.simcore.lifetime_info import LifetimeOracle, unknown

QUANTUM = 1_000_000
"""Quanta per unit of any resource."""

Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Reals: TypeAlias = npt.NDArray[np.float32]
Flags: TypeAlias = npt.NDArray[np.bool_]
Array = TypeVar("Array", bound=npt.NDArray[Any])
Amounts: TypeAlias = tuple[int, ...]
"""Quanta of each resource, in the order of the cluster's resources."""
Share: TypeAlias = tuple[int, int, Amounts]
"""Server, node, and the amounts taken there."""


@dataclass(slots=True)
class Placement:
    """An agent's answer: what it takes where, and the links it reserves. It is not frozen, which would make it slow."""

    shares: tuple[Share, ...]
    links: tuple[int, ...] = ()


Form: TypeAlias = Literal["pairs", "hose"]
"""How a virtual network states the bandwidth that it needs."""


def read_only(array: Array) -> Array:
    """Return a view of the array that cannot be written."""
    view = array.view()
    view.flags.writeable = False
    return view


def fixed(values: npt.ArrayLike, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Copy values so that nobody can make them writable again: the numbers are those of `bytes`."""
    array = np.asarray(values, dtype)
    return np.ndarray(array.shape, dtype, array.tobytes())


@dataclass(frozen=True, slots=True, eq=False)
class VirtualNetwork:
    """What a tenant asks for: machines, and bandwidth between them. It holds until the request leaves.

    Its arrays are copies of what it was made of, and read-only.

    `machines` int64 [n, resources] quanta of each machine. The bandwidth is stated in one of two forms.

    `pairs` (a virtual data centre, SecondNet): `rates` int64 [k] quanta between the machines `pairs` int64 [k, 2],
    a < b, each pair once. Every pair goes along one path; a link needs the sum over the paths through it.

    `hose` (a virtual cluster, Oktopus): every machine has `hose` quanta to one virtual switch. A link that cuts m of
    the n machines off from the others needs min(m, n - m) x hose.
    """

    machines: Ints
    pairs: Ints | None = None
    rates: Ints | None = None
    hose: int = 0

    def __post_init__(self) -> None:
        for name in ("machines", "pairs", "rates"):
            array = getattr(self, name)
            if array is not None:
                object.__setattr__(self, name, fixed(array, array.dtype))

    def __len__(self) -> int:
        return len(self.machines)

    @property
    def form(self) -> Form:
        """How it states its bandwidth."""
        return "hose" if self.pairs is None else "pairs"


@dataclass(slots=True, kw_only=True)
class Embedding(Placement):
    """A placement of a virtual network: where each machine is, and how much is reserved on each link.

    `hosts` int64 [n] is the node of each machine, as server * nodes + node; `shares` are the sums of the machines on a
    node, one for each that is used. `amounts` are the quanta needed of each of `links`, every link once.

    For pairs, the path of pair p is `route_links[route_first[p]:route_first[p + 1]]`, the links in order from the
    first machine's server to the second's, none within a server: int64 [k + 1] and int32 [any].
    `hosed` and `routed` of `fabric.virtual` make all of that from hosts and paths, and the ledger takes what they make.
    """

    hosts: Ints
    amounts: tuple[int, ...]
    route_first: Ints | None = None
    route_links: npt.NDArray[np.int32] | None = None


@dataclass(slots=True, kw_only=True)
class OnDevices(Placement):
    """A placement on a server with devices: `devices` are the numbers of those that it takes there."""

    devices: tuple[int, ...]


@final
@dataclass(slots=True)
class Refusal:
    """Another answer: no placement, and why. `None` leaves the reason to be found out."""

    reason: str


class Request(NamedTuple):
    """What arrives: a demand per resource and a holding period, in a network also a bandwidth, in quanta.

    It is a tuple so that agents, who share it with the ledger, cannot change it.

    `spread` says that the request takes an even part of every node of one server, instead of one node whole.
    With a virtual `network`, the demand is the sum over its machines, and the answer is an `Embedding`. `models` are
    the models of devices that it may take, as bits: 1 for the first model of the cluster, 2 for the second, 4, ...; 0
    for any. `role` is a place among the roles of the workload, for rules of placement. The higher the `priority`, the
    more urgent it is. With a `gang`, it is one of several equal parts, which get their places at once or not at all:
    agents are asked for one after another.

    `duration` is what agents may know of how long it stays: the truth or a prediction, as the scenario says.
    """

    index: int  # type: ignore[assignment]
    arrival: float
    duration: float
    demand: Amounts
    spread: bool
    bandwidth: int = 0
    network: VirtualNetwork | None = None
    models: int = 0
    role: int = 0
    priority: int = 0
    gang: Gang | None = None

    @property
    def parts(self) -> int:
        """How many parts it has: those of its gang, or one."""
        return self.gang.parts if self.gang else 1

    def each(self) -> Iterator[Request]:
        """Yield the parts of a gang, of which this is the first, or only this request."""
        yield self
        for row in range(self.index + 1, self.index + self.parts):
            yield self._replace(index=row)

    def on(self, server: int, node: int) -> Placement:
        """Place the whole request on one node."""
        return Placement(((server, node, self.demand),))

    def across(self, server: int, nodes: int) -> Placement:
        """Place an even part on each of a server's nodes; the first nodes take the odd quanta."""
        return Placement(tuple((server, node, part(self.demand, node, nodes)) for node in range(nodes)))


class HiddenLifetimeRequest(Request):
    """A request of which agents are not told how long it stays. Who asks for its `duration` learns that."""

    __slots__ = ()

    @property
    def duration(self) -> float:
        """Refuse to say."""
        raise unknown()


def part(demand: Amounts, node: int, nodes: int) -> Amounts:
    """Compute what node number `node` of `nodes` gives to a spread request."""
    return tuple(amount // nodes + (node < amount % nodes) for amount in demand)


class Placed(NamedTuple):
    """Says what was placed: its number in the order of placement, the request, its first server and node, and when.

    The node of a spread request is -1.
    """

    number: int
    request: Request
    server: int
    node: int
    began: float


class Placements:
    """Lists what was placed, in order. What runs no more may be left out; `running` are the rows of what does.

    `fill` adds what was placed since it was called last.

    A request that has been moved is listed again, with its new place and the time at which it was placed first.
    """

    def __init__(self, running: Set[int], fill: Callable[[], None] = lambda: None) -> None:
        self.running, self.fill = running, fill
        self._total = 0
        self._listed: list[Placed] = []
        self._most = 1024

    def add(self, request: Request, server: int, node: int, began: float) -> None:
        """Note one more."""
        self._listed.append(Placed(self._total, request, server, node, began))
        self._total += 1
        if len(self._listed) > self._most:
            self._listed = [placed for placed in self._listed if placed.request.index in self.running]
            self._most = 2 * len(self._listed) + 1024

    @property
    def total(self) -> int:
        """How many were placed or moved."""
        self.fill()
        return self._total

    def since(self, number: int) -> list[Placed]:
        """Return those from a number on."""
        self.fill()
        first = len(self._listed)
        while first and self._listed[first - 1].number >= number:
            first -= 1
        return self._listed[first:]


@dataclass(slots=True)
class View:
    """What an agent may see: arrays that only the ledger writes, as of now.

    `capacity` and `free` int64 [servers, nodes, resources] quanta, read-only. They are new arrays after the
    cluster grows, so agents read them from the view at every decision. A failed server has nothing free. `virtual` is
    the form of the virtual networks that are asked for, if it is such. Times count from `origin`, in seconds of the
    trace's own clock.

    Where rules of placement keep the request that is offered from servers, these have nothing free; `free_of_rules`
    then is what they have free all the same.

    `changed` int64 [any], read-only, tells how many changes of servers there were, and which changed last, a ring: see
    `fabric.ranking`. It is another array when the servers are many more, and `None` where they are too few for
    it to be of use, in networks, and where rules of placement are.

    Where `free` is what predicted peaks leave, `requested` int64 [servers, nodes, resources], read-only, is what
    those that run ask for; it is `None` elsewhere.

    Where agents are told how long requests stay, `placed` lists what was placed, and `placed.running` has the rows of
    what still runs. `asking` answers what is expected of that now, see `expected`; it is `None` where the truth is
    known. `accounts(by, half_life)` makes `simcore.accounts.Accounts` of what users have used; `None` where nobody can.
    `queues` are the queues that requests wait in, `None` where there are none. `speed` float64 [servers] divides the
    times for which requests stay; `None` where it is 1 everywhere. `rules` keeps rules of placement, `None` where there
    are none. `holding(row)` returns what a request that runs holds.
    """

    resources: tuple[str, ...]
    capacity: Ints
    free: Ints
    now: float = 0.0
    origin: float = 0.0
    virtual: Form | None = None
    free_of_rules: Ints | None = None
    changed: Ints | None = None
    requested: Ints | None = None
    asking: LifetimeOracle | None = None
    placed: Placements = field(default_factory=lambda: Placements(frozenset()))
    accounts: Any = None
    queues: Any = None
    speed: Floats | None = None
    rules: Any = None
    holding: Any = None

    def offer(self, request: Request) -> None:
        """Have `free` show what rules of placement leave to a request, before it is decided."""
        if self.rules is not None:
            self.rules.offer(request)

    def stays(self, request: Request) -> float | Floats:
        """Return how long a request is expected to stay, on all servers or on each of them, float64 [servers]."""
        return request.duration if self.speed is None else request.duration / self.speed

    def held_back(self, request: Request) -> bool:
        """Tell whether a limit of its queue keeps a request from starting now."""
        return self.queues is not None and bool(self.queues.lacks(request.index))

    def showing(self, free: Ints) -> View:
        """Return a view of the same moment for an agent that is to see other amounts free."""
        more = {"asking": self.asking, "placed": self.placed, "accounts": self.accounts}
        return View(self.resources, self.capacity, free, self.now, self.origin, speed=self.speed, **more)

    def expected(self, request: Request, elapsed: float) -> float:
        """Return how long a request is expected to stay in all, seconds, now that it still runs after `elapsed`."""
        return request.duration if self.asking is None else self.asking(request.index, elapsed)

    def allocated(self, resource: str) -> float:
        """Return the share of a resource that is not free, failed servers included."""
        r = self.resources.index(resource)
        return 1 - float(self.everything_free[..., r].sum() / max(1, self.capacity[..., r].sum()))

    @property
    def everything_free(self) -> Ints:
        """What is free, whatever rules of placement say."""
        return self.free if self.free_of_rules is None else self.free_of_rules


class InOrder(NamedTuple):
    """Says, for compiled simulations, in which order those that wait are asked for, and who passes whom.

    `backfilling` is an option of In-line. The least `score` is the first; none: in order of arrival. Where the score
    changes with the wait, `by_wait` returns its constants of a request: (a, p, b) for -(wait / a)^p b.
    """

    backfilling: str = "any"
    score: Callable[[View, Request], float] | None = None
    by_wait: Callable[[Request], tuple[float, float, float]] | None = None


class Compiled(NamedTuple):
    """What an agent decides, as one kernel: (free, capacity, demand, spread) -> server * nodes + node, -1 for nowhere.

    The node is 0 for a spread request. `weights` are more arguments of the kernel, each float64 [any]. `in_order` is
    for an agent that orders those that wait.
    """

    scan: Any
    weights: tuple[Floats, ...] = ()
    in_order: InOrder | None = None


class Agent:
    """Whatever decides. Subclasses override `decide`; constructor arguments are the options of the YAML."""

    reference: ClassVar[str] = ""
    """Where the method comes from: a paper, in one line."""
    embeds: ClassVar[tuple[Form, ...]] = ()
    """The forms of virtual networks that it can place."""
    on_devices: bool = False
    """Does it choose the devices of servers itself?"""
    any_size: bool = True
    """Does it go on when the cluster grows?"""
    orders_line: bool = False
    """Does it choose who of those that wait is first? It does nothing else, so that it needs several to be offered."""
    needs_lifetimes: bool = False
    """Does it ask how long requests stay? It is refused where the scenario hides that."""

    passes_on: bool = False
    """Does its own `decide_line` ask another agent, which goes by gangs, queues, rules of placement and devices?"""

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Prepare for a run: called once before its first decision, with the agent's own random stream."""

    def decide(self, view: View, request: Request) -> Placement | Refusal | None:
        """Where the request goes, or `None` or a `Refusal` to reject it."""
        raise NotImplementedError

    def decide_line(
        self, view: View, requests: Sequence[Request]
    ) -> Iterator[tuple[Request, Placement | Refusal | None]]:
        """Answer to requests that wait and are offered together, in any order; who gets none waits on.

        Each answer is applied, and to be seen in the view, before the next one is asked for. By default every request
        is decided by itself, in the order of the line. Of a gang one part after another is answered, see
        `Request.each`: who gets no place for one has none.
        """
        for request in requests:
            yield from self.decide_parts(view, request)

    def decide_parts(
        self, view: View, request: Request
    ) -> Generator[tuple[Request, Placement | Refusal | None], None, bool]:
        """Answer for one part of a request after another, until one gets no place; returns whether all got one."""
        placed = 0
        if request.gang and view.held_back(request):  # the first part would get no place, and the others no answer
            return False
        for part in request.each():
            view.offer(part)
            answer = self.decide(view, part)
            yield part, answer
            if not isinstance(answer, Placement):
                break
            placed += 1
        return placed == request.parts

    @property
    def compiled(self) -> Compiled | None:
        """The same as `decide`, for compiled simulations; its weights count after `start`. `None`: there is none."""
        return None
