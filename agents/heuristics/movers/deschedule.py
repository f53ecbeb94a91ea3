"""Takes requests off the servers whose devices are most fragmented, and asks an agent where they would go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from binwright.agents.heuristics.movers.draft import Draft
from binwright.agents.nested_agent import inner
from binwright.agents.rules.on_devices import choosing
from binwright.fabric.devices import Devices, DeviceView, wanted
from binwright.fabric.fragmentation import CAUSES, TOP, cpu_of, fragments, typical
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.jit import kernel
from binwright.simcore.moves import Move, Mover, Running
from binwright.simcore.types import Floats, Ints, OnDevices, Placement, Request, View

Victims: TypeAlias = Literal["fragments", "random"]
"""Which requests are asked about: by the fragments that they leave, or by chance."""


class Deschedule(Mover):
    """Takes the request off the most fragmented server whose leaving lowers the fragments there most, again and again.

    Another `agent`, with its own `options`, is asked where it would go if it were not there. It moves when that is
    somewhere else, and fits beside its old place; otherwise the next request is looked at. A server of whose requests
    none lowers the fragments by a thousandth of a device is left alone. A request moves once in a plan, and of a server
    `per_server` requests go, 0 for any number. Fragments are FGD's, as the most usual requests see them, which make up
    the share `top` of all. With `victims: random` requests are taken by chance: a control.
    """

    reference = "Weng et al. 2023, Beware of Fragmentation (USENIX ATC): the descheduling of the published simulator"
    makes_room = False
    on_devices = True
    only_devices = True

    def __init__(
        self,
        victims: Victims = "fragments",
        per_server: int = 0,
        agent: str = "fgd",
        options: dict[str, Any] | None = None,
        top: float = TOP,
    ) -> None:
        if victims not in get_args(Victims):
            remedy = suggest(victims, get_args(Victims))
            raise UserError("no such way to choose requests", key="victims", value=victims, remedy=remedy)
        if per_server < 0:
            remedy = "Give 0 for any number, or more."
            raise UserError("fewer than none", key="per_server", value=per_server, remedy=remedy)
        if not 0 < top <= 1:
            raise UserError("must be a share", key="top", value=top, remedy="Give a number above 0, at most 1.")
        self.agent = inner(agent, options)
        self.needs_lifetimes = self.agent.needs_lifetimes
        self._victims, self._per_server, self._top = victims, per_server, top

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Start the agent, and learn which requests are usual."""
        assert isinstance(view, DeviceView)  # only_devices says so
        own, self._rng = rng.spawn(2)
        self.agent = choosing(self.agent, view)
        self.agent.start(view, own)
        self._cpu, self._typical = cpu_of(view), typical(view, self._top)

    def plan(self, view: View, running: Running, moves: int, request: Request | None = None) -> Sequence[Move]:
        """Return the moves, in order; none where a request is to be made room for, which is no goal of this mover."""
        if request is not None or not len(running.row):
            return []
        draft, found = Draft(view, running), []
        gone = np.zeros(len(draft.free), np.int64)
        victims = self._by_fragments(draft, gone) if self._victims == "fragments" else self._by_chance(draft, gone)
        for place in victims:
            if move := self._move(draft, place):
                found.append(move)
                gone[running.server[place]] += 1
                if len(found) == moves:
                    break
        return found

    def _may_leave(self, gone: int) -> bool:
        return not self._per_server or gone < self._per_server

    def _by_chance(self, draft: Draft, gone: Ints) -> Iterator[int]:
        """Yield the places of all requests by chance; `gone` counts those that have left each server."""
        for place in self._rng.permutation(len(draft.running.row)).tolist():
            if self._may_leave(gone[draft.running.server[place]]):
                yield place

    def _by_fragments(self, draft: Draft, gone: Ints) -> Iterator[int]:
        """Yield the places of requests, those first of the server with most fragments as they are by then."""
        running, devices = draft.running, draft.devices
        assert devices is not None
        assert running.devices is not None
        order = np.argsort(running.server, kind="stable")
        first = np.searchsorted(running.server[order], np.arange(len(draft.free) + 1))
        cores = running.demand[:, self._cpu] if self._cpu >= 0 else np.zeros(len(running.row), np.int64)
        each = np.array([wanted(amount)[1] for amount in running.demand[:, draft.resource].tolist()], np.int64)
        asked = np.zeros(len(running.row), np.int64)
        amount, seen = np.zeros(len(draft.free)), np.ones(len(draft.free), np.bool_)
        fragmented(draft.free, devices, self._cpu, *self._typical, seen, amount)
        left_alone = np.zeros(len(draft.free), np.bool_)
        while not left_alone.all():
            server = int(np.where(left_alone, -1.0, amount).argmax())
            members = order[first[server] : first[server + 1]]
            chosen = -1
            if self._may_leave(gone[server]):
                chosen = victim(
                    draft.free, devices, self._cpu, *self._typical, server, members, cores, each, running.devices, asked
                )
            if chosen < 0:
                left_alone[server] = True
                continue
            asked[chosen] = 1
            free, left = draft.free.copy(), devices.free.copy()
            yield chosen
            # What moves from device to device of a server changes its fragments, and nothing else that is free.
            seen = (draft.free != free).any(axis=(1, 2)) | (devices.free != left).any(axis=1)
            fragmented(draft.free, devices, self._cpu, *self._typical, seen, amount)

    def _move(self, draft: Draft, place: int) -> Move | None:
        """Ask where a request would go; None where it stays, as there is no better place, or no room beside its own."""
        request, here = draft.request(place), draft.at(place)
        draft.hold(request, here, -1)
        answer = self.agent.decide(draft.showing(draft.free), request)
        draft.hold(request, here)
        if not isinstance(answer, Placement) or _overlaps(answer, here) or not draft.fits(request, answer):
            return None
        draft.hold(request, answer)
        draft.hold(request, here, -1)
        return Move(request.index, answer)


