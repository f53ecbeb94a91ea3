"""Check what Python gives a problem besides its text, and bring it into the shape of declarations and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from simcore.errors import UserError


def is_list(values: object) -> bool:
    """Tell whether values come one after another in an order that means something."""
    if isinstance(values, str | bytes | Mapping | AbstractSet):
        return False
    return isinstance(values, Iterable)


def checked_tables(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Refuse tables that are no rows of anything."""
    for name, rows in tables.items():
        if not is_list(rows):
            remedy = (
                "Give a list or a numpy array, with an entry or a row for each number from 0 on; a number is a PARAM."
            )
            raise UserError("is no table", key=f"tables[{name!r}]", value=type(rows).__name__, remedy=remedy)
    return dict(tables)


def sets_of(key: str, sets: Sequence[Iterable[int]]) -> list[list[int]]:
    """Read sets of balls."""
    every: list[Any] = list(sets) if is_list(sets) else [0]
    if not all(isinstance(one, Iterable) and not isinstance(one, str | bytes | Mapping) for one in every):
        raise UserError(
            "are no sets of balls", key=key, value=sets, remedy="Give lists in a list: [[0, 1], [2, 3, 4]]."
        )
    return [sorted(members) for members in every]


def places_of(key: str, places: Iterable[int | None]) -> list[int]:
    """Read the bin of each ball; None is nowhere, as -1 is."""
    if not is_list(places):
        remedy = "Give a list with the bin of every ball, -1 for none, such as answer.alloc."
        raise UserError("does not say where balls are", key=key, value=type(places).__name__, remedy=remedy)
    return [-1 if place is None else place for place in places]


def bins_of(key: str, bins: Iterable[int]) -> list[int]:
    """Read numbers of bins."""
    if isinstance(bins, str | bytes) or not isinstance(bins, Iterable):
        raise UserError("is no list of bins", key=key, value=bins, remedy="Give a list of numbers: [3, 5].")
    return sorted(bins)


def resource_of(name: str, capacity: Any) -> tuple[str, dict[str, Any]]:
    """Write a family of RESOURCES, `"CPU[s in BINS]"`, and the table for capacities that differ."""
    if not is_list(capacity) or np.ndim(capacity) == 0:
        if isinstance(capacity, float | np.floating) and not np.isfinite(capacity):
            raise UserError("is no capacity", key=f"resources[{name!r}]", value=capacity, remedy="Give 0 to 1e9.")
        return f"{name} => {capacity}", {}
    family, _, axes = name.partition("[")
    indices = re.findall(r"([A-Za-z_]\w*)\s+in\b", axes)
    rank = np.ndim(capacity)
    if len(indices) != rank:
        many = "1 index" if len(indices) == 1 else f"{len(indices)} indices"
        problem = f"has {many}, and its capacities have {rank}"
        remedy = "Give a list for one index, as in CPU[s in BINS], rows for two, and so on; or one number for all."
        raise UserError(problem, key=f"resources[{name!r}]", remedy=remedy)
    table = f"_{family.strip()}"
    return f"{name} => {table}[{', '.join(indices)}]", {table: capacity}
