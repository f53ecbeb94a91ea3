"""What servers come to, by walking through every server's time from moment to moment, with fractions."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import floor, inf
from typing import Any

from binwright.analysis.measure.costs.bill import Costs
from binwright.analysis.measure.costs.tariffs import Tariff
from binwright.analysis.measure.costs.time_series import TimeSeries

Spell = tuple[float, float]


@dataclass
class Server:
    """Says what happened to a server: when it was added, was out of service, and held what from when to when."""

    added: float
    capacity: int
    tariff: Tariff
    outages: list[Spell] = field(default_factory=list)
    held: list[tuple[float, float, int]] = field(default_factory=list)


@dataclass
class Piece:
    """Says what a server did in a time: "empty", "used", "failed" or "off", and what it drew."""

    begin: Fraction
    end: Fraction
    state: str
    watts: Fraction


def watts_of(tariff: Tariff, share: Fraction) -> Fraction:
    """Draw the straight line between the two points of the curve around this share."""
    curve = [Fraction(point) for point in (tariff.power.points if tariff.power else (0.0, 0.0))]
    place = share * (len(curve) - 1)
    left = min(floor(place), len(curve) - 2)
    return curve[left] + (place - left) * (curve[left + 1] - curve[left])


def pieces_of(server: Server, costs: Costs, last: float) -> tuple[list[Piece], list[Fraction]]:
    """Walk from when a server is added to the last moment; returns what it did, and when it was woken."""
    off_rule = costs.spec.switch_off
    after = off_rule.after if off_rule else inf
    moments = {server.added, last}
    for begin, end, *_ in [*server.outages, *server.held]:
        moments |= {time for time in (begin, end) if server.added < time < last}
    found, woken = [], []
    empty_since: float | None = None
    times = sorted(moments)
    for begin, end in pairwise(times):
        mine = [amount for start, stop, amount in server.held if start <= begin and end <= stop]
        if any(start <= begin and end <= stop for start, stop in server.outages):
            found.append(Piece(Fraction(begin), Fraction(end), "failed", Fraction(0)))
            empty_since = None
        elif mine:
            if empty_since is not None and empty_since + after < begin:
                woken.append(Fraction(begin))
            share = Fraction(costs.spec.activity) * Fraction(sum(mine), max(server.capacity, 1))
            found.append(Piece(Fraction(begin), Fraction(end), "used", watts_of(server.tariff, share)))
            empty_since = None
        else:
            empty_since = begin if empty_since is None else empty_since
            off = empty_since + after
            idle = watts_of(server.tariff, Fraction(0))
            found.append(Piece(Fraction(begin), Fraction(max(begin, min(off, end))), "empty", idle))
            if off_rule and off < end:
                found.append(Piece(Fraction(max(off, begin)), Fraction(end), "off", Fraction(off_rule.power)))
    return found, woken


def rate(course: TimeSeries, time: Fraction) -> Fraction:
    """Look up the value that holds from this time on."""
    step = floor((Fraction(course.start) + time) / Fraction(course.every))
    count = len(course.values)
    return Fraction(float(course.values[step % count if course.repeats else min(step, count - 1)]))


def over(course: TimeSeries, piece: Piece) -> Fraction:
    """Add up, step by step, the value x seconds of a piece."""
    every, start = Fraction(course.every), Fraction(course.start)
    total, time = Fraction(0), piece.begin
    while time < piece.end:
        following = (floor((start + time) / every) + 1) * every - start
        end = min(following, piece.end)
        total += rate(course, time) * (end - time)
        time = end
    return total


def bill(servers: Sequence[Server], costs: Costs, begin: float, finish: float) -> dict[str, Any]:
    """Add up all servers between two times."""
    hour, pue = Fraction(3600), Fraction(costs.energy[0].pue)
    found: dict[str, Any] = dict.fromkeys(("on", "energy", "carbon", "electricity"), Fraction(0))
    kept: list[tuple[Tariff, Piece]] = []
    woken: list[Fraction] = []
    for server in servers:
        pieces, wakes = pieces_of(server, costs, max(finish, server.added) + 1)  # who is woken in the end counts
        woken += [time for time in wakes if begin <= time <= finish]
        kept += [
            (server.tariff, Piece(first, last, piece.state, piece.watts * pue))
            for piece in pieces
            if (first := max(piece.begin, Fraction(begin))) < (last := min(piece.end, Fraction(finish)))
        ]
    for _, piece in kept:
        hours = (piece.end - piece.begin) / hour
        found["on"] += hours * (piece.state in ("empty", "used"))
        found["energy"] += hours * piece.watts / 1000
        for name, course in (("carbon", costs.energy[0].carbon), ("electricity", costs.energy[0].price)):
            if course:
                found[name] += over(course, piece) * piece.watts / 1000 / hour
    each = pue * Fraction(costs.spec.switch_off.waking if costs.spec.switch_off else 0) / 1000
    found["energy"] += each * len(woken)
    for name, course in (("carbon", costs.energy[0].carbon), ("electricity", costs.energy[0].price)):
        if course:
            found[name] += sum((each * rate(course, time) for time in woken), Fraction(0))
    found["carbon"] /= 1000
    times = sorted({Fraction(begin), Fraction(finish), *(time for _, p in kept for time in (p.begin, p.end))})
    found["servers"] = Fraction(0)
    for first, last in pairwise(times):
        now = [(tariff, p) for tariff, p in kept if p.begin <= first and last <= p.end]
        for tariff in costs.tariffs:
            count = sum(of is tariff and p.state in ("empty", "used") for of, p in now)
            found["servers"] += count * Fraction(tariff.price or 0) * (last - first) / hour
    return found
