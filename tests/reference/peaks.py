"""Both books of servers, and predicted peaks as Bashir and others define them, request by request in plain Python."""

from dataclasses import dataclass, field
from math import ceil, floor, sqrt
from typing import Any

from binwright.scenarios.features.overcommit.predictors import LimitPeak, OraclePeak, PercentilePeak, SigmaPeak


@dataclass
class Task:
    """A share of a request on a place: what it asks for, what it used in every step so far, and what it will use."""

    asked: int
    reserved: int
    used: list[int] = field(default_factory=list)
    future: list[int] = field(default_factory=list)


def percentile(values: list[float], which: float) -> float:
    ordered, place = sorted(values), (len(values) - 1) * which / 100
    low = floor(place)
    return ordered[low] + (ordered[min(low + 1, len(ordered) - 1)] - ordered[low]) * (place - low)


def shares(tasks: list[Task], steps: int) -> list[float]:
    """What all used together of what they asked for together, in each of the last steps in which there was one."""
    found = []
    for back in range(1, steps + 1):
        there = [task for task in tasks if len(task.used) >= back]
        if there:
            found.append(sum(task.used[-back] for task in there) / max(1, sum(task.asked for task in there)))
    return found


def peak(predictor: Any, tasks: list[Task], step: float) -> float:
    """The predicted peak of the tasks of one place."""
    if isinstance(predictor, LimitPeak):
        return predictor.limit * sum(task.asked for task in tasks)
    if isinstance(predictor, OraclePeak):
        ahead = ceil(predictor.oracle / step)
        return max(sum(task.future[k] for task in tasks) for k in range(ahead))
    if not isinstance(predictor, PercentilePeak | SigmaPeak):
        return max(peak(one, tasks, step) for one in predictor.max)
    warm = [task for task in tasks if len(task.used) >= max(1, ceil(predictor.warm_up / step))]
    cold = sum(task.asked for task in tasks if task not in warm)
    asked, steps = sum(task.asked for task in warm), ceil(predictor.window / step)
    if not warm:
        return cold
    if isinstance(predictor, PercentilePeak) and predictor.of == "requests":
        return cold + sum(percentile([*map(float, task.used[-steps:])], predictor.percentile) for task in warm)
    together = shares(warm, steps)
    if isinstance(predictor, PercentilePeak):
        return cold + percentile(together, predictor.percentile) * asked
    mean = sum(together) / len(together)
    deviation = sqrt(sum((one - mean) ** 2 for one in together) / max(1, len(together) - 1))
    return cold + min(1.0, mean + predictor.sigma * deviation) * asked


def predict(predictor: Any, tasks: list[Task], step: float, capacity: int) -> None:
    """Reserve for each task its part of the peak."""
    total = sum(task.asked for task in tasks)
    found = min(ceil(peak(predictor, tasks, step)), total, capacity)
    for task in tasks:
        task.reserved = min(task.asked, floor(task.asked * (found / max(total, 1))))
