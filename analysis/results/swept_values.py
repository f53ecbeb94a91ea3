"""Values of swept keys as people read them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import yaml

from analysis.results.escaping import plain

if TYPE_CHECKING:
    import polars as pl


def as_written(value: Any) -> str:
    """Write a value of a swept key as a scenario would have it, where its column has JSON: `make_room: {moves: 1}`."""
    if not isinstance(value, str) or not value.startswith(("{", "[")):
        return plain(str(value))
    try:
        data = json.loads(value)
    except ValueError:  # a text that begins so
        return plain(value)
    text = yaml.safe_dump(data, default_flow_style=True, width=inf, sort_keys=False, allow_unicode=True).strip()
    return plain(text[1:-1] if isinstance(data, dict) else text)


def telling_keys(runs: pl.DataFrame, swept: Sequence[str]) -> list[str]:
    """Leave out the last swept keys whose values follow from those of the others, as keys of a `zip` do."""
    keys = list(swept)
    points = runs.select(keys).n_unique() if keys else 0
    for key in reversed(swept):
        others = [other for other in keys if other != key]
        if others and runs.select(others).n_unique() == points:
            keys = others
    return keys


def short_key(key: str, swept: Sequence[str]) -> str:
    """Return the end of a swept key, as much of it as no other swept key ends in."""
    parts, others = key.split("."), [f".{other}" for other in swept if other != key]
    ends = (".".join(parts[-count:]) for count in range(1, len(parts)))
    return next((end for end in ends if not any(other.endswith(f".{end}") for other in others)), key)
