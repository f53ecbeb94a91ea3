"""Requests as they might be: more or fewer of them; and which of them have a label's value."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import BeforeValidator, Field

from binwright.simcore.errors import WorkloadError
from binwright.simcore.fields import Model, Shown, Where, wrong
from binwright.simcore.rng import stream
from binwright.simcore.roles import where_of
from binwright.simcore.types import Floats, Ints, Workload

_PERCENT = re.compile(r"\s*([+-])\s*(\d+(?:\.\d*)?)\s*%\s*")


def _by(value: Any) -> str:
    """Read how much more or less, as a text that reads as the same."""
    match = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    if not match or (match[1] == "-" and float(match[2]) >= 100):
        raise wrong("does not say how much more or less", "Write it like +20 %, or -10 % (less than 100).", (), value)
    return f"{match[1]}{match[2]} %"


class Change(Model):
    """More or fewer requests, of all or of some kind."""

    demand: Annotated[
        str,
        BeforeValidator(_by),
        Shown("share with + or -"),
    ] = Field(description="How many more or fewer. Copies arrive when others do.", examples=["+20 %"])
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
            text, key = ", ".join(f"{label}: {'|'.join(values)}" for label, values in of.items()), "workload.changes"
            raise WorkloadError("no request is so", key=key, value=text, remedy="Check label and values.")
        kinds = [mine[mine >= base.running], mine[mine < base.running]]
        if by < 0:
            lost = [rng.choice(kind, round(-by * len(kind)), replace=False) for kind in kinds]
            remaining = np.delete(every, np.concatenate(lost))
            return remaining, base.arrival[remaining]
        rows, times = [every], [base.arrival]
        for kind in kinds:
            count = round(by * len(kind))
            rows.append(rng.choice(kind, count))
            times.append(base.arrival[rng.choice(kind, count)])
        return np.concatenate(rows), np.concatenate(times)


def matching(base: Workload, of: Mapping[str, tuple[str, ...]], key: str) -> npt.NDArray[np.bool_]:
    """Tell which requests have one of the values of every label, bool [n]; mistakes are reported under `key`."""
    result = np.ones(len(base), np.bool_)
    for label, values in of.items():
        result &= np.isin(words_of(base, label, key), values)
    return result


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
        rows, times = change.rows(base, stream(seed, "workload", "changes", place))
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
