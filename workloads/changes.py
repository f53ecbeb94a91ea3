"""Requests as they might be: more or fewer of them, a wave that comes at once, days on which few come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from simcore.errors import WorkloadError
from simcore.rng import stream
from simcore.types import Floats, Ints, Workload


class Change(Protocol):
    """A change of a workload: which of its rows come, some of them again, and when."""

    def rows(self, base: Workload, rng: np.random.Generator) -> tuple[Ints, Floats]:
        """Choose rows int64 [m] and arrivals float64 [m], in any order; a row that comes again is a copy.

        A copy of one that runs already at the start does so, too.
        """
        ...


@dataclass(frozen=True)
class Demand:
    """So many more requests, or fewer: `by` .2 is a fifth more, -.1 a tenth less.

    Copies of random requests come when other random ones come, so that hours and days stay as they are. Of those that
    run already at the start there are as many more, or fewer. `of` says which requests: those with one of these values
    of every label, or of `group`.
    """

    by: float
    of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def rows(self, base: Workload, rng: np.random.Generator) -> tuple[Ints, Floats]:
        mine, every = np.flatnonzero(chosen(base, self.of)), np.arange(len(base))
        kinds = [mine[mine >= base.running], mine[mine < base.running]]
        if self.by < 0:
            lost = [rng.choice(kind, round(-self.by * len(kind)), replace=False) for kind in kinds]
            kept = np.delete(every, np.concatenate(lost))
            return kept, base.arrival[kept]
        rows, times = [every], [base.arrival]
        for kind in kinds:
            count = round(self.by * len(kind))
            rows.append(rng.choice(kind, count))
            times.append(base.arrival[rng.choice(kind, count)])
        return np.concatenate(rows), np.concatenate(times)


@dataclass(frozen=True)
class Wave:
    """So many requests more, random ones of those that there are, at random moments of a time `over` from `at` on."""

    requests: int
    at: float
    over: float

    def rows(self, base: Workload, rng: np.random.Generator) -> tuple[Ints, Floats]:
        copies = base.running + rng.choice(len(base) - base.running, self.requests)
        moments = self.at + self.over * rng.random(self.requests)
        return np.concatenate([np.arange(len(base)), copies]), np.concatenate([base.arrival, moments])


@dataclass(frozen=True)
class Holiday:
    """A time from `begin` to `end` in which only this share of the requests comes, random ones."""

    share: float
    begin: float
    end: float

    def rows(self, base: Workload, rng: np.random.Generator) -> tuple[Ints, Floats]:
        if self.begin > base.arrival[-1]:
            begin, last = (f"{time / 86400:.4g} d" for time in (self.begin, base.arrival[-1]))
            raise WorkloadError(
                "no request comes then", value=begin, remedy=f"Begin earlier: the last comes at {last}."
            )
        inside = np.flatnonzero((base.arrival >= self.begin) & (base.arrival < self.end))
        inside = inside[inside >= base.running]
        lost = rng.choice(inside, len(inside) - round(self.share * len(inside)), replace=False)
        kept = np.delete(np.arange(len(base)), lost)
        return kept, base.arrival[kept]


def chosen(base: Workload, of: Mapping[str, tuple[str, ...]]) -> npt.NDArray[np.bool_]:
    """Tell which requests have one of the values of every label, bool [n]; refuses what none of them has."""
    found = matching(base, of, "workload.changes")
    if not found.any():
        said = ", ".join(f"{label}: {'|'.join(values)}" for label, values in of.items())
        raise WorkloadError("no request is so", key="workload.changes", value=said, remedy="Check label and values.")
    return found


def matching(base: Workload, of: Mapping[str, tuple[str, ...]], key: str) -> npt.NDArray[np.bool_]:
    """Tell which requests have one of the values of every label, bool [n]; mistakes are reported under `key`."""
    found = np.ones(len(base), np.bool_)
    for label, values in of.items():
        if label == "group" and base.roles is not None:
            groups = np.array([role.group for role in base.roles.all])
            words = groups[base.roles.of]
        elif label in base.labels:
            words = base.labels[label]
        else:
            known = ", ".join([*base.labels, *(["group"] if base.roles is not None else [])])
            remedy = f"Known: {known or 'none'}. A table's `labels:` say which columns are some."
            raise WorkloadError("the requests have no such label", key=key, value=label, remedy=remedy)
        found &= np.isin(words, values)
    return found


def changed(base: Workload, changes: Sequence[Change], seed: int) -> Workload:
    """Change a workload step by step; each step draws from a stream of its own.

    Requests of one moment stay in order, copies behind all others, and those that run already before them; copies have
    new ids: numbers after the highest, or the step and a number behind the name: `+1.1`, `+1.2`.
    """
    for place, change in enumerate(changes):
        try:
            rows, times = change.rows(base, stream(seed, "workload", "changes", place))
        except WorkloadError as error:
            error.key = error.key or f"workload.changes.{place}"
            raise
        if not (rows >= base.running).any():
            remedy = "Let some requests come."
            raise WorkloadError("leaves no request", key=f"workload.changes.{place}", remedy=remedy)
        base = _taken(base, rows, times, place)
    return base


def _taken(base: Workload, rows: Ints, times: Floats, step: int) -> Workload:
    """Take rows at these times, and put them into order; those that were taken before get new ids."""
    ids = base.id[rows]
    again = np.ones(len(rows), np.bool_)
    again[np.unique(rows, return_index=True)[1]] = False
    if ids.dtype.kind == "i":
        ids[again] = base.id.max() + 1 + np.arange(again.sum())
    elif again.any():
        names = ids.astype(object)
        names[again] = [f"{name}+{step + 1}.{number}" for number, name in enumerate(ids[again].tolist(), 1)]
        ids = names.astype(np.str_)
    order = np.lexsort((times, rows >= base.running))
    rows = rows[order]
    return replace(
        base,
        arrival=times[order],
        duration=base.duration[rows],
        demand=base.demand[rows],
        id=ids[order],
        age=None if base.age is None else base.age[rows[rows < base.running]],
        watched=None if base.watched is None else base.watched[rows],
        models=None if base.models is None else base.models[rows],
        roles=None if base.roles is None else base.roles.take(rows),
        labels={name: words[rows] for name, words in base.labels.items()},
    )
