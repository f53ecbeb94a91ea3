"""What the seeds can tell by a metric, in one sentence: what figures have as their title."""

from __future__ import annotations

from collections import Counter
from typing import Any

from binwright.analysis.compare.table import BEST, TIED, Entry, Table
from binwright.analysis.measure.metric import Metric
from binwright.analysis.results.metric_choice import TOLERANCE

SAID = {
    "acceptance": "accepts most",
    "scheduled": "schedules most",
    "wait_mean": "waits least",
    "energy": "takes the least energy",
    "cost_month": "costs least",
    "servers": "needs the fewest servers",
    "servers_used": "uses the fewest servers",
}
"""What the best does by a metric; by another it has the highest or lowest of it."""
NAMED = 3
"""So many agents are named, and more are counted."""
Named = list[tuple[str, Entry]]


def finding(table: Table, metric: Metric) -> str:
    """Say who is the best by a metric, and who does not differ significantly; of a sweep, at how many points.

    It is "" where neither higher nor lower is better, where one agent is alone, and where all values are equal.
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
    who = _and(agents) if len(agents) <= NAMED else f"{len(agents)} agents"
    if len(agents) > 1:
        verb, _, what = said.partition(" ")
        said = f"{'have' if verb == 'has' else verb.removesuffix('s')} {what}"
    return f"{who} {said}"


def _at_one(metric: Metric, ranked: Named) -> str:
    best = [name for name, entry in ranked if entry.mark == BEST]
    tied = [name for name, entry in ranked if entry.mark == TIED]
    if not best:
        if not _are_untested(ranked):
            return f"By {metric.heading}, no significant difference"
        first = _equal_to_first(ranked)
        return "" if len(first) == len(ranked) else f"In one seed, {_does(metric, first)}"
    if not tied:
        return _does(metric, best) + (
            "" if all(entry.exact for _, entry in ranked) else ", significantly better than all others"
        )
    others = len(ranked) - len(best)
    if len(tied) > NAMED and len(tied) == others:
        return f"{_does(metric, best)}; no other differs significantly"
    them = _and(tied) if len(tied) <= NAMED else f"{len(tied)} of {others} others"
    return f"{_does(metric, best)}; {them} {'does' if len(tied) == 1 else 'do'} not differ significantly"


def _at_points(metric: Metric, ranked: list[Named]) -> str:
    """Count the points at which agents are significantly better than all others, or, of one seed, ahead."""
    untested = all(map(_are_untested, ranked))
    wins: Counter[tuple[str, ...]] = Counter()
    ahead: Counter[tuple[str, ...]] = Counter()  # of several that do not differ significantly
    equal = unsure = 0
    for found in ranked:
        tied = [name for name, entry in found if entry.mark == TIED]
        best = [name for name, entry in found if entry.mark == BEST]
        if untested and not best:
            best = _equal_to_first(found)
        if len(best) == len(found):
            equal += 1
        elif best and tied and len(best) + len(tied) < min(len(found), NAMED + 1):
            ahead[tuple(sorted(best + tied))] += 1
        elif not best or tied:
            unsure += 1
        else:
            wins[tuple(best)] += 1
    if not wins and not ahead:
        return f"By {metric.heading}, no agent is significantly ahead at any of {len(ranked)} points" if unsure else ""
    (first, times), *others = wins.most_common() or ahead.most_common()
    where = "at all" if times == len(ranked) else f"at {times} of"
    alone = untested and any(entry.alone for found in ranked for _, entry in found)
    parts = [f"{'In one seed, ' if alone else ''}{_does(metric, list(first))} {where} {len(ranked)} points"]
    if not wins:
        parts[0] += ", without a significant difference"
    if others:
        parts.append(_and([f"{_and(list(names))} at {count}" for names, count in others[:NAMED]]))
    if wins:
        parts += [
            f"at {count} {_and(list(names))} do not differ significantly" for names, count in ahead.most_common(2)
        ]
        unsure += sum(count for _, count in ahead.most_common()[2:])
    if equal:
        parts.append(f"at {equal} all are equal")
    if unsure:
        parts.append(f"at {unsure} none is significantly ahead")
    return "; ".join(parts)


def _are_untested(found: Named) -> bool:
    """Tell whether one seed, or no chance, is behind every value, so that no test was to be made."""
    return all(entry.alone or entry.exact for _, entry in found)


def _equal_to_first(ranked: Named) -> list[str]:
    """Name those whose value is that of the first."""
    top = ranked[0][1].mean
    return [name for name, entry in ranked if abs(entry.mean - top) <= TOLERANCE * abs(top)]


def _and(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
