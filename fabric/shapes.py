"""Networks by a few numbers: fabrics, fat-trees, plain trees, the published presets."""

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Annotated, TypeAlias

import numpy as np
from pydantic import Field

from binwright.fabric.topology import LARGEST, Topology, level_name
from binwright.simcore.errors import UserError
from binwright.simcore.fields import Count, Quantity
from binwright.simcore.units import BANDWIDTH, amount, quanta

Capacity: TypeAlias = Annotated[float, Quantity("bandwidth above 0", BANDWIDTH, above_zero=True)]
"""Of a link; in Python, text with a unit, too."""


def fabric(
    racks: Count,
    servers_per_rack: Count,
    racks_per_pod: Count,
    fabric_switches: Count,
    uplinks: Count,
    capacities: tuple[Capacity, Capacity, Capacity],
    name: str = "fabric",
) -> Topology:
    """Build a fabric of three tiers.

    Each rack has a link to each of its pod's fabric switches, one per plane; the switch of a plane has `uplinks` links,
    to that many spines, which it shares with the same plane of the other pods only.

    `capacities` are those of a server-rack, a rack-fabric and a fabric-spine link, in units.

    Andreyev, "Introducing data center fabric, the next-generation Facebook data center network", 2014.
    """
    if racks % racks_per_pod:
        raise UserError(
            f"{racks} racks do not fill pods of {racks_per_pod}",
            key="racks_per_pod",
            remedy=f"Make racks a multiple of it, such as {racks - racks % racks_per_pod + racks_per_pod}.",
        )
    servers, pods, planes = racks * servers_per_rack, racks // racks_per_pod, fabric_switches
    counts = servers, racks * planes, pods * planes * uplinks
    _not_too_large(sum(counts) + servers + racks + pods * planes + planes * uplinks)
    spines = racks + pods * planes
    switches = spines + planes * uplinks
    rack_of = np.arange(servers) // servers_per_rack
    rack, plane = np.divmod(np.arange(counts[1]), planes)
    switch, spine = np.divmod(np.arange(counts[2]), uplinks)
    ends = [
        np.stack([switches + np.arange(servers), rack_of], axis=1),
        np.stack([rack, racks + rack // racks_per_pod * planes + plane], axis=1),
        np.stack([racks + switch, spines + switch % planes * uplinks + spine], axis=1),
    ]
    names = (
        *(f"rack-{number}" for number in range(racks)),
        *(f"fabric-{pod}-{plane}" for pod in range(pods) for plane in range(planes)),
        *(f"spine-{plane}-{number}" for plane in range(planes) for number in range(uplinks)),
        *(f"server-{number}" for number in range(servers)),
    )
    return Topology(
        name,
        names,
        rack_of,
        np.arange(racks) // racks_per_pod,
        np.concatenate(ends),
        np.repeat(_quanta(capacities), counts),
        np.repeat([1, 2, 3, 0], [racks, pods * planes, planes * uplinks, servers]),
        planes,
        uplinks,
    )


def fat_tree(k: Count, capacities: tuple[Capacity, Capacity, Capacity] = (1, 1, 1), name: str = "fat-tree") -> Topology:
    """Build k pods of k/2 edge and k/2 aggregation switches with k ports each: a fabric of k/2 planes.

    Al-Fares, Loukissas, Vahdat, "A scalable, commodity data center network architecture", SIGCOMM 2008.
    """
    if k % 2:
        raise UserError("a fat-tree's switches have an even number of ports", key="k", value=k, remedy="Write 4.")
    half = k // 2
    return fabric(k * half, half, half, half, half, capacities, name)


def tree(
    fanouts: Annotated[tuple[Count, ...], Field(min_length=1, max_length=100)],
    capacities: tuple[Capacity, ...],
    name: str = "tree",
) -> Topology:
    """Build a tree with one switch at the top.

    From the servers up, `fanouts` says how many of a level share a switch of the next, and `capacities` the link
    between the two, in units: `tree((10, 4, 2), (1, 4, 8))` has 2 x 4 racks of 10 servers.

    Racks below the same switch are neighbours.
    """
    if len(capacities) != len(fanouts):
        raise UserError("needs one for a link of every level, from the servers up", key="capacities", value=capacities)
    sizes = [prod(fanouts[low:]) for low in range(len(fanouts) + 1)]  # from the servers up to the single top
    _not_too_large(2 * sum(sizes))
    switches = sum(sizes[1:])
    starts = [switches, *np.cumsum([0, *sizes[1:]]).tolist()]
    ends = [
        np.stack([starts[low] + np.arange(sizes[low]), starts[low + 1] + np.arange(sizes[low]) // fanout], axis=1)
        for low, fanout in enumerate(fanouts)
    ]
    order = [*range(1, len(sizes)), 0]
    names = tuple(f"{level_name(level)}-{number}" for level in order for number in range(sizes[level]))
    return Topology(
        name,
        names,
        np.arange(sizes[0]) // fanouts[0],
        np.arange(sizes[1]) // fanouts[1] if len(fanouts) > 1 else [-1],
        np.concatenate(ends),
        np.repeat(_quanta(capacities), sizes[:-1]),
        np.repeat(order, [sizes[level] for level in order]),
    )


def _preset(name: str, racks: int, servers: int, pod: int, planes: int, uplinks: int, up: int) -> partial[Topology]:
    made = partial(
        fabric,
        racks=racks,
        servers_per_rack=servers,
        racks_per_pod=pod,
        fabric_switches=planes,
        uplinks=uplinks,
        capacities=(1, up, up),
        name=name,
    )
    made.__doc__ = f"Build the published fabric of {racks * servers:,} servers in {racks} racks."
    return made


# Shabka, Zervas, "Nara: learning network-aware resource allocation algorithms for cloud data centres", arXiv
# 2106.02412: the graphs of its authors' program, topologies/*/graph.txt of github.com/zawaki/nara_revision.
alpha = _preset("alpha", racks=4, servers=10, pod=2, planes=2, uplinks=1, up=1)
beta = _preset("beta", racks=8, servers=5, pod=4, planes=2, uplinks=1, up=1)
gamma = _preset("gamma", racks=16, servers=40, pod=4, planes=4, uplinks=2, up=2)
delta = _preset("delta", racks=64, servers=40, pod=16, planes=4, uplinks=8, up=2)


def _quanta(capacities: Sequence[float | str]) -> list[int]:
    return [quanta(amount("bandwidth", capacity)) for capacity in capacities]


def _not_too_large(parts: int) -> None:
    if parts > LARGEST:
        raise UserError(f"{parts:,} servers, switches and links", remedy=f"{LARGEST:,} are as many as we build.")
