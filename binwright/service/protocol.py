"""Connections that do not let slow clients hold them."""

from __future__ import annotations

import asyncio
from ipaddress import IPv6Address, ip_network
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from binwright.service.limits import Limits


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
