"""Connections that do not let slow clients hold them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from binwright.service.limits import Limits


def guarded(limits: Limits) -> type[H11Protocol]:
    """uvicorn's protocol; it closes connections that are too many, or make no progress for `limits.patience`.

    uvicorn itself waits forever for a request's head, and for a reader that takes nothing.
    """

    class Guarded(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
            super().connection_made(transport)
            if len(self.connections) > limits.connections:
                transport.abort()
                return
            self._before: tuple[object, int] | None = None
            self._look()

        def _look(self) -> None:
            if self.transport.is_closing() and not self.transport.get_write_buffer_size():
                return
            busy = self.cycle is not None and not self.cycle.response_complete
            unsent = self.transport.get_write_buffer_size()
            now = (self.cycle, unsent)
            if now == self._before and (unsent or not busy):
                self.transport.abort()
                return
            self._before = now
            self.loop.call_later(limits.patience, self._look)

    return Guarded
