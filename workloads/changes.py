"""Requests as they might be: more or fewer of them, a wave that comes at once, days on which few come."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from binwright.simcore.errors import WorkloadError
from binwright.simcore.fields import Count, Model, PositiveTime, ShareFromZero, Shown, Time, Where, wrong
from binwright.simcore.rng import stream
from binwright.simcore.roles import where_of
from binwright.simcore.types import Floats, Ints, Workload

_PERCENT = re.compile(r"\s*([+-])\s*(\d+(?:\.\d*)?)\s*%\s*")


def _by(value: Any) -> str:
    """Read how much more or less, as a text that reads as the same."""
    found = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    if not found or (found[1] == "-" and float(found[2]) >= 100):
        raise wrong("does not say how much more or less", "Write it like +20 %, or -10 % (less than 100).", (), value)
    return f"{found[1]}{found[2]} %"


class DemandChange(Model):
    """More or fewer requests, of all or of some kind."""

    demand: Annotated[
        str,
        BeforeValidator(_by),
        WithJsonSchema({"type": "string", "pattern": r"^\s*(\+\s*\d+(\.\d*)?|-\s*\d{1,2}(\.\d*)?)\s*%\s*$"}),
        Shown("share with + or -"),
    ] = Field(
        description="How many more or fewer. Copies arrive when others do.",
        examples=["+20 %"],
    )
    of: Where = Field(
        default_factory=dict,
        description="Only requests with one of these values of every label of a table, or of `group`.",
        examples=["{tenant: [acme, beta]}"],
    )

    def rows(self, base: Workload, rng: np.random.Generator) -> tuple[Ints, Floats]:
        """Choose rows int64 [m] and arrivals float64 [m], in any order; a row that comes again is a copy.

        A copy of one that runs already at the start does so, too.
        """
        by, of = float(self.demand.removesuffix("%")) / 100, dict(where_of(self.of))
        mine, every = np.flatnonzero(matching(base, of, "workload.changes")), np.arange(len(base))
        if not len(mine):
            said, key = ", ".join(f"{label}: {'|'.join(values)}" for label, values in of.items()), "workload.changes"
            raise WorkloadError("no request is so", key=key, value=said, remedy="Check label and values.")
        kinds = [mine[mine >= base.running], mine[mine < base.running]]
        if by < 0:
            lost = [rng.choice(kind, round(-by * len(kind)), replace=False) for kind in kinds]
            kept = np.delete(every, np.concatenate(lost))
            return kept, base.arrival[kept]
        rows, times = [every], [base.arrival]
        for kind in kinds:
            count = round(by * len(kind))
            rows.append(rng.choice(kind, count))
            times.append(base.arrival[rng.choice(kind, count)])
        return np.concatenate(rows), np.concatenate(times)


class WaveChange(Model):
    """Additional requests within a time: a migration."""

    wave: Count = Field(description="How many; copies of random requests.", examples=[200])
    at: Time = Field(description="When the first may arrive, counted from the first request.", examples=["3 d"])
    over: PositiveTime = Field(description="How long they keep arriving.", examples=["6 h"])

    def rows(self, base: Workload, rng: np.random.Generator) -> tuple[Ints, Floats]:
        copies = base.running + rng.choice(len(base) - base.running, self.wave)
        moments = self.at + self.over * rng.random(self.wave)
        return np.concatenate([np.arange(len(base)), copies]), np.concatenate([base.arrival, moments])


class HolidayChange(Model):
    """A time in which few requests come."""

    holiday: ShareFromZero = Field(description="The share of the requests that arrive all the same.", examples=["30 %"])
    begin: Time = Field(alias="from", description="From when, counted from the first request.", examples=["5 d"])
    until: Time = Field(description="Until when.", examples=["6 d"])

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.until <= self.begin:
            raise wrong("is an empty time", "Let it end after it begins.", ("until",))
        return self

    def rows(self, base: Workload, rng: np.random.Generator) -> tuple[Ints, Floats]:
        if self.begin > base.arrival[-1]:
            begin, last = (f"{time / 86400:.4g} d" for time in (self.begin, base.arrival[-1]))
            raise WorkloadError(
                "no request comes then", value=begin, remedy=f"Begin earlier: the last comes at {last}."
            )
        inside = np.flatnonzero((base.arrival >= self.begin) & (base.arrival < self.until))
        inside = inside[inside >= base.running]
        lost = rng.choice(inside, len(inside) - round(self.holiday * len(inside)), replace=False)
        kept = np.delete(np.arange(len(base)), lost)
        return kept, base.arrival[kept]


Change: TypeAlias = DemandChange | WaveChange | HolidayChange


def matching(base: Workload, of: Mapping[str, tuple[str, ...]], key: str) -> npt.NDArray[np.bool_]:
    """Tell which requests have one of the values of every label, bool [n]; mistakes are reported under `key`."""
    found = np.ones(len(base), np.bool_)
    for label, values in of.items():
        found &= np.isin(words_of(base, label, key), values)
    return found


def words_of(base: Workload, label: str, key: str) -> npt.NDArray[np.str_]:
    """Return what a label of each request says, or its `group` or `models`, str [n]; mistakes are of this `key`."""
    if label == "group" and base.roles is not None:
        groups = np.array([role.group for role in base.roles.all])
        words: npt.NDArray[np.str_] = groups[base.roles.of]
        return words
    if label == "models" and base.models is not None:
        return base.models
    if label in base.labels:
        return base.labels[label]
    known = ", ".join([*base.labels, *(["group"] if base.roles is not None else [])])
    remedy = f"Known: {known or 'none'}. A table's `labels:` say which columns are some."
    raise WorkloadError("the requests have no such label", key=key, value=label, remedy=remedy)


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
    return replace(base.take(rows), arrival=times[order], id=ids[order])
