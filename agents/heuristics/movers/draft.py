"""What movers that ask an agent keep while they plan: what would be free if the moves planned so far were made."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from binwright.fabric.devices import Devices, DeviceView, in_python
from binwright.simcore.moves import Running
from binwright.simcore.types import QUANTUM, Floats, Ints, OnDevices, Placement, Request, View


class Draft:
    """Holds what would be free if the moves planned so far were made, devices included.

    A request is called by its `place` in the list of those that run, and moves once in a plan.
    """

    def __init__(self, view: View, running: Running) -> None:
        self.running = running
        self.free = view.free.copy()
        self.devices = Devices(*(array.copy() for array in view.devices)) if isinstance(view, DeviceView) else None
        self._view = view
        self._total = np.maximum(view.capacity.sum(axis=1), 1)

    def showing(self, free: Ints) -> View:
        """Return a view for an agent that is to see these amounts free, and the devices as they would be."""
        if isinstance(self._view, DeviceView) and self.devices is not None:
            return replace(self._view, free=free, devices=self.devices)
        return self._view.showing(free)

    def request(self, place: int) -> Request:
        """Return a request that runs."""
        return self.running.request(int(self.running.row[place]))

    def at(self, place: int) -> Placement:
        """Tell where a request lay when the plan began."""
        request, running = self.request(place), self.running
        server, node = int(running.server[place]), int(running.node[place])
        if running.devices is not None:
            bits = int(running.devices[place])
            named = tuple(device for device in range(bits.bit_length()) if bits >> device & 1)
            return OnDevices(((server, 0, request.demand),), devices=named)
        return request.across(server, self.free.shape[1]) if node < 0 else request.on(server, node)

    def hold(self, request: Request, placement: Placement, sign: int = 1) -> None:
        """Take what a placement holds, or with sign -1 give it back."""
        for server, node, amounts in placement.shares:
            self.free[server, node] -= np.array(amounts) * sign
        if self.devices is not None and isinstance(placement, OnDevices) and placement.devices:
            server, own = placement.shares[0][0], self.devices
            _, each = in_python(request.demand[self.resource])
            own.free[server, list(placement.devices)] -= sign * each
            own.held[server, len(placement.devices) if each == QUANTUM else 0] += sign

    @property
    def resource(self) -> int:
        """The place of the devices' resource in demands."""
        assert isinstance(self._view, DeviceView)
        return self._view.resource

    def _fullness(self, free: Ints) -> Floats:
        """Return the share of each server's resources that is held, on average, float64 [servers]."""
        found: Floats = 1 - (free.sum(axis=1) / self._total).mean(axis=1)
        return found

    def emptiest_first(self) -> list[int]:
        """List the servers with something that may be moved, the emptiest first."""
        servers = np.unique(self.running.server)
        return [int(server) for server in servers[np.argsort(self._fullness(self.free)[servers], kind="stable")]]

    def fuller(self, place: int) -> npt.NDArray[np.bool_]:
        """Tell which servers are fuller than the server of a request without what it holds there, bool [servers]."""
        server, fullness = int(self.running.server[place]), self._fullness(self.free)
        total = self.free[server].sum(axis=0) + np.array(self.request(place).demand)
        found: npt.NDArray[np.bool_] = fullness > 1 - (total / self._total[server]).mean()
        return found

    def out_of_place(self) -> list[int]:
        """List the places of those that may not lie where they are."""
        running = self.running
        if running.may is None:
            return []
        rows, servers = running.row.tolist(), running.server.tolist()
        return [place for place, row in enumerate(rows) if not running.may(row)[servers[place]]]
