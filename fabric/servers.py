"""Says what fits where on servers with NUMA nodes, in kernels that every agent and the ledger share."""

import numpy as np
import numpy.typing as npt

from binwright.simcore.jit import inlined, kernel
from binwright.simcore.types import Amounts, Ints


@kernel
def fits_node(free: Ints, server: int, node: int, demand: Amounts) -> bool:
    """Tell whether the whole demand fits on this node. `free` int64 [servers, nodes, resources], unchanged."""
    fits = True
    for r in range(len(demand)):
        fits &= free[server, node, r] >= demand[r]
    return fits


@kernel
def fits_spread(free: Ints, server: int, demand: Amounts) -> bool:
    """Tell whether an even part of the demand fits on every node of this server; the first nodes take odd quanta."""
    nodes: int = free.shape[1]
    # Two nodes are usual, and dividing by a constant is an order of magnitude faster.
    return _parts_fit(free, server, demand, 2) if nodes == 2 else _parts_fit(free, server, demand, nodes)


@inlined
def _parts_fit(free: Ints, server: int, demand: Amounts, nodes: int) -> bool:
    """Do so for `nodes`, which is `free.shape[1]`."""
    fits = True
    for node in range(nodes):
        for r in range(len(demand)):
            fits &= free[server, node, r] >= demand[r] // nodes + (node < demand[r] % nodes)
    return fits


@kernel
def with_room(free: Ints, demand: Amounts, spread: bool) -> npt.NDArray[np.bool_]:
    """Tell on which servers a request fits, bool [servers]."""
    fitting = np.zeros(len(free), np.bool_)
    for server in range(len(free)):
        if spread:
            fitting[server] = fits_spread(free, server, demand)
        else:
            for node in range(free.shape[1]):
                fitting[server] |= fits_node(free, server, node, demand)
    return fitting


@kernel
def why_not(free: Ints, demand: Amounts, spread: bool) -> int:
    """Return why a request fits nowhere.

    0: it does fit; 1: no node (or even spread) holds it though a server has as much in total; 2: no server has enough
    of everything at once; 3 + r: no server has enough of resource r.
    """
    servers, nodes, resources = free.shape
    enough, together = np.zeros(resources, np.bool_), False
    for s in range(servers):
        everything = True
        for r in range(resources):
            total = 0
            for n in range(nodes):
                total += free[s, n, r]
            enough[r] |= total >= demand[r]
            everything &= bool(total >= demand[r])
        together |= everything
    if together:
        return 0 if with_room(free, demand, spread).any() else 1
    for r in range(resources):
        if not enough[r]:
            return 3 + r
    return 2


@inlined
def strand(free: Ints, s: int, flavours: Ints, spread: Ints, usable: npt.NDArray[np.bool_], lost: Ints) -> None:
    """Add to `lost` int64 [resources] the free quanta of a server that no flavour can use.

    `flavours` int64 [k, resources], `spread` [k] 0 or 1, `usable` bool [nodes] is scratch. What a node has free is
    usable when some whole flavour fits on the node, or some spread flavour on its server.
    """
    nodes, resources = free.shape[1], free.shape[2]
    usable[:] = False
    for f in range(len(flavours)):
        all_nodes = True
        for n in range(nodes):
            fits = True
            for r in range(resources):
                need = flavours[f, r]
                if spread[f]:
                    need = need // nodes + (n < need % nodes)
                fits &= free[s, n, r] >= need
            all_nodes &= fits
            if fits and not spread[f]:
                usable[n] = True
        if spread[f] and all_nodes:
            usable[:] = True
    for n in range(nodes):
        if not usable[n]:
            for r in range(resources):
                lost[r] += free[s, n, r]