def _overlaps(one: Placement, other: Placement) -> bool:
    """Tell whether two placements of a request are on the same server and share a device, or take none."""
    if one.shares[0][0] != other.shares[0][0]:
        return False
    devices = [set(where.devices) if isinstance(where, OnDevices) else set() for where in (one, other)]
    return bool(devices[0] & devices[1]) or not devices[0]


@kernel
def fragmented(
    free: Ints, devices: Devices, place: int, kinds: Ints, share: Floats, seen: npt.NDArray[np.bool_], amount: Floats
) -> None:
    """Write to `amount` float64 [servers] the fragments of the servers that are `seen`, in thousandths of a device."""
    left, there, model, _ = devices
    out = np.zeros(len(CAUSES))
    for server in range(len(free)):
        if seen[server]:
            cpu = free[server, 0, place] if place >= 0 else 0
            amount[server] = fragments(cpu, left[server], there[server], model[server], kinds, share, out)


@kernel
def victim(
    free: Ints,
    devices: Devices,
    place: int,
    kinds: Ints,
    share: Floats,
    server: int,
    members: Ints,
    cores: Ints,
    each: Ints,
    held: Ints,
    asked: Ints,
) -> int:
    """Return which of a server's `members` lowers its fragments most by leaving, the first of equals; -1 for none.

    Request i holds `cores` [i], and `each` [i] of every device that is a bit of `held` [i]; those that were `asked`
    about are left out. It is none where no fragments go by a whole thousandth of a device, as published.
    """
    left, there, model, _ = devices
    out, rest = np.zeros(len(CAUSES)), left[server].copy()
    cpu = free[server, 0, place] if place >= 0 else 0
    before = fragments(cpu, rest, there[server], model[server], kinds, share, out)
    best, chosen = 0, -1
    for which in members:
        if asked[which]:
            continue
        for device in range(there[server]):
            rest[device] = left[server, device] + (each[which] if (held[which] >> device) & 1 else 0)
        after = fragments(cpu + cores[which], rest, there[server], model[server], kinds, share, out)
        gain = int(before - after)
        if gain > best:
            best, chosen = gain, which
    return chosen
