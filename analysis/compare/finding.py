"""What the seeds can tell by a metric, in one sentence with a number: what figures have as their title."""

from __future__ import annotations

from collections import Counter
from typing import Any

from binwright.analysis.compare.statistics import FEWEST
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
    """Say who is the best by a metric and by how much, and who does not differ; of a sweep, at how many points.

    It is "" where neither higher nor lower is better, where one agent is alone, and where all values are equal.
    """
    number = [one.name for one in table.metrics].index(metric.name)
    points: dict[tuple[Any, ...], Named] = {}
    for row in table.rows:
        if entry := row.entries[number]:
            points.setdefault(row.point, []).append((table.heading(row.agent), entry))
    several = [found for found in points.values() if len(found) > 1]
    if metric.better == "neither" or all(len(_first(found, metric)) == len(found) for found in several):
        return ""
    ranked = [sorted(found, key=lambda one: one[1].mean * _sign(metric)) for found in several]
    untested = ""
    if not any(entry.mark for found in ranked for _, entry in found) and not all(
        entry.exact for found in ranked for _, entry in found
    ):
        seeds = max(row.runs - row.failed for row in table.rows)
        if seeds >= FEWEST:
            where = f" at any of {len(ranked)} points" if len(ranked) > 1 else ""
            return f"By {metric.heading}, no significant difference{where}"
        untested = f"; {seeds} seed{'s' * (seeds > 1)}, not tested: {FEWEST} are needed"
    return (_at_one(metric, ranked[0]) if len(ranked) == 1 else _at_points(metric, ranked)) + untested


def _sign(metric: Metric) -> int:
    return -1 if metric.better == "higher" else 1


def _first(found: Named, metric: Metric) -> list[str]:
    """Name those whose mean is the best."""
    best = min(found, key=lambda one: one[1].mean * _sign(metric))[1].mean
    return [name for name, entry in found if abs(entry.mean - best) <= TOLERANCE * abs(best)]


def _effect(metric: Metric, ranked: Named) -> float:
    """Return how far the best is from the last: percentage points of a share, else percent of the last."""
    best, last = ranked[0][1].mean, ranked[-1][1].mean
    return 100 * abs(best - last) / (1.0 if metric.unit == "%" else abs(last) or abs(best))


def _does(metric: Metric, agents: list[str]) -> str:
    said = SAID.get(metric.name, f"has the {'highest' if metric.better == 'higher' else 'lowest'} {metric.heading}")
    who = _and(agents) if len(agents) <= NAMED else f"{len(agents)} agents"
    if len(agents) > 1:
        verb, _, what = said.partition(" ")
        said = f"{'have' if verb == 'has' else verb.removesuffix('s')} {what}"
    return f"{who} {said}"


def _at_one(metric: Metric, ranked: Named) -> str:
    tied = [name for name, entry in ranked if entry.mark == TIED]
    way, by = "above" if metric.better == "higher" else "below", f"{_effect(metric, ranked):.2g}"
    unit = f"point{'s' * (by != '1')}" if metric.unit == "%" else "%"
    said = f"{_does(metric, _first(ranked, metric))}, {by} {unit} {way} {ranked[-1][0]}"
    if tied:
        them = _and(tied) if len(tied) <= NAMED else f"{len(tied)} of {len(ranked) - 1} others"
        said += f"; {them} {'does' if len(tied) == 1 else 'do'} not differ significantly"
    return said


def _at_points(metric: Metric, ranked: list[Named]) -> str:
    """Count the points at which each agent is best, or not significantly different from the best."""
    tested = any(entry.mark for found in ranked for _, entry in found)
    wins: Counter[tuple[str, ...]] = Counter()
    effects: dict[tuple[str, ...], list[float]] = {}
    for found in ranked:
        marked = any(entry.mark for _, entry in found)
        tied = [name for name, entry in found if entry.mark == TIED]
        best = tuple(sorted([name for name, entry in found if entry.mark == BEST] + tied))
        if not marked:
            best = () if tested else tuple(_first(found, metric))
        best = () if len(best) == len(found) else best
        wins[best] += 1
        effects.setdefault(best, []).append(_effect(metric, found))
    told = [(names, count) for names, count in wins.most_common() if names]
    if not told:
        return f"By {metric.heading}, no significant difference at any of {len(ranked)} points"
    (first, count), *others = told
    low, high = (f"{end:.2g}" for end in (min(effects[first]), max(effects[first])))
    by = f"by {low}{f' to {high}' * (low != high)} {'points' if metric.unit == '%' else '%'}"
    parts = [
        f"{_does(metric, list(first))} at {'all' if count == len(ranked) else f'{count} of'} {len(ranked)} points, {by}"
    ]
    parts += [f"{_and(list(names))} at {times}" for names, times in others[:NAMED]]
    parts += [f"no significant difference at {wins[()]}"] * bool(wins[()])
    return "; ".join(parts)


def _and(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
