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
    """Return by values of `keys` what every run refused for which reason, in %; and all counts.

    The shares are of what acceptance is a share of: the offered, and those that a failure sent back in vain.
    Runs that refused nothing are there, too.
    """
    shares: dict[tuple[Any, ...], list[dict[str, float]]] = {}
    total: Counter[str] = Counter()
    if "reasons" not in done.columns:
        return shares, total
    lost = done["lost"].fill_null(0).to_list() if "lost" in done.columns else [0] * len(done)
    rows = done.select(*keys, "offered", "reasons").iter_rows()
    for (*group, offered, text), again in zip(rows, lost, strict=True):
        counts: dict[str, int] = json.loads(text) if text else {}
        total.update(counts)
        asked = (offered or 0) + again
        share = {reason: 100 * count / asked for reason, count in counts.items()} if asked else {}
        shares.setdefault(tuple(group), []).append(share)
    return shares, total
