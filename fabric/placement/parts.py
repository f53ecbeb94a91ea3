"""Keeps the rules among the parts of a gang: all in one domain, and at most so many in each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from binwright.simcore.gangs import PartRules
from binwright.simcore.types import Ints

Bools = npt.NDArray[np.bool_]


def open_to(rules: PartRules, domains: Callable[[str], Ints], taken: Sequence[int], servers: int) -> Bools:
    """Tell which servers the next part may take, bool [servers]; earlier parts have `taken` servers.

    `domains` says the domain of every server by a label, int64 [servers].
    """
    allowed = np.ones(servers, np.bool_)
    for label, most in rules.at_most:
        domain = domains(label)
        count = np.bincount(domain[list(taken)], minlength=servers)
        allowed &= count[domain] < most
    if rules.together and taken:
        domain = domains(rules.together)
        allowed &= domain == domain[taken[0]]
    return allowed


def most_parts(rules: PartRules, domains: Callable[[str], Ints], rooms: Ints) -> Ints:
    """Count the parts that there is room for in the domain of each server that a gang can be `together` in.

    Without `together` that is the whole cluster. `rooms` int64 [servers] is that of each server. Where domains of
    `at_most` cut across one another it may be fewer parts. Returns int64 [servers].
    """
    servers = len(rooms)
    whole = domains(rules.together) if rules.together else np.zeros(servers, np.int64)
    # From small domains to large ones: what a domain takes is put to its first server.
    for label, most in sorted(rules.at_most, key=lambda limit: -int(domains(limit[0]).max(initial=0))):
        _, first, domain = np.unique(whole * servers + domains(label), return_index=True, return_inverse=True)
        sums, rooms = _sums(domain, rooms), np.zeros(servers, np.int64)
        rooms[first] = np.minimum(sums[: len(first)], most)
    parts: Ints = _sums(whole, rooms)[whole]
    return parts


def _sums(domain: Ints, amounts: Ints) -> Ints:
    sums = np.zeros(int(domain.max(initial=0)) + 1, np.int64)
    np.add.at(sums, domain, amounts)
    return sums
