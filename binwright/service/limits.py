"""What the service lets clients have, and the protocol that holds them to it before a request is read."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, fields
from ipaddress import IPv6Address, ip_network
from math import inf, nan
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from binwright.simcore.errors import UserError, suggest

PRIORITIES = 100
"""Priorities go from minus this to this."""


@dataclass(frozen=True)
class Limits:
    """`--limit NAME=NUMBER` changes one."""

    time: float = 60.0
    """Seconds that a search may ask for."""
    spare: float = 30.0
    """Seconds, of clock and of CPU, that a job has beyond its search, to compile and to verify."""
    memory: int = 2**30
    """Bytes that a job may take on top of what the compiled solver has."""
    balls: int = 100_000
    """Balls, and bins, of a problem."""
    dims: int = 1_000_000
    """Dimensions of a problem."""
    check: float = 5.0
    """Seconds that a check may take."""
    body: int = 2 * 2**20
    """Bytes of a request."""
    patience: float = 10.0
    """Seconds that a client has to send a request, and to take in some of an answer."""
    queue: int = 1000
    """Jobs that wait or run."""
    checks: int = 100
    """Checks that wait or run."""
    connections: int = 800
    """Open connections."""
    address: int = 300
    """Open connections of one address."""
    head: float = 5.0
    """Seconds that a connection has to send the head of a request."""
    streams: int = 100
    """Open streams of progress."""
    priority: int = 0
    """The highest priority that a submission may ask for."""
    store: int = 2 * 2**30
    """Bytes of problems and answers that are kept; the oldest answers go first."""


def changed(changes: Iterable[str]) -> Limits:
    """Change some limits: `memory=2e9`."""
    known: dict[str, Any] = {one.name: one.default for one in fields(Limits)}
    values: dict[str, Any] = {}
    for change in changes:
        name, _, text = change.partition("=")
        if name not in known:
            raise UserError("unknown limit", key=f"--limit {change}", remedy=suggest(name, known))
        try:
            values[name] = type(known[name])(float(text))
        except (ValueError, OverflowError):
            values[name] = nan
        if name == "priority":
            right, which = abs(values[name]) <= PRIORITIES, f"from -{PRIORITIES} to {PRIORITIES}"
        else:
            right, which = 0 < values[name] < inf, "above zero"
        if not right:
            raise UserError(f"is not a number {which}", key=f"--limit {change}", remedy=f"Write {name}=NUMBER.")
    return Limits(**values)


def address(client: Any) -> str:
    """Name who a connection is from: an address, or of IPv6 the network of one, whose addresses are one's own."""
    host: str = (client or ("",))[0]
    return str(ip_network((IPv6Address(host).packed, 64), strict=False)) if ":" in host else host


def guarded(limits: Limits) -> type[H11Protocol]:
    """Make uvicorn's protocol one that closes connections that are too many, or make no progress.

    uvicorn itself waits forever for a request's head, and for a reader that takes nothing. Of too many connections, of
    one address or of all, the one that has been silent for longest is closed, or else the oldest one whose request has
    not arrived as a whole: who asks at once is answered.
    """

    class Guarded(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
            super().connection_made(transport)
            self._address = address(self.client)
            self._since = self.loop.time()
            others = [one for one in self.connections if isinstance(one, Guarded) and not one.transport.is_closing()]
            mine = [one for one in others if one._address == self._address]
            if len(mine) > limits.address:
                self._make_room(mine)
            elif len(others) > limits.connections:
                self._make_room(others)
            self._before: tuple[object, bool, int] = (None, False, 0)
            self._still = 0.0
            self.loop.call_later(limits.head, self._look)

        def _make_room(self, among: list[Guarded]) -> None:
            silent = [one for one in among if one is not self and not one._asked()]
            min(silent, key=lambda one: (one._busy(), one._since), default=self).transport.abort()

        def _asked(self) -> bool:
            return self._busy() and not self.cycle.more_body

        def _busy(self) -> bool:
            return self.cycle is not None and not self.cycle.response_complete

        def _look(self) -> None:
            unsent = self.transport.get_write_buffer_size()
            if self.transport.is_closing() and not unsent:
                return
            now = (self.cycle, self._busy(), unsent)
            self._still = self._still + limits.head if now == self._before else 0.0
            bored = self._still >= limits.patience if unsent else self._still > 0 and not self._busy()
            if bored:
                self.transport.abort()
                return
            self._before = now
            self.loop.call_later(limits.head, self._look)

    return Guarded
