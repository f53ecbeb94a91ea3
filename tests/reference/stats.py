"""Holm's correction, slow and plain."""

from __future__ import annotations


def holm_slowly(p: list[float]) -> list[float]:
    """Correct as Holm (1979) has it: the k-th smallest of m times m - k + 1, and none below a smaller one's."""
    there = sorted(one for one in p if one == one)
    m = len(there)
    return [min(1.0, max((m - k) * there[k] for k in range(m) if there[k] <= one)) if one == one else one for one in p]
