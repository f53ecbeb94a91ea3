"""Why requests were refused, as the runs say it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


def refused_shares(
    done: pl.DataFrame, keys: Sequence[str]
) -> tuple[dict[tuple[Any, ...], list[dict[str, float]]], Counter[str]]:
    """Return by values of `keys` what every run refused for which reason, in % of what it was offered; and all counts.

    Runs that refused nothing are there, too.
    """
    shares: dict[tuple[Any, ...], list[dict[str, float]]] = {}
    total: Counter[str] = Counter()
    if "reasons" not in done.columns:
        return shares, total
    for *group, offered, text in done.select(*keys, "offered", "reasons").iter_rows():
        counts: dict[str, int] = json.loads(text) if text else {}
        total.update(counts)
        share = {reason: 100 * count / offered for reason, count in counts.items()} if offered else {}
        shares.setdefault(tuple(group), []).append(share)
    return shares, total
