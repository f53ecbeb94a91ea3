"""Counts again, from all that is held, what a ledger and its books have."""

from itertools import chain

import numpy as np

from binwright.fabric.devices import empty_devices
from binwright.fabric.ledger import Ledger
from binwright.fabric.network import FAILED
from binwright.simcore.types import QUANTUM


def recount(ledger: Ledger) -> None:
    """Hold a ledger to what is held: not a quantum is missing anywhere, and nobody has written to the view."""
    ledger.confirm()
    free = ledger._capacity.copy()
    free[list(ledger.down)] = 0
    for row in ledger.held:
        for server, node, amounts in ledger.reserved_by(row).shares:
            free[server, node] -= amounts
    assert np.array_equal(free, ledger._free), "what is free is not what was there less what is held"
    assert free.min(initial=0) >= 0
    for book, count in ((ledger.devices, _devices), (ledger.network, _links), (ledger.peaks, _peaks)):
        if book is not None:
            count(ledger)
    if ledger.rules is not None:
        counts = ledger.rules._compiled().counts
        assert np.array_equal(counts, ledger.rules.mask.counts), "what rules of placement count is not who is there"


def _devices(ledger: Ledger) -> None:
    """Count what devices have free, and how many requests have how many devices of a server."""
    own, resource, empty = ledger.devices._own, ledger.devices._spec.resource, empty_devices(ledger.cluster)
    free, count = np.zeros_like(own.free), np.zeros_like(own.held)
    free[np.arange(free.shape[1]) < own.installed[:, None]] = QUANTUM
    for server, devices, each in chain(*(holding.devices for holding in ledger.held.values())):
        free[server, list(devices)] -= each
        count[server, len(devices) if each == QUANTUM else 0] += 1
    free[list(ledger.down)] = 0
    assert np.array_equal(free, own.free), "what devices have free is not what was there less what is held"
    assert np.array_equal(free.sum(axis=1), ledger._free[:, 0, resource])
    assert np.array_equal(count, own.held)
    assert np.array_equal(own.installed[: len(empty.installed)], empty.installed)


def _links(ledger: Ledger) -> None:
    """Count what links have free."""
    network = ledger.network
    free = network.topology.link_capacity.copy()
    for link, amount in chain(*(holding.links for holding in ledger.held.values())):
        free[link] -= amount
        assert link not in network.down, "a link that has failed carries something"
    assert free.min(initial=0) >= 0, "a link carries more than it can"
    free[list(network.down)] = FAILED
    assert np.array_equal(free, network._link_free), "what links have free is not what was there less what is reserved"


def _peaks(ledger: Ledger) -> None:
    """Count what is asked for, and hold to it what is reserved."""
    peaks = ledger.peaks
    requested = np.zeros_like(peaks.requested)
    for row, holding in ledger.held.items():
        for at, (server, node, amounts) in zip(peaks._parts[row], holding.shares, strict=True):
            requested[server, node] += amounts
            assert (peaks._reserved[at] >= 0).all()
            assert (peaks._reserved[at] <= amounts).all(), f"request {row} reserves more than it asks for"
    assert np.array_equal(requested, peaks.requested), "what is asked for is not the sum over the requests"
