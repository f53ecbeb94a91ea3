"""Says again what Slurm's classic fair share is, from a list of what ran when."""

from math import log
from typing import NamedTuple


class Ran(NamedTuple):
    """What ran until now or until it was over: whose it was, from when until when, on how many processors."""

    owner: tuple[str, ...]
    began: float
    ended: float
    processors: float


def usage(ran: list[Ran], owner: tuple[str, ...], now: float, half_life: float) -> float:
    """What all below an owner have used: every processor second counts 2^(-age / half-life), integrated."""
    mine = [one for one in ran if one.owner[: len(owner)] == owner]
    integral = [2 ** ((one.ended - now) / half_life) - 2 ** ((one.began - now) / half_life) for one in mine]
    return sum(each * one.processors for each, one in zip(integral, mine, strict=True)) * half_life / log(2)


def effective(
    ran: list[Ran], owner: tuple[str, ...], shares: dict[tuple[str, ...], float], now: float, half_life: float
) -> tuple[float, float]:
    """U_E = U_A + (U_E of the parent - U_A) S / S of all siblings, and the normalised share S."""
    total = usage(ran, (), now, half_life)
    actual = usage(ran, owner, now, half_life) / total if total else 0.0
    if not owner:
        return actual, 1.0
    siblings = [path for path in shares if path[:-1] == owner[:-1]]
    part = shares[owner] / sum(shares[path] for path in siblings)
    above, share = effective(ran, owner[:-1], shares, now, half_life)
    return actual + (above - actual) * part, share * part


def fair_share(
    ran: list[Ran], owner: tuple[str, ...], shares: dict[tuple[str, ...], float], now: float, half_life: float
) -> float:
    """F = 2^(-U_E / S)."""
    used, share = effective(ran, owner, shares, now, half_life)
    return float(2 ** (-used / share))
