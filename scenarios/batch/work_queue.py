"""What is handed out next, in which portions, so that all hands stay busy to the end."""

from collections import Counter, deque
from collections.abc import Sequence

from binwright.scenarios.batch.attempt import Task, failed
from binwright.scenarios.batch.journal import Row

PORTION = 0.25
"""Seconds of work in a portion: much more than handing it out takes, and little to wait for at the end."""
SMOOTHING = 0.3
"""The weight of the last run in the expectation of the next one's length."""


class Handout:
    """The tasks that are left.

    Runs may be of very uneven length. A portion is as many as PORTION seconds are expected to suffice for, and never
    more than an even share of half of what is left; who takes longer gives back what it has not begun.
    """

    def __init__(self, tasks: Sequence[Task], tries: int) -> None:
        self._left = deque(tasks)
        self._tries = tries
        self._lost: Counter[tuple[int, str]] = Counter()
        self._expected = PORTION

    def __len__(self) -> int:
        return len(self._left)

    def take(self, hands: int) -> list[Task]:
        """Take the next portion of tasks, when so many hands share the work.

        It ends with the last run of a seed, if there is one in it: the agents of a seed meet the same requests, which
        are made once by whoever runs them in turn.
        """
        left = self._left
        if self._lost[_key(left[0])]:
            return [left.popleft()]  # it may lose its process again: alone, it takes no other with it
        size = min(len(left), max(1, min(int(PORTION / self._expected), len(left) // (2 * hands))))
        if size < len(left):
            size = next((n for n in range(size, 0, -1) if _seed(left[n - 1]) != _seed(left[n])), size)
        return [left.popleft() for _ in range(size)]

    def done(self, row: Row) -> None:
        """Learn from a finished run how long the next one may take."""
        self._expected += SMOOTHING * (max(row["seconds"], 1e-4) - self._expected)

    def back(self, tasks: Sequence[Task]) -> None:
        """Take back tasks that were not begun."""
        self._left.extendleft(reversed(tasks))

    def lost(self, task: Task, why: str) -> Row | None:
        """Note that the process that did a task is gone: the task is tried again, or its row is returned."""
        key = _key(task)
        self._lost[key] += 1
        if self._lost[key] < self._tries:
            self._left.append(task)
            return None
        return failed(task, f"{why} (it was tried {self._tries} times)")


def _key(task: Task) -> tuple[int, str]:
    return task.batch, task.run.name


def _seed(task: Task) -> tuple[int, int, int]:
    """Name what runs that share a workload have in common."""
    return task.batch, id(task.run.scenario), task.run.seed
