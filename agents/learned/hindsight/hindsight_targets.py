"""Finds what a decision teaches in hindsight: the places it could choose, and how far each would have led."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from agents.learned.numa.remaining_fits import SIZE_COLUMNS, fitting_on
from agents.learned.numa.value import INPUTS, LARGE, MIDDLE, SMALL, TERMS
from fabric.compiled.numa_replay import Offer, Replay
from simcore.types import Compiled, Floats, Ints

NO_SIZES: Floats = np.zeros((0, SIZE_COLUMNS))


class Lesson(NamedTuple):
    """Holds c places that lead to different clusters, and how far each leads.

    `before` and `after` float64 [c, any] are what is seen of the server: the free shares, as `inputs_of` has them, and
    behind them what fits of some sizes. `reached` float64 [c] is how many requests the plan that begins there places.
    """

    before: Floats
    after: Floats
    reached: Floats


def inputs_of(free: Ints, capacity: Ints) -> Floats:
    """Return the free shares of servers [..., 2 nodes, 2 resources] as [..., INPUTS].

    First cpu and mem of the node that has less free, then those of the other.
    """
    shares = free / capacity
    first, second = shares[..., 0, :], shares[..., 1, :]
    swap = (first[..., 0] > second[..., 0]) | ((first[..., 0] == second[..., 0]) & (first[..., 1] > second[..., 1]))
    less, more = np.where(swap[..., None], second, first), np.where(swap[..., None], first, second)
    return np.concatenate([less, more], axis=-1)


def terms_of(inputs: Floats) -> Floats:
    """Compute the terms of `agents.learned.numa.value.worth`, float64 [..., TERMS], of inputs [..., INPUTS]."""
    cpu, mem, other_cpu, other_mem = np.moveaxis(inputs, -1, 0)
    least = np.minimum(mem, other_mem)
    terms = np.empty((*inputs.shape[:-1], TERMS))
    terms[..., 0] = ((cpu + other_cpu) / 2) ** 2
    terms[..., 1] = np.minimum(cpu, least)
    terms[..., 2] = cpu * cpu + other_cpu * other_cpu
    for number, (of_cpu, of_mem) in enumerate((LARGE, MIDDLE, SMALL)):
        terms[..., 3 + number] = (cpu >= of_cpu) & (least >= of_mem)
    return terms


def places_of(offer: Offer, capacity: Ints, sizes: Floats = NO_SIZES) -> tuple[list[int], Floats, Floats]:
    """Return the places that fit: codes [c], and what is seen of the server before and after, [c, any] each.

    That is its inputs, and what fits of `sizes` float64 [k, 4]. Of places that leave the same shares on a server that
    had the same before, the first stands for all.
    """
    half = offer.demand // 2
    taken = [[offer.demand - half, half]] if offer.spread else [[offer.demand, half * 0], [half * 0, offer.demand]]
    left = offer.free[:, None] - np.array(taken)  # [servers, choices, nodes, resources]
    server, choice = np.nonzero((left >= 0).all(axis=(2, 3)))
    before, after = inputs_of(offer.free, capacity)[server], inputs_of(left, capacity[:, None])[server, choice]
    rows = np.concatenate([before, after, capacity[server].reshape(len(server), INPUTS)], axis=1)
    before = np.concatenate([before, fitting_on(offer.free[server], sizes)], axis=1)
    after = np.concatenate([after, fitting_on(left[server, choice], sizes)], axis=1)
    first = np.sort(np.unique(rows, axis=0, return_index=True)[1])
    return (server * 2 + choice)[first].tolist(), before[first], after[first]


def lesson_of(
    replay: Replay, student: Compiled, answers: int, plans: list[Compiled], sizes: Floats = NO_SIZES
) -> Lesson | None:
    """Make a lesson of the state that a student comes to after so many answers.

    Of every place it says what the best plan reaches that goes on from there, knowing what comes. `None` where there is
    nothing to choose.
    """
    offer = replay.follow(student, answers)
    if offer is None:
        return None
    codes, before, after = places_of(offer, replay.capacity, sizes)
    if len(codes) < 2:
        return None
    reached = np.max([replay.tried(codes, plan) for plan in plans], axis=0)
    return Lesson(before, after, reached.astype(np.float64))
