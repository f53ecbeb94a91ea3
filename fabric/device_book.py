"""Counts what devices have free, and who has them. Together they have free what their server has of their resource."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING

import numpy as np

from binwright.fabric.book import Book, HeldDevices, Holding
from binwright.fabric.cluster import MOST_DEVICES, DevicesOf
from binwright.fabric.devices import Devices, DeviceView, empty_devices, in_python
from binwright.fabric.fragmentation import stranded
from binwright.simcore.errors import InfeasiblePlacement, UserError
from binwright.simcore.types import QUANTUM, Flags, Ints, OnDevices, Placement, Request, read_only
from binwright.simcore.units import many_of, say
from binwright.simcore.workload import Workload

if TYPE_CHECKING:
    from binwright.fabric.ledger import Ledger

UNKNOWN = 1 << 62
"""The bit of models that no server has."""


class DeviceBook(Book):
    """Takes devices for requests."""

    reasons = ("devices of other models", "no devices have enough free")

    def __init__(self, ledger: Ledger) -> None:
        cluster = ledger.cluster
        if cluster.devices is None or cluster.capacity.shape[1] != 1:
            raise UserError("servers with devices have one node", key="cluster.nodes", remedy="Write `nodes: 1`.")
        spec: DevicesOf = cluster.devices
        if spec.count.max(initial=0) > MOST_DEVICES:
            remedy = f"Give {MOST_DEVICES} at most."
            raise UserError("too many devices on a server", value=int(spec.count.max()), remedy=remedy)
        self._ledger, self._spec, self._own = ledger, spec, empty_devices(cluster)
        self.taken: dict[int, int] = {}
        """Of every request that ever had devices, the bits of the numbers that it had last."""
        self.missing: list[str] = []
        """Models of devices that no server has, and without which requests are impossible."""
        self._view = ledger.view = DeviceView(
            cluster.resources,
            ledger.view.capacity,
            ledger.view.free,
            changed=ledger.view.changed,
            devices=Devices(*map(read_only, self._own)),
            resource=spec.resource,
            models=spec.models,
            usual=np.zeros((0, len(cluster.resources) + 2), np.int64),
        )

    # -- taking, and giving back ---------------------------------------------------------------------------------------

    def checked(self, request: Request, placement: Placement, server: int) -> tuple[HeldDevices, ...]:
        """Return the devices that a placement on a server names, if they keep the rules and are free; none for none."""
        count, each = in_python(request.demand[self._spec.resource])
        named = placement.devices if isinstance(placement, OnDevices) else ()
        try:
            devices = tuple(map(index, named))
        except TypeError:
            raise InfeasiblePlacement(f"its devices are not whole numbers: {named!r:.200}") from None
        if len(devices) != count or len(set(devices)) < count:
            takes = many_of(count, "device")
            raise InfeasiblePlacement(f"this request takes {takes}: answer OnDevices with as many, not {devices}")
        if not devices:
            return ()
        own, installed = self._own, int(self._own.installed[server])
        for device in devices:
            if not 0 <= device < installed:
                raise InfeasiblePlacement(f"there is no device {device} of server {server}, which has {installed}")
        if request.models and not request.models >> int(own.model[server]) & 1:
            model, known = self._spec.models[own.model[server]], enumerate(self._spec.models)
            takes = ", ".join(name for bit, name in known if request.models >> bit & 1) or "others"
            raise InfeasiblePlacement(f"server {server} has devices of model {model}, and it takes {takes}")
        for device in devices:
            if own.free[server, device] < each:
                free = say([int(own.free[server, device])], (self._view.resources[self._spec.resource],))
                raise InfeasiblePlacement(
                    f"it does not fit on device {device} of server {server}, which has {free} free"
                )
        return (HeldDevices(server, devices, each),)

    def move(self, holding: Holding, sign: int) -> None:
        """Take devices, or give them back."""
        own = self._own
        for server, devices, each in holding.devices:
            for device in devices:
                own.free[server, device] += sign * each
            own.held[server, len(devices) if each == QUANTUM else 0] -= sign

    def enter(self, row: int, holding: Holding) -> None:
        """Note which devices a request has; one on its way those that it comes from."""
        if holding.devices:
            self.taken[row] = holding.devices[0].bits

    def changed(self, server: int) -> None:
        """Set what the devices of an empty server have free, which fails or is back."""
        exists = np.arange(self._own.free.shape[1]) < self._own.installed[server]
        self._own.free[server] = np.where(exists & (server not in self._ledger.down), QUANTUM, 0)

    def grow(self, by: int) -> None:
        """Add devices like the last server's to so many more. The view's arrays are new ones afterwards."""
        own, (count, model) = self._own, self._spec.added
        free = np.where(np.arange(own.free.shape[1]) < count, QUANTUM, 0)
        self._own = Devices(
            np.concatenate([own.free, np.tile(free, (by, 1))]),
            np.concatenate([own.installed, np.full(by, count)]),
            np.concatenate([own.model, np.full(by, model)]),
            np.concatenate([own.held, np.zeros((by, own.held.shape[1]), np.int64)]),
        )
        self._view.devices = Devices(*map(read_only, self._own))

    # -- what fits -----------------------------------------------------------------------------------------------------

    def expect(self, workload: Workload) -> Ints:
        """Get ready for a workload; returns which models each request may take, as bits int64 [n]."""
        bits = np.zeros(len(workload), np.int64)
        if workload.models is not None:
            for text in np.unique(workload.models).tolist():
                bits[workload.models == text] = self._bits(text)
            nowhere = (bits == UNKNOWN) & (workload.demand[:, self._spec.resource] > 0)
            self.missing = sorted({name for text in workload.models[nowhere].tolist() for name in text.split("|")})
        usual = slice(None, workload.usual)
        kinds = np.column_stack([workload.demand[usual], bits[usual]])
        distinct, count = np.unique(kinds, axis=0, return_counts=True)
        self._view.usual = np.column_stack([distinct, count])
        return bits

    def _bits(self, text: str) -> int:
        """Turn names of models, as in `A100|V100`, into bits; those that no server has are one more bit."""
        known = self._spec.models
        bits = 0
        for name in text.split("|"):
            if name:
                bits |= 1 << known.index(name) if name in known else UNKNOWN
        return bits

    def possible(self, demand: Ints, models: Ints | None, capacity: Ints, servers: Flags | None) -> Flags:
        """Tell which demands [n, resources], of `models` [n], one of these servers could hold when empty, bool [n].

        `capacity` is that of these servers, bool [servers]; `None` for all, and then of one that is added.
        """
        columns, amount = np.stack([self._own.installed, self._own.model], axis=1), demand[:, self._spec.resource]
        columns = np.append(columns, [self._spec.added], axis=0) if servers is None else columns[servers]
        count, fits = -(-amount // QUANTUM), np.zeros(len(demand), np.bool_)
        whole = (amount <= QUANTUM) | (amount % QUANTUM == 0)
        for *node, installed, model in np.unique(np.column_stack([capacity[:, 0], columns]), axis=0).tolist():
            holds = whole & (count <= installed) & self._ledger.cluster.possible(demand, np.array([[node]]))
            if models is not None:
                holds &= (models == 0) | (count == 0) | ((models >> max(model, 0) & 1 == 1) & (model >= 0))
            fits |= holds
        return fits

    def rooms(self, request: Request, rooms: Ints, empty: bool) -> Ints:
        """Bound `rooms` int64 [servers], how many requests like this one fit, by devices, all or those free now."""
        count, each = in_python(request.demand[self._spec.resource])
        if not count:
            return rooms
        own = self._own
        exists = np.arange(own.free.shape[1]) < own.installed[:, None]
        devices = np.where(exists, QUANTUM if empty else own.free, 0) // each
        return np.where(self._of_models(request), np.minimum(rooms, devices.sum(axis=1) // count), 0)

    def _of_models(self, request: Request) -> Flags:
        """Tell which servers have devices of a model that the request may take, bool [servers]."""
        model = self._own.model
        if not request.models or not request.demand[self._spec.resource]:
            return np.ones(len(model), np.bool_)
        matching: Flags = (request.models >> np.maximum(model, 0) & 1 == 1) & (model >= 0)
        return matching

    def keeps(self, request: Request) -> Ints:
        """Return what keeps a request from each server that has the amounts, int64 [servers]."""
        amounts = np.all(self._ledger.arrays[1][:, 0] >= request.demand, axis=1)
        fits = self.rooms(request, amounts.astype(np.int64), False) > 0
        return np.where(fits | ~amounts, -1, np.where(self._of_models(request), 1, 0))

    def stranded(self, flavours: Ints) -> Ints:
        """Count the quanta free that none of the demands `flavours` int64 [k, resources] can use, int64 [resources]."""
        return stranded(self._ledger.arrays[1], self._own, flavours, self._spec.resource)
