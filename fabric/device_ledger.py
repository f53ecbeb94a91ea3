"""Servers with devices: the ledger that takes amounts and devices together, all or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index

import numpy as np
import numpy.typing as npt

from binwright.fabric.cluster import MOST_DEVICES, Cluster, DevicesOf
from binwright.fabric.devices import Devices, DeviceView, Usual, empty_devices, in_python
from binwright.fabric.fragmentation import stranded
from binwright.fabric.ledger import WRITTEN, Ledger, read_only
from binwright.simcore.errors import AgentError, InfeasiblePlacement, LedgerError, UserError
from binwright.simcore.faults import Kind
from binwright.simcore.types import QUANTUM, Ints, OnDevices, Placement, Request, Workload
from binwright.simcore.units import say

UNKNOWN = 1 << 62
"""The bit of models that no server has."""


class DeviceLedger(Ledger):
    """Who holds what, devices included. The view's devices are copies, as all that it shows.

    What a server has free of the devices' resource is at all times the sum of what its devices have free.
    """

    view: DeviceView

    def __init__(self, cluster: Cluster) -> None:
        spec = cluster.devices
        if spec is None or cluster.capacity.shape[1] != 1:
            raise UserError("servers with devices have one node", key="cluster.nodes", remedy="Write `nodes: 1`.")
        if spec.count.max(initial=0) > MOST_DEVICES:
            remedy = f"Give {MOST_DEVICES} at most."
            raise UserError("too many devices on a server", value=int(spec.count.max()), remedy=remedy)
        super().__init__(cluster)
        self._spec: DevicesOf = spec
        self._own = empty_devices(cluster)
        self._placed: dict[int, tuple[int, tuple[int, ...], int]] = {}
        """Of every request with devices: its server, their numbers, and the quanta of each."""
        self._coming: dict[int, tuple[int, tuple[int, ...], int]] = {}
        """The same of every request on its way, for where it goes."""
        self.taken: dict[int, int] = {}
        """Of every request that ever had devices, the bits of the numbers that it had last."""
        nothing = np.zeros((0, len(cluster.resources)), np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.view = DeviceView(
            cluster.resources,
            self.view.capacity,
            self.view.free,
            devices=self._own,
            resource=spec.resource,
            models=spec.models,
            usual=Usual(*nothing),
            taken=self.taken,
        )
        self._show()

    def _show(self) -> None:
        """Give the view new copies of the devices."""
        self._shown_devices = Devices(*(array.copy() for array in self._own))
        self.view.devices = Devices(*map(read_only, self._shown_devices))

    def apply(self, request: Request, placement: Placement) -> tuple[int, int]:
        """Take amounts and devices; returns the server and the node.

        Raises `InfeasiblePlacement` when they break a rule or do not fit.
        """
        row = request.index
        if row in self._held:
            raise LedgerError(f"request {row} is placed already")
        shares = self._checked(request, placement)
        server = shares[0][0]
        devices, each = self._checked_devices(request, placement, server)
        self._take(shares)
        self._held[row] = shares
        if devices:
            self._placed[row] = server, devices, each
            self.taken[row] = sum(1 << device for device in devices)
            self._move(server, devices, each, 1)
        return server, 0

    def _checked_devices(self, request: Request, placement: Placement, server: int) -> tuple[tuple[int, ...], int]:
        """Return the devices that a placement names, and the quanta of each; they keep the rules, and are free."""
        count, each = in_python(request.demand[self._spec.resource])
        named = placement.devices if isinstance(placement, OnDevices) else ()
        try:
            devices = tuple(map(index, named))
        except TypeError:
            raise InfeasiblePlacement(f"its devices are not whole numbers: {named!r:.200}") from None
        if len(devices) != count or len(set(devices)) < count:
            kind = "no device" if count == 0 else f"{count} device{'s' * (count > 1)}"
            raise InfeasiblePlacement(f"this request takes {kind}: answer OnDevices with as many, not {devices}")
        if not devices:
            return (), 0
        own, there = self._own, int(self._own.there[server])
        for device in devices:
            if not 0 <= device < there:
                raise InfeasiblePlacement(f"there is no device {device} of server {server}, which has {there}")
        if request.models and not request.models >> int(own.model[server]) & 1:
            asked = ", ".join(name for bit, name in enumerate(self._spec.models) if request.models >> bit & 1)
            model = self._spec.models[own.model[server]]
            raise InfeasiblePlacement(f"server {server} has devices of model {model}, and it takes {asked or 'others'}")
        for device in devices:
            if own.free[server, device] < each:
                if server in self._down:
                    raise InfeasiblePlacement(f"server {server} has failed")
                free = say([int(own.free[server, device])], (self.cluster.resources[self._spec.resource],))
                raise InfeasiblePlacement(
                    f"it does not fit on device {device} of server {server}, which has {free} free"
                )
        return devices, each

    def _move(self, server: int, devices: tuple[int, ...], each: int, sign: int) -> None:
        """Take devices (sign 1) or give them back (sign -1)."""
        own, shown = self._own, self._shown_devices
        for device in devices:
            own.free[server, device] -= sign * each
            shown.free[server, device] = own.free[server, device]
        kind = len(devices) if each == QUANTUM else 0
        own.held[server, kind] += sign
        shown.held[server, kind] = own.held[server, kind]

    def release(self, row: int) -> None:
        """Give back what this request holds; does nothing, once, if a failure has done so before its time."""
        super().release(row)
        for held in self._placed.pop(row, None), self._coming.pop(row, None):
            if held:
                self._move(*held, -1)

    def _lend(self, rows: Sequence[int], sign: int) -> None:
        super()._lend(rows, sign)
        for row in rows:
            if held := self._placed.get(row):
                self._move(*held, sign)

    def _has_room_on(self, server: int, request: Request) -> bool:
        return bool(self.fitting(request)[server])

    def begin_move(self, request: Request, placement: Placement) -> tuple[int, int]:
        """Take the place and the devices that a request is to move to; returns the server and the node."""
        server = self._checked(request, placement)[0][0]
        devices, each = self._checked_devices(request, placement, server)
        super().begin_move(request, placement)
        if devices:
            self._coming[request.index] = server, devices, each
            self._move(server, devices, each, 1)
        return server, 0

    def end_move(self, row: int, arrived: bool) -> None:
        """Give back the old place of a request on its way that has arrived, or else its new one, devices included."""
        super().end_move(row, arrived)
        if coming := self._coming.pop(row, None):
            left = self._placed[row] if arrived else coming
            if arrived:
                self._placed[row] = coming
                self.taken[row] = sum(1 << device for device in coming[1])
            self._move(*left, -1)

    def fail(self, part: int, kind: Kind = "server") -> list[int]:
        """Take a server out of service; returns the requests that lost their place, released, in order."""
        hit = super().fail(part, kind)
        self._own.free[part] = self._shown_devices.free[part] = 0
        return hit

    def repair(self, part: int, kind: Kind = "server") -> None:
        """Bring a failed server back, empty; does nothing to a server in service."""
        if part in self._down:
            there = np.arange(self._own.free.shape[1]) < self._own.there[part]
            self._own.free[part] = self._shown_devices.free[part] = np.where(there, QUANTUM, 0)
        super().repair(part, kind)

    def grow(self, by: int) -> None:
        """Add empty servers, with devices like the last one's. The view's arrays are new ones afterwards."""
        super().grow(by)
        own, (count, model) = self._own, self._spec.added
        there = np.where(np.arange(own.free.shape[1]) < count, QUANTUM, 0)
        self._own = Devices(
            np.concatenate([own.free, np.tile(there, (by, 1))]),
            np.concatenate([own.there, np.full(by, count)]),
            np.concatenate([own.model, np.full(by, model)]),
            np.concatenate([own.held, np.zeros((by, own.held.shape[1]), np.int64)]),
        )
        self._show()

    def confirm(self) -> None:
        """Raise an `AgentError` if somebody else has written to what the view shows."""
        super().confirm()
        if not all(map(np.array_equal, self.view.devices, self._own)):
            raise AgentError(WRITTEN)

    def expect(self, workload: Workload) -> Ints | None:
        """Get ready for a workload; returns which models of devices each request may take, as bits int64 [n]."""
        bits = np.zeros(len(workload), np.int64)
        if workload.models is not None:
            for text in np.unique(workload.models).tolist():
                bits[workload.models == text] = self._bits(text)
            nowhere = (bits == UNKNOWN) & (workload.demand[:, self._spec.resource] > 0)
            self.missing = sorted({name for text in workload.models[nowhere].tolist() for name in text.split("|")})
        usual = slice(None, workload.usual)
        kinds = np.column_stack([workload.demand[usual], bits[usual]])
        found, count = np.unique(kinds, axis=0, return_counts=True)
        order = np.argsort(-count, kind="stable")
        self.view.usual = Usual(found[order, :-1].copy(), found[order, -1].copy(), count[order].astype(np.int64))
        return bits

    def _bits(self, text: str) -> int:
        """Turn names of models, as in `A100|V100`, into bits; those that no server has are one more bit."""
        known = self._spec.models
        bits = 0
        for name in text.split("|"):
            if name:
                bits |= 1 << known.index(name) if name in known else UNKNOWN
        return bits

    def _possible(
        self, demand: Ints, models: Ints | None, servers: npt.NDArray[np.bool_] | None
    ) -> npt.NDArray[np.bool_]:
        amount = demand[:, self._spec.resource]
        count = -(-amount // QUANTUM)
        whole = (amount <= QUANTUM) | (amount % QUANTUM == 0)
        own = self._own
        rows = np.column_stack([self._capacity[:, 0], own.there, own.model])
        kinds = np.unique(rows if servers is None else rows[servers], axis=0)
        fits = np.zeros(len(demand), np.bool_)
        for kind in kinds:
            here = (kind[:-2] >= demand).all(axis=1) & (kind[-2] >= count)
            if models is not None:
                here &= (models == 0) | (count == 0) | ((models >> max(int(kind[-1]), 0) & 1 == 1) & (kind[-1] >= 0))
            fits |= here
        found: npt.NDArray[np.bool_] = fits & whole
        return found

    def rooms(self, request: Request, free: Ints) -> Ints:
        """Count how many requests like this one fit on each server together, with their devices, int64 [servers].

        `free` int64 [servers, 1, resources] is what the servers have, or as much as they have when empty.
        """
        rooms, own = super().rooms(request, free), self._own
        count, each = in_python(request.demand[self._spec.resource])
        if not count:
            return rooms
        there = np.arange(own.free.shape[1]) < own.there[:, None]
        devices = np.where(there, QUANTUM if free is self._capacity else own.free, 0) // each
        right = (own.model >= 0) & ((request.models == 0) | (request.models >> np.maximum(own.model, 0) & 1 == 1))
        return np.where(right, np.minimum(rooms, devices.sum(axis=1) // count), 0)

    def why_not(self, request: Request) -> int:
        """Return the index into `reasons` of what keeps this request out now."""
        code = super().why_not(request)
        if code:
            return code
        if self.fitting(request).any():
            return 0
        return len(super().reasons) + (0 if self._right(request).any() else 1)

    def kept_out(self, request: Request) -> dict[int, str]:
        """Say why of every server that a request is kept from by something else than the amounts that are free."""
        amounts, right = (self._free[:, 0] >= request.demand).all(axis=1), self._right(request)
        model = dict.fromkeys(np.flatnonzero(amounts & ~right).tolist(), "has devices of other models")
        devices = dict.fromkeys(np.flatnonzero(right & ~self.fitting(request)).tolist(), "no devices with enough free")
        return super().kept_out(request) | model | devices

    def fitting(self, request: Request) -> npt.NDArray[np.bool_]:
        """Tell on which servers a request fits, with its devices, bool [servers]."""
        count, each = in_python(request.demand[self._spec.resource])
        own = self._own
        there = np.arange(own.free.shape[1]) < own.there[:, None]
        enough: npt.NDArray[np.bool_] = ((own.free >= each) & there).sum(axis=1) >= count
        return self._right(request) & enough

    def _right(self, request: Request) -> npt.NDArray[np.bool_]:
        """Tell which servers have the amounts, and devices of a model that the request takes, bool [servers]."""
        own, amounts = self._own, (self._free[:, 0] >= request.demand).all(axis=1)
        model = (request.models >> np.maximum(own.model, 0) & 1 == 1) & (own.model >= 0)
        found: npt.NDArray[np.bool_] = amounts & (
            model | (request.models == 0) | (not request.demand[self._spec.resource])
        )
        return found

    @property
    def reasons(self) -> tuple[str, ...]:
        """What the codes of `why_not` mean."""
        return (*super().reasons, "no devices have enough free", "no server with these models has enough")

    def look(self, flavours: Ints) -> tuple[int, Ints, Ints, Ints]:
        in_use, free, used, _ = super().look(flavours)
        return in_use, free, used, stranded(self._free, self._own, flavours, self._spec.resource)

    def check(self) -> None:
        """Count again from every placement held; raises `LedgerError` when a quantum is missing."""
        super().check()
        empty = empty_devices(self.cluster)
        free, held = np.zeros_like(self._own.free), np.zeros_like(self._own.held)
        there = np.arange(free.shape[1]) < self._own.there[:, None]
        free[there] = QUANTUM
        for server, devices, each in (*self._placed.values(), *self._coming.values()):
            free[server, list(devices)] -= each
            held[server, len(devices) if each == QUANTUM else 0] += 1
        free[list(self._down)] = 0
        whole = np.array_equal(free.sum(axis=1), self._free[:, 0, self._spec.resource])
        start = np.array_equal(self._own.there[: len(empty.there)], empty.there)
        if not (whole and start and np.array_equal(free, self._own.free) and np.array_equal(held, self._own.held)):
            raise LedgerError("what devices have free is not what was there less what is held")
