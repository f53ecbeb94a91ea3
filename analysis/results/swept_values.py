"""Values of swept keys as people read them."""

from __future__ import annotations

import json
from math import inf
from typing import Any

import yaml

from analysis.results.escaping import plain


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
