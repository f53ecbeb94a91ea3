"""Names of folders that points of a sweep have of their own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

IN_FOLDERS = str.maketrans("/[]", "-()")


def named(point: Mapping[str, Any]) -> str:
    """Name the folder of a point, such as `rate=0.005,warm=(0,0.5)`; brackets would be patterns to polars."""
    return ",".join(f"{key}={plain(value)}" for key, value in point.items()).translate(IN_FOLDERS)


def plain(value: Any) -> float | str:
    """Leave numbers, truth values and text as they are, and write anything else as JSON."""
    return value if isinstance(value, int | float | str) else json.dumps(value, separators=(",", ":"))
