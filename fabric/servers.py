"""Says what fits where on servers with NUMA nodes, in kernels that every agent and the ledger share."""

import numpy as np

from binwright.simcore.jit import inlined, kernel
from binwright.simcore.record import SPREAD
from binwright.simcore.types import Amounts, Flags, Ints


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


@inlined
def share(amount: int, node: int, n: int, nodes: int) -> int:
    """Return what node `n` gives of an amount that is taken on `node`, or spread over all."""
    if node == SPREAD:
        return amount // nodes + (n < amount % nodes)
    return amount if n == node else 0


@inlined
def give(free: Ints, demand: Amounts, server: int, node: int, count: int) -> None:
    """Give a demand back `count` times (below 0: take it); changes `free` int64 [servers, nodes, resources]."""
    nodes = free.shape[1]
    for n in range(nodes):
        for r in range(len(demand)):
            free[server, n, r] += count * share(demand[r], node, n, nodes)


@inlined
def free_on(free: Ints, server: int, resource: int) -> int:
    """Add up what is free of a resource on all nodes of a server."""
    amount = 0
    for node in range(free.shape[1]):
        amount += free[server, node, resource]
    return amount


@inlined
def show(left: Ints, free: Ints, server: int) -> None:
    """Have a server look as it is; changes `free`, of the shape of `left`."""
    for n in range(free.shape[1]):
        for r in range(free.shape[2]):
            free[server, n, r] = left[server, n, r]


@kernel
def with_room(free: Ints, demand: Amounts, spread: bool) -> Flags:
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
def strand(free: Ints, s: int, flavours: Ints, spread: Ints, usable: Flags, lost: Ints) -> None:
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


@kernel
def look(
    free: Ints, capacity: Ints, flavours: Ints, spread: Ints, log: Ints, first: int, parts: Ints, total: Ints
) -> None:
    """Count again the servers that changed since there were `first` changes; all of them if that is negative.

    Changes `parts` int64 [servers, 1 + 2 * resources], what each server adds to `total`: 1 if something is taken, what
    is free, and what of it is stranded. `log` int64 [any] says which servers changed, as `fabric.ranking` has it;
    `flavours` and `spread` are as for `strand`.
    """
    servers, nodes, resources = free.shape
    usable, ring = np.zeros(nodes, np.bool_), len(log) - 1
    everything = first < 0 or log[0] - first > ring
    for k in range(servers if everything else log[0] - first):
        s = k if everything else log[1 + ((first + k) & (ring - 1))]
        for place in range(len(total)):
            total[place] -= parts[s, place]
            parts[s, place] = 0
        for n in range(nodes):
            for r in range(resources):
                parts[s, 1 + r] += free[s, n, r]
                if free[s, n, r] != capacity[s, n, r]:
                    parts[s, 0] = 1
        strand(free, s, flavours, spread, usable, parts[s, 1 + resources :])
        for place in range(len(total)):
            total[place] += parts[s, place]
