"""Says again how much of a quota is left, in the terms of Kueue: guaranteed, stored in the cohort, and used there.

After `available` of pkg/cache/resource_node.go, for one level of cohorts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf


@dataclass(frozen=True)
class Queue:
    """A cluster queue and one resource of it."""

    nominal: int
    borrowing_limit: float = inf
    lending_limit: float = inf
    cohort: str = ""

    @property
    def guaranteed(self) -> float:
        """What nobody else gets."""
        return max(0, self.nominal - self.lending_limit) if self.cohort else self.nominal


def available(queues: Sequence[Queue], usage: Sequence[int], number: int) -> float:
    """How much more a queue may use."""
    queue = queues[number]
    local = max(0, queue.guaranteed - usage[number])
    if not queue.cohort:
        return queue.nominal - usage[number]
    stored = sum(each.nominal - each.guaranteed for each in queues if each.cohort == queue.cohort)
    used = sum(
        max(0, use - each.guaranteed) for each, use in zip(queues, usage, strict=True) if each.cohort == queue.cohort
    )
    from_parent = stored - used
    if queue.borrowing_limit < inf:
        own_stored = queue.nominal - queue.guaranteed
        own_used = max(0, usage[number] - queue.guaranteed)
        from_parent = min(from_parent, own_stored - own_used + queue.borrowing_limit)
    return local + from_parent


def kept(queues: Sequence[Queue], usage: Sequence[int]) -> bool:
    """Is nobody above what it may use, and no cohort above what its members lend?"""
    for queue, use in zip(queues, usage, strict=True):
        if use > queue.nominal + (queue.borrowing_limit if queue.cohort else 0):
            return False
    for cohort in {queue.cohort for queue in queues} - {""}:
        members = [(queue, use) for queue, use in zip(queues, usage, strict=True) if queue.cohort == cohort]
        if sum(use for _, use in members) > sum(queue.nominal for queue, _ in members):
            return False
        lent = sum(queue.nominal - queue.guaranteed for queue, _ in members)
        if sum(max(0, use - queue.guaranteed) for queue, use in members) > lent:
            return False
    return True
