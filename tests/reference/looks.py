"""What a look at servers counts, over all of them, as `Ledger.look` has it."""

import numpy as np

from binwright.fabric.ledger import Ledger
from binwright.simcore.types import Ints


def looked(ledger: Ledger, flavours: Ints) -> tuple[int, Ints, Ints, Ints]:
    """Count the servers that hold something, and what is free, used and stranded, int64 [resources]."""
    free, capacity = ledger.view.everything_free, ledger.view.capacity
    in_use = int((free != capacity).any(axis=(1, 2)).sum()) - len(ledger.down)
    return in_use, free.sum(axis=(0, 1)), ledger.used(), stranded(free, flavours, ledger.spreads(flavours).tolist())


def stranded(free: Ints, flavours: Ints, spread: list[bool]) -> Ints:
    """Add up what is free on nodes, int64 [servers, nodes, resources], where no flavour fits."""
    nodes = free.shape[1]
    usable = np.zeros(free.shape[:2], np.bool_)
    for flavour, on_all in zip(flavours, spread, strict=True):
        if on_all:
            parts = flavour // nodes + (np.arange(nodes)[:, None] < flavour % nodes)
            usable |= (free >= parts).all(axis=(1, 2))[:, None]
        else:
            usable |= (free >= flavour).all(axis=2)
    lost: Ints = np.where(usable[:, :, None], 0, free).sum(axis=(0, 1))
    return lost
