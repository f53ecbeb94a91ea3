"""Networks as arrays: who hangs on whom, through which link, of what capacity and tier; and those that have names."""

from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from binwright.simcore.errors import UserError
from binwright.simcore.registry import Registry
from binwright.simcore.types import Ints, fixed
from binwright.simcore.units import amount, quanta

Indices: TypeAlias = npt.NDArray[np.int32]
Small: TypeAlias = npt.NDArray[np.int8]

LEVELS = ("server", "rack", "fabric", "spine")
"""What stands how many hops above the servers; deeper trees go on with level-4."""
LARGEST = 50_000_000
"""Links and vertices that we try to build; far beyond any machine's memory for a run, and below an int32."""


class TopologyError(UserError):
    """A network that cannot be built, or not be routed."""


@dataclass(frozen=True, slots=True, eq=False)
class Topology:
    """Servers, switches and the links between them. All arrays are read-only.

    Vertices are the switches, by tier (the racks, which servers hang on, are the first), then the servers: server `s`
    is vertex `switches + s`, rack `r` is vertex `r`. Every server has one link: server `s` has link `s`.

    | field | dtype [shape] | what |
    | --- | --- | --- |
    | rack_of | int32 [servers] | the rack of a server |
    | pod_of | int32 [racks] | racks of one pod are neighbours; -1 where there are no pods |
    | link_ends | int32 [links, 2] | vertices, the lower level first |
    | link_capacity | int64 [links] | quanta |
    | link_tier | int8 [links] | index into `tiers` |
    | level | int8 [vertices] | index into `levels`; 0 is a server |
    | first | int32 [vertices + 1] | the neighbours of vertex v are `neighbour[first[v]:first[v + 1]]` |
    | neighbour, via | int32 [2 links] | servers first, then switches, ascending; the link |

    `planes` and `uplinks` are not 0 for a three-tier fabric: the link of rack r to plane f is `servers + r planes + f`,
    and those of pod p's switch of plane f to its spines are the `uplinks` links from
    `servers + racks planes + (p planes + f) uplinks`.
    """

    name: str
    servers: int
    racks: int
    switches: int
    rack_of: Indices
    pod_of: Indices
    link_ends: Indices
    link_capacity: Ints
    link_tier: Small
    tiers: tuple[str, ...]
    level: Small
    levels: tuple[str, ...]
    names: tuple[str, ...]
    first: Indices
    neighbour: Indices
    via: Indices
    planes: int = 0
    uplinks: int = 0

    @property
    def links(self) -> int:
        """How many links there are."""
        return len(self.link_ends)

    def __repr__(self) -> str:
        return f"Topology({self.name!r}, {self.servers} servers, {self.switches} switches, {self.links} links)"


def assemble(
    name: str,
    names: tuple[str, ...],
    rack_of: npt.ArrayLike,
    pod_of: npt.ArrayLike,
    link_ends: npt.ArrayLike,
    link_capacity: npt.ArrayLike,
    level: npt.ArrayLike,
    planes: int = 0,
    uplinks: int = 0,
) -> Topology:
    """Assemble the topology of checked parts (see `Topology`): derives the tiers and the order of neighbours."""
    rack, ends, pods, levels = *(fixed(each, np.int32) for each in (rack_of, link_ends, pod_of)), fixed(level, np.int8)
    servers, switches = len(rack), len(levels) - len(rack)
    first, neighbour, via = adjacency(ends, servers, switches + servers)
    kinds, tier = np.unique(levels[ends], axis=0, return_inverse=True)
    return Topology(
        name=name,
        servers=servers,
        racks=len(pods),
        switches=switches,
        rack_of=rack,
        pod_of=pods,
        link_ends=ends,
        link_capacity=fixed(link_capacity, np.int64),
        link_tier=fixed(tier.reshape(-1), np.int8),
        tiers=tuple(f"{level_name(low)}-{level_name(high)}" for low, high in kinds.tolist()),
        level=levels,
        levels=tuple(level_name(number) for number in range(int(levels.max()) + 1)),
        names=names,
        first=first,
        neighbour=neighbour,
        via=via,
        planes=planes,
        uplinks=uplinks,
    )


def adjacency(ends: Indices, servers: int, vertices: int) -> tuple[Indices, Indices, Indices]:
    """Find the neighbours of so many vertices and the links to them: the last `servers` first, each ascending."""
    ends_from, ends_to = np.concatenate([ends, ends[:, ::-1]]).T
    order = np.lexsort(((ends_to + servers) % vertices, ends_from))
    first = np.concatenate([[0], np.cumsum(np.bincount(ends_from, minlength=vertices))])
    return fixed(first, np.int32), fixed(ends_to[order], np.int32), fixed(order % len(ends), np.int32)


def level_name(number: int) -> str:
    """Name what stands `number` levels above the servers."""
    return LEVELS[number] if number < len(LEVELS) else f"level-{number}"


def capacity(value: object, *, key: str | None = None, file: Any = None, line: int | None = None) -> int:
    """Quanta of a link's capacity as a user wrote it; a `TopologyError` unless it is a finite bandwidth above 0."""
    try:
        link_quanta = quanta(amount("bandwidth", value))
    except UserError as error:
        raise TopologyError(
            f"the capacity {error.problem}", key=key, file=file, line=line, value=error.value, remedy=error.remedy
        ) from None
    if link_quanta == 0:
        raise TopologyError(
            "the capacity is 0", key=key, file=file, line=line, remedy="Leave the link out, or give it a capacity."
        )
    return link_quanta


TOPOLOGIES = Registry(
    "topology",
    "binwright.topologies",
    {
        "fabric": "binwright.fabric.shapes:fabric",
        "fat-tree": "binwright.fabric.shapes:fat_tree",
        "tree": "binwright.fabric.shapes:tree",
        "file": "binwright.fabric.graphs:read",
        "alpha": "binwright.fabric.shapes:alpha",
        "beta": "binwright.fabric.shapes:beta",
        "gamma": "binwright.fabric.shapes:gamma",
        "delta": "binwright.fabric.shapes:delta",
    },
)


def topology(name: str, /, folder: Path | None = None, **options: object) -> Topology:
    """Build the network of this name. Options are the constructor's arguments; presets need none.

    `folder` is where `file.py:function` is looked for.
    """
    build = TOPOLOGIES.load(name, folder)
    try:
        signature(build).bind(**options)
    except TypeError as error:
        known = ", ".join(signature(build).parameters)
        raise TopologyError(f"{name}: {error}", remedy=f"Its options: {known}.") from None
    built: Topology = build(**options)
    return built
