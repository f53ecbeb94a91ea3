"""What the seeds can tell by a metric, in one sentence: what figures have as their title."""

from __future__ import annotations

from collections import Counter
from typing import Any

from analysis.compare.table import BEST, TIED, Entry, Table
from analysis.measure.metric import Metric

SAID = {
    "acceptance": "accepts most",
    "scheduled": "schedules most",
    "wait_mean": "waits least",
    "energy": "takes the least energy",
    "cost": "costs least",
    "servers_used": "uses the fewest servers",
}
"""What the best does by a metric; by another it has the highest or lowest of it."""
NAMED = 3
"""So many agents are named, and more are counted."""
Named = list[tuple[str, Entry]]


def finding(table: Table, metric: Metric) -> str:
    """Say who is the best by a metric of the table, and who cannot be told from it; at how many points, of a sweep.

    It is "" where neither higher nor lower is better, and where one agent is alone.
    """
    number = [one.name for one in table.metrics].index(metric.name)
    points: dict[tuple[Any, ...], Named] = {}
    for row in table.rows:
        if entry := row.entries[number]:
            points.setdefault(row.point, []).append((table.heading(row.agent), entry))
    if metric.better == "neither" or all(len(found) < 2 for found in points.values()):
        return ""
    ranked = [sorted(found, key=lambda one: _rank(metric, one[1])) for found in points.values() if len(found) > 1]
    return _at_one(metric, ranked[0]) if len(ranked) == 1 else _at_points(metric, ranked)


def _rank(metric: Metric, entry: Entry) -> float:
    return -entry.mean if metric.better == "higher" else entry.mean


def _does(metric: Metric, agents: list[str]) -> str:
    extreme = "highest" if metric.better == "higher" else "lowest"
    said = SAID.get(metric.name, f"has the {extreme} {metric.heading}")
    return f"{_and(agents)} {said if len(agents) == 1 else f'have the {extreme} {metric.heading}'}"


def _at_one(metric: Metric, ranked: Named) -> str:
    best = [name for name, entry in ranked if entry.mark == BEST]
    tied = [name for name, entry in ranked if entry.mark == TIED]
    if not best:
        if all(entry.alone for _, entry in ranked):
            return f"In one seed {_does(metric, [ranked[0][0]])}"
        return f"By {metric.heading}, no agent can be told from the best"
    if not tied:
        return _does(metric, best) + ("" if all(entry.exact for _, entry in ranked) else ", told from all others")
    others = len(ranked) - len(best)
    them = _and(tied) if len(tied) <= NAMED else "none" if len(tied) == others else f"{len(tied)} of {others} others"
    verb = "can" if them == "none" else "cannot"
    return f"{_does(metric, best)}; {them} {verb} be told from {'it' if len(best) == 1 else 'them'}"


def _at_points(metric: Metric, ranked: list[Named]) -> str:
    wins: Counter[str] = Counter()
    for found in ranked:
        wins.update(name for name, entry in found if entry.mark == BEST)
    if not wins:
        return f"By {metric.heading}, no agent can be told from the best at any of {len(ranked)} points"
    (best, times), *others = wins.most_common()
    where = "at all" if times == len(ranked) else f"at {times} of"
    also = f"; {_and([f'{name} at {count}' for name, count in others[:NAMED]])}" if others else ""
    shared = sum(any(entry.mark == TIED for _, entry in found) for found in ranked if (best, BEST) in _marks(found))
    which = "" if shared == times else f" at {shared}"
    tied = f"; others cannot be told from it{which}" if shared else ""
    none = sum(all(entry.mark != BEST for _, entry in found) for found in ranked)
    unsure = f"; at {none} none can be told from the best" if none else ""
    return f"{_does(metric, [best])} {where} {len(ranked)} points{tied}{also}{unsure}"


def _marks(found: Named) -> list[tuple[str, str]]:
    return [(name, entry.mark) for name, entry in found]


def _and(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
