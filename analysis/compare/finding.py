"""What the seeds can tell by a metric, in one sentence with a number: what figures have as their title."""

from __future__ import annotations

from collections import Counter
from typing import Any

from binwright.analysis.compare.statistics import FEWEST
from binwright.analysis.compare.table import TIED, Entry, Table
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
Ranked = list[tuple[str, Entry]]
"""Of one point the names of the agents and their entries, the best first."""


def finding(table: Table, metric: Metric) -> str:
    """Say who is the best by a metric, by how much more than the last that differs significantly, and who ties.

    Of a sweep it says at how many points. It is "" where neither higher nor lower is better, where one agent is alone,
    and where all values are equal.
    """
    number = [one.name for one in table.metrics].index(metric.name)
    points: dict[tuple[Any, ...], Ranked] = {}
    for row in table.rows:
        if entry := row.entries[number]:
            points.setdefault(row.point, []).append((table.heading(row.agent), entry))
    sign = -1 if metric.better == "higher" else 1
    ranked = [sorted(found, key=lambda one: one[1].mean * sign) for found in points.values() if len(found) > 1]
    if metric.better == "neither" or all(len(_best(found)) == len(found) for found in ranked):
        return ""
    entries = [entry for found in ranked for _, entry in found]
    is_tested, untested = any(entry.mark for entry in entries), ""
    if not is_tested and not all(entry.exact for entry in entries):
        seeds = max(row.runs - row.failed for row in table.rows)
        if seeds >= FEWEST:
            return _none(metric, len(ranked))
        untested = f"; {seeds} seed{'s' * (seeds > 1)}, not tested: {FEWEST} are needed"
    return (_at_points(metric, ranked, is_tested) if len(ranked) > 1 else _at_one(metric, ranked[0])) + untested


def _none(metric: Metric, points: int) -> str:
    return f"By {metric.heading}, no significant difference{f' at any of {points} points' * (points > 1)}"


def _best(ranked: Ranked) -> list[str]:
    """Name those whose mean is the best."""
    best = ranked[0][1].mean
    return [name for name, entry in ranked if abs(entry.mean - best) <= TOLERANCE * abs(best)]


def _tied(ranked: Ranked) -> list[str]:
    return [name for name, entry in ranked if entry.mark == TIED]


def _last(ranked: Ranked) -> tuple[str, Entry]:
    """Return the worst of those that the seeds can tell from the best."""
    return next(one for one in reversed(ranked) if one[1].mark != TIED)


def _effect(metric: Metric, ranked: Ranked) -> float:
    """Return how far the best is from the last: percentage points of a share, else percent of the last."""
    best, last = ranked[0][1].mean, _last(ranked)[1].mean
    return 100 * abs(best - last) / (1.0 if metric.unit == "%" else abs(last) or abs(best))


def _short(effect: float) -> str:
    """Write an effect with two digits, and never as 1.1e+02."""
    return f"{float(f'{effect:.2g}'):,.15g}"


def _does(metric: Metric, agents: list[str]) -> str:
    said = SAID.get(metric.name, f"has the {'highest' if metric.better == 'higher' else 'lowest'} {metric.heading}")
    who = _and(agents) if len(agents) <= NAMED else f"{len(agents)} agents"
    if len(agents) > 1:
        verb, _, what = said.partition(" ")
        said = f"{'have' if verb == 'has' else verb.removesuffix('s')} {what}"
    return f"{who} {said}"


def _at_one(metric: Metric, ranked: Ranked) -> str:
    tied, by = _tied(ranked), _short(_effect(metric, ranked))
    way, unit = "above" if metric.better == "higher" else "below", "%"
    if metric.unit == "%":
        unit = f"point{'s' * (by != '1')}"
    said = f"{_does(metric, _best(ranked))}, {by} {unit} {way} {_last(ranked)[0]}"
    if tied:
        them = _and(tied) if len(tied) <= NAMED else f"{len(tied)} of {len(ranked) - 1} others"
        said += f"; {them} {'does' if len(tied) == 1 else 'do'} not differ significantly"
    return said


def _at_points(metric: Metric, points: list[Ranked], is_tested: bool) -> str:
    """Count the points at which each agent is best, or not significantly different from the best."""
    wins: Counter[tuple[str, ...]] = Counter()
    effects: dict[tuple[str, ...], list[float]] = {}
    for ranked in points:
        best = sorted(name for name, entry in ranked if entry.mark) if is_tested else _best(ranked)
        who = () if len(best) == len(ranked) else tuple(best)
        wins[who] += 1
        effects.setdefault(who, []).append(_effect(metric, ranked))
    told = [(names, count) for names, count in wins.most_common() if names]
    if not told:
        return _none(metric, len(points))
    (first, count), *others = told
    by = " to ".join(dict.fromkeys(map(_short, (min(effects[first]), max(effects[first])))))
    where = f"{'all' if count == len(points) else f'{count} of'} {len(points)} points"
    parts = [f"{_does(metric, list(first))} at {where}, by {by} {'points' if metric.unit == '%' else '%'}"]
    parts += [f"{_and(list(names))} at {times}" for names, times in others[:NAMED]]
    parts += [f"no significant difference at {wins[()]}"] * bool(wins[()])
    return "; ".join(parts)


def _and(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
