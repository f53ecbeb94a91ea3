"""Run the published search on OpenCL devices: graphics cards, and processors through PoCL, several at once.

Devices are given consecutive attempts, each as many as should take it `WAVE`, and what they come to counts in the order
of the attempts. So answers are those of `binwright.agents.solver.backends.reference`, whatever device was how fast.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from math import inf
from time import monotonic

from binwright.agents.solver.backends.opencl_devices import chosen
from binwright.agents.solver.backends.reference import Found
from binwright.agents.solver.backends.session import Limit, Part, Session
from binwright.agents.solver.model.problem import Problem


def prepare(problem: Problem, devices: Sequence[int]) -> None:
    """Build the kernel for some devices, by default the first usable one; it takes about a second each."""
    for one in chosen(devices):
        Session(problem, one, False).begin()


def attempts(
    problem: Problem,
    seed: int,
    first: int,
    count: int,
    *,
    trims: bool = False,
    until: float = inf,
    devices: Sequence[int] = (),
    width: int | None = None,
    beside: int | None = None,
) -> Iterator[Found]:
    """Make attempts first, ..., first + count - 1 in every grouping, up to the first success.

    Yields the best now and then. When `monotonic()` is `until`, attempts are cut short: what they have placed counts.
    `devices` are numbers, by default that of the first usable one. `width` is how many lanes work on one attempt, and
    `beside` how many attempts a work-group makes if that is one; by default what suits the device.
    """
    sessions = [Session(problem, one, trims, width, beside) for one in chosen(devices)]
    ways = len(problem.groupings)
    best: Found | None = None
    for part in _parts(sessions, seed, first * ways, (first + count) * ways, until):
        if best is not None and best.left == 0:
            continue  # made meanwhile by another device
        checked = part.made + (best.checked if best else 0)
        if best is None or part.left < best.left:
            best = Found(part.alloc, part.left, part.number // ways, part.number % ways, checked)
        best = Found(best.alloc, best.left, best.attempt, best.group, checked)
        yield best


def _parts(sessions: Sequence[Session], seed: int, number: int, end: int, until: float) -> Iterator[Part]:
    """Share numbers up to `end` out, and yield what becomes of them, in their order.

    Once one has succeeded, or time is over, no more are given out. At Ctrl-C those that are being made are cut short,
    if there is a limit of time, and count.
    """
    limit, fewest = Limit(until), inf
    idle = list(sessions)
    busy: dict[Future[Part], Session] = {}
    order = deque[Future[Part]]()
    interrupted = False
    with ThreadPoolExecutor(len(sessions)) as pool:
        try:
            while True:
                while idle and number < end:
                    session = idle.pop()
                    each = min(session.each, end - number)
                    order.append(pool.submit(session.make, seed, number, each, limit, fewest))
                    busy[order[-1]] = session
                    number += each
                if not order:
                    break
                try:
                    done = wait(busy, return_when=FIRST_COMPLETED).done
                except KeyboardInterrupt:
                    interrupted, limit.until, end = True, 0.0, number
                    done = wait(busy).done
                idle += [busy.pop(one) for one in done]
                if monotonic() >= until or any(one.result().left == 0 for one in done):
                    end = number
                while order and order[0] not in busy:
                    part = order.popleft().result()
                    fewest = min(fewest, part.left)
                    limit.until = limit.until if part.left else 0.0
                    yield part
        finally:
            limit.until = 0.0  # whoever is still at it need not go on
    if interrupted:
        raise KeyboardInterrupt
